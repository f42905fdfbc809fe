"""A server on this computer that answers W&B's real client: GraphQL, the stream of a run's files, uploads.

Its `mode`: ok, refuse (401 to every request with a key), hang (no answer).
"""

from __future__ import annotations

import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

VIEWER = {"id": "1", "entity": "me", "username": "me", "email": "", "flags": "{}", "teams": {"edges": []}}


class WandbServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.mode, self.stopped = "ok", threading.Event()
        self.history: dict[int, dict[str, Any]] = {}
        """Rows of the history by number, as JSON objects."""
        self.files: dict[str, int] = {}
        """Size of each uploaded file by name."""
        self.keys: set[str] = set()
        """`Authorization` headers."""
        self.told: dict[str, Any] = {}
        """Variables of the last UpsertBucket that has each of them."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def __enter__(self) -> WandbServer:
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Die: nobody is answered any more."""
        self.stopped.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a client that was killed or lost its patience."""

    def rows(self) -> list[dict[str, Any]]:
        return [self.history[number] for number in sorted(self.history)]

    def answer(self, query: str, told: dict[str, Any]) -> dict[str, Any]:
        """Return the data of a GraphQL request with the variables `told`."""
        if "viewer" in query:
            return {"viewer": VIEWER}
        if "RunResumeStatus" in query:
            return {
                "model": {
                    "id": "p",
                    "name": told["project"],
                    "entity": {"id": "e", "name": "me"},
                    "bucket": self._bucket(),
                }
            }
        if "UpsertBucket" in query:
            self.told |= {name: value for name, value in told.items() if value is not None}
            bucket = {"id": "b", "name": self.told["name"], "displayName": self.told["displayName"], "config": "{}"}
            project = {"id": "p", "name": self.told["project"], "entity": {"id": "e", "name": "me"}}
            return {"upsertBucket": {"bucket": {**bucket, "project": project}, "inserted": len(self.history) == 0}}
        if "CreateRunFiles" in query:
            files = [self._place(name) for name in told["files"]]
            return {"createRunFiles": {"runID": "b", "uploadHeaders": [], "files": files}}
        return self._of_artifact(query, told.get("input", {}))

    def _of_artifact(self, query: str, told: dict[str, Any]) -> dict[str, Any]:
        """Return the data of a request about an artifact, such as W&B makes of each table."""
        if "CreateArtifactFiles" in query:
            nodes = [{**self._place(file["name"]), "artifact": {"id": "a"}} for file in told["artifactFiles"]]
            return {"createArtifactFiles": {"files": {"edges": [{"node": node} for node in nodes]}}}
        if "CreateArtifactManifest" in query:
            return {"createArtifactManifest": {"artifactManifest": {"id": "m", "file": self._place("manifest")}}}
        if "CommitArtifact" in query:
            return {"commitArtifact": {"artifact": {"id": "a", "digest": "d"}}}
        if "CreateArtifact" in query:
            sequence = {"id": "s", "latestArtifact": None}
            return {"createArtifact": {"artifact": {"id": "a", "state": "PENDING", "artifactSequence": sequence}}}
        return {"project": None}  # such an artifact is not there

    def _place(self, name: str) -> dict[str, Any]:
        """Return where a file is uploaded to."""
        url = f"{self.url}/put/{name}"
        return {"id": name, "name": name, "displayName": name, "uploadUrl": url, "uploadHeaders": []}

    def _bucket(self) -> dict[str, Any] | None:
        if not self.history:
            return None
        last = self.history[max(self.history)]
        return {
            "id": "b",
            "name": self.told["name"],
            "summaryMetrics": "{}",
            "displayName": self.told["displayName"],
            "logLineCount": 0,
            "historyLineCount": len(self.history),
            "eventsLineCount": 0,
            "historyTail": json.dumps([json.dumps(last)]),
            "eventsTail": "[]",
            "config": "{}",
            "tags": [],
            "wandbConfig": '{"t": 1}',
        }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _do(self) -> None:
        data, server = self._data(), self.server
        assert isinstance(server, WandbServer)
        key = self.headers.get("authorization", "")
        server.keys |= {key} - {""}
        if server.mode == "hang":
            server.stopped.wait(60)
        if server.stopped.is_set():  # dead for those, too, who are connected already
            self.close_connection = True
            return
        if server.mode == "refuse" and key:
            self._send(401, b'{"errors":[{"message":"user is not logged in"}]}')
            return
        found: dict[str, Any] = {}
        if self.path == "/graphql":
            asked = json.loads(data)
            found = {"data": server.answer(asked["query"], asked.get("variables") or {})}
        elif self.path.endswith("/file_stream"):
            new = json.loads(data).get("files", {}).get("wandb-history.jsonl", {"offset": 0, "content": []})
            server.history.update({new["offset"] + at: json.loads(row) for at, row in enumerate(new["content"])})
        elif self.path.startswith("/put/"):
            server.files[self.path.removeprefix("/put/")] = len(data)
        self._send(200, json.dumps(found).encode())

    do_GET = do_POST = do_PUT = _do

    def _data(self) -> bytes:
        data = b""
        if self.headers.get("transfer-encoding") == "chunked":
            while size := int(self.rfile.readline(), 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
        return gzip.decompress(data) if self.headers.get("content-encoding") == "gzip" else data

    def _send(self, status: int, data: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""
