"""Checks of server addresses, and removal of user names, passwords and keys from text that is stored."""

from __future__ import annotations

import contextlib
import re
from ipaddress import ip_address
from urllib.parse import urlsplit

from trainer_core.wire.environment import variables
from trainer_core.wire.errors import ConfigError

ARC_KEY, LLM_KEY = "ARC_API_KEY", "DMGLAB_LLM_KEY"
"""Environment variables that hold API keys; each key is sent only to the server that the user named."""
LLM_EXAMPLE = "http://127.0.0.1:8080/v1"
"""Example address of a language model's server."""
_SECRET_NAME = re.compile(r"(?i)(^|_)(API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD)$")
"""Names of environment variables whose values are secret: WANDB_API_KEY, HF_TOKEN, ours."""
_USERINFO = re.compile(r"(?<=://)[^/\s\"'<>]*@")
SHORTEST_SECRET = 6
"""Characters; shorter values are not hidden, as they would occur by chance in any text."""
HIDDEN = "***"


def check_server(text: str, variable: str, example: str) -> None:
    """Raise ConfigError unless `text` is the plain address of a server, such as `example`.

    Text before an `@` or after a `?` would be stored in the run, its log and the index: the error names `variable` as
    the place for a key, and repeats none of that text.
    """
    named, more = False, ""
    with contextlib.suppress(ValueError):
        parts = urlsplit(text)
        possible = parts.port is None or parts.port > 0  # `port` raises ValueError above 65535
        named = parts.scheme in ("http", "https") and bool(parts.hostname) and possible
        more = parts.query + parts.fragment
    if "@" in text or (named and more):
        raise ConfigError(
            "an address with a name, password or key in it would be kept with the run: leave that "
            f"away, set {variable} to the key, and name the server like {example}"
        )
    if not named or not text.isprintable() or any(letter.isspace() for letter in text):
        raise ConfigError(f"{shown_address(text)}: name a server like {example}")


def check_cluster(text: str) -> None:
    """Raise ConfigError unless `text` is empty, or the address of a Ray dashboard on this computer."""
    if not text:
        return
    host, port = "", None
    with contextlib.suppress(ValueError):
        parts = urlsplit(text)
        if parts.scheme == "ray+http" and parts.path in ("", "/") and not parts.query + parts.fragment:
            host, port = parts.hostname or "", parts.port
    if not host or not port or "@" in text or not text.isprintable():
        raise ConfigError(
            f"on: {shown_address(text)}: name the dashboard of a Ray cluster like ray+http://127.0.0.1:8265"
        )
    with contextlib.suppress(ValueError):
        if host == "localhost" or ip_address(host).is_loopback:
            return
    raise ConfigError(
        f"on: {host} is not this computer, and whoever reaches Ray's port may run programs there: keep it closed, "
        f"open a tunnel (ssh -N -L {port}:127.0.0.1:{port} {host}) and name ray+http://127.0.0.1:{port}"
    )


def shown_address(text: str) -> str:
    """Return `text` as an error quotes it: in quotes, at most 100 characters, nothing before an `@`."""
    _, at, host = text.rpartition("@")
    return repr((HIDDEN + at + host if at else text)[:100])


def is_host(text: str) -> bool:
    """Return whether `text` can be the HOST of HOST:PORT: a name or a number, without a user name before it."""
    return bool(re.fullmatch(r"[\w.:%\[\]-]+", text))


def without_secrets(text: str) -> str:
    """Return `text` without user names and passwords in addresses, and without the secrets of this environment."""
    text = _USERINFO.sub(f"{HIDDEN}@", text)
    for name, value in variables():
        if len(value) >= SHORTEST_SECRET and _SECRET_NAME.search(name):
            text = text.replace(value, HIDDEN)
    return text
