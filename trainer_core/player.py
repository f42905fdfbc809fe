"""`python -m trainer_core.player PLAYER_DIR`: one machine in real time, a person or a policy plays.

config.json: {"task", "checkpoint" or "", "mode": "human|greedy|sample", "device", "speed", "seed"}.
Every frame's picture goes to frames.bin. A policy acts every 24 frames and lets go after 8, exactly
as in training. Commands and events: docs/protocol.md.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections import deque
from pathlib import Path
from queue import Empty, SimpleQueue

import msgspec

from trainer_core.agent import Agent
from trainer_core.console import open_console
from trainer_core.envs.task_files import save_goal
from trainer_core.protocol import commands, frames, records
from trainer_core.protocol.buttons import ACTION_MASKS
from trainer_core.protocol.errors import LabError, ProtocolError
from trainer_core.protocol.paths import HomePaths, default_home
from trainer_core.protocol.recording import FRAMES_PER_SECOND, HEIGHT, WIDTH
from trainer_core.recorder import Recorder
from trainer_core.worker import Pipe, die_with_parent, end_group

EVENT_INTERVAL_S = 0.1
HEARTBEAT_S = 1.0
RESYNC_S = 0.25
"""Later than this behind its schedule, the player drops the schedule instead of racing after it."""
END_PAUSE_S = 0.5
"""The last picture of an agent's episode stays this long at speed 1."""
SPEED_WINDOW = 60


class PlayConfig(msgspec.Struct, kw_only=True, frozen=True):
    """config.json of a player."""

    task: str
    checkpoint: str = ""
    mode: str = "human"
    device: str = "cpu"
    speed: float = 1.0
    seed: int = 1


class Pacer:
    """Says when the next frame is due, at a steady rate, and measures the rate that was kept."""

    def __init__(self, speed: float) -> None:
        self.speed = speed
        self._due = time.monotonic()
        self._shown: deque[float] = deque(maxlen=SPEED_WINDOW)

    def wait(self) -> None:
        """Sleep until the next frame is due; at speed 0 never."""
        now = time.monotonic()
        if self.speed > 0:
            self._due += 1 / (FRAMES_PER_SECOND * self.speed)
            if now - self._due > RESYNC_S:
                self._due = now
            elif self._due > now:
                time.sleep(self._due - now)
        self._shown.append(time.monotonic())

    def restart(self) -> None:
        """After a pause: the schedule begins now."""
        self._due = time.monotonic()
        self._shown.clear()

    def hold(self, seconds: float) -> None:
        """Show the present picture for longer."""
        self._due += seconds

    @property
    def measured(self) -> float:
        """The rate of the last SPEED_WINDOW frames over 59.7."""
        if len(self._shown) < 2:
            return 0.0
        elapsed = self._shown[-1] - self._shown[0]
        return (len(self._shown) - 1) / max(elapsed, 1e-6) / FRAMES_PER_SECOND


class Events:
    """The player's side of the pipe; nothing of it is logged."""

    def __init__(self, pipe: Pipe, run_id: str) -> None:
        self._pipe, self._run_id = pipe, run_id
        self._lock = threading.Lock()

    def tell(self, kind: type[records.Record], /, **fields: object) -> None:
        record = kind(run_id=self._run_id, seq=0, time=time.time(), **fields)  # type: ignore[call-arg]
        with self._lock:
            self._pipe.write(records.encode(record))


class Player:
    """The loop: commands, one frame, its picture, and every 24 frames the agent's turn."""

    def __init__(self, directory: Path, config: PlayConfig, events: Events) -> None:
        self.directory, self.config, self.events = directory, config, events
        self.home = home_of(directory)
        self.console = open_console(config.task, self.home)
        self.agent: Agent | None = None
        if config.checkpoint:
            self.agent = self._load(config.checkpoint)
        if config.mode != "human" and self.agent is None:
            raise LabError(f"mode {config.mode} needs a checkpoint; mode human needs none")
        self.human = config.mode == "human"
        self.pacer = Pacer(config.speed)
        self.inbox: SimpleQueue[commands.AnyCommand | None] = SimpleQueue()
        self.writer = frames.FrameWriter(
            directory / "frames.bin.new", frames.FrameShape(WIDTH, HEIGHT)
        )
        self.recorder: Recorder | None = None
        self.last_recording = ""
        self.running, self.paused = True, False
        self._allowance = 0
        self._held = self._tapped = 0
        self._start = config.seed % self.console.num_starts
        self._frame = self._episode = 0
        self._next_event = 0.0
        self._begin_episode()
        self.publish(0)
        (directory / "frames.bin.new").replace(directory / "frames.bin")

    # -- one frame --------------------------------------------------------------------------

    def run(self) -> None:
        """Play until told to stop."""
        while self.running:
            self._take_commands()
            if self.running and (not self.paused or self._allowance):
                self._allowance = max(0, self._allowance - 1)
                self._one_frame()
                if not self.paused:
                    self.pacer.wait()
        if self.recorder is not None:
            self._end_recording()
        self.writer.close()

    def _one_frame(self) -> None:
        console = self.console
        if self._phase == 0 and not self.human and self.agent is not None:
            self._action = self.agent.act()
        buttons = self._buttons()
        console.frame(buttons)
        self._frame += 1
        self._phase += 1
        if self.recorder is not None:
            self.recorder.add_frame(console.picture(), buttons)
        ended = self._phase == console.frames_per_step and self._end_step(buttons)
        self.publish(buttons)
        self._flags = 0
        if self.recorder is not None and (ended or self.recorder.is_full):
            self._end_recording()
        if ended:
            self.pacer.hold(END_PAUSE_S / max(self.pacer.speed, 1.0))
            self._start = (self._start + 1) % console.num_starts
            self._begin_episode()

    def _buttons(self) -> int:
        """Joypad mask of this frame; a tap shorter than a frame still counts as one."""
        if self.human:
            held, self._tapped = self._held | self._tapped, 0
            self._action = ACTION_MASKS.index(held) if held in ACTION_MASKS else -1
            return held
        pressed = self._phase < self.console.release_after_frames
        return ACTION_MASKS[self._action] if pressed else 0

    def _end_step(self, buttons: int) -> bool:
        """Judge the step that these frames were; True when it ended an agent's episode."""
        self._phase = 0
        self._step += 1
        observation = self.console.observation()
        if self.agent is not None:
            self.agent.see(observation)
        reward, success, trunc = 0.0, False, False
        judge = self.console.judge
        if judge is not None:
            reward, success, trunc = judge.judge(observation)
            self._dist = judge.dist
        self._reward, trunc = reward, trunc and not self.human
        self._flags = success * (frames.FLAG_DONE | frames.FLAG_SUCCESS) | trunc * frames.FLAG_TRUNC
        outcome = {"success": success, "done": success, "trunc": trunc}
        fields = {
            "step": self._step, "action": self._action, "reward": reward, "dist": self._dist,
        }  # fmt: skip
        if self.recorder is not None:
            self.recorder.add_step(**fields, **outcome)
        now = time.monotonic()
        if now >= self._next_event or success or trunc:
            self._next_event = now + EVENT_INTERVAL_S
            self.events.tell(
                records.PlayEvent, **fields, **outcome, episode=self._episode,
                who="human" if self.human else "agent", speed=self.pacer.measured,
                recording_frames=self.recorder.frames if self.recorder else 0,
            )  # fmt: skip
        return (success or trunc) and not self.human

    def publish(self, buttons: int) -> None:
        """Show the machine's picture."""
        recording = frames.FLAG_RECORDING if self.recorder is not None else 0
        info = frames.FrameInfo(
            env_steps=self._step, reward=self._reward, dist=self._dist,
            speed=self.pacer.measured, buttons=buttons, who=int(self.human), action=self._action,
            flags=self._flags | recording, frame=self._frame,
        )  # fmt: skip
        self.writer.publish(self.console.picture().tobytes(), info)

    def _begin_episode(self) -> None:
        self.console.restart(self._start)
        observation = self.console.observation()
        if self.agent is not None:
            self.agent.begin(observation)
        judge = self.console.judge
        if judge is not None:
            judge.begin(observation)
        self._dist = judge.dist if judge is not None else 0.0
        self._phase = self._step = self._flags = 0
        self._reward, self._action = 0.0, -1
        self._episode += 1

    # -- commands ---------------------------------------------------------------------------

    def _take_commands(self) -> None:
        while self.running and not (self.paused and self._allowance):  # one step, then the next
            try:
                command = self._next_command()
            except Empty:
                return
            if command is None:
                self.running = False
                return
            try:
                detail, ok = self._obey(command), True
            except (LabError, OSError) as error:
                detail, ok = str(error), False
            self.events.tell(records.AckEvent, id=command.id, ok=ok, detail=detail)

    def _next_command(self) -> commands.AnyCommand | None:
        """Raises Empty when there is none; waits a while when there is nothing else to do."""
        if self.paused:
            return self.inbox.get(timeout=HEARTBEAT_S)
        return self.inbox.get_nowait()

    def _obey(self, command: commands.AnyCommand) -> str:
        """Carry out one command; returns the ack's detail. Raises LabError or OSError."""
        match command:
            case commands.SetButtons():
                self._held = command.mask & 0xFF
                self._tapped |= self._held
            case commands.Stop():
                self.running = False
            case commands.Pause():
                self.paused = True
            case commands.Resume():
                self.paused = False
                self.pacer.restart()
            case commands.SetSpeed():
                if not 0 <= command.value <= 64:
                    raise LabError(f"speed {command.value:g}: give 0 (as fast as possible) to 64")
                self.pacer.speed = command.value
                self.pacer.restart()
            case commands.StepOnce():
                left = self.console.frames_per_step - self._phase
                self._allowance = 1 if self.human else left
            case commands.Takeover():
                self._take_over(command.human)
            case commands.Restart():
                self._restart(command.start)
            case commands.LoadPolicy():
                self.agent = self._load(command.checkpoint)
                self.agent.begin(self.console.observation())
                self.pacer.restart()
            case commands.Record():
                return self._record(command.on)
            case commands.SaveState():
                self.console.save_state(_writable(command.path))
            case commands.CaptureGoal():
                save_goal(_writable(command.path), self.console.observation()[None])
            case _:
                raise LabError(f"a player does not know {type(command).__name__}")
        return ""

    def _take_over(self, human: bool) -> None:
        if not human and self.agent is None:
            raise LabError("there is no policy to hand the buttons to: load a checkpoint first")
        if self.human and not human:
            # The agent's step begins now, with what it would have seen.
            self._phase = 0
            assert self.agent is not None
            self.agent.see(self.console.observation())
        self.human = human
        self._tapped = 0

    def _restart(self, start: int) -> None:
        count = self.console.num_starts
        if start >= count or start < -1:
            raise LabError(f"start {start}: this task has start states 0 to {count - 1}")
        if self.recorder is not None:
            self._end_recording()
        self._start = (self._start + 1) % count if start == -1 else start
        self._begin_episode()
        self.publish(0)

    def _load(self, checkpoint: str) -> Agent:
        from trainer_core.cli.options import find_checkpoint

        config = self.config
        mode = "sample" if config.mode == "sample" else "greedy"
        agent = Agent(
            find_checkpoint(checkpoint, self.home), mode=mode, device=config.device,
            seed=config.seed,
        )  # fmt: skip
        if agent.meta.num_actions != len(ACTION_MASKS):
            raise LabError(f"{checkpoint}: made for {agent.meta.num_actions} actions")
        return agent

    def _record(self, on: bool) -> str:
        if on and self.recorder is None:
            stamp = time.strftime("%Y%m%d-%H%M%S") + f"-{self._frame:07d}"
            self.recorder = Recorder(
                self.directory / "recordings" / stamp, self.console,
                mode="human" if self.human else self.config.mode,
                checkpoint=self.agent.checkpoint if self.agent else "",
                checkpoint_sha256=self.agent.sha256 if self.agent else "",
            )  # fmt: skip
            self.last_recording = str(self.recorder.folder)
        elif not on and self.recorder is not None:
            self._end_recording()
        return self.last_recording

    def _end_recording(self) -> None:
        assert self.recorder is not None
        self.last_recording = str(self.recorder.finish())
        self.recorder = None


def home_of(directory: Path) -> HomePaths:
    parent = directory.resolve().parent
    return HomePaths(parent.parent if parent.name == "players" else default_home())


def _writable(path: str) -> Path:
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def _listen(inbox: SimpleQueue[commands.AnyCommand | None]) -> None:
    with open(0, "rb", buffering=0, closefd=False) as lines:
        for line in lines:
            try:
                inbox.put(commands.decode(line))
            except ProtocolError as error:
                print(f"player: {error}", file=sys.stderr)
    inbox.put(None)


def _beat(events: Events) -> None:
    while True:
        events.tell(records.HeartbeatEvent)
        time.sleep(HEARTBEAT_S)


def run(directory: Path) -> int:
    events = Events(Pipe(), directory.name)
    try:
        config = msgspec.json.decode((directory / "config.json").read_bytes(), type=PlayConfig)
        events.tell(records.StateEvent, state="starting", detail="starting the machine")
        threading.Thread(target=_beat, args=(events,), daemon=True).start()
        player = Player(directory, config, events)
    except (LabError, OSError, msgspec.DecodeError) as error:
        print(f"player: {error}", file=sys.stderr)
        events.tell(records.ErrorRecord, kind=type(error).__name__, message=str(error))
        events.tell(records.StateEvent, state="failed", detail=str(error))
        return 1
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: player.inbox.put(None))
    threading.Thread(target=_listen, args=(player.inbox,), daemon=True).start()
    events.tell(records.StateEvent, state="running")
    player.run()
    events.tell(records.StateEvent, state="finished")
    return 0


def main() -> None:
    if len(sys.argv) != 2:
        print("usage: python -m trainer_core.player PLAYER_DIR", file=sys.stderr)
        sys.exit(2)
    die_with_parent()
    code = run(Path(sys.argv[1]))
    sys.stderr.flush()
    end_group(code)


if __name__ == "__main__":
    main()
