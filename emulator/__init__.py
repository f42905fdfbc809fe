"""Thousands of DMG Game Boys on one device, from one Warp source.

A *console* is one DMG, a *batch* is N of them, an *env* is an index in a batch. Two *executors* run instructions:
`uniform`, one data path for all lanes of a warp, on a GPU, and `native`, generated C++, on a CPU. The last consoles of
a launch on a GPU, or all where they are few, run `threaded` code, each alone in its warp. All are generated from one
datasheet and share all other code (ADR 30, ADR 31).

Folders, lowest first; a file imports from its own folder and from those before it
(tests/architecture/test_emulator_floors.py):

    constants           clocks, addresses, register bits under their Pan Docs names; the memory row
    rom                 cartridge header; datasheet (isa), its control rows; disassembler; loops
    state               the batch's arrays; power-on; save states, PyBoy's too; the reset cache
    kernels.intrinsics  raw memory access and other instructions that Python lacks
    kernels.memory      address map, mappers, clocks of MBC3 and HuC3, the page of I/O registers
    kernels.ppu         LCD registers, STAT, mode timing, access times; pictures, drawn from logs
    kernels.io          bus, timer, serial port, joypad, sound registers, OAM DMA; hardware events
    kernels.sm83        instructions of all executors, interrupts, the service of rare requests
    launch              launches: the kernels of each executor, shapes, resets, sorting, recorded launches
    hot_code            superblocks of a ROM's most executed code: found, compiled, adopted
    frame_launcher      launches of a batch's frames by its executor
    device_access       bytes watched and written, hooks and slots of a batch, on the device
    emulator            `Emulator`, the batch with methods
    sound               outputs of the sound channels and samples, made beside it (ADR 38)
    tools, verify       the command line's jobs; comparison with PyBoy, fuzzing

Inside kernels.ppu a launch only logs the inputs of the picture (`frame_log`, written by `frame_log_writer`, read by
`frame_log_reader`); `render_parallel`, or `render_serial` on a CPU, draws it afterwards: a line by `pixel_fifo`, dot
by dot, if registers are written while it is drawn, else 32 pixels at a time by `scanline`, or on a CPU `scanline_cpu`.
`mode_timing` computes the position of the PPU, `lcd_registers` the values that the CPU reads.

Inside kernels.sm83: `data_path` is the one of `uniform`; `plan` states what an instruction does, from which
`cpp_instructions` writes the C++ of `native`, `ptx_threaded_code` the PTX of `threaded` and its code table, which
names for each ROM byte the block of that code that executes it. Rare work is left to the service:
`service_requests` defines requests and answers, `service` answers any, `service_quick` the commonest,
`service_inline` does what needs no request; `idle_loops_stat` and `idle_loops_ram` skip turns of waiting loops.

Inside hot_code (ADR 30, ADR 31): `background_search` starts the process of `search`, which plays a ROM and counts its
executed instructions, so stands above `emulator`; `piece_finder` cuts it into pieces; `superblocks` makes blocks of
them, which `ptx_superblocks` and `cpp_superblocks` print as code, `compile_gpu` and `compile_cpu` make kernels of it,
`adopt` goes over to these.

Files of a change:

    an instruction         rom/isa.py
    a mapper               rom/cartridge.py (its header bytes), kernels/memory/mapper.py
    ... with state         also state/batch.py, a field of `Console`: snapshots, resets, files and
                           hashes follow. A value that is not 0 at power-on stands in
                           state/power_on.py, a time is re-based in launch/launch_boundary.py
    an I/O register        kernels/io/bus.py and the file of its chip
    a request to service   kernels/sm83/service_requests.py, the hot paths, service.py
"""

import importlib
from typing import TYPE_CHECKING, Any

from emulator.constants import BUTTON_NAMES, OBSERVATION_HEIGHT, OBSERVATION_WIDTH, SCREEN_HEIGHT, SCREEN_WIDTH
from emulator.rom.cartridge import Cartridge, CartridgeError, EmulatorError
from emulator.rom.symbols import Symbols

if TYPE_CHECKING:
    from emulator.emulator import Emulator
    from emulator.state.snapshot import Snapshot, SnapshotError
    from emulator.state.state_cache import StateCache

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
    "Symbols",
]

WITH_WARP = {
    "Emulator": "emulator.emulator",
    "Snapshot": "emulator.state.snapshot",
    "SnapshotError": "emulator.state.snapshot",
    "StateCache": "emulator.state.state_cache",
}
"""Public names that import Warp on first use, each with its module: Warp takes seconds to load, and reading a
cartridge's header does not need it.
"""


def __getattr__(name: str) -> Any:
    """Import a name of `WITH_WARP` on first use and store it in this module."""
    if name not in WITH_WARP:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(importlib.import_module(WITH_WARP[name]), name)
    return found
