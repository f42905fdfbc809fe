"""A language model's server on loopback, as the OpenAI-compatible HTTP shape has it, for tests.

python -m tests.support.mock_llm PORT answers every picture with a random button.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import random
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
from PIL import Image

from tests.support import loopback
from trainer_core.play.league.llm import SCALE
from trainer_core.wire.buttons import ACTIONS
from trainer_core.wire.shades import GREY_LEVELS

Model = Callable[[np.ndarray, dict[str, Any]], str]
"""What it says to a picture, shades u8[72, 80], and to the whole request."""


@contextlib.contextmanager
def serving(model: Model, port: int = 0) -> Iterator[str]:
    """Its base URL, while it is served."""
    server = ThreadingHTTPServer(("127.0.0.1", port), _handler(model))
    server.daemon_threads = True
    with loopback.serving(server):
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"


def completion(text: str) -> bytes:
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]}).encode()


def seen(request: dict[str, Any]) -> np.ndarray:
    """The picture of a request, shades u8[72, 80]; u8[0, 0] where it asks in words."""
    content = request["messages"][-1]["content"]
    if isinstance(content, str):
        return np.zeros((0, 0), np.uint8)
    url = content[0]["image_url"]["url"]
    kind, data = url.split(",", 1)
    assert kind == "data:image/png;base64"
    levels = np.asarray(Image.open(io.BytesIO(base64.b64decode(data))))[::SCALE, ::SCALE]
    return np.searchsorted(-np.array(GREY_LEVELS), -levels.astype(int)).astype(np.uint8)


def _handler(model: Model) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/chat/completions"
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            said = model(seen(request), request)
            # A model that answers with JSON of its own is no chat completion.
            body = said.encode() if said.startswith("{") else completion(said)
            with contextlib.suppress(OSError):
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nobody reads it."""

    return Handler


if __name__ == "__main__":
    with serving(lambda picture, request: random.choice(ACTIONS), int(sys.argv[1])) as base:
        print(base, flush=True)
        threading.Event().wait()
