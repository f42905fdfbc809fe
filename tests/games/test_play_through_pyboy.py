"""The recorded play-throughs show the same pictures in PyBoy and in our emulator."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytestmark = [pytest.mark.warp, pytest.mark.slow]
pytest.importorskip("warp")
pytest.importorskip("pyboy")

from kit.game_batch import ACTIONS, MASKS, symbols  # noqa: E402

from emulator.tools.input_script import InputScript  # noqa: E402
from emulator.verify.compare import SideBySide  # noqa: E402

GAMES = Path(__file__).resolve().parents[2] / "assets" / "games"
EVERY = 12  # frames between compared pictures
BOOTED = 1  # PyBoy's first frame after its boot program is over when the comparison begins
LAST = {
    "pocket_quest": ("story", 2),
    "nectar_run": ("stage", 1),
    "mirror_moths": ("level", 8),
}  # a variable that says how far the play-through came
SHORTEST = {"pocket_quest": 180 * 60, "nectar_run": 60 * 60, "mirror_moths": 60 * 60}


def script_of(name: str) -> InputScript:
    recorded = json.loads((GAMES / name / "playthrough.json").read_text())
    masks = tuple(int(MASKS[ACTIONS.index(action)]) for action in recorded["actions"].split())
    return InputScript(recorded["wait_frames"], masks)


@pytest.mark.parametrize("name", SHORTEST)
def test_pictures_agree_along_the_play_through(name: str):
    script = script_of(name)
    assert script.frames >= SHORTEST[name]
    rom = GAMES / name / f"{name}.gb"
    pair = SideBySide(rom)
    seen, ours, theirs = set(), b"", []
    for frame in range(script.frames):
        mask = script.held(frame + BOOTED)
        near = frame % EVERY in (EVERY - 2, EVERY - 1, 0)
        pair.reference.run_frame(mask, draws=near)
        pair.emulator.run(np.array([mask]), 1)
        if near:
            theirs = [*theirs[-2:], pair.reference.shades.tobytes()]
        if frame % EVERY == EVERY - 1:
            ours = pair.emulator.screens.numpy()[0].tobytes()
        if frame and frame % EVERY == 0:
            assert ours in theirs, f"frame {frame}"
            seen.add(ours)
    assert len(seen) > 100
    variable, value = LAST[name]
    assert pair.emulator.peek(0, symbols(rom)[variable], 1)[0] == value
