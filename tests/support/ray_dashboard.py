"""Loopback server with the REST calls of Ray's dashboard that a run uses; its answers are those of Ray 2.60.

`job-driver-ID.log` of a job is `output`, its folder of log files `folder`; nothing of Ray runs.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.loopback import serving

VERSION = b'{"version": "4", "ray_version": "2.60.0", "ray_commit": "b7f4259e", "session_name": "session_2026-11-27"}'
NODE = "0e4cade08b9d500bdb4f2527732ac9b414d830589b2263cd22eeceeb"


class Dashboard(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, folder: Path, output: bytes, status: str = "SUCCEEDED", code: int | None = 0) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder, self.output, self.status, self.code = folder, output, status, code
        self.message = "Job finished successfully."
        self.breaks_at: list[int] = []
        """Bytes of the output after which the next connections that follow it break."""
        self.package: dict[str, bytes] = {}
        self.submitted: dict[str, Any] = {}
        self.stopped: list[str] = []
        self.token = ""

    @property
    def address(self) -> str:
        return f"ray+http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    @property
    def dashboard(self) -> Dashboard:
        assert isinstance(self.server, Dashboard)
        return self.server

    def log_message(self, format: str, *args: Any) -> None: ...

    def _answer(self, body: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_PUT(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        with zipfile.ZipFile(io.BytesIO(data)) as package:
            self.dashboard.package = {name: package.read(name) for name in package.namelist()}
        self._answer(b"")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/api/jobs/":
            self.dashboard.submitted = json.loads(body)
            job = self.dashboard.submitted["submission_id"]
            self._answer(json.dumps({"job_id": job, "submission_id": job}).encode())
        else:
            self.dashboard.stopped.append(self.path)
            self.dashboard.status, self.dashboard.message = "STOPPED", "Job was intentionally stopped."
            self._answer(b'{"stopped": true}')

    def do_GET(self) -> None:
        url, server = urlsplit(self.path), self.dashboard
        if server.token and self.headers["Authorization"] != f"Bearer {server.token}":
            self._answer(b"Unauthorized: Missing authentication token", 401)
        elif url.path == "/api/version":
            self._answer(VERSION)
        elif url.path.startswith("/api/jobs/"):
            self._tell_job(url.path.rpartition("/")[2])
        else:
            self._send_file(url.path.rpartition("/")[2], parse_qs(url.query)["filename"][0])

    def _tell_job(self, job: str) -> None:
        server = self.dashboard
        if job != server.submitted.get("submission_id"):
            self._answer(f"Job {job} does not exist".encode(), 404)
            return
        status = "RUNNING" if server.breaks_at else server.status
        told = {"status": status, "message": server.message, "driver_node_id": NODE, "driver_exit_code": server.code}
        self._answer(json.dumps({"type": "SUBMISSION", "submission_id": job, **told}).encode())

    def _send_file(self, kind: str, name: str) -> None:
        if name.startswith("job-driver-"):
            end = self.dashboard.breaks_at.pop(0) if kind == "stream" and self.dashboard.breaks_at else None
            self._answer(self.dashboard.output[:end])
            return
        path = self.dashboard.folder / name.partition("/")[2]
        if path.is_file():
            self._answer(path.read_bytes())
        else:
            self._answer(f"A file is not found at: {path}".encode(), 500)


@contextmanager
def dashboard(folder: Path, output: bytes, **how: Any) -> Iterator[Dashboard]:
    """Serve a job whose run trained in `folder` and whose output is `output`, until the end of the block."""
    with serving(Dashboard(folder, output, **how)) as server:
        yield server
