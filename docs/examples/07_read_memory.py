"""Read and write the memory of one console, then of many at once without a copy: `python 07_read_memory.py`."""

import torch

import dmglab

rom = dmglab.roms()["pocket_quest"]
with dmglab.GameBoy(rom) as game:
    game.run(200)
    before = game.memory[0xC000:0xE000]  # uint8[8192]
    game.press("start", frames=60)
    changed = (game.memory[0xC000:0xE000] != before).nonzero()[0]
    print(f"{len(changed)} bytes changed, the first at {0xC000 + changed[0]:#06x}: {game.memory[0xC000 + changed[0]]}")
    game.memory[0xC000 + changed[0]] = int(before[changed[0]])  # written back

consoles = dmglab.Emulator(rom, 64)
ram = torch.from_dlpack(consoles.work_ram)  # uint8[64, 8192], the consoles' own memory, on their device
consoles.run(["start", None] * 32, frames=200)
print("bytes in which console 1 differs from console 0:", int((ram[1] != ram[0]).sum()))
