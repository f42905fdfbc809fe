"""Addresses of servers, and what must not be kept of them: names, passwords, keys."""

from __future__ import annotations

import contextlib
import re
from urllib.parse import urlsplit

from trainer_core.wire.environment import variables
from trainer_core.wire.errors import ConfigError

ARC_KEY, LLM_KEY = "ARC_API_KEY", "DMGLAB_LLM_KEY"
"""Environment variables with the keys that we send, each to the one server that the user named."""
_SECRET_NAME = re.compile(r"(?i)(^|_)(API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD)$")
"""Variables whose values are not for others: WANDB_API_KEY, HF_TOKEN, ours."""
_USERINFO = re.compile(r"(?<=://)[^/\s\"'<>]*@")
SHORTEST_SECRET = 6
"""Letters; what is shorter would be found in any text."""
HIDDEN = "***"


def check_server(text: str, variable: str, example: str) -> None:
    """Raise ConfigError unless `text` is the plain address of a server, such as `example`.

    What stands before an `@` or after a `?` would be kept in the run, its log and the index: the
    error names `variable` instead, and repeats none of it.
    """
    named, more = False, ""
    with contextlib.suppress(ValueError):
        parts = urlsplit(text)
        possible = parts.port is None or parts.port > 0  # asking raises for one beyond 65535
        named = parts.scheme in ("http", "https") and bool(parts.hostname) and possible
        more = parts.query + parts.fragment
    if "@" in text or (named and more):
        raise ConfigError(
            "an address with a name, password or key in it would be kept with the run: leave that "
            f"away, set {variable} to the key, and name the server like {example}"
        )
    if not named or not text.isprintable() or any(letter.isspace() for letter in text):
        raise ConfigError(f"{shown_address(text)}: name a server like {example}")


def shown_address(text: str) -> str:
    """Return `text` as an error shows it: quoted, of bounded length, nothing before an `@`."""
    _, at, host = text.rpartition("@")
    return repr((HIDDEN + at + host if at else text)[:100])


def is_host(text: str) -> bool:
    """Return whether `text` can be the HOST of HOST:PORT: a name or a number, nothing before it."""
    return bool(re.fullmatch(r"[\w.:%\[\]-]+", text))


def without_secrets(text: str) -> str:
    """`text` without names and passwords in addresses, and without the keys of this environment."""
    text = _USERINFO.sub(f"{HIDDEN}@", text)
    for name, value in variables():
        if len(value) >= SHORTEST_SECRET and _SECRET_NAME.search(name):
            text = text.replace(value, HIDDEN)
    return text
