"""One game played frame by frame by a person or a policy, every picture written to frames.bin."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from emulator import Snapshot
from trainer_core.author.demonstration import Demonstration, save_demonstrations
from trainer_core.envs.single_game import open_game
from trainer_core.host.agent import Agent, MakeAgent, StackedAgent
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.recording import RecordedStep, read_buttons, read_recording, read_steps, refuse_pictures_only
from trainer_core.play.history import History
from trainer_core.play.memory_view import MemoryView
from trainer_core.play.pacer import Pacer
from trainer_core.play.recorder import Recorder
from trainer_core.play.sdl_output import SdlOutput
from trainer_core.play.sound import Output, Speaker
from trainer_core.play.thoughts import EVENT_INTERVAL_S, Tell, Thoughts
from trainer_core.runs.log_writer import write_json
from trainer_core.runs.names import find_checkpoint
from trainer_core.wire import frames, records
from trainer_core.wire.buttons import ALL_MASKS, CODECS
from trainer_core.wire.errors import LabError
from trainer_core.wire.playing import PlayerConfig, with_click

END_PAUSE_S = 0.5
"""Seconds at speed 1 for which the last picture of an agent's episode stays."""


class Known(NamedTuple):
    """State of the Player after a frame, which is restored when the frame is undone."""

    phase: int
    step: int
    episode: int
    action: int
    reward: float
    dist: float
    standing: Any
    """State of the judge; None without one."""


class Player:
    """Game played by a person or a policy, with recorder, history, sound and published pictures.

    `one_frame` runs a frame; every `frames_per_step` frames are a step, which is judged. A policy chooses a button at
    the beginning of a step and releases it after `release_after_frames`.
    """

    def __init__(
        self, directory: Path, home: HomePaths, config: PlayerConfig, tell: Tell, make_agent: MakeAgent = Agent
    ) -> None:
        """Open the game and show its first picture, then load the policy, which takes longer.

        Raises LabError naming what cannot be played.
        """
        self._make_agent = make_agent
        self.directory, self.home, self.config, self._tell = directory, home, config, tell
        self.game = open_game(config.task, home, directory)
        self._speaker: Speaker | None = None
        if self.game.cartridge is not None:
            self._speaker = Speaker(self.game.cartridge, self._open_output)
        self.agent: StackedAgent | None = None
        self.human = config.mode == "human"
        self.pacer = Pacer(config.speed)
        screen = self.game.screen
        self._colours = np.array(screen.colours, np.uint8)
        self.writer = frames.FrameWriter(directory / "frames.bin.new", screen.frame_shape)
        self.recorder = Recorder(directory / "recordings", self.game, tell)
        self._history = History(self.game)
        self._undo: tuple[Any, Known] | None = None
        self._left: tuple[int, Any] | None = None
        """Last saved state: its number in the history, and its snapshot."""
        self._held = self._tapped = self._clicked = 0
        self._start = config.seed % self.game.num_starts
        self._frame = self._episode = 0
        self._next_event = 0.0
        self._thoughts = Thoughts(tell)
        self._memory: MemoryView | None = None
        self._dist = 0.0
        self._value: float | None = None
        """The critic's value at the start of the step; None while a person plays."""
        self._begin_episode()
        if config.checkpoint:
            self.load(config.checkpoint)
        (directory / "frames.bin.new").replace(directory / "frames.bin")

    @property
    def frames_left_in_step(self) -> int:
        return self.game.frames_per_step - self._phase

    def one_frame(self) -> None:
        """Run and show one frame; at its end also end the step, the recording or the episode if due."""
        game = self.game
        if self._phase == 0 and not self.human and self.agent is not None:
            self._action, self._value = self.agent.act(), self.agent.value
            self._thoughts.speak(self.agent, self._episode, self._step + 1, self._action)
        buttons = self._buttons()
        if self._speaker is not None:
            self._speaker.frame(game, buttons, self.pacer.speed, self.pacer.kept)
        game.frame(buttons)
        self._frame += 1
        self._phase += 1
        if self.recorder.writer is not None:
            self.recorder.add_frame(game.picture(), buttons)
        ended = self._phase == game.frames_per_step and self._end_step()
        self._history.add(buttons, self._known())
        self._publish(buttons)
        over, self._flags = bool(self._flags), 0
        self.recorder.end_if_over(over)
        if ended:
            self.pacer.hold(END_PAUSE_S / max(self.pacer.speed, 1.0))
            self._start = (self._start + 1) % game.num_starts
            self._begin_episode()

    def one_frame_back(self) -> bool:
        """Undo the newest frame and show the one before; return False at the beginning of the history.

        The frame is removed from a current recording too. A policy then takes the shown picture for the first of its
        episode: earlier ones are not stored.
        """
        found = self._history.back()
        if found is None:
            return False
        self._lose_sound()
        undone, present = found
        if undone.buttons >= 0:
            self._frame -= 1
        self.recorder.take_back(undone.buttons >= 0)
        if self._left is not None and self._history.number < self._left[0]:
            self._left = None
        self._know(present.known)
        self._publish(max(present.buttons, 0))
        if time.monotonic() >= self._next_event:
            self._tell_play()
        return True

    def close(self) -> None:
        self.recorder.end()
        if self._speaker is not None:
            self._speaker.close()
        self.writer.close()
        self.show_memory(False)
        close = getattr(self.game, "close", None)
        if close is not None:
            self._keep_card()
            close()

    # -- what a person asks for ---------------------------------------------------------------

    def press(self, mask: int) -> None:
        """Hold the joypad mask `mask`; a tap shorter than a frame still counts as one."""
        self._held = mask & 0xFF
        self._tapped |= self._held

    def click(self, x: int, y: int) -> None:
        """Click on the pixel (x, y) in the next frame, in a game that takes clicks.

        Raises LabError in other games, and while a policy plays: a person must take over first.
        """
        screen = self.game.screen
        if not screen.palette:
            raise LabError(f"{self.game.task}: a Game Boy has no mouse")
        if not self.human:
            raise LabError("the agent is at the buttons: take over first")
        if x >= screen.width or y >= screen.height:
            raise LabError(f"click at {x}, {y}: outside {screen.width} x {screen.height}")
        self._clicked = with_click(0, x, y)

    def set_sound(self, volume: float, channels: int) -> None:
        """Set the volume, 0 to 1, and a bit mask of audible channels."""
        if self._speaker is not None:
            self._speaker.set(volume, channels)

    def show_saliency(self, on: bool) -> None:
        """Start or stop sending the policy's saliency, now and at each step. Raises LabError if it has none."""
        self._thoughts.show_saliency(self.agent, on, self._step + 1)

    def show_memory(self, on: bool) -> str:
        """Start or stop writing the console's memory to a file for the parent; return the ROM's SHA-256.

        Raises LabError for a game that is not a Game Boy's.
        """
        if self._memory is not None:
            self._memory.close()
            self._memory = None
        if on:
            self._memory = MemoryView(self.directory, self.game)
            self.refresh_memory()
        return self.game.rom_sha256

    def refresh_memory(self) -> None:
        """Write the current memory once more, for use while the game is paused; nothing if it is not shown."""
        if self._memory is not None:
            self._memory.show(self._frame)

    def take_over(self, human: bool) -> None:
        """Give the buttons to the person or back to the policy. Raises LabError without a policy."""
        if not human and self.agent is None:
            raise LabError("there is no policy to hand the buttons to: load a checkpoint first")
        if self.human and not human:
            # The agent's step begins now, with the picture it would have seen.
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
        if self.recorder.until_episode:
            self.recorder.end()
        self._start = (self._start + 1) % count if start == -1 else start
        self._begin_episode()

    def load(self, checkpoint: str) -> None:
        """Replace the policy by that of `checkpoint`. Raises LabError; the old policy then stays."""
        self.agent = self._open_agent(checkpoint)
        self.agent.begin(self.game.observation())
        self.pacer.restart()

    def save_state(self, path: Path, begins_way: bool = False) -> None:
        """Write the game's current state to `path`.

        With `begins_way` it is also the first state of the demonstration that `save_way` writes later.
        """
        self.game.save_state(path)
        if begins_way:
            self._left = self._history.number, self.game.snapshot()

    def seen_later(self) -> np.ndarray | None:
        """Return the observations u8[3, 72, 80] after a third, two thirds and a whole second without input.

        The game continues unchanged afterwards. None if the game is not a console's.
        """
        here = self.game.snapshot()
        if not isinstance(here, Snapshot):
            return None
        seen = []
        try:
            for _ in range(3):
                for _ in range(20):
                    self.game.frame(0)
                seen.append(self.game.observation())
        finally:
            self.game.restore(here)
        return np.stack(seen)

    def save_way(self, path: Path) -> int:
        """Write the state saved with `begins_way` and the inputs since then as a demonstration; return its frames.

        Writes nothing and returns 0 if a state was loaded since, or if the game is not a console's.
        """
        if self._left is None or not isinstance(self._left[1], Snapshot):
            return 0
        number, start = self._left
        masks = self._history.masks_since(number)
        if not masks:
            return 0
        demo = Demonstration(start, np.array(masks, np.uint8))
        save_demonstrations(path, [demo])
        return len(masks)

    def load_state(self, path: Path) -> None:
        """Continue from a saved state. Raises LabError for another game's state, without changes."""
        before = self.game.snapshot(), self._known()
        self.game.load_state(path)
        self._undo = before
        self._phase = self._step = 0
        self._reward, self._action = 0.0, -1
        self._begin_here()

    def play_on(self, folder: Path, frame: int, branch: bool = False) -> None:
        """Load the state that a recording has after `frame`, with the frames before it as history.

        With `branch` a new recording begins with the same frames and continues with what is played next. Raises
        LabError for a recording of another game, or a frame outside it.
        """
        recording = read_recording(folder)
        refuse_pictures_only(folder, recording)
        if recording.rom_sha256 != self.game.rom_sha256:
            raise LabError(
                f"{folder}: recorded with the ROM {recording.rom_sha256[:12] or 'of the tiny grid'}"
                f"..., this is {self.game.rom_sha256[:12] or 'the tiny grid'}...: another game"
            )
        if frame >= recording.frames:
            raise LabError(f"{folder}: has the frames 0 to {recording.frames - 1}, not {frame}")
        begun, state = (0, recording.state) if branch else recording.segment_at(frame)
        states = {jump.frame: jump.state for jump in recording.jumps} | {begun: state}
        masks = read_buttons(folder, recording)
        steps = read_steps(folder, recording)
        self.recorder.end()
        undo = self.game.snapshot(), self._known()
        for at in range(begun, frame + 1):
            if at in states:
                self.load_state(folder / states[at])
                self._join(steps, at)
            if branch and at == begun:
                self.recorder.until_episode = False
                self._begin_recording(parent=folder.name, forked_at=frame + 1)
            self._repeat(masks[at])
        self._undo = undo
        self.press(0)
        self._tapped = 0

    def _join(self, steps: list[RecordedStep], begun: int) -> None:
        """Take over the step count of a recording whose first frame here is `begun`."""
        first = next((step for step in steps if step.first_frame >= begun), None)
        if first is not None and first.first_frame == begun:
            in_it = first.last_frame - first.first_frame + 1
            self._phase = max(0, self.game.frames_per_step - in_it)
            self._step = first.step - 1

    def _repeat(self, mask: int) -> None:
        """Run one frame with the recorded joypad mask `mask`."""
        self.press(mask)
        self._tapped = 0  # the recorded mask contains all buttons of the frame
        human, self.human = self.human, True
        self.one_frame()
        self.human = human

    def undo_load(self) -> None:
        """Return to the state before `load_state`; the next call goes forward again. Raises LabError."""
        if self._undo is None:
            raise LabError("no state was loaded that could be taken back")
        (state, known), self._undo = self._undo, (self.game.snapshot(), self._known())
        self.game.restore(state)
        self._begin_here(known)

    def record(self, on: bool, until: str = "stopped") -> str:
        """Begin or end a recording; return its folder, or that of the last recording.

        `until` says when the recording ends by itself, see commands.Record.
        """
        self.recorder.until_episode = until == "episode"
        if on and self.recorder.writer is None:
            self._begin_recording()
        elif not on:
            self.recorder.end()
        return self.recorder.last

    # -- inside ---------------------------------------------------------------------------------

    def _open_output(self) -> Output:
        return SdlOutput(lambda device, reason: self._tell(records.SoundEvent, device=device, reason=reason))

    def _lose_sound(self) -> None:
        if self._speaker is not None:
            self._speaker.lose()

    def _buttons(self) -> int:
        """Return the joypad mask for this frame, of the person or of the policy's action."""
        if self.human:
            held, self._tapped = self._held | self._tapped, 0
            clicked, self._clicked, self._value = self._clicked, 0, None
            self._action = ALL_MASKS.index(held) if held in ALL_MASKS else -1
            return held | clicked
        pressed = self._phase < self.game.release_after_frames
        return ALL_MASKS[self._action] if pressed else 0

    def _end_step(self) -> bool:
        """Judge the step that just ended; return True if it ended an episode that the policy plays."""
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
        """Add the step to the recording; report it to the parent, at most once in EVENT_INTERVAL_S."""
        step, action, reward, dist = self._step, self._action, self._reward, self._dist
        self.recorder.add_step(
            step=step,
            action=action,
            reward=reward,
            dist=dist,
            success=success,
            done=success,
            trunc=trunc,
            terms=self.game.judge.terms if self.game.judge else None,
            value=self._value,
        )
        if time.monotonic() >= self._next_event or success or trunc:
            self._tell_play(success, trunc)

    def _tell_play(self, success: bool = False, trunc: bool = False) -> None:
        self._next_event = time.monotonic() + EVENT_INTERVAL_S
        self._tell(
            records.PlayEvent,
            step=self._step,
            action=self._action,
            reward=self._reward,
            dist=self._dist,
            success=success,
            done=success,
            trunc=trunc,
            episode=self._episode,
            who="human" if self.human else "agent",
            speed=self.pacer.measured,
            recording_frames=self.recorder.frames,
            note=getattr(self.game, "note", str)(),
            hung=getattr(self.game, "hung", str)(),
        )

    def _publish(self, buttons: int) -> None:
        """Publish the game's picture with its frame information in frames.bin."""
        recording = frames.FLAG_RECORDING if self.recorder.writer is not None else 0
        info = frames.FrameInfo(
            env_steps=self._step,
            reward=self._reward,
            dist=self._dist,
            speed=self.pacer.measured,
            buttons=buttons & 0xFF,
            who=int(self.human),
            action=self._action,
            flags=self._flags | recording,
            frame=self._frame,
        )
        picture = self.game.picture()
        shown = self._colours[picture] if len(self._colours) else picture
        self.writer.publish(shown.tobytes(), info)
        if self._memory is not None:
            self._memory.show_if_due(self._frame)

    def _begin_episode(self) -> None:
        self.game.restart(self._start)
        self._phase = self._step = self._flags = 0
        self._reward, self._action = 0.0, -1
        self._episode += 1
        self._begin_here()

    def _begin_here(self, known: Known | None = None) -> None:
        """Restart agent, judge and history from the game's state, which was just loaded.

        `known` is this object's state from an earlier time at the same game state.
        """
        self._lose_sound()
        observation = self.game.observation()
        judge = self.game.judge
        if self.agent is not None:
            self.agent.begin(observation)
        if judge is not None:
            judge.begin(observation)
            self._dist = judge.dist
        if known is not None:
            self._know(known)
        self.recorder.jump()
        self._history.begin(self._known())
        self._publish(0)

    def _known(self) -> Known:
        judge = self.game.judge
        return Known(
            self._phase,
            self._step,
            self._episode,
            self._action,
            self._reward,
            self._dist,
            None if judge is None else judge.standing,
        )

    def _know(self, known: Known) -> None:
        self._phase, self._step, self._episode = known.phase, known.step, known.episode
        self._action, self._reward, self._dist = known.action, known.reward, known.dist
        if self.game.judge is not None:
            self.game.judge.standing = known.standing
        if self.agent is not None:
            self.agent.begin(self.game.observation())

    def _open_agent(self, checkpoint: str) -> StackedAgent:
        config = self.config
        agent = self._make_agent(
            find_checkpoint(checkpoint, self.home), mode=config.policy_mode, device=config.device, seed=config.seed
        )
        check_actions(checkpoint, agent)
        return agent

    def _keep_card(self) -> None:
        """Write the scorecard of an ARC game, beside its recordings."""
        with contextlib.suppress(LabError, OSError):  # the server or the disk may be gone
            card = self.game.card()  # type: ignore[attr-defined]
            write_json(self.directory / "scorecard.json", card)

    def _begin_recording(self, **about: Any) -> None:
        self.recorder.begin(
            self._frame,
            mode="human" if self.human else self.config.mode,
            checkpoint=self.agent.checkpoint if self.agent else "",
            checkpoint_sha256=self.agent.sha256 if self.agent else "",
            **about,
        )


def check_actions(checkpoint: str, agent: StackedAgent) -> None:
    """Raise LabError if the agent of `checkpoint` has other buttons than a Game Boy's."""
    if agent.meta.num_actions not in map(len, CODECS.values()):
        raise LabError(f"{checkpoint}: made for {agent.meta.num_actions} actions")
