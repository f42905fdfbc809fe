"""A player that speaks the protocol and draws a test picture: the double of trainer_core.player.

    python tests/gui/echo_player.py PLAYER_DIR

The picture's row 0 tells what it knows: the mask's bits, who plays, the frame's low bits. A
checkpoint folder that does not exist cannot be loaded.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from queue import Empty, SimpleQueue

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from trainer_core.protocol import commands, records
from trainer_core.protocol.frames import FLAG_RECORDING, FrameInfo, FrameShape, FrameWriter
from trainer_core.protocol.recording import Recording, write_recording

WIDTH, HEIGHT = 160, 144


def picture(mask: int, who: int, frame: int) -> bytes:
    rows = bytearray(WIDTH * HEIGHT)
    for y in range(1, HEIGHT):
        rows[y * WIDTH : (y + 1) * WIDTH] = bytes((x // 8 + y // 8) % 4 for x in range(WIDTH))
    for bit in range(8):
        rows[bit] = 3 * (mask >> bit & 1)
        rows[16 + bit] = 3 * (frame >> bit & 1)
    rows[8] = 3 * who
    return bytes(rows)


def packed(shades: bytes) -> bytes:
    return bytes(
        shades[i] | shades[i + 1] << 2 | shades[i + 2] << 4 | shades[i + 3] << 6
        for i in range(0, len(shades), 4)
    )


class EchoPlayer:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.config = json.loads((folder / "config.json").read_text())
        self.events = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        self.inbox: SimpleQueue[commands.Command | None] = SimpleQueue()
        self.mask = 0
        self.who = 1 if self.config["mode"] == "human" else 0
        self.paused = False
        self.frame = 0
        self.speed = self.config["speed"]
        self.shots: list[tuple[bytes, int]] | None = None
        self.done = False

    def listen(self) -> None:
        for line in open(0, "rb", buffering=0, closefd=False):  # noqa: SIM115
            self.inbox.put(commands.decode(line))
        self.inbox.put(None)

    def tell(self, kind: type[records.Record], **fields: object) -> None:
        record = kind(run_id=self.folder.name, seq=0, time=time.time(), **fields)
        self.events.write(records.encode(record))
        self.events.flush()

    def load(self, checkpoint: str) -> str:
        if self.config["mode"] != "human" and not Path(checkpoint).is_dir():
            return f"{checkpoint}: no such checkpoint"
        return ""

    def run(self) -> int:
        reason = self.load(self.config["checkpoint"])
        if reason:
            print(f"player: {reason}", file=sys.stderr)
            return 1
        threading.Thread(target=self.listen, daemon=True).start()
        self.writer = FrameWriter(self.folder / "frames.bin", FrameShape(WIDTH, HEIGHT))
        self.show()
        deadline = time.monotonic()
        while not self.done:
            deadline += 1 / 60 / (self.speed or 8)
            while not self.done and (left := deadline - time.monotonic()) > 0:
                try:
                    self.take(self.inbox.get(timeout=left))
                except Empty:
                    break
            if not self.paused:
                self.frame += 1
                self.show()
        return 0

    def show(self) -> None:
        shades = picture(self.mask, self.who, self.frame)
        flags = FLAG_RECORDING if self.shots is not None else 0
        info = FrameInfo(
            buttons=self.mask, who=self.who, frame=self.frame, speed=self.speed, action=3,
            flags=flags,
        )  # fmt: skip
        self.writer.publish(shades, info)
        if self.shots is not None:
            self.shots.append((packed(shades), self.mask))

    def take(self, command: commands.Command | None) -> None:
        if command is None:
            os.killpg(0, 9)
        detail, ok = "", True
        match command:
            case commands.Stop():
                self.done = True
            case commands.Pause() | commands.Resume():
                self.paused = isinstance(command, commands.Pause)
            case commands.StepOnce():
                self.frame += 1
                self.show()
            case commands.SetButtons():
                self.mask = command.mask
            case commands.Takeover():
                self.who = int(command.human)
            case commands.SetSpeed():
                self.speed = command.value
            case commands.LoadPolicy():
                detail = self.load(command.checkpoint)
                ok = not detail
            case commands.Record():
                detail = self.record(command.on)
            case commands.SaveState() | commands.CaptureGoal():
                Path(command.path).parent.mkdir(parents=True, exist_ok=True)
                Path(command.path).write_bytes(b"state")
        self.tell(records.AckEvent, id=command.id, ok=ok, detail=detail)

    def record(self, on: bool) -> str:
        if on:
            self.shots = []
            return ""
        shots, self.shots = self.shots or [], None
        folder = self.folder / "recordings" / f"{self.frame:06d}"
        folder.mkdir(parents=True)
        (folder / "pictures.bin").write_bytes(b"".join(data for data, _ in shots))
        (folder / "buttons.bin").write_bytes(bytes(mask for _, mask in shots))
        steps = [
            {"step": i, "frame": i * 4, "action": i % 7, "reward": 0.01 * (i % 3 - 1), "dist": 0.5}
            for i in range(len(shots) // 4)
        ]
        (folder / "steps.jsonl").write_text("\n".join(json.dumps(step) for step in steps))
        recording = Recording(
            task=self.config["task"], rom_sha256="", state="start", frames=len(shots),
            created_at=time.time(), mode=self.config["mode"],
        )  # fmt: skip
        write_recording(folder, recording)
        return str(folder)


if __name__ == "__main__":
    player = EchoPlayer(Path(sys.argv[1]))
    code = player.run()
    sys.stderr.flush()
    os._exit(code)
