"""Client of Ray's jobs over HTTP, the interface of its dashboard; without Ray itself.

Files come through the interface that shows a node's log files: it sends any file below that folder as it is.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPException, HTTPResponse
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from trainer_core.wire.environment import server_key
from trainer_core.wire.errors import FailureError

ANSWER_S, SUBMIT_S, PACKAGE_S = 10.0, 120.0, 600.0
SILENCE_S = 5.0
"""Seconds without a byte after which a followed log is asked for anew; a worker writes every second."""
MOST_BYTES = 512 << 20
"""Greatest package that Ray takes with its own limits."""
TOKEN = "RAY_AUTH_TOKEN"
"""Environment variable of Ray with the token of a cluster that asks for one."""
ENDED = frozenset({"SUCCEEDED", "FAILED", "STOPPED"})


class ClusterError(FailureError):
    """Error that the cluster cannot be reached, or does not do what was asked."""


class UnknownError(ClusterError):
    """Error that the cluster does not know the job or the file."""


class RayJobs:
    """Client for the cluster at `address`, such as ray+http://127.0.0.1:8265. All methods raise ClusterError."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self.address, self._host, self._port = address, parts.hostname or "", parts.port or 0

    def version(self) -> str:
        """Return the version of Ray there."""
        try:
            return str(self._object("GET", "/api/version")["ray_version"])
        except (KeyError, UnknownError):
            raise ClusterError(f"{self.address}: a server answers that is no dashboard of Ray") from None

    def upload(self, name: str, package: bytes) -> str:
        """Upload a zip file as the working folder of jobs; return its address there."""
        if len(package) > MOST_BYTES:
            raise ClusterError(
                f"{self.address}: task, ROM and newest checkpoint take {len(package) >> 20} MiB, "
                f"Ray takes {MOST_BYTES >> 20}; train with fewer Game Boys"
            )
        self._ask("PUT", f"/api/packages/gcs/_ray_pkg_{name}.zip", package, PACKAGE_S).read()
        return f"gcs://_ray_pkg_{name}.zip"

    def submit(self, **job: Any) -> None:
        """Submit a job with these fields of Ray's JobSubmitRequest."""
        self._object("POST", "/api/jobs/", json.dumps(job).encode(), SUBMIT_S)

    def info(self, job: str) -> dict[str, Any]:
        """Return the state of a job as Ray's JobDetails. Raises UnknownError too."""
        return self._object("GET", f"/api/jobs/{quote(job)}")

    def stop(self, job: str) -> None:
        self._object("POST", f"/api/jobs/{quote(job)}/stop")

    def file(self, node: str, name: str) -> bytes:
        """Return the content of a file below the folder of log files of a node. Raises UnknownError too."""
        try:
            return self._log("file", node, name).read()
        except (OSError, HTTPException) as error:
            raise self._broken(error) from None

    def lines(self, node: str, name: str, skip: int, *, follow: bool) -> Iterator[bytes]:
        """Yield the complete lines of a log file after its first `skip` bytes; with `follow` also those to come."""
        answer = self._log("stream" if follow else "file", node, name)
        try:
            while skip > 0 and (gone := answer.read(min(skip, 1 << 20))):
                skip -= len(gone)
            while (line := answer.readline()).endswith(b"\n"):
                yield line
        except (OSError, HTTPException) as error:
            raise self._broken(error) from None
        finally:
            answer.close()

    def _log(self, kind: str, node: str, name: str) -> HTTPResponse:
        how: dict[str, float] = {"interval": 0.5} if kind == "stream" else {"timeout": int(PACKAGE_S)}
        query = urlencode({"node_id": node, "filename": name, "lines": -1, **how})
        return self._ask("GET", f"/api/v0/logs/{kind}?{query}", b"", SILENCE_S if kind == "stream" else PACKAGE_S)

    def _object(self, method: str, path: str, body: bytes = b"", patience_s: float = 0.0) -> dict[str, Any]:
        try:
            found = json.loads(self._ask(method, path, body, patience_s).read())
        except ValueError:
            found = None
        except (OSError, HTTPException) as error:
            raise self._broken(error) from None
        if not isinstance(found, dict):
            raise ClusterError(f"{self.address}: a server answers that is no dashboard of Ray")
        return found

    def _ask(self, method: str, path: str, body: bytes = b"", patience_s: float = 0.0) -> HTTPResponse:
        server = HTTPConnection(self._host, self._port, timeout=patience_s or ANSWER_S)
        token = server_key(TOKEN)
        try:
            server.request(
                method, path, body, {"Connection": "close"} | ({"Authorization": f"Bearer {token}"} if token else {})
            )
            answer = server.getresponse()
            said = answer.read().decode("utf-8", "replace").strip() if answer.status >= 400 else ""
        except (OSError, HTTPException) as error:
            server.close()
            raise self._broken(error) from None
        if answer.status in (401, 403):
            raise ClusterError(f"{self.address} wants its token: set {TOKEN} to what `ray get-auth-token` prints there")
        if answer.status >= 400:
            kind = UnknownError if answer.status == 404 or "not found" in said else ClusterError
            raise kind(f"{self.address}: {said.splitlines()[-1][:300] if said else answer.reason}")
        return answer

    def _broken(self, error: Exception) -> ClusterError:
        if isinstance(error, OSError):
            return ClusterError(f"no Ray cluster at {self.address}: {error.strerror or error}")
        return ClusterError(f"{self.address}: a server answers that is no dashboard of Ray")
