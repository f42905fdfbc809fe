"""Language model as a player, over an OpenAI-compatible HTTP API.

Each step posts the picture and asks for one button; the game waits for the answer. Nothing is sent unless a person
named the address.
"""

from __future__ import annotations

import base64
import json
import re
import urllib.error
import urllib.request
from io import BytesIO
from typing import Any

import numpy as np
from PIL import Image

from trainer_core.wire.addresses import LLM_KEY, check_server, without_secrets
from trainer_core.wire.buttons import ACTIONS
from trainer_core.wire.decoding import parsing
from trainer_core.wire.errors import FailureError, LabError
from trainer_core.wire.shades import GREY_LEVELS

PROMPT = (
    "You play a Game Boy game and see its screen. Answer with one word, the button to press now: "
    + ", ".join(ACTIONS)
    + "."
)
EXAMPLE = "http://127.0.0.1:8080/v1"
DEFAULT_TIMEOUT_S = 30.0
MAX_ANSWER_BYTES = 1 << 20
PATIENCE = 3
"""Failed answers in a row before the player gives up."""
SCALE = 2
"""Scale that gives the picture the size of the real screen."""
_LONG = "|".join(name for name in ACTIONS if len(name) > 1)
_WORD = re.compile(rf"\b([AB]|(?i:{_LONG}))\b|^\W*([ab])\W*$")
"""Pattern of a button name; a single letter only if upper case or the whole answer: "a" is also a word."""


class LlmPlayer:
    """Player that asks a language model for each button; if the answer names none, it presses B.

    It counts answers without a button, and failed requests.
    """

    def __init__(self, url: str, model: str = "", *, timeout_s: float = DEFAULT_TIMEOUT_S, key: str = "") -> None:
        """Set up for `url`, the server's base, for example http://127.0.0.1:8080/v1. Raises ConfigError."""
        check_server(url, LLM_KEY, EXAMPLE)
        self._url, self._model = url.rstrip("/") + "/chat/completions", model
        self._timeout_s, self._key = timeout_s, key
        self._failed_in_a_row = 0
        self.answers, self.nonsense, self.failures = 0, 0, 0

    def begin(self, observation: np.ndarray) -> None:
        self._seen = observation

    def see(self, observation: np.ndarray) -> None:
        self._seen = observation

    def act(self) -> int:
        """Return the model's action; raises LabError after PATIENCE requests in a row without an answer."""
        while True:
            try:
                text = self._ask()
            except LabError as error:
                self.failures += 1
                self._failed_in_a_row += 1
                if self._failed_in_a_row >= PATIENCE:
                    raise FailureError(f"{error}; gave up after {PATIENCE} times in a row") from None
                continue
            self._failed_in_a_row = 0
            self.answers += 1
            found = [large or alone for large, alone in _WORD.findall(text)]
            if not found:
                self.nonsense += 1
                return ACTIONS.index("B")
            # The last button named is the answer; models often reason first.
            return ACTIONS.index(found[-1].upper())

    def _ask(self) -> str:
        """Return the model's answer. Raises LabError in one line."""
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = urllib.request.Request(self._url, self._body(), headers, method="POST")
        try:
            with urllib.request.urlopen(request, timeout=self._timeout_s) as reply:
                said = reply.read(MAX_ANSWER_BYTES)
        except urllib.error.HTTPError as error:
            raise FailureError(f"{self._url}: answered {error.code} {without_secrets(error.reason)}") from None
        except TimeoutError:
            raise FailureError(f"{self._url}: no answer within {self._timeout_s:g} s") from None
        except OSError as error:
            reason = without_secrets(str(getattr(error, "reason", error)))
            raise FailureError(f"{self._url}: {reason}") from None
        with parsing(f"{self._url}: the answer is no chat completion", tells_why=False):
            return str(json.loads(said)["choices"][0]["message"]["content"])

    def _body(self) -> bytes:
        picture = {"type": "image_url", "image_url": {"url": data_url(self._seen)}}
        question: dict[str, Any] = {
            "messages": [{"role": "system", "content": PROMPT}, {"role": "user", "content": [picture]}],
            "max_tokens": 16,
            "temperature": 0,
        }
        if self._model:
            question["model"] = self._model
        return json.dumps(question).encode()


def data_url(observation: np.ndarray) -> str:
    """Return shades u8[72, 80] as a PNG in a data URL, SCALE times as large."""
    levels = np.array(GREY_LEVELS, np.uint8)[observation]
    image = Image.fromarray(levels.repeat(SCALE, 0).repeat(SCALE, 1))
    buffer = BytesIO()
    image.save(buffer, format="PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
