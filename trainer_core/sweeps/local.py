"""Trials on this computer: so many places, each with its device."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from trainer_core.protocol.runs import RunRecord
from trainer_core.sweeps.slot import TrialSlot
from trainer_core.sweeps.sweep import Trial


class LocalSlots:
    """`jobs` trials at a time on each of `devices`."""

    def __init__(self, devices: Sequence[str], jobs: int, make: Callable[[], TrialSlot]) -> None:
        self.places = len(devices) * jobs
        self._free = [(device, make()) for _ in range(jobs) for device in reversed(devices)]
        self._busy: dict[int, TrialSlot] = {}

    async def run(self, trial: Trial, began: Callable[[str], None]) -> RunRecord:
        """The trial to its end, in a free place. Raises LabError when it cannot start."""
        device, slot = self._free.pop()
        self._busy[trial.number] = slot
        began(device)
        try:
            return msgspec.json.decode(await slot.run(trial.number, device), type=RunRecord)
        finally:
            del self._busy[trial.number]
            self._free.append((device, slot))

    async def stop(self, trial: Trial, reason: str) -> None:
        """Climb the ladder; does nothing for a trial that is not running."""
        if slot := self._busy.get(trial.number):
            await slot.stop(reason)

    async def close(self) -> None:
        """Nothing stays open between trials."""
        await asyncio.sleep(0)
