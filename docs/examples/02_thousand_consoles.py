"""Step many consoles at once, each with its own buttons: `python 02_thousand_consoles.py [N] [DEVICE]`."""

import sys
import time

import numpy as np

import dmglab

count = int(sys.argv[1]) if sys.argv[1:] else 1000
device = sys.argv[2] if sys.argv[2:] else "cpu"
consoles = dmglab.Emulator(dmglab.roms()["pocket_quest"], count, device=device)
consoles.run(["start", "a+up", None, "b"] * (count // 4), frames=24, release_after=8)  # names: one for each console
buttons = np.random.default_rng(1).integers(0, 256, count, dtype=np.uint8)  # or masks, or a torch tensor
began, steps = time.perf_counter(), 10
for _ in range(steps):
    consoles.run(buttons, frames=24, release_after=8)
pc = consoles.registers(0)["pc"]  # waits for the device
speed = steps * 24 * count / (time.perf_counter() - began)
pictures = consoles.screens.numpy()  # uint8[N, 144, 160]; on a GPU torch.from_dlpack(consoles.screens)
print(f"{consoles}: {speed:,.0f} frames a second, {pictures.shape}, PC of the first {pc:#06x}")
