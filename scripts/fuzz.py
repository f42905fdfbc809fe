"""Try everything from outside, damaged; say how many inputs were tried, and in how many seconds.

    python scripts/fuzz.py [--examples N] [--files N] [--states N]

Runs the property tests of the decoders with N examples each, the validator's (logs that it must
accept, damage that it must name), and the emulator's two fuzzers, and prints a table. Minutes. The
last line is one JSON object; exit status 0 when nothing was found.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[1]
TESTS = "tests/trainer_core/"
SUITES = {
    "every decoder, in a process with limits": TESTS + "test_every_decoder.py -k damage",
    "restored envs": TESTS + "test_restored.py -k 'any_other_runs or another_form or tiny_grid'",
    "logs that the loop can write: accepted": TESTS + "test_log_check_accepts.py",
    "damaged logs: each named": TESTS + "test_log_check.py -k damage",
    "options out of range: one line": TESTS + "test_option_ranges.py",
}
PASSING = re.compile(r"- (\d+) passing, (\d+) failing, and (\d+) invalid")
"""Of Hypothesis's statistics."""
FUZZERS = {
    "files of the emulator": ("emulator.verify.fuzz_files", "--inputs", "files"),
    "states of consoles, run on": ("emulator.verify.fuzz_states", "--states", "states"),
}


def run_suite(selection: str, examples: int) -> tuple[int, bool, str]:
    """Return (inputs tried, whether nothing was found, what it said) of one selection of tests."""
    command = f"{sys.executable} -m pytest -q -p no:cacheprovider --hypothesis-show-statistics"
    done = subprocess.run(
        f"{command} {selection}",
        shell=True,
        cwd=CHECKOUT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=os.environ | {"DMGLAB_FUZZ_EXAMPLES": str(examples)},
    )
    fed = sum(sum(map(int, found)) for found in PASSING.findall(done.stdout))
    dots = re.findall(r"^([.sxF]+) +\[ *\d+%\]", done.stdout, re.MULTILINE)
    by_hand = sum(line.count(".") + line.count("F") for line in dots)
    drawn = len(PASSING.findall(done.stdout))
    return fed + max(0, by_hand - drawn), done.returncode == 0, done.stdout[-2000:]


def run_fuzzer(module: str, option: str, count: int) -> tuple[int, bool, str]:
    command = [sys.executable, "-m", module, option, str(count)]
    done = subprocess.run(command, cwd=CHECKOUT, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return count, done.returncode == 0, done.stdout[-2000:]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--examples", type=int, default=400, help="of each property test")
    parser.add_argument("--files", type=int, default=5000, help="damaged files of the emulator")
    parser.add_argument("--states", type=int, default=2000, help="random states that run on")
    options = parser.parse_args()
    rows = [(name, partial(run_suite, selection, options.examples)) for name, selection in SUITES.items()]
    rows += [
        (name, partial(run_fuzzer, module, option, getattr(options, field)))
        for name, (module, option, field) in FUZZERS.items()
    ]
    tried, ok, began = 0, True, time.monotonic()
    print("| what | inputs | seconds | found |\n|---|---|---|---|", flush=True)
    for name, run in rows:
        at = time.monotonic()
        inputs, sound, said = run()
        tried, ok = tried + inputs, ok and sound
        found = "nothing" if sound else "see above"
        if not sound:
            print(said, file=sys.stderr)
        print(f"| {name} | {inputs:,} | {time.monotonic() - at:.0f} | {found} |", flush=True)
    seconds = round(time.monotonic() - began)
    print(json.dumps({"ok": ok, "inputs": tried, "seconds": seconds}))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
