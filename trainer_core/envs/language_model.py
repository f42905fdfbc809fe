"""Client of a language model behind an OpenAI-compatible HTTP API.

Nothing is sent unless a person named the address.
"""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any

from trainer_core.wire.addresses import LLM_EXAMPLE, LLM_KEY, check_server, without_secrets
from trainer_core.wire.decoding import parsing
from trainer_core.wire.errors import FailureError, LabError

DEFAULT_TIMEOUT_S = 30.0
MAX_ANSWER_BYTES = 1 << 20
PATIENCE = 3
"""Failed requests in a row before it gives up."""


class LanguageModel:
    """Model that answers conversations; it counts answers and failed requests."""

    def __init__(self, url: str, model: str = "", *, timeout_s: float = DEFAULT_TIMEOUT_S, key: str = "") -> None:
        """Set up for `url`, the server's base, for example http://127.0.0.1:8080/v1. Raises ConfigError."""
        check_server(url, LLM_KEY, LLM_EXAMPLE)
        self._url, self._model = url.rstrip("/") + "/chat/completions", model
        self._timeout_s, self._key = timeout_s, key
        self._failed_in_a_row = 0
        self.answers, self.failures = 0, 0

    def ask(self, messages: list[dict[str, Any]], max_tokens: int) -> str:
        """Return the model's answer; raises FailureError after PATIENCE requests in a row without one."""
        while True:
            try:
                text = self._once(messages, max_tokens)
            except LabError as error:
                self.failures += 1
                self._failed_in_a_row += 1
                if self._failed_in_a_row >= PATIENCE:
                    raise FailureError(f"{error}; gave up after {PATIENCE} times in a row") from None
                continue
            self._failed_in_a_row = 0
            self.answers += 1
            return text

    def _once(self, messages: list[dict[str, Any]], max_tokens: int) -> str:
        """Return the answer to one request. Raises LabError in one line."""
        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        question: dict[str, Any] = {"messages": messages, "max_tokens": max_tokens, "temperature": 0}
        if self._model:
            question["model"] = self._model
        request = urllib.request.Request(self._url, json.dumps(question).encode(), headers, method="POST")
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
