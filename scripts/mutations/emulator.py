"""List patches of the emulator that a test must notice: (path, old text, new text, pytest arguments)."""

MICRO = "tests/emulator/test_micro_roms.py"

MUTATIONS = [
    (
        "emulator/kernels/io/timer.py",
        "            o.tima = tma\n            request_interrupt(mem, U(INTERRUPT_TIMER))",
        "            o.tima = tma\n            request_interrupt(mem, U(2))",
        f"{MICRO} -k timer",
    ),
    (
        "emulator/kernels/io/timer.py",
        "                else:\n                    request_interrupt(mem, U(INTERRUPT_TIMER))",
        "                else:\n                    request_interrupt(mem, U(8))",
        f"{MICRO} -k timer",
    ),
    (
        "emulator/kernels/memory/mbc3_clock.py",
        "if c.has_rtc != U(FIRST_CHIP) or (value",
        "if (value",
        f"{MICRO} -k mbc3",
    ),
    (
        "emulator/kernels/memory/mbc3_clock.py",
        "        c.rtc_zero = wp.where(halted == U(0), t, U(0))\n",
        "",
        f"{MICRO} -k mbc3",
    ),
    (
        "emulator/kernels/io/oam_dma.py",
        "    c.dma_start = t + U(1)\n",
        "    c.dma_start = t + U(2)\n",
        f"{MICRO} -k dma",
    ),
    ("emulator/kernels/io/sweep.py", "overflows(s, U(1) - s.triggered)", "overflows(s, U(0))", f"{MICRO} -k sweep"),
    (
        "emulator/kernels/io/serial.py",
        "    request_interrupt(mem, U(INTERRUPT_SERIAL))",
        "    request_interrupt(mem, U(4))",
        f"{MICRO} -k serial",
    ),
    ("emulator/kernels/io/joypad.py", "DIRECTIONS_RISE = 6 ", "DIRECTIONS_RISE = 3 ", f"{MICRO} -k joypad"),
    (
        "emulator/launch/reset_kernels.py",
        "state == source[env] and cached_rom[state] == rom_of_env[env]",
        "state == source[env]",
        "tests/emulator/test_arguments.py -k device_refuses",
    ),
    (
        "emulator/kernels/ppu/render_parallel.py",
        "(lows + 2 * highs + 2) >> 2",
        "(lows + 2 * highs) >> 2",
        "tests/emulator/test_batch.py -k rounded_means",
    ),
    (
        "emulator/state/state_cache.py",
        "    wrong = self.roms[chosen] != rom_of_env[envs]",
        "    wrong = self.roms[chosen] < 0",
        "tests/emulator/test_arguments.py -k never_goes_onto",
    ),
    (
        "emulator/state/console_check.py",
        '"ppu_front": FLAG',
        '"ppu_front": ANY',
        "tests/emulator/test_bad_files.py -k ppu_front",
    ),
    (
        "emulator/state/npz.py",
        "        if size > want.most_bytes:",
        "        if size > 1 << 62:",
        "tests/emulator/test_bad_files.py -k declared_size",
    ),
    (
        "emulator/rom/cartridge.py",
        "        if len(data) < declared:",
        "        if len(data) > declared:",
        "tests/emulator/test_bad_files.py -k lost_its_end",
    ),
    (
        "emulator/tools/jobs.py",
        "        for number, held in self.job.inputs:\n            if number - 1 <= frame:",
        "        for number, held in self.job.inputs:\n            if number <= frame:",
        "tests/emulator/test_cli.py -k buttons_are_held",
    ),
    (
        "emulator/state/state_cache.py",
        "        check_consoles(records, rows)\n        for rom",
        "        for rom",
        "tests/trainer_core/test_restored.py -k named_with_its_console",
    ),
    (
        "emulator/emulator.py",
        "            index[part] = np.arange(part.stop - part.start)\n",
        "",
        "tests/trainer_core/test_restored.py -k put_at_once",
    ),
]
