"""Breakpoints that ask at the terminal: the keyword `breakpoints` of `PyBoy`."""

from __future__ import annotations

from typing import Any

HELP = "c: continue, n: next instruction, b BANK:ADDRESS or b SYMBOL: another breakpoint"


class Debugger:
    """Prompt at breakpoints, such as `"0:0100,-1:0"` or the names of symbols, hexadecimal."""

    def __init__(self, pyboy: Any, breakpoints: str | None) -> None:
        self._pyboy = pyboy
        for text in filter(None, (breakpoints or "").split(",")):
            self._add(text.strip())

    def _add(self, text: str) -> None:
        bank, colon, address = text.partition(":")
        try:
            place = (int(bank, 16), int(address, 16)) if colon else self._pyboy.symbol_lookup(text)
        except ValueError as error:
            raise ValueError(f"breakpoint {text!r}: give BANK:ADDRESS, such as 0:0150, or a symbol ({error})") from None
        if place not in self._pyboy.machine.stops:
            self._pyboy.add_stop(place)

    def ask(self) -> None:
        """Print the registers, and do what the user says until it is to continue."""
        machine = self._pyboy.machine
        while True:
            bank, pc = machine.place()
            names = " ".join(self._pyboy.rom_symbols.get(bank, {}).get(pc, ()))
            registers = " ".join(f"{name.upper()}:{value:02X}" for name, value in machine.emulator.registers().items())
            print(f"{bank:02x}:{pc:04X} {names} {registers}")
            command, _, rest = input().strip().partition(" ")
            if command == "c":
                return
            if command == "n":
                machine.step()
            elif command == "b" and rest:
                self._add(rest)
            else:
                print(HELP)
