r"""Time launches of ROMs in every form that they can take, on this checkout and on a base: table and JSON.

    python scripts/bench_executors.py A.gb B.gb --num-envs 256,4096 --form plain --form hot \
        --base ../OLD --json OUT.json

The same launches for each: from power-on, 24 frames each, random buttons held for 8, an observation of every console
after each. Checkouts take turns, in a process each. Figures are frames/s of launches 2 to 25 ("from power-on") and of
those behind ("after 600 frames"), by the shortest time of each launch over the turns. Ends with status 1 if states or
observations differ between forms, checkouts or turns; counts of instructions that differ are only told.

Forms: `plain` (what a batch does by itself), `data` (the data path alone), a number of consoles that each launch
leaves to threaded code, or a launch shape as lanes,running,serving,tail; with `hot:` in front, or `hot` alone, with hot
code, found and compiled before the clock starts. The base must have `known_pieces` for `hot`.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

FRAMES, RELEASE_AFTER = 24, 8
POWER_ON = 25
"""Launches of the first 600 frames, of which the first is not timed."""
SPANS = {"power_on": "from power-on", "after_600": "after 600 frames"}
"""Parts of a measurement that have a figure of their own, and their words."""
HASHED = 256
"""Most consoles whose states and observations are compared."""
HERE = Path(__file__).resolve().parents[1]


class Case(NamedTuple):
    """One measurement, in any checkout."""

    rom: Path
    num_envs: int
    form: str

    def __str__(self) -> str:
        return f"{self.num_envs:6d} {self.rom.stem[:24]:24s} {self.form:9s}"


class Child:
    """Process that measures cases with the package of one checkout."""

    def __init__(self, checkout: Path, device: str, launches: int) -> None:
        command = [sys.executable, __file__, "--child", str(checkout), "--device", device, "--launches", str(launches)]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(checkout), os.environ.get("PYTHONPATH", "")])}
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=checkout
        )

    def measure(self, case: Case) -> dict[str, Any]:
        """Return the record of a case; end the program if the process has failed, which tells why on stderr."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(case.rom, case.num_envs, case.form, sep="\t", file=self._process.stdin, flush=True)
        except BrokenPipeError:
            sys.exit("the measuring process has ended")
        for line in self._process.stdout:
            if line.startswith("{"):
                return json.loads(line)
        sys.exit(f"no result for {case}")

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def serve(device: str, launches: int) -> None:
    """Measure the cases that are named on stdin, each a line, and print a JSON record of each."""
    import warp as wp

    from emulator import Cartridge

    for line in sys.stdin:
        path, num_envs, form = line.rstrip("\n").split("\t")
        cartridge = Cartridge.from_file(Path(path))
        emulator = emulator_of(cartridge, int(num_envs), device, form)
        name = wp.get_device(device).name if device != "cpu" else "cpu"
        print(json.dumps(play(emulator, launches) | {"device": name}), flush=True)
        del emulator


def emulator_of(cartridge: Any, num_envs: int, device: str, form: str) -> Any:
    """Return an emulator whose launches take `form`, with nothing left to compile but its first launch."""
    from emulator import Emulator
    from emulator.launch.launch_shapes import Shape, built_in

    hot, _, layout = form.partition(":") if form.startswith("hot") else ("", "", form)
    shape = None
    if layout == "data":
        shape = built_in(num_envs)._replace(tail=0)
    elif layout.isdecimal():
        shape = built_in(num_envs)._replace(tail=int(layout))
    elif layout not in ("", "plain"):
        shape = Shape(*map(int, layout.split(",")))
    emulator = Emulator(cartridge, num_envs, device, shape=shape)
    emulator.wait_for_kernels()
    if hot:
        from emulator.hot_code.search import known_pieces

        emulator.adopt([known_pieces(cartridge, device != "cpu")])
    return emulator


def play(emulator: Any, launches: int) -> dict[str, Any]:
    """Return the seconds of each launch, digests of states and observations, and all executed instructions."""
    import numpy as np
    import warp as wp

    from emulator.state.snapshot import state_hashes

    device, num_envs = emulator.device, emulator.num_envs
    random = np.random.default_rng(1)
    step = -(-num_envs // HASHED)
    seconds, seen, work = [], hashlib.sha256(), 0
    for _ in range(launches):
        held = wp.array((1 << random.integers(0, 8, num_envs)).astype(np.uint8), device=device)
        wp.synchronize_device(device)
        began = time.perf_counter()
        emulator.run(held, FRAMES, RELEASE_AFTER)
        pictures = emulator.observations()
        wp.synchronize_device(device)
        seconds.append(time.perf_counter() - began)
        seen.update(pictures[::step].numpy().tobytes())
        work += int(emulator.work().sum(dtype=np.int64))
    kept = emulator.snapshots(range(0, num_envs, step))
    banks = [emulator.cartridges[0].ram_banks] * len(kept)
    states = state_hashes(np.concatenate([one.console for one in kept]), np.stack([one.row for one in kept]), banks)
    return {
        "seconds": seconds,
        "states": hashlib.sha256("".join(states).encode()).hexdigest()[:12],
        "pictures": seen.hexdigest()[:12],
        "work": work,
    }


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure all cases in turns; return the result as the JSON file holds it."""
    checkouts = {"new": HERE} | ({"base": options.base.resolve()} if options.base else {})
    children = {name: Child(path, options.device, options.launches) for name, path in checkouts.items()}
    rows: list[dict[str, Any]] = []
    equal, same_work, device = True, True, ""
    for num_envs in map(int, options.num_envs.split(",")):
        for rom in options.rom:
            cases = [Case(rom.resolve(), num_envs, form) for form in options.form or ["plain"]]
            found: dict[tuple[str, str], list[dict[str, Any]]] = {}
            for turn in range(options.turns):
                for name in sorted(children, reverse=turn % 2 == 1):
                    for case in cases:
                        found.setdefault((name, case.form), []).append(children[name].measure(case))
            records = [record for many in found.values() for record in many]
            device = records[0]["device"]
            equal &= len({(record["states"], record["pictures"]) for record in records}) == 1
            same_work &= len({record["work"] for record in records}) == 1
            for (name, form), many in found.items():
                row = {"checkout": name, "rom": rom.stem, "num_envs": num_envs, "form": form, **speeds(many, num_envs)}
                rows.append(row | {key: many[0][key] for key in ("states", "pictures", "work")})
                print(Case(rom, num_envs, form), f"{name:4s}", told(row), flush=True)
    for child in children.values():
        child.close()
    return {
        "device": device,
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commits": {name: commit_of(path) for name, path in checkouts.items()},
        "command": " ".join(["python scripts/bench_executors.py", *sys.argv[1:]]),
        "frames_per_launch": FRAMES,
        "launches": options.launches,
        "turns": options.turns,
        "buttons": f"random, held for {RELEASE_AFTER} frames",
        "pictures": "an observation of 72x80 of every console after each launch",
        "equal": equal,
        "same_work": same_work,
        "means": means(rows),
        "rows": rows,
    }


def speeds(records: Sequence[dict[str, Any]], num_envs: int) -> dict[str, float]:
    """Return frames/s from power-on and after 600 frames, by the shortest time of each launch."""
    shortest = [min(times) for times in zip(*(record["seconds"] for record in records), strict=True)]
    parts = {"power_on": shortest[1:POWER_ON], "after_600": shortest[POWER_ON:]}
    return {name: len(part) * FRAMES * num_envs / sum(part) for name, part in parts.items() if part}


def means(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return geometric means over the ROMs, for each size, form and checkout."""
    groups: dict[tuple[int, str, str], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["num_envs"], row["form"], row["checkout"]), []).append(row)
    found = []
    for (num_envs, form, checkout), group in groups.items():
        logs = {name: [math.log(row[name]) for row in group] for name in SPANS if name in group[0]}
        mean = {name: math.exp(math.fsum(values) / len(values)) for name, values in logs.items()}
        found.append({"num_envs": num_envs, "form": form, "checkout": checkout, **mean})
    return found


def told(row: dict[str, Any]) -> str:
    """Return the figures of a row in words."""
    return ", ".join(f"{row[name] / 1e6:7.3f} M frames/s {words}" for name, words in SPANS.items() if name in row)


def commit_of(checkout: Path) -> str:
    """Return the short commit of a checkout, or its folder's name where git does not know it."""
    asked = subprocess.run(
        ["git", "-C", str(checkout), "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    )
    return asked.stdout.strip() or checkout.name


def show(result: dict[str, Any]) -> None:
    """Print the means, and how many times the base's and the first form's each is."""
    means = result["means"]
    by_key = {(mean["num_envs"], mean["form"], mean["checkout"]): mean for mean in means}
    first = means[0]["form"]
    for mean in means:
        num_envs, form, checkout = (mean[key] for key in ("num_envs", "form", "checkout"))
        others = {"base": (num_envs, form, "base")} if checkout == "new" else {}
        others |= {f"{first} form": (num_envs, first, checkout)} if form != first else {}
        times = "".join(
            f", {' and '.join(f'{mean[part] / other[part]:.3f}' for part in SPANS if part in mean)} times the {name}"
            for name, key in others.items()
            if (other := by_key.get(key))
        )
        print(f"{num_envs:6d} geometric mean, {form}, {checkout}: {told(mean)}{times}")
    print(f"states and pictures {'equal' if result['equal'] else 'DIFFERENT'},", end=" ")
    print(f"counts of instructions {'equal' if result['same_work'] else 'different'}")


def main() -> int:
    """Run the comparison, or as a child the measurements that the parent asks for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("rom", nargs="*", type=Path)
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--num-envs", default="256,1024", help="sizes of the batch, with commas")
    parser.add_argument(
        "--form", action="append", help="plain (default), data, a number, a shape, hot or hot: and one of these"
    )
    parser.add_argument("--base", type=Path, help="another checkout, to compare with")
    parser.add_argument("--launches", type=int, default=2 * POWER_ON)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--json", type=Path, help="file to write the result to")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        serve(options.device, options.launches)
        return 0
    if not options.rom or options.launches < 2:
        parser.error("give the file of a ROM, and at least 2 launches")
    result = run(options)
    show(result)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 0 if result["equal"] else 1


if __name__ == "__main__":
    sys.exit(main())
