"""Client of one game on a server of the ARC-AGI-3 API, by the standard library's HTTP.

It serves for the library's own server on loopback and for servers on the network. Nothing is sent unless the user names
the address; its key is read from ARC_API_KEY.
"""

from __future__ import annotations

import http.cookiejar
import json
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from trainer_core.envs.arc.session import Shown, check_action
from trainer_core.lab.arc_games import CLICK, EXAMPLE, RESET, SIDE
from trainer_core.wire.addresses import ARC_KEY, check_server, without_secrets
from trainer_core.wire.decoding import parsing
from trainer_core.wire.environment import server_key
from trainer_core.wire.errors import FailureError, LabError

TIMEOUT_S = 30.0

MAX_ANSWER_BYTES = 4 << 20
"""Greatest size of an answer: 300 grids."""

Transport = Callable[[str, str, dict[str, Any] | None], str]
"""Function that sends a request (method, path, JSON body) and returns the text of the answer."""


class _Game(msgspec.Struct):
    game_id: str


class _Card(msgspec.Struct):
    card_id: str


class RestGame:
    """One scored game on a server; `card` leaves the scorecard open, `close` closes it."""

    def __init__(
        self, server: str, game_id: str, timeout_s: float = TIMEOUT_S, transport: Transport | None = None
    ) -> None:
        """Open a scorecard. Raises LabError when the server does not answer or does not have the game.

        `transport` answers in place of an HTTP server, and `server` is then only a name for messages.
        """
        self.server, self.game_id = server.rstrip("/"), game_id
        self._ask = transport or HttpTransport(server, timeout_s)
        self._has_pages = transport is None
        known = [row.game_id for row in self._call("GET", "/api/games", kind=list[_Game])]
        full = [name for name in known if name.split("-")[0] == game_id.split("-")[0]]
        if not full:
            raise LabError(f"{self.server} has no game {game_id}; it has {', '.join(known)}")
        self._full_id = full[0]
        opened = self._call("POST", "/api/scorecard/open", {"tags": ["dmglab"]}, kind=_Card)
        self._card_id = opened.card_id
        self._guid = ""
        self._shown: Shown | None = None

    def begin(self, seed: int) -> Shown:
        """Start a game from its first level; `seed` must be 0, as a server has no seeds."""
        if seed:
            raise LabError(f"{self.server}: a server has no start states to choose from")
        self._guid = ""
        return self.act(RESET)

    def act(self, action: int, x: int = 0, y: int = 0) -> Shown:
        check_action(action, x, y)
        body: dict[str, Any] = {"game_id": self._full_id}
        if self._guid:
            body["guid"] = self._guid
        if action == CLICK:
            body |= {"x": x, "y": y}
        if action == RESET:
            body["card_id"] = self._card_id
        name = "RESET" if action == RESET else f"ACTION{action}"
        answer = self._call("POST", f"/api/cmd/{name}", body)
        self._shown = self._read(answer)
        self._guid = str(answer.get("guid") or self._guid)
        return self._shown

    def card(self) -> dict[str, Any]:
        return self._call("GET", f"/api/scorecard/{self._card_id}")

    @property
    def pages(self) -> dict[str, str]:
        """Addresses of the scorecard and the replay in a browser, as three.arcprize.org has them."""
        if not self._has_pages:
            return {}
        replay = f"{self.server}/replay/{self._full_id}/{self._guid}" if self._guid else ""
        return {"scorecard_url": f"{self.server}/scorecards/{self._card_id}", "replay_url": replay}

    def close(self) -> None:
        """Close the scorecard, ignoring errors of a server that has gone."""
        try:
            self._call("POST", "/api/scorecard/close", {"card_id": self._card_id})
        except LabError:
            return

    def _read(self, answer: dict[str, Any]) -> Shown:
        """Return the state of the game that a server's answer describes. Raises LabError for an invalid answer."""
        with parsing(f"{self.server}: no answer of the ARC-AGI-3 API"):
            grids = np.array(answer["frame"], np.int64).reshape(-1, SIDE, SIDE)
            # Older servers send a score instead.
            levels = int(answer.get("levels_completed", answer.get("score", 0)))
            wins = int(answer.get("win_levels", answer.get("win_score", 0)))
            state = str(answer["state"])
            available = tuple(int(number) for number in answer.get("available_actions", ()))
        if grids.size and not (grids.min() >= 0 and grids.max() <= 15):
            raise LabError(f"{self.server}: a colour beyond 15")
        if len(grids) == 0:  # after WIN and GAME_OVER there is no frame and no count
            if self._shown is None:
                raise LabError(f"{self.server}: a game without a picture")
            last = self._shown
            grids, levels, wins = last.frames[-1:], last.levels, last.win_levels
        return Shown(grids.astype(np.uint8), levels, wins, state, available)

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None, kind: Any = dict[str, Any]) -> Any:
        """Send a request with the JSON `body`; return the server's answer decoded to `kind`. Raises LabError."""
        said = self._ask(method, path, body)
        with parsing(f"{self.server}: no ARC server answers there"):
            return msgspec.json.decode(said, type=kind)


class HttpTransport:
    """Transport of requests to an HTTP server, with the key in ARC_API_KEY."""

    def __init__(self, server: str, timeout_s: float) -> None:
        """Set up. Raises ConfigError for an address that is none, or would send the key in the clear."""
        check_server(server, ARC_KEY, EXAMPLE)
        self.server, self._timeout_s = server.rstrip("/"), timeout_s
        # The cookie names the server process that holds the game.
        jar = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._opener = urllib.request.build_opener(jar)

    def __call__(self, method: str, path: str, body: dict[str, Any] | None) -> str:
        """Send a request with the JSON `body`; return the answer's text. Raises FailureError."""
        request = urllib.request.Request(
            self.server + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Content-Type": "application/json",
                "Accept": "application/json",
                "X-API-Key": server_key(ARC_KEY),
            },
        )
        try:
            with self._opener.open(request, timeout=self._timeout_s) as answer:
                return without_secrets(answer.read(MAX_ANSWER_BYTES).decode())
        except urllib.error.HTTPError as error:
            said = without_secrets(error.read(500).decode(errors="replace"))
            raise FailureError(f"{self.server}{path}: {error.code} {_reason(said)}") from None
        except (OSError, ValueError) as error:
            reason = without_secrets(str(getattr(error, "reason", error)))
            raise FailureError(f"{self.server}: no ARC server answers there ({reason})") from None


def _reason(said: str) -> str:
    """Return the message in the JSON of an error's answer, or the beginning of its text."""
    try:
        found = json.loads(said)
        return str(found.get("message") or found.get("error"))[:200]
    except (ValueError, AttributeError, RecursionError):
        return " ".join(said.split())[:200]
