"""What listens: as `ss -ltnp` shows it, from /proc alone."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from pathlib import Path

LISTEN = "0A"


def listening(pids: Iterable[int]) -> list[tuple[int, str, int]]:
    """(pid, address, port) of every listening TCP socket, IPv4 and IPv6, of these processes."""
    by_inode = dict(_listening_inodes())
    found = []
    for pid in pids:
        for inode in _socket_inodes(pid):
            if inode in by_inode:
                found.append((pid, *by_inode[inode]))
    return found


def _listening_inodes() -> Iterable[tuple[str, tuple[str, int]]]:
    for table, family in (("tcp", socket.AF_INET), ("tcp6", socket.AF_INET6)):
        path = Path("/proc/net") / table
        for line in path.read_text().splitlines()[1:] if path.exists() else ():
            words = line.split()
            if words[3] == LISTEN:
                address, port = words[1].split(":")
                yield words[9], (_address(address, family), int(port, 16))


def _address(text: str, family: int) -> str:
    """The kernel prints addresses as native 32-bit words in hexadecimal."""
    words = (bytes.fromhex(text[at : at + 8])[::-1] for at in range(0, len(text), 8))
    return socket.inet_ntop(family, b"".join(words))


def _socket_inodes(pid: int) -> Iterable[str]:
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            target = os.readlink(f"/proc/{pid}/fd/{name}")
            if target.startswith("socket:["):
                yield target[8:-1]
    except OSError:
        return
