"""A worker that speaks the protocol and does nothing else: the test double of trainer_core.worker.

    python tests/trainer_core/echo_worker.py RUN_DIR [OPTIONS]

Writes a meta record, then update records whose values follow simple formulas, announces one
checkpoint, answers commands, ends on stop or when stdin closes. OPTIONS, or config.json's key
`echo`, is JSON: {"updates", "interval_s", "ignore_stop", "ignore_term", "child", "crash_at",
"garbage"}.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from queue import Empty, SimpleQueue

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from trainer_core.protocol import commands, records
from trainer_core.protocol.paths import RunPaths


def update_record(run_id: str, seq: int, update: int, sps: float) -> records.UpdateRecord:
    done = min(1.0, update / 50)
    return records.UpdateRecord(
        run_id=run_id, seq=seq, time=time.time(), trace_id=f"{run_id}-{update}", update=update,
        env_steps=update * 2048, opt_steps=update * 12, wall_time_s=update * 0.05, sps=sps,
        updates_per_s=20.0, reward_mean=-0.01 + 0.02 * done, done_rate=done / 20,
        trunc_rate=(1 - done) / 64, reset_rate=done / 20 + (1 - done) / 64, success_rate=done,
        episodes=100, dist_p10=0.05, dist_p50=0.2, dist_p90=0.3, entropy_mean=1.94 - done,
        value_mean=done, value_std=0.1, action_hist=[293, 293, 293, 293, 292, 292, 292],
        policy_loss=-0.01, value_loss=0.02, entropy_loss=-1.9, approx_kl=0.01, clipfrac=0.1,
        vf_clipfrac=0.0, explained_variance=done, grad_norm=0.4, learning_rate=5e-4,
        time_split={"emulate": 0.02, "observe": 0.0, "forward": 0.01, "learn": 0.02, "log": 0.0},
    )  # fmt: skip


class Echo:
    def __init__(self, run_dir: Path) -> None:
        self.paths = RunPaths(run_dir)
        if len(sys.argv) > 2:
            self.options = json.loads(sys.argv[2])
        else:
            self.options = json.loads(self.paths.config.read_text()).get("echo", {})
        self.events = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        self.log = self.paths.train_log.open("ab")
        self.seq = 0
        self.inbox: SimpleQueue[commands.Command | None] = SimpleQueue()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self) -> None:
        # Unbuffered: a thread inside a buffered reader aborts the interpreter when it shuts down.
        for line in open(0, "rb", buffering=0, closefd=False):  # noqa: SIM115
            self.inbox.put(commands.decode(line))
        self.inbox.put(None)

    def emit(self, record: records.Record, *, durable: bool = True) -> None:
        line = records.encode(record)
        if durable:
            self.log.write(line)
            self.log.flush()
            self.seq += 1
        self.events.write(line)
        self.events.flush()

    def envelope(self) -> dict[str, object]:
        return {"run_id": self.paths.run_id, "seq": self.seq, "time": time.time()}

    def state(self, state: str, detail: str = "") -> None:
        self.emit(records.StateEvent(**self.envelope(), state=state, detail=detail), durable=False)

    def run(self) -> int:
        print("a stray print that must not break the stream")
        if self.options.get("child"):
            subprocess.Popen(["sleep", "600"])
        self.state("starting", "echo")
        self.emit(
            records.MetaRecord(
                **self.envelope(),
                runner="echo",
                task="echo",
                algo="ppo",
                config={},
                argv=sys.argv,
                git_sha="",
                rom_sha256="",
                starts_sha256="",
                goal_sha256="",
                codec="buttons7.v1",
                observation_rule="mean2x2.v1",
                stack_k=1,
                frames_per_step=24,
                release_after_frames=8,
                num_envs=64,
                seed=1,
                device="cpu",
                device_name="echo",
                versions={},
            )
        )
        self.state("running")
        interval, paused = self.options.get("interval_s", 0.05), False
        for update in range(1, self.options.get("updates", 100) + 1):
            if update == self.options.get("crash_at"):
                os.kill(os.getpid(), signal.SIGKILL)
            if self.options.get("garbage"):
                self.events.write(b'not json\n{"type":"update"}\n')
            self.emit(
                update_record(self.paths.run_id, self.seq, update, 2048 / max(interval, 1e-6))
            )
            deadline = time.monotonic() + interval
            while paused or time.monotonic() < deadline:
                try:
                    command = self.inbox.get(timeout=max(0.001, deadline - time.monotonic()))
                except Empty:
                    continue
                if command is None:
                    os.killpg(0, signal.SIGKILL)
                self.emit(records.AckEvent(**self.envelope(), id=command.id), durable=False)
                if isinstance(command, commands.Stop) and not self.options.get("ignore_stop"):
                    self.checkpoint(update, "stop")
                    self.state("stopped")
                    return 0
                if isinstance(command, commands.Pause | commands.Resume):
                    paused = isinstance(command, commands.Pause)
                    self.state("paused" if paused else "running")
        self.checkpoint(self.options.get("updates", 100), "final")
        self.state("finished")
        return 0

    def checkpoint(self, update: int, reason: str) -> None:
        folder = self.paths.checkpoint(update * 2048)
        folder.mkdir(parents=True)
        (folder / "policy.safetensors").write_bytes(b"\0" * 16)
        self.emit(
            records.CheckpointRecord(
                **self.envelope(),
                env_steps=update * 2048,
                path=str(folder.relative_to(self.paths.root)),
                sha256="0" * 64,
                size_bytes=16,
                success_rate=0.5,
                reason=reason,
            )
        )


if __name__ == "__main__":
    echo = Echo(Path(sys.argv[1]))
    if echo.options.get("ignore_term"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.exit(echo.run())
