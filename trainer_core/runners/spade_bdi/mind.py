"""Mind: a BDI agent that plays one console, with an optional second agent, the coach, that it exchanges messages with.

Both are SPADE agents with plans in AgentSpeak. Their event loop runs in the calling thread and only while an action is
awaited, so a paused game pauses its agents, and their work between two steps does not depend on the computer's speed.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import random
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from trainer_core.runners.spade_bdi import asl
from trainer_core.runners.spade_bdi.asl import asp
from trainer_core.runners.spade_bdi.experience import Experience
from trainer_core.runners.spade_bdi.skills import Skill
from trainer_core.runners.spade_bdi.words import PERCEPTS
from trainer_core.runners.spade_bdi.xmpp import HOST, LoopbackServer
from trainer_core.wire.buttons import ACTIONS
from trainer_core.wire.errors import LabError

bdi: Any = importlib.import_module("spade_bdi.bdi")
container: Any = importlib.import_module("spade.container")
importlib.import_module("loguru").logger.remove()
for _name in ("spade", "slixmpp", "asyncio"):
    logging.getLogger(_name).setLevel(logging.CRITICAL)

PATIENCE_S = 10.0
"""Maximum seconds that an agent may think, or wait for a message, before its step fails."""
SETTLED = 5
"""Idle turns of the event loop after which all agents count as finished."""
NAP_S = 0.005
MOST_MESSAGES = 50
SHOWN_MESSAGES = 20
PLAYER, COACH = "player", "coach"


@dataclass(frozen=True)
class Plans:
    """Text of an AgentSpeak file, with the file's name for error messages."""

    name: str
    text: str

    @classmethod
    def read(cls, path: Path) -> Plans:
        """Read and check an AgentSpeak file. Raises ConfigError for a syntax error."""
        asl.check(path)
        return cls(path.name, path.read_text(encoding="utf-8"))


class _Process:
    """XMPP server of this process, shared by all minds and started for the first one."""

    server: LoopbackServer | None = None
    minds = 0
    folder: tempfile.TemporaryDirectory[str] | None = None

    @classmethod
    def port(cls) -> int:
        if cls.server is None:
            cls.folder = tempfile.TemporaryDirectory(prefix="dmglab-xmpp-")
            server = LoopbackServer(Path(cls.folder.name))
            container.Container().loop.run_until_complete(server.start())
            cls.server = server
        return cls.server.port

    @classmethod
    def is_connected(cls, jid: str) -> bool:
        return cls.server is not None and cls.server.is_connected(jid)


class _Pressed:
    """Waiting condition of an intention that pressed a button: it continues at the end of the step."""

    event = until = None

    def __init__(self) -> None:
        self.over = False

    def poll(self, env: Any) -> bool:
        return self.over


class TalkingAgent(bdi.BDIAgent):
    """SPADE-BDI agent that keeps its initial goals and reports received messages."""

    def __init__(
        self, jid: str, plans: Path, port: int, actions: Callable[[Any], None], heard: Callable[[str], None]
    ) -> None:
        self._add_actions, self._heard = actions, heard
        self.goals: list[Any] = []
        super().__init__(jid, "dmglab", str(plans), port=port)

    def add_custom_actions(self, actions: Any) -> None:
        self._add_actions(actions)

    def _load_asl(self) -> None:
        tree, self.bdi_agent = asl.parse(Path(self.asl_file), self.bdi_actions)
        self.goals, self.bdi_agent.name = tree.goals, self.jid
        self.resume_bdi()

    def dispatch(self, msg: Any) -> Any:
        self._heard(told(msg))
        return super().dispatch(msg)

    def want(self) -> None:
        """Give the agent its initial goals again, at the start of an episode."""
        for goal in self.goals:
            term = goal.atom.accept(asl.runtime.BuildTermVisitor({}))
            self._call(asp.Trigger.addition, asp.GoalType.achievement, term)

    def believe(self, functor: str, *args: Any) -> None:
        """Replace the percept `functor` by one with the arguments `args`; a changed value triggers the plans for it."""
        term = asp.Literal(functor, args, frozenset([asl.PERCEPT]))
        group = self.bdi_agent.beliefs[term.literal_group()]
        if term in group:
            return
        for old in [belief for belief in group if asl.PERCEPT in belief.annots]:
            group.discard(old)
        self._call(asp.Trigger.addition, asp.GoalType.belief, term)

    def forget(self, functors: tuple[str, ...]) -> None:
        for (functor, _), group in self.bdi_agent.beliefs.items():
            if functor in functors:
                group.clear()

    def _call(self, trigger: Any, kind: Any, term: Any) -> None:
        self.bdi_agent.call(trigger, kind, term, asl.runtime.Intention(), delayed=True)

    @property
    def is_busy(self) -> bool:
        if self.bdi.mailbox_size() or self.bdi_intention_buffer:
            return True
        return any(
            stack and (stack[-1].waiter is None or stack[-1].waiter.poll(self.bdi_env))
            for stack in self.bdi_agent.intentions
        )


class Mind:
    """Player agent and coach of one console.

    Call `begin`, then `act` and `see` in turns, and `end` once the outcome is known.
    """

    def __init__(
        self,
        plans: Plans,
        coach: Plans | None,
        skills: dict[str, Skill],
        *,
        greedy: bool,
        exploration: float = 0.1,
        seed: int = 1,
    ) -> None:
        """Start both agents. Raises LabError when their plans or the server do not start."""
        self.plans, self.coach, self.skills = plans, coach, skills
        self.greedy, self.episode = greedy, 0
        self._rng = np.random.default_rng(seed)
        random.seed(seed)
        self.experience = Experience(exploration, self._rng)
        self.messages: deque[str] = deque(maxlen=MOST_MESSAGES)
        self.num_messages = 0
        self._pressed: deque[tuple[int, _Pressed]] = deque()
        self._step = self._still = 0
        self._seen: dict[bytes, int] = {}
        self._last, self._stranger = b"", ""
        self._complaints = asl.complaints()
        self._said = self._complaints.__enter__()
        self._loop = container.Container().loop
        self.port = _Process.port()
        _Process.minds += 1
        suffix = "" if _Process.minds == 1 else f"-{_Process.minds}"
        self._folder = tempfile.TemporaryDirectory(prefix="dmglab-plans-")
        self._coach = self._agent(COACH + suffix, coach) if coach else None
        self._player = self._agent(PLAYER + suffix, plans)
        self._agents = [agent for agent in (self._coach, self._player) if agent]
        self._run(self._start())

    @property
    def address(self) -> str:
        """XMPP address of the player, for clients on this computer."""
        return f"{self._player.jid} on 127.0.0.1:{self.port}"

    # -- an episode ---------------------------------------------------------------------------

    def begin(self, observation: np.ndarray) -> None:
        """Begin an episode at `observation` u8[72, 80].

        The player's intentions and percepts are dropped, its other beliefs kept.
        """
        self.episode += 1
        self._step = self._still = 0
        self._seen, self._last = {}, b""
        self._pressed.clear()
        player = self._player
        player.bdi_agent.intentions.clear()
        player.forget(PERCEPTS)
        for skill in self.skills.values():
            skill.begin(observation)
        if self._coach is not None:
            player.believe("coach", str(self._coach.jid))
        self._judging(lambda: player.believe("episode", self.episode))
        self._perceive(observation)
        self._judging(player.want)

    def see(self, observation: np.ndarray) -> None:
        """Update the percepts from `observation` u8[72, 80], the picture one step later."""
        self._step += 1
        for skill in self.skills.values():
            skill.see(observation)
        self._perceive(observation)
        if self._pressed:
            self._pressed.popleft()[1].over = True

    def act(self) -> int:
        """Run the agents until a plan presses a button; return the action. Raises LabError if none does."""
        self._run(self._until(lambda: bool(self._pressed)))
        return self._pressed[0][0]

    def end(self, outcome: str) -> None:
        """Tell the agents the episode's outcome as a belief and let them react."""
        if self._pressed:
            self._pressed.popleft()[1].over = True
        self._player.bdi_agent.intentions.clear()
        self._judging(lambda: self._player.believe("ended", asp.Literal(outcome), self._step))
        self._run(self._until(None))

    # -- what others may know -----------------------------------------------------------------

    @property
    def beliefs(self) -> list[str]:
        groups = self._player.bdi_agent.beliefs.values()
        return sorted(asl.words_of(belief) for group in groups for belief in group)

    @property
    def intentions(self) -> list[str]:
        """Current intentions as text: goals from the outermost in, repetitions merged, such as `leave > judge(up)`."""
        stacks = self._player.bdi_agent.intentions
        named = [[asl.words_of(i.head_term) for i in stack if i.head_term] for stack in stacks]
        return [" > ".join(goal for goal, _ in groupby(goals)) for goals in named if goals]

    @property
    def shown(self) -> dict[str, list[str]]:
        """Beliefs, intentions and messages, as the fields of a BeliefsEvent."""
        return {
            "beliefs": self.beliefs,
            "intentions": self.intentions,
            "messages": list(self.messages)[-SHOWN_MESSAGES:],
        }

    @property
    def probabilities(self) -> tuple[float, ...]:
        """Action probabilities of the skill used in this step; empty without one."""
        asked = [s.probabilities for s in self.skills.values() if len(s.probabilities)]
        return tuple(asked[0].tolist()) if asked else ()

    def state(self) -> dict[str, Any]:
        """Return everything the agents keep from episode to episode, as JSON values."""
        return {
            "episode": self.episode,
            "messages": self.num_messages,
            "experience": self.experience.state(),
            "beliefs": [_beliefs(agent) for agent in self._agents],
            "generators": [self._rng.bit_generator.state, random.getstate()],
        }

    def load_state(self, state: dict[str, Any]) -> None:
        """Restore what `state` returned; call it between two episodes."""
        self.episode, self.num_messages = state["episode"], state["messages"]
        self.experience.load_state(state["experience"])
        ours, (version, numbers, gauss) = state["generators"]
        self._rng.bit_generator.state = ours
        random.setstate((version, tuple(numbers), gauss))
        for agent, beliefs in zip(self._agents, state["beliefs"], strict=True):
            agent.bdi_agent.beliefs.clear()
            for value in beliefs:
                belief = asl.from_json(value)
                agent.bdi_agent.beliefs[belief.literal_group()].add(belief)
        self._player.bdi_agent.intentions.clear()
        self._pressed.clear()

    def close(self) -> None:
        self._run(self._stop())
        self._complaints.__exit__(None, None, None)
        self._folder.cleanup()

    # -- the event loop -------------------------------------------------------------------------

    def _run(self, work: Any) -> Any:
        return self._loop.run_until_complete(work)

    async def _start(self) -> None:
        for agent in self._agents:
            await asyncio.wait_for(agent.start(), PATIENCE_S)
            # For messages that the container cannot deliver itself.
            agent.bdi._xmpp_send = partial(self._send_out, agent.bdi._xmpp_send)

    async def _send_out(self, send: Callable[..., Any], msg: Any) -> None:
        """Send a message through the server to an agent in another process, if one is connected under that name."""
        if not _Process.is_connected(str(msg.to)):
            self._stranger = str(msg.to)
            return
        await send(msg)
        self._heard(told(msg))

    async def _stop(self) -> None:
        for agent in self._agents:
            await agent.stop()

    async def _until(self, is_enough: Callable[[], bool] | None) -> None:
        """Run the agents' event loop until `is_enough()` and no agent has work left.

        Raises LabError after PATIENCE_S, or when a plan fails.
        """
        ends, quiet = time.monotonic() + PATIENCE_S, 0
        while quiet < SETTLED or not (is_enough is None or is_enough()):
            await asyncio.sleep(0 if quiet < SETTLED else NAP_S)
            quiet = 0 if any(agent.is_busy for agent in self._agents) else quiet + 1
            for agent in self._agents:
                if agent.bdi.is_killed():
                    raise LabError(self._why(agent, agent.bdi._exit_code))
            if self._stranger:
                raise LabError(self._undelivered())
            if time.monotonic() > ends:
                raise LabError(self._stuck(quiet))

    def _judging(self, call: Callable[[], None]) -> None:
        try:
            call()
        except (asp.AslError, asp.AggregatedError) as error:
            raise LabError(self._why(self._player, error)) from None

    def _why(self, agent: Any, error: Any) -> str:
        told = self._said.lines[0] if self._said.lines else str(error)
        return f"{told} (step {self._step} of episode {self.episode}, {agent.jid.node})"

    def _undelivered(self) -> str:
        known = ", ".join(str(agent.jid) for agent in self._agents)
        return (
            f"{self.plans.name}: .send to {self._stranger}: nobody listens by that name; messages "
            f"reach {known}, and agents of other processes once they are connected to "
            f"127.0.0.1:{self.port}"
        )

    def _stuck(self, quiet: int) -> str:
        what = "presses a button" if quiet >= SETTLED else "comes to an end"
        wanted = ", ".join(self.intentions) or "none"
        return (
            f"{self.plans.name}: within {PATIENCE_S:g} s no plan {what}; step {self._step} of "
            f"episode {self.episode}, intentions: {wanted}; a plan for it "
            "should end in .press(Button)"
        )

    # -- percepts and actions -------------------------------------------------------------------

    def _perceive(self, observation: np.ndarray) -> None:
        """Update the percepts.

        `step(N)` is the number of the step, `still(N)` the steps without a change of the picture, and `seen(N)` how
        often the picture occurred in this episode.
        """
        now = observation.tobytes()
        self._still = self._still + 1 if now == self._last else 0
        self._last = now
        self._seen[now] = self._seen.get(now, 0) + 1
        for functor, value in (("still", self._still), ("seen", self._seen[now]), ("step", self._step)):
            self._judging(lambda f=functor, v=value: self._player.believe(f, v))

    def _agent(self, name: str, plans: Plans) -> TalkingAgent:
        path = Path(self._folder.name) / plans.name
        path.write_text(plans.text, encoding="utf-8")
        return TalkingAgent(f"{name}@{HOST}", path, self.port, self._add_actions, self._heard)

    def _heard(self, message: str) -> None:
        self.messages.append(message)
        self.num_messages += 1

    def _add_actions(self, actions: Any) -> None:
        actions.add(".press", 1, self._press)
        for arity in (1, 2):
            actions.add(".skill", arity, self._answer(lambda p: ACTIONS[int(p.argmax())].lower()))
            actions.add(".sample", arity, self._answer(self._drawn))
            actions.add(".confidence", arity, self._answer(lambda p: float(p.max())))
        actions.add(".any", 1, self._any)
        actions.add(".choose", 3, self._choose)
        actions.add(".credit", 3, self._credit)

    def _press(self, agent: Any, term: Any, intention: Any) -> Iterator[None]:
        name = _text(term.args[0], intention)
        if name.upper() not in ACTIONS:
            buttons = ", ".join(action.lower() for action in ACTIONS)
            raise asp.AslError(f".press({name}): the buttons are {buttons}")
        pressed = _Pressed()
        self._pressed.append((ACTIONS.index(name.upper()), pressed))
        intention.waiter = pressed
        yield

    def _answer(self, of: Callable[[np.ndarray], Any]) -> Callable[..., Iterator[None]]:
        def action(agent: Any, term: Any, intention: Any) -> Iterator[None]:
            name = _text(term.args[0], intention) if len(term.args) == 2 else ""
            found = self.skills.get(name) if name else next(iter(self.skills.values()), None)
            if found is None:
                known = ", ".join(self.skills) or "none: give one with --skill CHECKPOINT"
                raise asp.AslError(f"no skill {name or 'at all'}; there is {known}")
            yield from _given(of(found.ask()), term, intention)

        return action

    def _drawn(self, probabilities: np.ndarray) -> str:
        return ACTIONS[int(self._rng.choice(len(ACTIONS), p=probabilities))].lower()

    def _any(self, agent: Any, term: Any, intention: Any) -> Iterator[None]:
        yield from _given(ACTIONS[int(self._rng.integers(len(ACTIONS)))].lower(), term, intention)

    def _choose(self, agent: Any, term: Any, intention: Any) -> Iterator[None]:
        options = asp.grounded(term.args[1], intention.scope)
        names = [str(option) for option in options] if not isinstance(options, str) else []
        if not names:
            raise asp.AslError(".choose(Situation, [Option, ...], Choice) wants a list of options")
        situation = _text(term.args[0], intention)
        chosen = self.experience.choose(situation, names, greedy=self.greedy)
        yield from _given(chosen, term, intention)

    def _credit(self, agent: Any, term: Any, intention: Any) -> Iterator[None]:
        situation, option = (_text(arg, intention) for arg in term.args[:2])
        value = float(asp.evaluate(term.args[2], intention.scope))
        if not self.greedy:
            self.experience.credit(situation, option, value)
        yield


def told(msg: Any) -> str:
    """Return a message as text for display: `guide tell advice(draw) to player`."""
    sender, receiver = (str(jid).partition("@")[0] for jid in (msg.sender, msg.to))
    return f"{sender} {msg.get_metadata('ilf_type')} {msg.body} to {receiver}"


def _text(arg: Any, intention: Any) -> str:
    return str(asp.grounded(arg, intention.scope))


def _given(value: Any, term: Any, intention: Any) -> Iterator[None]:
    """Bind the last argument of an AgentSpeak action to `value`, a string as an atom; yield if that is possible."""
    bound = asp.Literal(value) if isinstance(value, str) else value
    if asp.unify(term.args[-1], bound, intention.scope, intention.stack):
        yield


def _beliefs(agent: Any) -> list[Any]:
    groups = agent.bdi_agent.beliefs.values()
    found = [asl.to_json(b) for group in groups for b in group]
    return sorted(found, key=lambda value: json.dumps(value, sort_keys=True))
