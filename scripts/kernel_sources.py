"""Write the C++ and CUDA source that Warp makes of every kernel of the emulator, names evened out.

`python scripts/kernel_sources.py OUT` in two checkouts, then `diff -r OUT_A OUT_B`: no difference
says that both run the same machine code, so at the same speed. No GPU is needed. One file for each
Warp module and kind of device, called by its kernels; with `--rom ROM` also for the superblocks of
that ROM. What a change of names or of the order of imports changes is left out.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import pkgutil
import re
from pathlib import Path
from typing import Any

import warp as wp
from warp._src import context

import emulator
from emulator.hot_code.compile_cpu import cpu_superblocks
from emulator.hot_code.compile_gpu import gpu_hot_code
from emulator.hot_code.search import find_pieces
from emulator.launch.warp_start import start_warp
from emulator.rom.idle_loops import marked_words

BLOCK = 256


def load_all() -> None:
    """Import every module of the emulator whose kernels Warp may be asked for."""
    for found in pkgutil.walk_packages(emulator.__path__, "emulator."):
        if not found.name.endswith("__main__") and ".verify" not in found.name:
            importlib.import_module(found.name)


def make_superblocks(rom: Path) -> None:
    """Make the kernels with the superblocks of a ROM, for both kinds of device."""
    cartridge = emulator.Cartridge.from_file(rom)
    words = marked_words(cartridge.rom, ends=True)
    cpu_superblocks([words], [find_pieces(cartridge, False)])
    gpu_hot_code([cartridge.rom], [words], [find_pieces(cartridge, True)])


def source(module: Any, device: str) -> str:
    """Return what Warp compiles for `device`, "cpu" or "cuda"."""
    options = module.resolve_options(wp.config, block_dim=1 if device == "cpu" else BLOCK)
    options |= {"output_arch": None if device == "cpu" else 90, "block_dim": BLOCK}
    builder = context.ModuleBuilder(module, options, target=device)
    return evened(builder.codegen(device))


def evened(text: str) -> str:
    """Leave out what names bring with them: hashes, line numbers, the order of definitions.

    Warp numbers functions of one name as they come and orders kernels by their hashes. Here a
    function's number is a digest of its text, in which those of what it calls stand already.
    """
    text = re.sub(r"_[0-9a-f]{8}(?=_|\b)", "", text)
    text = re.sub(r"\b\w+?__locals__", "", text)
    text = re.sub(r"<L \d+>", "", text)
    text = re.sub(r"^\s*//.*\.py.*$", "", text, flags=re.MULTILINE)
    called: dict[str, str] = {}
    definitions = []
    for part in re.split(r"(?=^(?:static|struct|extern|inline|#|//))", text, flags=re.MULTILINE):
        begun = re.search(r"^(?:static|inline) .*?\b(\w+)_(\d+)\(", part, flags=re.MULTILINE)
        part = part.strip()
        own = begun and f"{begun[1]}_{begun[2]}"
        part = re.sub(r"\b\w+_\d+(?=\()", lambda match: called.get(match[0], match[0]), part)
        if begun and own:
            part = part.replace(f"{own}(", f"{begun[1]}(")
            digest = hashlib.sha256(part.encode()).hexdigest()[:8]
            called[own] = f"{begun[1]}_{digest}"
            part = part.replace(f"{begun[1]}(", f"{called[own]}(", 1)
        definitions.append(part)
    return "\n\n".join(sorted(definitions)) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--rom", type=Path, action="append", default=[])
    arguments = parser.parse_args()
    start_warp()
    load_all()
    for rom in arguments.rom:
        make_superblocks(rom)
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name, module in sorted(context.user_modules.items()):
        kernels = sorted(kernel.key.rpartition("__")[2] for kernel in module.kernels.values())
        if not name.startswith("emulator.") or not kernels:
            continue
        for device, suffix in (("cpu", "cpp"), ("cuda", "cu")):
            text = source(module, device)
            stem = "+".join(kernels)[:120]
            path = arguments.out / f"{stem}.{suffix}"
            while path.exists():
                path = path.with_name(f"{path.stem}~.{suffix}")
            path.write_text(text, encoding="utf-8")
            print(f"{name}: {len(text)} bytes in {path.name}", flush=True)


if __name__ == "__main__":
    main()
