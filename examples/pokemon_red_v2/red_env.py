"""Reward and observation of PokemonRedExperiments v2 for thousands of consoles on one device.

The game's memory is watched, and reward terms are computed where the consoles run. The start state and the ROM are
yours; addresses are those of pret/pokered. `python red_env.py ROM STATE [NUM_ENVS] [DEVICE]` measures its speed.
"""

from __future__ import annotations

import sys
import time

import torch
from torch import Tensor

import dmglab

PARTY = 0xD163, 0xD18C, 0xD16C, 0xD18D
"""Addresses of the party's size, and of level, health and greatest health of its first member."""
NEXT = 0x2C
RED = {
    "x": 0xD362, "y": 0xD361, "map": 0xD35E, "battle": 0xD057, "party": PARTY[0], "badges": 0xD356,
    "levels": tuple(PARTY[1] + NEXT * n for n in range(6)),
    "health": tuple((PARTY[2] + NEXT * n, 2) for n in range(6)),
    "most": tuple((PARTY[3] + NEXT * n, 2) for n in range(6)),
    "events": (0xD747, 311),
}  # fmt: skip
"""wXCoord, wYCoord, wCurMap, wIsInBattle, wPartyCount, wObtainedBadges, wPartyMon1Level ..., wEventFlags."""
TICKET = 104
"""Event flag of the museum's ticket, which is not paid: bit 0 of D754."""
HP = "({}) / max(1, {})".format(
    *(" + ".join(f"u16be({name}[{2 * n}:{2 * n + 2}])" for n in range(6)) for name in ("health", "most"))
)
HEALED = "(hp > old(hp)) * (old(hp) > 0) * (party == old(party))"
TERMS = {
    "event": (4.0, f"gain(popcount(events) - bit(events, {TICKET}))"),
    "heal": (10.0, f"{HEALED} * (hp - old(hp)) * (hp - old(hp))"),
    "badge": (10.0, "popcount(badges) - old(popcount(badges))"),
    "explore": (0.1, "new(map, x, y, battle == 0)"),
}
"""Weight and value of each term. v2's penalty for 600 visits of a square is left out."""
ACTIONS = ("down", "left", "right", "up", "a", "b", "start")
FRAMES, HELD = 24, 8
STACK = 3


class RedEnv:
    """N consoles of Pokemon Red: every tensor lies on the device, episodes restart in the step that ends them."""

    def __init__(
        self, rom: str, state: dmglab.Snapshot, num_envs: int, device: str = "cpu", *, steps: int = 2048,
        watch: dict[str, object] = RED,
    ) -> None:  # fmt: skip
        """Begin every episode in `state`; `steps` is its length. `watch` gives other places to the same names."""
        self.emulator = dmglab.Emulator(rom, num_envs, device, hot_code="cuda" in device)
        self.num_envs, self.length = num_envs, steps
        self._state = self.emulator.state_cache([state])
        self.terms = dmglab.RamTerms.watching(self.emulator, watch, TERMS, values={"hp": HP}, horizon=steps)
        where = self.terms.watched.device
        bits = {"right": 1, "left": 2, "up": 4, "down": 8, "a": 16, "b": 32, "start": 128}
        self._masks = torch.tensor([bits[name] for name in ACTIONS], dtype=torch.uint8, device=where)
        self.steps = torch.zeros(num_envs, dtype=torch.int32, device=where)
        self._all = torch.ones(num_envs, dtype=torch.bool, device=where)
        self._screens = torch.zeros(num_envs, STACK, 72, 80, dtype=torch.uint8, device=where)
        self._actions = torch.zeros(num_envs, STACK, dtype=torch.int64, device=where)
        self._waves = 2.0 ** torch.arange(8, device=where)
        self._shifts = torch.arange(8, dtype=torch.uint8, device=where)

    def read(self, name: str) -> Tensor:
        """Return the watched bytes of a name, u8[N, n]: a view, not a copy."""
        assert self.terms.watch is not None
        return self.terms.watched[:, self.terms.watch.slices[name]]

    def reset(self) -> dict[str, Tensor]:
        """Begin an episode on every console; return the observation."""
        self._step = 0
        self._begin(self._all)
        return self._observation()

    def step(self, actions: Tensor) -> tuple[dict[str, Tensor], Tensor, Tensor]:
        """Take `actions` i64[N]; return the next observation, reward f32[N], and truncated bool[N]."""
        self.emulator.run(self._masks[actions], FRAMES, HELD)
        reward, _ = self.terms.step(self.steps)
        reward = reward.clone()
        self.steps += 1
        ended = self.steps >= self.length
        self._actions = self._actions.roll(1, 1)
        self._actions[:, 0] = actions
        self._screens = self._screens.roll(1, 1)
        self._screens[:, 0] = torch.from_dlpack(self.emulator.observations())
        self._step += 1
        if self._step % self.length == 0:  # all episodes have one length: nothing is read from the device
            self._begin(ended)
        return self._observation(), reward, ended

    def _begin(self, where: Tensor) -> None:
        self.emulator.reset(where.to(torch.uint8), self._state)
        self.terms.restart(where)
        self.steps.masked_fill_(where, 0)
        self._actions.masked_fill_(where[:, None], 0)
        self._screens.masked_fill_(where[:, None, None, None], 0)
        self._screens[:, 0] = torch.from_dlpack(self.emulator.observations())

    def _observation(self) -> dict[str, Tensor]:
        """Return what v2's policy sees, but its map of visited squares: screens, health, levels, badges, events, the
        last actions."""
        health, most = (self._pairs(name).sum(1) for name in ("health", "most"))
        level = 0.02 * self.read("levels").sum(1)
        return {
            "screens": self._screens,
            "health": health / most.clamp(min=1),
            "level": torch.sin(level[:, None] * self._waves),
            "badges": self._bits("badges"),
            "events": self._bits("events"),
            "recent_actions": self._actions,
        }

    def _pairs(self, name: str) -> Tensor:
        pairs = self.read(name).unflatten(1, (-1, 2)).float()
        return pairs[..., 0] * 256 + pairs[..., 1]

    def _bits(self, name: str) -> Tensor:
        return (self.read(name)[..., None] >> self._shifts.flip(0) & 1).flatten(1)


if __name__ == "__main__":
    given = sys.argv[1:]
    torch.set_num_threads(1)  # on a CPU: more threads would wait for each other
    env = RedEnv(given[0], dmglab.Snapshot.load(given[1]), int((given[2:3] or ["64"])[0]), (given[3:4] or ["cpu"])[0])
    env.reset()
    began = time.monotonic()
    for _ in range(100):
        _, reward, _ = env.step(torch.randint(len(ACTIONS), (env.num_envs,), device=env.steps.device))
    print(f"{100 * env.num_envs / (time.monotonic() - began):,.0f} env steps/s, last mean reward {reward.mean():.4f}")
