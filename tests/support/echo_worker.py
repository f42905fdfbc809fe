"""A worker that speaks the protocol and does nothing else: the test double of trainer_core.worker.

    python tests/support/echo_worker.py RUN_DIR [OPTIONS]

Writes a meta record, then update records whose values follow simple formulas, announces one
checkpoint, answers commands, ends on stop or when stdin closes. It says all of it in its own words,
as docs/reference/protocol.md has them: what it shared with the code under test, no test could find wrong.
OPTIONS, or config.json's key `echo`, is JSON: {"updates", "interval_s", "ignore_stop",
"ignore_term", "unsent" (updates that are in the log alone), "child", "child_session", "crash_at",
"garbage", "compiles" (it says so until somebody makes the file `compiled`), "validates" (it says
so until there is the file `validated`, then "found"), "says" (these bytes and nothing else, then
status 0), "stop_words" (pairs of what it says that it does before a stop's checkpoint, and for how
many grows, and total_env_steps holds)}.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

VERSION, STEPS = 2, 2048
"""Of the log's schema; environment steps of an update."""
Fields = dict[str, Any]


class Echo:
    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        if len(sys.argv) > 2:
            self.options = json.loads(sys.argv[2])
        else:
            self.options = json.loads((run_dir / "config.json").read_text()).get("echo", {})
        if self.options.get("as_configured"):
            run = json.loads((run_dir / "config.json").read_text())["run"]
            self.options["gain"] = run["learning_rate"]
            self.options["updates"] = run["total_env_steps"] // STEPS
        self.events = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        self.log = (run_dir / "train_log.jsonl").open("ab")
        self.seq = 0
        self.inbox: SimpleQueue[Fields | None] = SimpleQueue()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self) -> None:
        # Unbuffered: a thread inside a buffered reader aborts the interpreter when it shuts down.
        for line in open(0, "rb", buffering=0, closefd=False):  # noqa: SIM115
            self.inbox.put(json.loads(line))
        self.inbox.put(None)

    def emit(self, kind: str, *, durable: bool = True, **fields: object) -> None:
        record = {
            "type": kind,
            "v": VERSION,
            "run_id": self.run_dir.name,
            "seq": self.seq,
            "time": time.time(),
            **fields,
        }
        line = json.dumps(record).encode() + b"\n"
        if durable:
            self.log.write(line)
            self.log.flush()
            self.seq += 1
        if fields.get("update") not in self.options.get("unsent", ()):
            try:
                self.events.write(line)
                self.events.flush()
            except BrokenPipeError:  # who reads is gone: that is what the end of stdin says, too
                os.killpg(0, signal.SIGKILL)

    def state(self, state: str, detail: str = "") -> None:
        self.emit("state", durable=False, state=state, detail=detail)

    def update(self, update: int, sps: float) -> None:
        won = min(1.0, self.options.get("gain", 1.0) * update / 50)
        ended, lost = won / 20 + (1 - won) / 64, (1 - won) / 64
        self.emit(
            "update", trace_id=f"{self.run_dir.name}-{update}", update=update,
            env_steps=update * STEPS, opt_steps=update * 12, wall_time_s=update * 0.05, sps=sps,
            updates_per_s=20.0, reward_mean=-0.01 + 0.02 * won, done_rate=won / 20,
            trunc_rate=lost, reset_rate=ended, success_rate=won, episodes=round(ended * STEPS),
            dist_p10=0.05, dist_p50=0.2, dist_p90=0.3, entropy_mean=1.94 - won, value_mean=won,
            value_std=0.1, action_hist=[293, 293, 293, 293, 292, 292, 292], policy_loss=-0.01,
            value_loss=0.02, entropy_loss=-1.9, approx_kl=0.01, clipfrac=0.1, vf_clipfrac=0.0,
            explained_variance=won, grad_norm=0.4, learning_rate=5e-4,
            time_split={"emulate": 0.02, "observe": 0.0, "forward": 0.01, "learn": 0.02,
                        "log": 0.0},
        )  # fmt: skip

    def run(self) -> int:
        print("a stray print that must not break the stream")
        if self.options.get("child"):
            subprocess.Popen(["sleep", "600"])
        if self.options.get("child_session"):
            child = subprocess.Popen(["sleep", "600"], start_new_session=True)
            (self.run_dir / "child.pid").write_text(str(child.pid))
        if (said := self.options.get("says")) is not None:
            self.events.write(said.encode())
            self.events.flush()
            return 0
        self.state("starting", "echo")
        if self.options.get("compiles"):
            self.compile()
        self.emit(
            "meta", runner="native", task="echo", algo="ppo", config={"num_envs": 64},
            argv=sys.argv, codec="buttons7.v1", observation_rule="mean2x2.v1", stack_k=1,
            frames_per_step=24, release_after_frames=8, num_envs=64, seed=1, device="cpu",
            device_name="echo", versions={"python": "3"},
        )  # fmt: skip
        self.state("running")
        interval, paused = self.options.get("interval_s", 0.05), False
        if self.options.get("validates"):
            words = "validating 7 of 16 episodes, 40% played"
            self.emit("state", durable=False, state="running", detail=words, progress=0.4)
            while not (self.run_dir / "validated").exists():
                time.sleep(0.01)
            self.state("running", self.options.get("found", ""))
        for update in range(1, self.options.get("updates", 100) + 1):
            if update == self.options.get("crash_at"):
                os.kill(os.getpid(), signal.SIGKILL)
            if self.options.get("garbage"):
                self.events.write(b'not json\n{"type":"update"}\n')
            self.update(update, STEPS / max(interval, 1e-6))
            deadline = time.monotonic() + interval
            while paused or time.monotonic() < deadline:
                try:
                    command = self.inbox.get(timeout=max(0.001, deadline - time.monotonic()))
                except Empty:
                    continue
                if command is None:
                    os.killpg(0, signal.SIGKILL)
                assert command is not None
                self.emit("ack", durable=False, id=command["id"], ok=True)
                verb = command["cmd"]
                if verb == "stop" and not self.options.get("ignore_stop"):
                    for words, seconds in self.options.get("stop_words", ()):
                        self.state("stopping", words)
                        time.sleep(seconds)
                    self.checkpoint(update, "stop")
                    self.state("stopped")
                    return 0
                if verb in ("pause", "resume"):
                    paused = verb == "pause"
                    self.state("paused" if paused else "running")
        self.checkpoint(self.options.get("updates", 100), "final")
        self.state("finished")
        return 0

    def compile(self) -> None:
        """Say what a worker with an empty kernel cache says, until the file `compiled` is there."""
        for part, progress, name in ((1, 0.0, "launch.native"), (2, 0.87, "ppu.render_parallel")):
            detail = f"compiling the Game Boy: part {part}, {name}"
            self.emit("state", durable=False, state="starting", detail=detail, progress=progress)
        while not (self.run_dir / "compiled").exists():
            time.sleep(0.01)

    def checkpoint(self, update: int, reason: str) -> None:
        path, weights = f"checkpoints/{update * STEPS:012d}", b"\0" * 16
        digest = hashlib.sha256(weights).hexdigest()
        meta = {
            "v": 1,
            "run_id": self.run_dir.name,
            "task": "tiny_goal",
            "env_steps": update * STEPS,
            "update": update,
            "policy": "small",
            "obs_shape": [1, 72, 80],
            "num_actions": 7,
            "codec": "buttons7.v1",
            "observation_rule": "mean2x2.v1",
            "success_rate": 0.5,
            "config": {"task": "tiny_goal"},
            "hashes": {},
            "files": {"policy.safetensors": digest},
        }
        (self.run_dir / path).mkdir(parents=True, exist_ok=True)
        (self.run_dir / path / "policy.safetensors").write_bytes(weights)
        (self.run_dir / path / "meta.json").write_text(json.dumps(meta))
        self.emit(
            "checkpoint",
            env_steps=update * STEPS,
            path=path,
            sha256=digest,
            size_bytes=16,
            success_rate=0.5,
            reason=reason,
        )


if __name__ == "__main__":
    echo = Echo(Path(sys.argv[1]))
    if echo.options.get("ignore_term"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(echo.run())
