"""Language model as a player: each step posts the picture and asks for one button; the game waits for the answer."""

from __future__ import annotations

import base64
import re
from io import BytesIO

import numpy as np
from PIL import Image

from trainer_core.envs.language_model import LanguageModel
from trainer_core.wire.buttons import ACTIONS
from trainer_core.wire.shades import GREY_LEVELS

PROMPT = (
    "You play a Game Boy game and see its screen. Answer with one word, the button to press now: "
    + ", ".join(ACTIONS)
    + "."
)
SCALE = 2
"""Scale that gives the picture the size of the real screen."""
_LONG = "|".join(name for name in ACTIONS if len(name) > 1)
_WORD = re.compile(rf"\b([AB]|(?i:{_LONG}))\b|^\W*([ab])\W*$")
"""Pattern of a button name; a single letter only if upper case or the whole answer: "a" is also a word."""


class LlmPlayer:
    """Player that asks a language model for each button; if the answer names none, it presses B and counts that."""

    def __init__(self, model: LanguageModel) -> None:
        self.model, self.nonsense = model, 0

    def begin(self, observation: np.ndarray) -> None:
        self._seen = observation

    def see(self, observation: np.ndarray) -> None:
        self._seen = observation

    def act(self) -> int:
        """Return the model's action. Raises FailureError when it does not answer."""
        picture = {"type": "image_url", "image_url": {"url": data_url(self._seen)}}
        messages = [{"role": "system", "content": PROMPT}, {"role": "user", "content": [picture]}]
        found = [large or alone for large, alone in _WORD.findall(self.model.ask(messages, 16))]
        if not found:
            self.nonsense += 1
            return ACTIONS.index("B")
        # The last button named is the answer; models often reason first.
        return ACTIONS.index(found[-1].upper())


def data_url(observation: np.ndarray) -> str:
    """Return shades u8[72, 80] as a PNG in a data URL, SCALE times as large."""
    levels = np.array(GREY_LEVELS, np.uint8)[observation]
    image = Image.fromarray(levels.repeat(SCALE, 0).repeat(SCALE, 1))
    buffer = BytesIO()
    image.save(buffer, format="PNG")
    return "data:image/png;base64," + base64.b64encode(buffer.getvalue()).decode()
