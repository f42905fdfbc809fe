"""One game, frame by frame: a person or a policy at the buttons, every picture to frames.bin."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from trainer_core.play.agent import Agent, StackedAgent
from trainer_core.play.game import open_game
from trainer_core.play.pacer import Pacer
from trainer_core.play.recording_writer import RecordingWriter
from trainer_core.protocol import frames, records
from trainer_core.protocol.buttons import ACTION_MASKS
from trainer_core.protocol.errors import LabError
from trainer_core.protocol.paths import HomePaths
from trainer_core.protocol.playing import PlayerConfig
from trainer_core.protocol.recording import HEIGHT, WIDTH
from trainer_core.runs.finding import find_checkpoint

EVENT_INTERVAL_S = 0.1
END_PAUSE_S = 0.5
"""The last picture of an agent's episode stays this long at speed 1."""

Tell = Callable[..., None]
"""`tell(kind of record, **fields)` sends an event to the parent."""

MakeAgent = Callable[..., StackedAgent]
"""`make_agent(checkpoint, mode=, device=, seed=)` opens a checkpoint of one runner."""


class Player:
    """`one_frame` runs a frame; every `frames_per_step` of them are a step, judged as in training.

    A policy acts when a step begins and lets go after `release_after_frames`.
    """

    def __init__(
        self,
        directory: Path,
        home: HomePaths,
        config: PlayerConfig,
        tell: Tell,
        make_agent: MakeAgent = Agent,
    ) -> None:
        """Shows the first picture. Raises LabError naming what cannot be played."""
        self._make_agent = make_agent
        self.directory, self.home, self.config, self._tell = directory, home, config, tell
        self.game = open_game(config.task, home)
        self.agent: StackedAgent | None = None
        if config.checkpoint:
            self.agent = self._open_agent(config.checkpoint)
        self.human = config.mode == "human"
        self.pacer = Pacer(config.speed)
        self.writer = frames.FrameWriter(
            directory / "frames.bin.new", frames.FrameShape(WIDTH, HEIGHT)
        )
        self.recording: RecordingWriter | None = None
        self.last_recording = ""
        self._held = self._tapped = 0
        self._start = config.seed % self.game.num_starts
        self._frame = self._episode = 0
        self._next_event = 0.0
        self._begin_episode()
        self._publish(0)
        (directory / "frames.bin.new").replace(directory / "frames.bin")

    @property
    def frames_left_in_step(self) -> int:
        return self.game.frames_per_step - self._phase

    def one_frame(self) -> None:
        """Run one frame, show it, and end the step, the recording or the episode that is over."""
        game = self.game
        if self._phase == 0 and not self.human and self.agent is not None:
            self._action = self.agent.act()
        buttons = self._buttons()
        game.frame(buttons)
        self._frame += 1
        self._phase += 1
        if self.recording is not None:
            self.recording.add_frame(game.picture(), buttons)
        ended = self._phase == game.frames_per_step and self._end_step()
        self._publish(buttons)
        self._flags = 0
        if self.recording is not None and (ended or self.recording.is_full):
            self._end_recording()
        if ended:
            self.pacer.hold(END_PAUSE_S / max(self.pacer.speed, 1.0))
            self._start = (self._start + 1) % game.num_starts
            self._begin_episode()

    def close(self) -> None:
        if self.recording is not None:
            self._end_recording()
        self.writer.close()

    # -- what a person asks for ---------------------------------------------------------------

    def press(self, mask: int) -> None:
        """Hold the joypad mask `mask`; a tap shorter than a frame still counts as one."""
        self._held = mask & 0xFF
        self._tapped |= self._held

    def take_over(self, human: bool) -> None:
        """Give the buttons to the person or back to the policy. Raises LabError without one."""
        if not human and self.agent is None:
            raise LabError("there is no policy to hand the buttons to: load a checkpoint first")
        if self.human and not human:
            # The agent's step begins now, with what it would have seen.
            self._phase = 0
            assert self.agent is not None
            self.agent.see(self.game.observation())
        self.human = human
        self._tapped = 0

    def restart(self, start: int) -> None:
        """Begin an episode in start state `start`, -1 = the next one. Raises LabError."""
        count = self.game.num_starts
        if start >= count or start < -1:
            raise LabError(f"start {start}: this task has start states 0 to {count - 1}")
        if self.recording is not None:
            self._end_recording()
        self._start = (self._start + 1) % count if start == -1 else start
        self._begin_episode()
        self._publish(0)

    def load(self, checkpoint: str) -> None:
        """Let another policy play from now on. Raises LabError; the old one then stays."""
        self.agent = self._open_agent(checkpoint)
        self.agent.begin(self.game.observation())
        self.pacer.restart()

    def record(self, on: bool) -> str:
        """Begin or end a recording; returns its folder, or that of the last one."""
        if on and self.recording is None:
            stamp = time.strftime("%Y%m%d-%H%M%S") + f"-{self._frame:07d}"
            self.recording = RecordingWriter(
                self.directory / "recordings" / stamp, self.game,
                mode="human" if self.human else self.config.mode,
                checkpoint=self.agent.checkpoint if self.agent else "",
                checkpoint_sha256=self.agent.sha256 if self.agent else "",
            )  # fmt: skip
            self.last_recording = str(self.recording.folder)
        elif not on and self.recording is not None:
            self._end_recording()
        return self.last_recording

    # -- inside ---------------------------------------------------------------------------------

    def _buttons(self) -> int:
        """Joypad mask of this frame."""
        if self.human:
            held, self._tapped = self._held | self._tapped, 0
            self._action = ACTION_MASKS.index(held) if held in ACTION_MASKS else -1
            return held
        pressed = self._phase < self.game.release_after_frames
        return ACTION_MASKS[self._action] if pressed else 0

    def _end_step(self) -> bool:
        """Judge the step that these frames were; True when it ended an agent's episode."""
        self._phase = 0
        self._step += 1
        observation = self.game.observation()
        if self.agent is not None:
            self.agent.see(observation)
        reward, success, trunc = 0.0, False, False
        judge = self.game.judge
        if judge is not None:
            reward, success, trunc = judge.judge(observation)
            self._dist = judge.dist
        self._reward, trunc = reward, trunc and not self.human
        self._flags = success * (frames.FLAG_DONE | frames.FLAG_SUCCESS) | trunc * frames.FLAG_TRUNC
        self._tell_step(success, trunc)
        return (success or trunc) and not self.human

    def _tell_step(self, success: bool, trunc: bool) -> None:
        """The step's line to the recording; to the parent at most one in EVENT_INTERVAL_S."""
        step, action, reward, dist = self._step, self._action, self._reward, self._dist
        if self.recording is not None:
            self.recording.add_step(
                step=step, action=action, reward=reward, dist=dist,
                success=success, done=success, trunc=trunc,
            )  # fmt: skip
        now = time.monotonic()
        if now >= self._next_event or success or trunc:
            self._next_event = now + EVENT_INTERVAL_S
            self._tell(
                records.PlayEvent, step=step, action=action, reward=reward, dist=dist,
                success=success, done=success, trunc=trunc, episode=self._episode,
                who="human" if self.human else "agent", speed=self.pacer.measured,
                recording_frames=self.recording.frames if self.recording else 0,
            )  # fmt: skip

    def _publish(self, buttons: int) -> None:
        """Show the game's picture."""
        recording = frames.FLAG_RECORDING if self.recording is not None else 0
        info = frames.FrameInfo(
            env_steps=self._step, reward=self._reward, dist=self._dist,
            speed=self.pacer.measured, buttons=buttons, who=int(self.human), action=self._action,
            flags=self._flags | recording, frame=self._frame,
        )  # fmt: skip
        self.writer.publish(self.game.picture().tobytes(), info)

    def _begin_episode(self) -> None:
        self.game.restart(self._start)
        observation = self.game.observation()
        if self.agent is not None:
            self.agent.begin(observation)
        judge = self.game.judge
        if judge is not None:
            judge.begin(observation)
        self._dist = judge.dist if judge is not None else 0.0
        self._phase = self._step = self._flags = 0
        self._reward, self._action = 0.0, -1
        self._episode += 1

    def _open_agent(self, checkpoint: str) -> StackedAgent:
        config = self.config
        agent = self._make_agent(
            find_checkpoint(checkpoint, self.home), mode=config.policy_mode,
            device=config.device, seed=config.seed,
        )  # fmt: skip
        if agent.meta.num_actions != len(ACTION_MASKS):
            raise LabError(f"{checkpoint}: made for {agent.meta.num_actions} actions")
        return agent

    def _end_recording(self) -> None:
        assert self.recording is not None
        self.last_recording = str(self.recording.finish())
        self.recording = None
