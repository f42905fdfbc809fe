"""`python -m trainer_core.leash COMMAND...`: a tool that cannot outlive who started it.

The end of standard input means that the parent is gone, as for workers (docs/protocol.md); the
whole process group then goes too. For tools that do not read standard input themselves.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

from trainer_core.owned import die_with_parent


def watch() -> None:
    while os.read(0, 4096):
        pass
    os.killpg(0, signal.SIGKILL)


def main(argv: list[str]) -> int:
    if not argv:
        print("usage: python -m trainer_core.leash COMMAND...", file=sys.stderr)
        return 2
    die_with_parent()
    try:
        # Whatever descriptor was passed on is the tool's: it may be a lock.
        child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, close_fds=False)
    except OSError as error:
        print(f"{argv[0]} cannot be started: {error.strerror}", file=sys.stderr)
        return 1
    threading.Thread(target=watch, daemon=True).start()
    code = child.wait()
    return code if code >= 0 else 1


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stderr.flush()
    os._exit(status)  # the watcher blocks in read(0)
