"""Every step of a script in one picture: what a person looks at to write the next line of it."""

from __future__ import annotations

import io

from PIL import Image, ImageDraw

from emulator import Cartridge
from trainer_core.exports.gif import GREYS, shades_image
from trainer_core.play.authoring.demonstration import Trace, step_screen
from trainer_core.play.authoring.inputs import Inputs, steps_of
from trainer_core.protocol.errors import TaskError
from trainer_core.protocol.tasks import Codec

COLUMNS = 10
LABEL, GAP = 12, 4
"""Pixels of the line above a screen, and between two."""
MOST = 400
"""Steps of one sheet: forty rows."""


def contact_sheet(cartridge: Cartridge, inputs: Inputs, trace: Trace, codec: Codec) -> bytes:
    """A PNG of the screens at the ends of all steps, each with its number and the button pressed.

    Raises TaskError for more steps than anybody looks at.
    """
    if len(trace.states) > MOST + 1:
        raise TaskError(
            f"{inputs.source}: {len(trace.states) - 1} steps, a sheet holds {MOST}; take --picture"
        )
    actions = steps_of(inputs.masks[inputs.first_step :], codec)
    words = ["start", *(codec.actions[action] if action >= 0 else "-" for action in actions)]
    wide, high = 160 + GAP, 144 + LABEL + GAP
    rows = -(-len(trace.states) // COLUMNS)
    sheet = Image.new("L", (min(COLUMNS, len(trace.states)) * wide, rows * high), 255)
    draw = ImageDraw.Draw(sheet)
    for step, (state, word) in enumerate(zip(trace.states, words, strict=True)):
        x, y = step % COLUMNS * wide, step // COLUMNS * high
        draw.text((x, y), f"{step} {word}", fill=0)
        screen = shades_image(step_screen(cartridge, state), GREYS).convert("L")
        sheet.paste(screen, (x, y + LABEL))
    written = io.BytesIO()
    sheet.save(written, format="PNG")
    return written.getvalue()
