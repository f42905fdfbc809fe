"""Rewards of `red_env.RedEnv` against the same rules written for one console of `dmglab.pyboy`, step by step.

`python compare.py ROM STATE [STEPS]`, with STATE in PyBoy's format; `python compare.py [STEPS]` takes Pocket Quest: its
memory stands for Pokemon Red's. Exits 1 if any reward differs.
"""

from __future__ import annotations

import io
import sys

import numpy as np
import torch
from red_env import ACTIONS, FRAMES, HELD, RED, TICKET, RedEnv

import dmglab
from dmglab.pyboy import PyBoy

POCKET_QUEST = RED | {
    "x": 0xC1FD, "y": 0xC1FE, "map": 0xC14F, "battle": 0xC247, "party": 0xC245, "badges": 0xC24A,
    "events": (0xC24A, 311), "health": tuple((0xC1FD + 12 * n, 2) for n in range(6)),
    "most": tuple((0xC1FE + 12 * n, 2) for n in range(6)),
}  # fmt: skip
"""Places of its actors, room and story; those of its actors go up and down as health does."""


class SingleRed:
    """The reward of `RedEnv` in plain Python, read byte by byte from one console, as PokemonRedExperiments does."""

    def __init__(self, pyboy: PyBoy, watch: dict[str, object]) -> None:
        self._pyboy, self._watch = pyboy, watch
        self._last = self._values()
        self._record, self._met = self._last["flags"], {self._last["place"]} - {None}

    def _bytes(self, name: str) -> list[int]:
        places = self._watch[name]
        found: list[int] = []
        for place in [places] if isinstance(places, int) or isinstance(places[1], int) else places:  # type: ignore[index]
            start, count = (place, 1) if isinstance(place, int) else place
            found += self._pyboy.memory[start : start + count]
        return found

    def _values(self) -> dict[str, object]:
        events, hp = self._bytes("events"), self._bytes("health")
        most, (badges,), (battle,) = self._bytes("most"), self._bytes("badges"), self._bytes("battle")
        health, whole = (
            sum(256 * high + low for high, low in zip(of[::2], of[1::2], strict=True)) for of in (hp, most)
        )
        (x,), (y,), (number,) = (self._bytes(name) for name in ("x", "y", "map"))
        return {
            "flags": sum(byte.bit_count() for byte in events) - (events[TICKET // 8] >> TICKET % 8 & 1),
            "hp": health / max(1, whole),
            "party": self._bytes("party")[0],
            "badges": badges.bit_count(),
            "place": None if battle else (number, x, y),
        }

    def step(self, action: int) -> float:
        """Press a button for eight of 24 ticks; return the reward."""
        self._pyboy.button(ACTIONS[action], HELD)
        self._pyboy.tick(FRAMES, False)
        now, last = self._values(), self._last
        reward = 4.0 * max(0, now["flags"] - self._record)
        if now["hp"] > last["hp"] > 0 and now["party"] == last["party"]:
            reward += 10.0 * ((now["hp"] - last["hp"]) * (now["hp"] - last["hp"]))
        reward += 10.0 * (now["badges"] - last["badges"])
        if now["place"] is not None and now["place"] not in self._met:
            reward += 0.1
            self._met.add(now["place"])
        self._record, self._last = max(self._record, now["flags"]), now
        return reward


def compare(rom: str, state: bytes, steps: int, watch: dict[str, object] = RED, seed: int = 1) -> tuple[int, float]:
    """Play `steps` random steps on both; return how many rewards differ, and the return of the single console."""
    pyboy = PyBoy(rom, window="null")
    pyboy.load_state(io.BytesIO(state))
    start = pyboy.machine.emulator.snapshot()
    batch, single = RedEnv(rom, start, 2, steps=steps + 1, watch=watch), SingleRed(pyboy, watch)
    batch.reset()
    differ, total = 0, 0.0
    for action in np.random.default_rng(seed).integers(len(ACTIONS), size=steps).tolist():
        _, rewards, _ = batch.step(torch.full((2,), action))
        reward = single.step(action)
        differ += int(rewards[0].item() != np.float32(reward))
        total += reward
    pyboy.stop(save=False)
    return differ, total


def pocket_quest_state() -> bytes:
    """Return the state of Pocket Quest once the hero is out of bed."""
    pyboy, state = PyBoy(dmglab.roms()["pocket_quest"], window="null"), io.BytesIO()
    pyboy.tick(240, False)
    for button in ("start", "start", "up", "up", "a", "b"):
        pyboy.button(button, HELD)
        pyboy.tick(FRAMES, False)
    pyboy.save_state(state)
    pyboy.stop(save=False)
    return state.getvalue()


if __name__ == "__main__":
    torch.set_num_threads(1)
    steps = int(sys.argv[-1]) if sys.argv[-1].isdigit() else 2000
    if sys.argv[2:]:
        with open(sys.argv[2], "rb") as file:
            found, total = compare(sys.argv[1], file.read(), steps)
    else:
        found, total = compare(dmglab.roms()["pocket_quest"], pocket_quest_state(), steps, POCKET_QUEST)
    print(f"{found} rewards differ; return {total:.2f}")
    sys.exit(found > 0)
