"""A player that speaks the protocol and draws a test picture: the double of trainer_core.player.

    python tests/gui/echo_player.py PLAYER_DIR

The picture's row 0 tells what it knows: the mask's bits, who plays, the frame's low bits; while a
button is held the rows below are inverted. A
checkpoint folder that does not exist cannot be loaded. Lines and files are written here in full, as
docs/reference/protocol.md and the modules' pictures of their layouts have them, by no code of the product.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import sys
import threading
import time
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, BinaryIO

Fields = dict[str, Any]
HEADER, SLOT = struct.Struct("<4sHBBHHHxxQ"), struct.Struct("<QQdfffBBbBQ")
"""Of frames.bin: magic, version, format, slots, width, height, envs, seq; and seq, env_steps, time,
reward, dist, speed, buttons, who, action, flags, frame. Each lies in 64 bytes."""
SLOTS, RECORDING_FLAG = 3, 8
WIDTH, HEIGHT = 160, 144
BOARD = bytes((x // 8 + y // 8) % 4 if y else 0 for y in range(HEIGHT) for x in range(WIDTH))
HELD = BOARD[:WIDTH] + bytes(3 - shade for shade in BOARD[WIDTH:])


def picture(mask: int, who: int, frame: int) -> bytes:
    rows = bytearray(HELD if mask else BOARD)
    for bit in range(8):
        rows[bit] = 3 * (mask >> bit & 1)
        rows[16 + bit] = 3 * (frame >> bit & 1)
    rows[8] = 3 * who
    return bytes(rows)


class Frames:
    """frames.bin, written round robin."""

    def __init__(self, path: Path, envs: int = 1) -> None:
        self.envs = envs
        size = 64 + SLOTS * (64 + envs * WIDTH * HEIGHT)
        with path.open("w+b") as file:
            file.truncate(size)
            self.map = mmap.mmap(file.fileno(), size)
        self.seq = 0
        self.head(0)

    def head(self, seq: int) -> None:
        HEADER.pack_into(self.map, 0, b"DMGF", 1, 0, SLOTS, WIDTH, HEIGHT, self.envs, seq)

    def publish(self, shades: bytes, speed: float, *fields: int) -> None:
        """`fields` are buttons, who, action, flags, frame."""
        self.seq += 1
        start = 64 + self.seq % SLOTS * (64 + self.envs * WIDTH * HEIGHT)
        self.map[start : start + 8] = bytes(8)
        self.map[start + 64 : start + 64 + len(shades)] = shades
        SLOT.pack_into(self.map, start, self.seq, 0, time.monotonic(), 0.0, 0.0, speed, *fields)
        self.head(self.seq)


class Recorded:
    """A recording while it is made: 4 pixels a byte, a step after every fourth frame."""

    def __init__(self, folder: Path, task: str, mode: str) -> None:
        folder.mkdir(parents=True)
        self.folder, self.frames = folder, 0
        self.about = {
            "v": 1,
            "task": task,
            "rom_sha256": "",
            "state": "state.npz",
            "mode": mode,
            "created_at": time.time(),
        }
        (folder / "state.npz").write_bytes(b"state")
        self.pictures, self.buttons, self.steps = (
            self.open(name) for name in ("pictures.bin", "buttons.bin", "steps.jsonl")
        )

    def open(self, name: str) -> BinaryIO:
        return (self.folder / name).open("wb")

    def add(self, shades: bytes, mask: int) -> None:
        rows = zip(shades[0::4], shades[1::4], shades[2::4], shades[3::4], strict=True)
        self.pictures.write(bytes(a | b << 2 | c << 4 | d << 6 for a, b, c, d in rows))
        self.buttons.write(bytes((mask,)))
        self.frames += 1
        if self.frames % 4 == 0:
            step = self.frames // 4
            line = {
                "step": step,
                "first_frame": self.frames - 4,
                "last_frame": self.frames - 1,
                "action": (step - 1) % 7,
                "reward": 0.01 * ((step - 1) % 3 - 1),
                "dist": 0.5,
            }
            self.steps.write(json.dumps(line).encode() + b"\n")

    def finish(self) -> str:
        for file in (self.pictures, self.buttons, self.steps):
            file.close()
        manifest = json.dumps({**self.about, "frames": self.frames})
        (self.folder / "recording.json").write_text(manifest)
        return str(self.folder)


class EchoPlayer:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        asked = json.loads((folder / "config.json").read_text())
        self.task, self.mode = asked["task"], asked.get("mode", "human")
        self.checkpoint, self.rival = asked.get("checkpoint", ""), asked.get("rival", "")
        self.events = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        self.inbox: SimpleQueue[Fields | None] = SimpleQueue()
        self.mask = 0
        self.who = 1 if self.mode == "human" else 0
        self.paused = self.backwards = False
        self.frame = self.before = 0
        self.speed = asked.get("speed", 1.0)
        self.recording: Recorded | None = None
        self.done = False

    def listen(self) -> None:
        for line in open(0, "rb", buffering=0, closefd=False):  # noqa: SIM115
            self.inbox.put(json.loads(line))
        self.inbox.put(None)

    def acknowledge(self, command: int, ok: bool, detail: str) -> None:
        self.tell("ack", id=command, ok=ok, detail=detail)

    def tell(self, kind: str, **fields: Any) -> None:
        line = {"type": kind, "v": 2, "run_id": self.folder.name, "seq": 0, "time": time.time(), **fields}
        self.events.write(json.dumps(line).encode() + b"\n")
        self.events.flush()

    def load(self, checkpoint: str) -> str:
        if Path(self.task).name == "bad.gb":
            return f"{self.task}: 7 bytes are no ROM"
        if self.mode != "human" and not Path(checkpoint).is_dir():
            return f"{checkpoint}: no such checkpoint"
        return ""

    def run(self) -> int:
        reason = self.load(self.checkpoint)
        if reason:
            print(f"player: {reason}", file=sys.stderr)
            return 1
        threading.Thread(target=self.listen, daemon=True).start()
        self.writer = Frames(self.folder / "frames.bin", 2 if self.rival else 1)
        if self.rival:
            side = {
                "steps": 9,
                "action": 3,
                "dist": 0.5,
                "episode_return": 0.0,
                "success": False,
                "over": False,
                "wins": 0,
            }
            quick = side | {"checkpoint": self.rival, "success": True, "over": True, "wins": 1}
            sides = [side | {"checkpoint": self.checkpoint}, quick]
            self.tell("versus", episode=2, start=1, draws=0, sides=sides)
        self.show()
        deadline = time.monotonic()
        while not self.done:
            deadline = max(deadline + 1 / 60 / (self.speed or 8), time.monotonic())
            while not self.done:  # a late frame is no reason not to hear what has come
                try:
                    self.take(self.inbox.get(timeout=max(deadline - time.monotonic(), 0.0)))
                except Empty:
                    break
            if self.backwards or not self.paused:
                self.frame = max(0, self.frame + (-1 if self.backwards else 1))
                self.show()
        self.record(False)
        return 0

    def show(self) -> None:
        shades = picture(self.mask, self.who, self.frame)
        flags = RECORDING_FLAG if self.recording is not None else 0
        both = shades + bytes(len(shades)) if self.rival else shades
        self.writer.publish(both, self.speed, self.mask, self.who, 3, flags, self.frame)
        if self.recording is not None:
            self.recording.add(shades, self.mask)

    def take(self, command: Fields | None) -> None:
        if command is None:
            os.killpg(0, 9)
            return
        detail, ok = "", True
        match command["cmd"]:
            case "stop":
                self.done = True
            case "pause" | "resume" as verb:
                self.paused = verb == "pause"
            case "step":
                self.frame += 1
                self.show()
            case "buttons":
                self.mask = command["mask"]
            case "takeover":
                self.who = int(command["human"])
            case "speed":
                self.speed = command["value"]
            case "load":
                detail = self.load(command["checkpoint"])
                ok = not detail
            case "record":
                detail = self.record(command["on"])
            case "save_state":
                path = Path(command["path"])
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(f"state {self.frame}".encode())
            case "load_state":
                text = Path(command["path"]).read_text()
                ok, detail = text.startswith("state "), f"{command['path']}: no state of this game"
                if ok:
                    self.before, self.frame, detail = self.frame, int(text[6:]), ""
                    self.show()
            case "undo_load":
                self.frame, self.before = self.before, self.frame
                self.show()
            case "play_on":
                self.frame = command["frame"]
                self.show()
            case "saliency":
                ok = "blind" not in Path(self.checkpoint).name
                detail = "" if ok else "what plays cannot tell what it looks at"
                if ok and command["on"]:
                    self.tell("saliency", step=1, rows=2, columns=2, weights=[0.0, 0.0, 0.0, 2.0])
            case "rewind":
                self.backwards = command["on"]
            case "capture_goal":
                detail = self.capture_goal(Path(command["path"]), command.get("way", ""))
        self.acknowledge(command["id"], ok, detail)

    def capture_goal(self, path: Path, way: str) -> str:
        """Every fourth pixel of the picture as the template, and a way of 7 frames."""
        import numpy as np

        shades = np.frombuffer(picture(self.mask, self.who, self.frame), np.uint8)
        blocks = shades.reshape(72, 2, 80, 2).astype(int).sum((1, 3))
        path.parent.mkdir(parents=True, exist_ok=True)
        np.savez(path, templates=((blocks + 2) >> 2).astype(np.uint8)[None])
        if not way:
            return ""
        Path(way).write_bytes(b"way")
        return "7"

    def record(self, on: bool) -> str:
        if on:
            folder = self.folder / "recordings" / f"{self.frame:06d}"
            self.recording = Recorded(folder, self.task, self.mode)
            return ""
        made, self.recording = self.recording, None
        return made.finish() if made else ""


if __name__ == "__main__":
    player = EchoPlayer(Path(sys.argv[1]))
    code = player.run()
    sys.stderr.flush()
    os._exit(code)
