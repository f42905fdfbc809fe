"""Two policies side by side: the same game twice, from the same start, in step.

The side that finishes first waits for the other; then the next start follows.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from trainer_core.envs.single_game import open_game
from trainer_core.host.agent import Agent, MakeAgent, StackedAgent
from trainer_core.lab.paths import HomePaths
from trainer_core.play.loop import CommandLoop
from trainer_core.play.pacer import Pacer
from trainer_core.play.played_game import check_actions
from trainer_core.play.thoughts import EVENT_INTERVAL_S, Tell
from trainer_core.runs.names import find_checkpoint
from trainer_core.wire import commands, frames, records
from trainer_core.wire.buttons import ALL_MASKS
from trainer_core.wire.errors import LabError
from trainer_core.wire.playing import PlayerConfig

END_PAUSE_S = 1.0
"""Seconds at speed 1 for which the result stays."""


class Side:
    """One side of a match: a policy with its own console."""

    def __init__(self, directory: Path, home: HomePaths, task: str, agent: StackedAgent) -> None:
        """Open the game of `task`. Raises LabError for a game without a goal, in which nobody could win."""
        self.game, self.agent = open_game(task, home, directory), agent
        judge = self.game.judge
        if judge is None:
            raise LabError(f"{task} has no goal to reach: two policies need a task")
        self.judge = judge
        self.wins = 0

    def begin(self, start: int) -> None:
        self.game.restart(start)
        observation = self.game.observation()
        self.agent.begin(observation)
        self.judge.begin(observation)
        self.steps, self.action, self.episode_return = 0, -1, 0.0
        self.success = self.trunc = False

    @property
    def is_over(self) -> bool:
        return self.success or self.trunc

    def frame(self, phase: int) -> None:
        """Run frame `phase` of a step; after the last frame judge the step."""
        if self.is_over:
            return
        if phase == 0:
            self.action = self.agent.act()
        held = ALL_MASKS[self.action] if phase < self.game.release_after_frames else 0
        self.game.frame(held)
        if phase == self.game.frames_per_step - 1:
            observation = self.game.observation()
            self.agent.see(observation)
            reward, self.success, self.trunc = self.judge.judge(observation)
            self.episode_return += reward
            self.steps += 1

    def told(self) -> records.VersusSide:
        return records.VersusSide(
            checkpoint=self.agent.checkpoint,
            steps=self.steps,
            action=self.action,
            dist=self.judge.dist,
            episode_return=self.episode_return,
            success=self.success,
            over=self.is_over,
            wins=self.wins,
        )


class Versus:
    """Match of two policies, played by a VersusLoop; its screens are the two environments of one frames.bin."""

    human = False

    def __init__(
        self, directory: Path, home: HomePaths, config: PlayerConfig, tell: Tell, make_agent: MakeAgent = Agent
    ) -> None:
        """Show the first pictures. Raises LabError naming what cannot be played."""
        self._tell, self.pacer = tell, Pacer(config.speed)
        agents = []
        for checkpoint in (config.checkpoint, config.rival):
            agents.append(
                make_agent(
                    find_checkpoint(checkpoint, home), mode=config.policy_mode, device=config.device, seed=config.seed
                )
            )
            check_actions(checkpoint, agents[-1])
        left, right = (Side(directory, home, config.task, agent) for agent in agents)
        self.sides = left, right
        self.game = left.game
        screen = self.game.screen
        self._colours = np.array(screen.colours, np.uint8)
        kind = screen.frame_shape
        shape = frames.FrameShape(kind.width, kind.height, 2, kind.format)
        self._writer = frames.FrameWriter(directory / "frames.bin.new", shape)
        self._frame = self._episode = self.draws = self._phase = 0
        self._next_event = 0.0
        self.start = config.seed % self.game.num_starts
        self._begin_episode()
        (directory / "frames.bin.new").replace(directory / "frames.bin")

    @property
    def frames_left_in_step(self) -> int:
        return self.game.frames_per_step - self._phase

    def one_frame(self) -> None:
        """Run and show one frame of both sides; end the step or the episode if due."""
        for side in self.sides:
            side.frame(self._phase)
        self._frame += 1
        self._phase = (self._phase + 1) % self.game.frames_per_step
        over = self._phase == 0 and all(side.is_over for side in self.sides)
        if over:
            self._score()
        self._publish()
        if self._phase == 0:
            self._tell_standing(over)
        if over:
            self.pacer.hold(END_PAUSE_S / max(self.pacer.speed, 1.0))
            self.start = (self.start + 1) % self.game.num_starts
            self._begin_episode()

    def restart(self, start: int) -> None:
        """Begin an episode in start state `start`, -1 = the next one. Raises LabError."""
        count = self.game.num_starts
        if start >= count or start < -1:
            raise LabError(f"start {start}: this task has start states 0 to {count - 1}")
        self.start = (self.start + 1) % count if start == -1 else start
        self._begin_episode()

    def close(self) -> None:
        self._writer.close()
        for side in self.sides:
            close = getattr(side.game, "close", None)
            if close is not None:
                close()

    # -- inside ---------------------------------------------------------------------------------

    def _begin_episode(self) -> None:
        self._phase = 0
        self._episode += 1
        for side in self.sides:
            side.begin(self.start)
        self._publish()
        self._tell_standing(is_due=True)

    def _score(self) -> None:
        """Count a win for the side that alone reached the goal, or in fewer steps than the other."""
        left, right = ((not side.success, side.steps) for side in self.sides)
        if left == right or not any(side.success for side in self.sides):
            self.draws += 1
        else:
            self.sides[left > right].wins += 1

    def _publish(self) -> None:
        pictures = np.stack([side.game.picture() for side in self.sides])
        shown = self._colours[pictures] if len(self._colours) else pictures
        info = frames.FrameInfo(
            env_steps=max(side.steps for side in self.sides),
            dist=self.sides[0].judge.dist,
            speed=self.pacer.measured,
            action=self.sides[0].action,
            frame=self._frame,
        )
        self._writer.publish(shown.tobytes(), info)

    def _tell_standing(self, is_due: bool) -> None:
        now = time.monotonic()
        if is_due or now >= self._next_event:
            self._next_event = now + EVENT_INTERVAL_S
            left, right = self.sides
            self._tell(
                records.VersusEvent,
                episode=self._episode,
                start=self.start,
                draws=self.draws,
                sides=(left.told(), right.told()),
            )


class VersusLoop(CommandLoop):
    """Loop with transport commands only; sound and buttons are for one game."""

    refusal = "two policies play side by side: they can pause, step, go faster and begin anew"

    def _obey(self, command: commands.AnyCommand) -> str:
        if isinstance(command, commands.SetSound | commands.SetButtons):
            return ""
        return super()._obey(command)
