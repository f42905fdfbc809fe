"""`PyBoy`: the surface of PyBoy 2 for one console of DMG Lab."""

from __future__ import annotations

import heapq
import io as files
import operator
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dmglab.pyboy.api.constants import SPRITES, TILES, TILES_CGB
from dmglab.pyboy.api.gameshark import GameShark
from dmglab.pyboy.api.memory_scanner import MemoryScanner
from dmglab.pyboy.api.screen import GREY, Screen, packed
from dmglab.pyboy.api.sound import Sound
from dmglab.pyboy.api.sprite import Sprite
from dmglab.pyboy.api.tile import Tile
from dmglab.pyboy.api.tilemap import TileMap
from dmglab.pyboy.core.interaction import Interaction
from dmglab.pyboy.debugging import Debugger
from dmglab.pyboy.first_version import FIRST_VERSION, INSTEAD
from dmglab.pyboy.machine import BANK, BOOT, BOOT_BYTES, Machine
from dmglab.pyboy.memory import PyBoyMemoryView, PyBoyRegisterFile
from dmglab.pyboy.plugins.base_plugin import WRAPPERS, PyBoyGameWrapper
from dmglab.pyboy.utils import (
    PRESS,
    RELEASE,
    PyBoyAssertException,
    PyBoyException,
    PyBoyInvalidInputException,
    PyBoyInvalidOperationException,
    PyBoyOutOfBoundsException,
    WindowEvent,
)
from emulator import Cartridge, EmulatorError, Symbols
from emulator import constants as k
from emulator.state.pyboy_state import MOST_FILE_BYTES
from emulator.state.pyboy_state_writer import state_bytes
from emulator.state.snapshot import SnapshotError
from emulator.state.state_files import foreign_state
from trainer_core.envs.compile_progress import tell_on_stderr

WINDOWS = ("null", "headless", "dummy")
OTHER_WINDOWS = ("SDL2", "OpenGL", "GLFW")
IGNORED = (  # noqa: SIM905 - a list of words
    "scale sound_volume log_level title_status no_input cgb_color_palette debug"
    " autopause randomize sgb_border printer printer_output debugging hide_window disable_input disable_renderer"
    " game_wrapper profiling"
).split()
"""Keywords that are accepted and change nothing, as without a window in PyBoy, or for lack of the part."""
REFUSED = {
    "record_input": "record the buttons in your program, or play in the app and export the replay",
    "rewind": "keep states with save_state, or use dmglab.Emulator.snapshot",
    "serial_shared_memory": "two consoles are not linked",
    "serial_interrupt_based": "two consoles are not linked",
}
SECONDS_PER_TICK = 1 / 60


class PyBoy:
    """One Game Boy that other programs drive as PyBoy 2.

    `gamerom`: a path or a binary file. Keywords are those of PyBoy 2; `window` is "null", "headless" or "dummy". Raises
    KeyError for an unknown keyword, FileNotFoundError for a missing file, PyBoyException for a ROM that cannot run.
    """

    def __init__(
        self,
        gamerom: Any,
        *,
        ram_file: Any = None,
        rtc_file: Any = None,
        window: str = "null",
        symbols: Any = None,
        bootrom: Any = None,
        cgb: bool | None = None,
        gameshark: str | None = None,
        color_palette: Any = GREY,
        breakpoints: str | None = None,
        sound_sample_rate: int | None = None,
        sound_emulated: bool = True,
        **others: Any,
    ) -> None:
        self.stopped = True
        for old in {"bootrom_file", "window_type"} & others.keys():
            warnings.warn(f"{old} is PyBoy 1's: use {old.rpartition('_')[0]}", DeprecationWarning, stacklevel=2)
        bootrom, window = others.pop("bootrom_file", bootrom), others.pop("window_type", window)
        _check_keywords(window, others)
        self.gamerom = os.fspath(gamerom) if isinstance(gamerom, (str, os.PathLike)) else None
        data = _read_all(gamerom, "game ROM")
        boot = None if bootrom is None else _read_all(bootrom, "boot ROM")
        if boot is not None and len(boot) != BOOT_BYTES:
            raise PyBoyInvalidInputException(f"bootrom: {len(boot)} bytes; give the 256 of a Game Boy's")
        try:
            cartridge = Cartridge.from_bytes(data, os.path.basename(self.gamerom or "rom"))
        except EmulatorError as error:
            raise PyBoyException(str(error)) from None
        if cgb:
            warnings.warn("cgb=True: there is no Game Boy Color; the game runs on a Game Boy, in grey", stacklevel=2)
        self._symbols = Symbols(symbols, self.gamerom)
        self.rom_symbols, self.rom_symbols_inverse = self._symbols.by_place, self._symbols.by_name
        tell_on_stderr()
        self.machine = Machine(cartridge, boot, self._at_stop)
        """The console itself."""
        self.screen = Screen(self.machine, color_palette)
        self.memory = PyBoyMemoryView(self.machine)
        self.register_file = PyBoyRegisterFile(self.machine)
        self.memory_scanner = MemoryScanner(self.memory)
        self.tilemap_background = TileMap(self, k.LCDC_BG_MAP)
        self.tilemap_window = TileMap(self, k.LCDC_WINDOW_MAP)
        self.gameshark = GameShark(self.memory)
        for code in filter(None, (gameshark or "").split(",")):
            self.gameshark.add(code.strip())
        self.events: list[WindowEvent] = []
        self.queued_input: list[tuple[int, int]] = []
        self.frame_count = 0
        self.paused = self.quitting = False
        self.target_emulationspeed: float = 0
        self._interaction = Interaction()
        self._hooks: dict[tuple[int, int], tuple[Callable[[Any], Any], Any]] = {}
        self._sound: Sound | None = None
        self._sound_options = (sound_sample_rate, sound_emulated)
        self._debugger = Debugger(self, breakpoints)
        self._next_tick = time.perf_counter()
        self._load_battery(ram_file, rtc_file)
        fitting = [wrapper for wrapper in WRAPPERS if wrapper.cartridge_title == self.cartridge_title]
        self.game_wrapper: PyBoyGameWrapper = (fitting or [PyBoyGameWrapper])[0](self)
        self.stopped = False

    def __getattr__(self, name: str) -> Any:
        if name in FIRST_VERSION:
            text, call = FIRST_VERSION[name]
            warnings.warn(f"{name} is PyBoy 1's: use {text}", DeprecationWarning, stacklevel=2)
            return call(self)
        raise AttributeError(f"PyBoy.{name}: {INSTEAD.get(name, 'DMG Lab has no such part of PyBoy')}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def cartridge_title(self) -> str:
        """Title in the cartridge's header."""
        header = self.machine.cartridge.rom[0x134 : 0x143 - (int(self.machine.cartridge.rom[0x143]) >> 7)]
        return bytes(header).split(b"\0")[0].decode("ascii", "replace")

    @property
    def sound(self) -> Sound:
        """Samples of the ticks from now on; each tick then takes twice as long."""
        if self._sound is None:
            self._sound = Sound(self.machine, *self._sound_options)
        return self._sound

    # ---- time --------------------------------------------------------------------------------

    def tick(self, count: float = 1, render: bool = True, sound: bool = True) -> bool:
        """Run `count` ticks; return False once a QUIT was sent, or for 0.

        The last one's picture is drawn if `render`, its samples are kept if `sound` and somebody has read `sound`.
        """
        if self.stopped:
            raise PyBoyInvalidOperationException("this PyBoy was stopped; make a new one")
        try:
            left = operator.index(int(count) if isinstance(count, float) else count)
        except TypeError:
            raise PyBoyInvalidInputException(f"tick({count!r}): give a whole number") from None
        if left < 0:
            raise PyBoyInvalidInputException(f"tick({count}): give 0 or more")
        runs = left > 0
        while left:
            self._take_events()
            left -= 1 if self.paused else self._run(left, sound)
        if runs and render and not self.paused:
            self.screen.render()
        self.screen.renew_image()
        self.game_wrapper.post_tick()
        self._keep_speed()
        return runs and not self.quitting

    def _run(self, most: int, sound: bool) -> int:
        """Run up to the next tick in which anything but the console acts, at most `most`; return the number of ticks.

        With `sound`, the samples of the last tick are kept.
        """
        machine, self.events = self.machine, []
        machine.held[0] = self._interaction.mask
        if self.gameshark.enabled:
            self.gameshark.tick()
        if machine.stops or machine.booting or machine.locks_clock or self.gameshark.enabled:
            most = 1
        elif self.queued_input:
            most = max(1, min(most, self.queued_input[0][0] - self.frame_count))
        if self._sound is None:
            passed = machine.run(min(most, 10_000))
        else:
            passed = self._sound.tick(sound and most == 1, lambda: machine.run(1))
        self.frame_count += passed
        while self.queued_input and self.queued_input[0][0] <= self.frame_count:
            self.events.append(WindowEvent(heapq.heappop(self.queued_input)[1]))
        return passed

    def _take_events(self) -> None:
        for event in self.events:
            if str(event) == "QUIT":
                self.quitting = True
            elif str(event) in ("STATE_SAVE", "STATE_LOAD"):
                self._state_file(str(event) == "STATE_SAVE")
            elif str(event) in ("PAUSE", "UNPAUSE", "PAUSE_TOGGLE"):
                self.paused = not self.paused if str(event) == "PAUSE_TOGGLE" else str(event) == "PAUSE"
            elif str(event) == "RELEASE_SPEED_UP":
                self.target_emulationspeed = int(not self.target_emulationspeed)
            else:
                self._interaction.key_event(event)
        if self.paused:
            self.events = []

    def _keep_speed(self) -> None:
        """Sleep until the time of this call of `tick`, if a speed is set."""
        now = time.perf_counter()
        if self.target_emulationspeed > 0:
            self._next_tick += SECONDS_PER_TICK / self.target_emulationspeed
            time.sleep(max(0.0, self._next_tick - now))
        self._next_tick = max(self._next_tick, now)

    def set_emulation_speed(self, target_speed: float) -> None:
        """Let each call of `tick` take 1/60 s by `target_speed`; 0, as at the beginning, is as fast as can be."""
        self.target_emulationspeed = target_speed

    # ---- buttons -----------------------------------------------------------------------------

    def button(self, input: str, delay: int = 1) -> None:
        """Press a button in the next tick, and release it `delay` ticks later."""
        self.button_press(input)
        self.send_input(RELEASE[_button(input)], delay)

    def button_press(self, input: str) -> None:
        """Press a button from the next tick on: a, b, start, select, left, right, up or down."""
        self.send_input(PRESS[_button(input)])

    def button_release(self, input: str) -> None:
        """Release a button from the next tick on."""
        self.send_input(RELEASE[_button(input)])

    def send_input(self, event: Any, delay: int = 0) -> None:
        """Let a `WindowEvent` happen at the next tick, or `delay` ticks later."""
        if delay < 0:
            raise PyBoyInvalidInputException(f"delay={delay}: give 0 or more ticks")
        if delay:
            heapq.heappush(self.queued_input, (self.frame_count + delay, int(event)))
        else:
            self.events.append(WindowEvent(event))

    # ---- states ------------------------------------------------------------------------------

    def save_state(self, file_like_object: Any) -> None:
        """Write the state in PyBoy's format of version 29, which PyBoy 2.8 reads."""
        _check_file(file_like_object, "wb")
        machine = self.machine
        snapshot, io = machine.emulator.snapshot(), machine.emulator.peek(0, k.IO, 0x80).tolist()
        rest = (machine.booting, machine.cycles, self.screen.ndarray)
        file_like_object.write(state_bytes(snapshot, machine.cartridge, io, *rest))

    def load_state(self, file_like_object: Any) -> None:
        """Continue from a state of PyBoy, of `save_state`, or from BESS (SameBoy, BGB), made with this ROM.

        Buttons are held as in the state, queued events stay. Raises PyBoyException for a state that cannot be.
        """
        _check_file(file_like_object, "rb")
        data = file_like_object.read(MOST_FILE_BYTES)
        try:
            snapshot, booting = foreign_state(data, self.machine.cartridge, in_boot=True)
        except SnapshotError as error:
            raise PyBoyAssertException(f"state: {error}") from None
        self.machine.restore(snapshot, booting)
        self._interaction.mask = self.machine.held[0] = int(self.machine.record["buttons"][0])
        self.screen.render(blanks=False)

    def _state_file(self, saves: bool) -> None:
        """Save to or load from the file beside the ROM, as PyBoy does for STATE_SAVE and STATE_LOAD."""
        if self.gamerom is None:
            raise PyBoyInvalidOperationException("this ROM has no path; use save_state and load_state with a file")
        with open(self.gamerom + ".state", "wb" if saves else "rb") as file:
            (self.save_state if saves else self.load_state)(file)

    def stop(self, save: bool = True, ram_file: Any = None, rtc_file: Any = None) -> None:
        """End, and if `save` write the cartridge's RAM to `ram_file`, or beside the ROM; a second call does nothing."""
        if self.stopped:
            return
        if save and self.machine.cartridge.header.has_battery:
            if ram_file is not None:
                ram_file.write(self._cart_ram().tobytes())
            elif self.gamerom is not None:
                Path(self.gamerom + ".ram").write_bytes(self._cart_ram().tobytes())
        self.stopped = True

    def _cart_ram(self) -> NDArray[np.uint8]:
        banks = [self.machine.bank(bank, k.CART_RAM) for bank in range(self.machine.cartridge.ram_banks)]
        return np.concatenate(banks)

    def _load_battery(self, ram_file: Any, rtc_file: Any) -> None:
        if rtc_file is not None:
            warnings.warn("rtc_file is not read: the cartridge's clock begins at 0", stacklevel=3)
        if ram_file is None and self.gamerom is not None and os.path.isfile(self.gamerom + ".ram"):
            ram_file = files.BytesIO(Path(self.gamerom + ".ram").read_bytes())
        if ram_file is not None:
            data = np.frombuffer(ram_file.read(), np.uint8)
            for bank in range(min(len(data) // k.RAM_BANK_SIZE, self.machine.cartridge.ram_banks)):
                part = data[bank * k.RAM_BANK_SIZE : (bank + 1) * k.RAM_BANK_SIZE]
                self.machine.bank(bank, k.CART_RAM)[:] = part

    # ---- hooks -------------------------------------------------------------------------------

    def hook_register(self, bank: int | None, addr: Any, callback: Callable[[Any], Any], context: Any) -> None:
        """Call `callback(context)` in front of the instruction at `addr` of `bank` (-1: boot program) when it runs.

        With bank None, `addr` is the name of a symbol. Raises ValueError for a second hook at one place.
        """
        place = self._place(bank, addr)
        if place in self.machine.stops:
            raise ValueError(f"{place[0]:02x}:{place[1]:04x}: Hook already registered for this bank and address.")
        self.add_stop(place)
        self._hooks[place] = (callback, context)

    def hook_deregister(self, bank: int | None, addr: Any) -> None:
        """Call the hook at this place no more. Raises ValueError where there is none."""
        place = self._place(bank, addr)
        if place not in self._hooks:
            raise ValueError(f"{place[0]:02x}:{place[1]:04x}: no hook there; Breakpoint not found for bank and addr")
        del self._hooks[place]
        self.machine.unset(place)

    def add_stop(self, place: tuple[int, int]) -> None:
        """Let the console stop at a place. Raises PyBoyOutOfBoundsException where no code can be."""
        bank, address = place
        at = address % BANK if bank != BOOT and address < k.VRAM else address if bank == BOOT else address & 0x1FFF
        if not 0 <= address < k.ECHO or at >= len(self.machine.bank(bank, address)):
            raise PyBoyOutOfBoundsException(f"{bank:02x}:{address:04x}: no code can be there; see the ROM's banks")
        self.machine.set(place)

    def _place(self, bank: int | None, addr: Any) -> tuple[int, int]:
        if bank is None:
            return self.symbol_lookup(addr)
        if not isinstance(bank, int) or not isinstance(addr, int):
            raise PyBoyInvalidInputException(
                f"{bank!r}, {addr!r}: give whole numbers, or None and the name of a symbol"
            )
        return bank, addr

    def _at_stop(self, bank: int, address: int) -> bool:
        if (bank, address) not in self._hooks:
            self._debugger.ask()
            return True
        callback, context = self._hooks[bank, address]
        callback(context)
        return False

    def symbol_lookup(self, symbol: str) -> tuple[int, int]:
        """Return bank and address of a symbol. Raises ValueError with the nearest names for an unknown one."""
        return self._symbols.lookup(symbol)

    _lookup_symbol = symbol_lookup

    # ---- what the console shows --------------------------------------------------------------

    def get_sprite(self, sprite_index: int) -> Sprite:
        """Return an object, 0 to 39."""
        return Sprite(self, sprite_index)

    def get_sprite_by_tile_identifier(self, tile_identifiers: Any, on_screen: bool = True) -> list[list[int]]:
        """Return for each tile number the objects that show it, only those on the screen unless told otherwise."""
        sprites = [Sprite(self, index) for index in range(SPRITES)]
        seen = [(n, sprite) for n, sprite in enumerate(sprites) if sprite.on_screen or not on_screen]
        return [
            [n for n, sprite in seen for tile in sprite.tiles if tile.tile_identifier == i] for i in tile_identifiers
        ]

    def get_tile(self, identifier: int) -> Tile:
        """Return a tile, 0 to 383."""
        return Tile(self, identifier)

    def game_area(self) -> NDArray[np.uint32]:
        """Return the numbers of the tiles in the game's area, as the game wrapper makes them."""
        return self.game_wrapper.game_area()

    def game_area_dimensions(self, x: int, y: int, width: int, height: int, follow_scrolling: bool = True) -> None:
        """Choose the part of the tile map that `game_area` returns."""
        self.game_wrapper._set_dimensions(x, y, width, height, follow_scrolling)

    def game_area_mapping(self, mapping: Any, sprite_offset: int = 0) -> None:
        """Replace tile numbers in `game_area` by those of `mapping`, 384 of them, or None for their own."""
        mapping = PyBoyGameWrapper.mapping_one_to_one if mapping is None else mapping
        if len(mapping) not in (TILES, TILES_CGB):
            raise PyBoyInvalidInputException(f"mapping: {len(mapping)} tiles; give {TILES}")
        self.game_wrapper.game_area_mapping(mapping, sprite_offset)

    def game_area_collision(self) -> Any:
        """Return where the player cannot walk, from a registered game wrapper. Raises AttributeError if it has none."""
        find = getattr(self.game_wrapper, "game_area_collision", None)
        if find is None:
            raise AttributeError("game_area_collision: register a wrapper with it, dmglab.pyboy.register_game_wrapper")
        return find()

    def set_color_palette(self, palette: Any) -> None:
        """Show the four shades in these RGB colours from the next picture on."""
        self.screen.palette = packed(palette)

    def rtc_lock_experimental(self, enable: bool) -> None:
        """Hold the cartridge's clock at 0, or let it go on. Raises PyBoyException for a cartridge without one."""
        if not self.machine.cartridge.header.has_rtc:
            raise PyBoyException("rtc_lock_experimental: this cartridge has no clock")
        self.machine.locks_clock = bool(enable)

    def _cycles(self) -> int:
        return self.machine.cycles


def _button(name: str) -> str:
    if not isinstance(name, str) or name.lower() not in PRESS:
        raise PyBoyInvalidInputException(f"{name!r}: give one of {', '.join(PRESS)}")
    return name.lower()


def _check_keywords(window: str, others: dict[str, Any]) -> None:
    if window in OTHER_WINDOWS:
        raise PyBoyInvalidInputException(f"window={window!r}: dmglab.pyboy has none, give 'null'; the app shows games")
    if window not in WINDOWS:
        raise KeyError(f"Unknown window type: {window}; give 'null'")
    for name, value in others.items():
        if name in REFUSED and value:
            raise PyBoyInvalidInputException(f"{name}: not in dmglab.pyboy; {REFUSED[name]}")
        if name not in (*IGNORED, *REFUSED):
            raise KeyError(f"Unknown keyword argument: {name}")


def _read_all(given: Any, what: str) -> bytes:
    if given is None:
        raise FileNotFoundError(f"{what}: None; give a path")
    if hasattr(given, "read"):
        return given.read()
    if not isinstance(given, (str, os.PathLike)):
        raise PyBoyInvalidInputException(f"{what}: {given!r:.60}; give a path or a binary file")
    if not os.path.isfile(given):
        raise FileNotFoundError(f"{what} {given}: no such file")
    return Path(given).read_bytes()


def _check_file(given: Any, mode: str) -> None:
    """Raise PyBoyInvalidInputException unless `given` is a binary file."""
    if isinstance(given, (str, os.PathLike, files.TextIOBase)) or not hasattr(
        given, "read" if mode == "rb" else "write"
    ):
        raise PyBoyInvalidInputException(f"{given!r:.60}: give a binary file, as open(path, {mode!r}) returns")
