"""Kill every command that writes, then let everything run for half an hour.

    python -m scripts.endurance                         400 kills and more, 30 minutes of soak
    python -m scripts.endurance --kills 3 --minutes 2   a short one
    python -m scripts.endurance --only archive --minutes 0

docs/notebook/robustness.md has the tables that it prints. The last line is one JSON object; exit status 0
when every kill held and memory, descriptors and threads stayed flat.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import shutil
import sys
import tempfile
from pathlib import Path

from scripts.endurance import kills, live, soak
from scripts.endurance.forked import load_all

_PR_SET_CHILD_SUBREAPER = 36


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m scripts.endurance", description=__doc__)
    parser.add_argument("--kills", type=int, default=15, help="that hit, of each command")
    parser.add_argument("--minutes", type=float, default=30.0, help="of soak")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="commands in whose name this stands")
    options = parser.parse_args()
    result: dict[str, object] = {"ok": True}
    if options.kills:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)  # orphans come to us, to be counted
        load_all()
        folder = Path(tempfile.mkdtemp(prefix="endurance-"))
        results = kills.kill_all(folder, options.kills, options.seed, options.only)
        results |= live.kill_all(folder, options.kills, options.seed, options.only)
        shutil.rmtree(folder, ignore_errors=True)
        print(kills.table(results))
        failures = {name: found.failures for name, found in results.items() if found.failures}
        result |= {"ok": not failures, "hits": sum(found.hits for found in results.values()), "failures": failures}
    if options.minutes:
        rows, wrong = soak.soak(options.minutes)
        print(soak.table(rows))
        result |= {"ok": bool(result["ok"]) and not wrong, "soak": wrong or "flat"}
    print(json.dumps(result))
    return 0 if result["ok"] else 1


if __name__ == "__main__":
    sys.exit(main())
