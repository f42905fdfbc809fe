"""The process of EchoRunner; standard library only, its own lines, files and ways.

python echo_trainer.py train RUN_DIR
python echo_trainer.py play PLAYER_DIR CHECKPOINT
"""

import hashlib
import json
import os
import signal
import sys
import time
from pathlib import Path

STEPS = 10
"""Of an episode."""


def say(event: str, step: int, **fields: object) -> None:
    line = json.dumps({"t": time.time(), "event": event, "step": step, **fields})
    print("@@" + line, flush=True)


def save(run_dir: Path, step: int, learned: int, why: str) -> None:
    path = run_dir / "saves" / f"step-{step:06d}.json"
    path.parent.mkdir(exist_ok=True)
    data = json.dumps({"step": step, "learned": learned, "pid": os.getpid()}).encode()
    path.write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    where = str(path.relative_to(run_dir))
    say("saved", step, path=where, sha256=digest, size=len(data), why=why)


def train(run_dir: Path) -> int:
    asked = json.loads((run_dir / "config.json").read_text())["run"]
    stop: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: stop.append(number))
    print("Echo greets on standard output, as libraries do", flush=True)
    saves = sorted(run_dir.glob("saves/step-*.json"))
    donor = Path(asked["warm_start"]) if asked["warm_start"] else None
    begun = json.loads(saves[-1].read_text()) if saves else {"step": 0, "learned": 0}
    if donor and not saves:
        begun["learned"] = json.loads(donor.read_text())["learned"]
    step, learned = begun["step"], begun["learned"]
    began = time.monotonic()
    limit = asked["total_env_steps"] or asked["episodes"] * STEPS
    while step < limit and not stop:
        time.sleep(asked["pause_s"])
        step, learned = step + STEPS, learned + STEPS
        say(
            "scalar",
            step,
            tag="hallway/mean_return",
            value=learned / 1000,
            seconds=time.monotonic() - began,
            speed=STEPS / max(asked["pause_s"], 1e-3),
        )
    save(run_dir, step, learned, "stop" if stop else "final")
    return 0


def play(player_dir: Path, checkpoint: Path) -> int:
    json.loads(checkpoint.read_text())
    (player_dir / "frames.bin").write_bytes(b"")
    time.sleep(60)
    return 0


if __name__ == "__main__":
    verb, folder, *rest = sys.argv[1:]
    sys.exit(train(Path(folder)) if verb == "train" else play(Path(folder), Path(rest[0])))
