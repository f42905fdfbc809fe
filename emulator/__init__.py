"""Thousands of DMG Game Boys on one device, from one Warp source.

A *console* is one DMG, a *batch* is N of them, an *env* is an index in a batch. Three *executors*
run instructions: `uniform`, one data path for all lanes of a warp, and `threaded`, a warp for each
of few consoles (or of the last of a launch), on a GPU, and `native`, generated C++, on a CPU. All
come from one datasheet; everything else they share.

Rooms, lowest first; a file imports from its own room and from those before it
(tests/architecture/test_emulator_floors.py):

    constants           clocks, addresses, register bits under their Pan Docs names; the memory row
    rom                 cartridge header; datasheet (isa), its control rows; disassembler; loops
    state               the batch's arrays; power-on; save states; PyBoy's states
    launch              how the host launches: shapes, recorded launches, CUDA graphs
    kernels.intrinsics  raw memory and what Python cannot say
    kernels.memory      address map, mappers and their clock, the page of I/O registers
    kernels.ppu         LY, STAT, access times; the picture, drawn later from logs
    kernels.io          bus, timer, serial port, joypad, sound registers, OAM DMA; what happens when
    kernels.sm83        instructions of all executors, interrupts, the service of what is rare
    kernels.launch      the kernels: a launch of each executor, resets, sorting; pictures' arrays
    emulator            `Emulator`, the batch with methods
    sound               what a console sounds like, made beside it (ADR 15)
    tools, verify       the command line's jobs; comparison with PyBoy, fuzzing

`rom/hot_code` and `kernels/sm83/superblocks` make blocks of what a ROM spends its time in (ADR 17),
on a CPU `kernels/sm83/native_superblocks` (ADR 23).

Inside kernels.sm83: `contract` says what hot path and service tell each other; `registers`,
`uniform` and `in_place` are the uniform hot path, `native_code` and `threaded_code` the others;
`service`, `quick_service`, `attend`, `status_loops`, `waiting` and `interrupts` answer.

What a change touches:

    an instruction         rom/isa.py
    a mapper               rom/cartridge.py (its header bytes), kernels/memory/mapper.py
    ... with state         also state/batch.py, a field of `Console`: snapshots, resets, files and
                           hashes follow. What is not 0 at power-on stands in state/power_on.py, a
                           time is moved along in kernels/launch/boundary.py
    an I/O register        kernels/io/bus.py and the file of its chip
    a request to service   kernels/sm83/contract.py, the hot paths, attend.py
"""

import gc
import importlib
from typing import TYPE_CHECKING, Any

from emulator.constants import (
    BUTTON_NAMES,
    OBSERVATION_HEIGHT,
    OBSERVATION_WIDTH,
    SCREEN_HEIGHT,
    SCREEN_WIDTH,
)
from emulator.rom.cartridge import Cartridge, CartridgeError, EmulatorError

if TYPE_CHECKING:
    from emulator.emulator import Emulator
    from emulator.state.cache import StateCache
    from emulator.state.snapshot import Snapshot, SnapshotError

__all__ = [
    "BUTTON_NAMES",
    "OBSERVATION_HEIGHT",
    "OBSERVATION_WIDTH",
    "SCREEN_HEIGHT",
    "SCREEN_WIDTH",
    "Cartridge",
    "CartridgeError",
    "Emulator",
    "EmulatorError",
    "Snapshot",
    "SnapshotError",
    "StateCache",
]

WITH_WARP = {
    "Emulator": "emulator.emulator",
    "Snapshot": "emulator.state.snapshot",
    "SnapshotError": "emulator.state.snapshot",
    "StateCache": "emulator.state.cache",
}
"""Names that bring Warp, and where they are: it is loaded when one of them is asked for, since who
only reads a cartridge's header should not wait seconds for it."""


def __getattr__(name: str) -> Any:
    """The names of `WITH_WARP`; found once, they are the module's own."""
    if name not in WITH_WARP:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    collects = gc.isenabled()
    gc.disable()  # kernels are 500 functions whose texts Warp reads: what that makes stays
    try:
        found = globals()[name] = getattr(importlib.import_module(WITH_WARP[name]), name)
    finally:
        if collects:
            gc.enable()
    return found
