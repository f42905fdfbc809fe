"""XMPP server for SPADE's agents, inside this process and on the loopback only.

pyjabber by itself also listens on the computer's network address, opens an admin page on port 9090, forks processes
that outlive their parent with its sockets, writes certificates into site-packages and replaces the signal handlers.
This module prevents all of that.
"""

from __future__ import annotations

import asyncio
import datetime
import importlib
import os
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from trainer_core.wire.errors import LabError

HOST = "localhost"
START_S = 30.0
NEVER_S = 10**8
"""Idle timeout of connections: agents send nothing while a run is paused and must not be disconnected."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGABRT)


class LoopbackServer:
    """XMPP server on two free ports of 127.0.0.1; agents connect to `port`."""

    def __init__(self, folder: Path) -> None:
        """Set up; `folder` receives the server's certificate, newly made with a private key."""
        self._folder = folder
        self.port, self._task = 0, None

    async def start(self) -> None:
        """Start listening; raises LabError on failure."""
        _write_certificate(self._folder)
        server = self._server()
        handlers = {number: signal.getsignal(number) for number in SIGNALS}
        self._task = asyncio.ensure_future(server.start())
        ready = asyncio.ensure_future(server.ready.wait())
        try:
            await asyncio.wait([ready, self._task], timeout=START_S, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for number, handler in handlers.items():
                signal.signal(number, handler)
        if not server.ready.is_set():
            raise LabError(
                f"the XMPP server did not start on 127.0.0.1:{self.port}; see worker.log, and "
                "whether something forbids programs to listen on the loopback"
            )

    def is_connected(self, jid: str) -> bool:
        """Return whether an agent of any process is connected under the bare `jid`."""
        module: Any = importlib.import_module("pyjabber.network.ConnectionManager")
        clients = module.ConnectionManager()._peerList.values()
        return any(c.online and c.jid is not None and c.jid.bare() == jid for c in clients)

    def _server(self) -> Any:
        parameters = importlib.import_module("pyjabber.server_parameters").Parameters
        module: Any = importlib.import_module("pyjabber.server")
        usual = parameters()
        # Its processes would inherit our sockets and outlive us.
        module.ProcessPoolExecutor = lambda count: ThreadPoolExecutor(2)
        module.setup_query_local_ip = lambda: "127.0.0.1"
        # Each client's stream makes this plugin, which fails without its web server: the stream would then accept every
        # message and deliver none.
        plugins: Any = importlib.import_module("pyjabber.plugins.PluginManager")
        plugins.HTTPFieldUpload = _NoUploads
        self.port, servers = _free_ports()
        return module.Server(
            parameters(
                host=HOST,
                client_port=self.port,
                server_port=servers,
                family=socket.AF_INET,
                connection_timeout=NEVER_S,
                database_in_memory=True,
                cert_path=str(self._folder),
                # Without uploads there is no web server, and nothing on port 9090.
                plugins=[name for name in usual.plugins if "upload" not in name],
                items={k: v for k, v in usual.items.items() if not k.startswith("upload")},
            )
        )


class _NoUploads:
    """Replacement for pyjabber's upload plugin."""

    async def feed(self, jid: Any, element: Any) -> bytes:
        errors: Any = importlib.import_module("pyjabber.stanzas.error.StanzaError")
        return errors.feature_not_implemented("request", "urn:xmpp:http:upload:0")


def _free_ports() -> tuple[int, int]:
    with socket.socket() as first, socket.socket() as second:
        first.bind(("127.0.0.1", 0))
        second.bind(("127.0.0.1", 0))
        return first.getsockname()[1], second.getsockname()[1]


def _write_certificate(folder: Path) -> None:
    """Write a new key and certificate under the names that pyjabber expects."""
    x509: Any = importlib.import_module("cryptography.x509")
    hashes: Any = importlib.import_module("cryptography.hazmat.primitives.hashes")
    code: Any = importlib.import_module("cryptography.hazmat.primitives.serialization")
    curves: Any = importlib.import_module("cryptography.hazmat.primitives.asymmetric.ec")
    key = curves.generate_private_key(curves.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, HOST)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=3650))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    text = key.private_bytes(code.Encoding.PEM, code.PrivateFormat.TraditionalOpenSSL, code.NoEncryption())
    private = folder / f"{HOST}_key.pem"
    with os.fdopen(os.open(private, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "wb") as file:
        file.write(text)
    (folder / f"{HOST}_cert.pem").write_bytes(certificate.public_bytes(code.Encoding.PEM))
