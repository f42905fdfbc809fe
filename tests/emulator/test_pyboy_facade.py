"""`dmglab.pyboy` behaves as PyBoy: measured facts of PyBoy 2.8.1, and both side by side on our own game."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from micro.assembler import assemble

import dmglab.pyboy.api
from dmglab.pyboy import PyBoy, PyBoyGameWrapper, WindowEvent, boot, install, register_game_wrapper
from dmglab.pyboy.api.memory_scanner import DynamicComparisonType
from dmglab.pyboy.core.interaction import Interaction
from dmglab.pyboy.plugins import base_plugin
from dmglab.pyboy.utils import (
    PyBoyAssertException,
    PyBoyException,
    PyBoyFeatureDisabledError,
    PyBoyInvalidInputException,
    PyBoyInvalidOperationException,
    PyBoyOutOfBoundsException,
)
from emulator.state.pyboy_state import parse

pytestmark = pytest.mark.warp
CHECKOUT = Path(__file__).parents[2]
POCKET_QUEST = CHECKOUT / "assets" / "games" / "pocket_quest" / "pocket_quest.gb"
TICKS_TO_GAME = 65
SWITCHES = """
main:
  ld a, 0
  ldh ($40), a          ; LCD off
  ld bc, 4000           ; 28,000 M-cycles
.wait:
  dec bc
  ld a, b
  or a, c
  jr nz, .wait
  ld a, $91
  ldh ($40), a          ; and on
.here:
  jr .here
"""


def saved(pyboy: Any) -> io.BytesIO:
    file = io.BytesIO()
    pyboy.save_state(file)
    file.seek(0)
    return file


@pytest.fixture(scope="module")
def booted() -> bytes:
    """State in which the game has run for a second."""
    with POCKET_QUEST.open("rb") as rom:
        pyboy = PyBoy(rom)
    pyboy.tick(TICKS_TO_GAME + 60)
    return saved(pyboy).getvalue()


@pytest.fixture
def game(booted: bytes) -> PyBoy:
    """Pocket Quest, a second after the boot program."""
    pyboy = PyBoy(POCKET_QUEST)
    pyboy.load_state(io.BytesIO(booted))
    return pyboy


# -- boot program and ticks -----------------------------------------------------------------


def test_the_boot_programs_source_gives_its_bytes() -> None:
    assert assemble(CHECKOUT / "dmglab" / "pyboy" / "boot.asm").image[:0x100] == boot.PROGRAM


def test_the_boot_program_takes_pyboys_time_and_leaves_its_registers() -> None:
    pyboy = PyBoy(POCKET_QUEST)
    memory, registers = pyboy.memory, pyboy.register_file
    assert not pyboy.screen.ndarray.any()
    assert (memory[0], memory[-1, 0xFE], memory[0, 0]) == (0x31, 0xE0, POCKET_QUEST.read_bytes()[0])
    seen: list[Any] = []

    def look(_: object) -> None:
        seen.append([pyboy.frame_count, pyboy._cycles(), *(memory[at] for at in (0xFF44, 0xFF04, 0xFF40, 0xC000))])
        seen.append([getattr(registers, name) for name in ("A", "F", "B", "C", "D", "E", "HL", "SP", "PC")])

    pyboy.hook_register(-1, 0xFC, seen.append, "end")
    pyboy.hook_register(0, 0x100, look, None)
    pyboy.tick(4, False)
    assert abs(pyboy._cycles() - 4 * 70_224) < 24, "four ticks with the LCD off"
    pyboy.tick(1, False)
    assert abs(pyboy._cycles() - 297_912) < 24, "switching the LCD on ends a tick"
    pyboy.tick(59, False)
    assert not seen
    pyboy.tick(1, False)
    assert seen == [
        "end",
        [64, 4_507_360, 145, 0xC6, 0x91, 0],
        [0x01, 0xD0, 0x00, 0x13, 0x00, 0x8F, 0x0087, 0xFFFE, 0x0100],
    ]
    assert pyboy.tilemap_background[8, 8] == 1
    assert pyboy.get_tile(1).ndarray()[3, :2, 0].tolist() == [255, 0]
    assert memory[0] == memory[0, 0]


def test_a_tick_ends_where_the_lcd_is_switched(tmp_path: Path) -> None:
    source = tmp_path / "switches.asm"
    source.write_text(SWITCHES)
    rom = assemble(source).image
    lengths = []
    for kind in (PyBoy, pytest.importorskip("pyboy").PyBoy):
        pyboy = kind(io.BytesIO(rom), window="null")
        ends = [pyboy._cycles() for _ in range(70) if pyboy.tick(1, False)]
        lengths.append(np.diff(ends)[TICKS_TO_GAME - 2 :])
        pyboy.stop(save=False)
    assert np.abs(lengths[0] - lengths[1]).max() <= 16, lengths
    assert (lengths[1] < 69_000).sum() == 2


def test_what_tick_returns_and_refuses(game: PyBoy) -> None:
    assert game.tick() is True
    assert game.tick(0) is False
    assert game.tick(1.5) is True
    with pytest.raises(PyBoyInvalidInputException, match="give 0 or more"):
        game.tick(-1)
    before = game.screen.ndarray.copy()
    game.button("down", 30)
    game.tick(40, False)
    assert np.array_equal(before, game.screen.ndarray), "not rendered"
    game.send_input(WindowEvent.QUIT)
    assert game.tick() is False
    game.stop(save=False)
    with pytest.raises(PyBoyInvalidOperationException, match="stopped"):
        game.tick()


# -- side by side ---------------------------------------------------------------------------


def test_both_play_alike_from_each_others_states() -> None:
    """Memory of the game and pictures stay equal over a tenth of the game's walk, from a state of either."""
    theirs = pytest.importorskip("pyboy").PyBoy(str(POCKET_QUEST), window="null", log_level="CRITICAL")
    ours = PyBoy(POCKET_QUEST)
    theirs.tick(TICKS_TO_GAME + 100)
    for giver, taker in ((theirs, ours), (ours, theirs)):
        taker.load_state(saved(giver))
        giver.load_state(saved(giver))
        for step, button in enumerate(("start", "a", "right", "down", "left", "b") * 2):
            for pyboy in (ours, theirs):
                pyboy.button(button, 5)
                pyboy.tick(9, True)
            memory = [bytes(pyboy.memory[0xC000:0xE000]) for pyboy in (ours, theirs)]
            different = [place for place, (a, b) in enumerate(zip(*memory, strict=True)) if a != b]
            assert len(different) <= 2, (step, different)  # the game's random numbers come from DIV
            assert step == 0 or np.array_equal(ours.screen.ndarray, theirs.screen.ndarray), step
            assert ours.game_area().tolist() == np.asarray(theirs.game_area()).tolist()
    assert ours.memory[0xFF25] == theirs.memory[0xFF25]
    assert ours.register_file.PC == theirs.register_file.PC
    theirs.stop(save=False)


# -- input ----------------------------------------------------------------------------------


def test_input_is_queued_and_lasts_its_ticks(game: PyBoy) -> None:
    def lines() -> int:
        game.memory[0xFF00] = 0x20
        return game.memory[0xFF00] & 15

    game.button("DOWN")
    assert lines() == 15, "nothing before the tick"
    game.tick()
    assert lines() == 7
    assert [str(event) for event in game.events] == ["RELEASE_ARROW_DOWN"]
    game.tick()
    assert lines() == 15
    assert not game.events
    game.button("up", 3)
    assert [(game.tick(), lines())[1] for _ in range(4)] == [11, 11, 11, 15]
    game.button_press("left")
    game.button_release("left")
    game.tick()
    assert lines() == 15, "never seen"
    game.button("right", 2)
    game.tick(5)
    assert lines() == 15
    with pytest.raises(PyBoyInvalidInputException, match="give one of"):
        game.button("x")
    with pytest.raises(PyBoyInvalidInputException, match="delay"):
        game.send_input(WindowEvent.PRESS_BUTTON_A, -1)
    buttons = Interaction()
    assert buttons.key_event(WindowEvent.PRESS_BUTTON_B)
    assert buttons.pull(0x10) == 0xCD


# -- memory ---------------------------------------------------------------------------------


def test_memory_reads_writes_and_refuses_as_pyboys(game: PyBoy) -> None:
    memory = game.memory
    memory[0xC100] = 7
    memory[0xC101:0xC104] = [1, 2, 3]
    assert memory[0xC100:0xC104] == [7, 1, 2, 3] == memory[0xE100:0xE104] == memory[0, 0xC100:0xC104]
    assert memory[0xC100:0xC104:2] == [7, 2]
    assert memory[np.int64(0xC100) : np.int64(0xC102)] == [7, 1]
    assert memory[-1] == memory[0xFFFF]
    assert memory[0x10000] == memory[0]
    assert memory[1, 0] == memory[1, 0x4000]
    memory[0xFF43] = 5
    assert memory[0xFF43] == 5 == game.screen.get_tilemap_position()[0][0]
    memory[0, 0x3000] = 0x99
    memory[0x3001] = 0x99  # the mapper, if there were one
    assert memory[0x3000] == 0x99
    assert memory[0x3001] != 0x99
    wrong: tuple[tuple[Any, type[Exception]], ...] = (
        (slice(None, 10), PyBoyInvalidInputException),
        (slice(10, 10), PyBoyInvalidInputException),
        (slice(0, 0x10001), PyBoyOutOfBoundsException),
        ((0, slice(0, 0x4000)), PyBoyOutOfBoundsException),
        ((1, 0x8000), PyBoyInvalidInputException),
        ((9, 0x4000), PyBoyOutOfBoundsException),
        (np.int64(5), TypeError),
    )
    for index, error in wrong:
        with pytest.raises(error):
            memory[index]
    for value in (300, -1):
        with pytest.raises(OverflowError):
            memory[0xC000] = value
    for use in (len, iter):
        with pytest.raises(PyBoyInvalidOperationException):
            use(memory)
    game.register_file.A = 0x12
    game.register_file.HL = 0xC123
    assert (game.register_file.A, game.register_file.HL) == (0x12, 0xC123)
    with pytest.raises(AttributeError, match="the registers are"):
        _ = game.register_file.X


def test_codes_scanner_areas_and_speed(game: PyBoy) -> None:
    game.memory[0xD7F0] = 3
    game.gameshark.add("01FFF0D7")
    game.tick()
    assert game.memory[0xD7F0] == 255
    game.gameshark.remove("01FFF0D7")
    assert game.memory[0xD7F0] == 3
    assert 0xD7F0 in game.memory_scanner.scan_memory(3, 0xD000, 0xDFFF)
    game.memory[0xD7F0] = 9
    assert game.memory_scanner.rescan_memory(9, DynamicComparisonType.MATCH) == [0xD7F0]
    area = game.game_area()
    assert area.shape == (32, 32)
    assert area.dtype == np.uint32
    assert area.max() >= 256
    assert game.tilemap_background[:, 3] == game.tilemap_background.identifiers()[3].tolist()
    image = game.screen.image
    game.screen.ndarray[:] = 7
    assert image.getpixel((0, 0)) == (7, 7, 7, 7)
    with pytest.raises(AttributeError, match="register_game_wrapper"):
        game.game_area_collision()
    with pytest.raises(PyBoyException, match="no clock"):
        game.rtc_lock_experimental(True)


# -- hooks ----------------------------------------------------------------------------------


def test_hooks_stop_in_front_of_their_instruction(game: PyBoy) -> None:
    seen: list[Any] = []
    bank, address = game.symbol_lookup("next_frame")
    kept = game.memory[bank, address]
    game.hook_register(None, "next_frame", lambda _: seen.append((game.register_file.PC, game.frame_count)), None)
    assert game.memory[bank, address] == 0xDB, "the game would read it as data"
    frames = game.frame_count
    other = PyBoy(POCKET_QUEST)
    other.load_state(saved(game))
    game.tick(3)
    other.tick(3)
    assert seen == [(address, frames + tick) for tick in range(3)]
    assert game.memory[0xC000:0xE000] == other.memory[0xC000:0xE000], "as without it"
    with pytest.raises(ValueError, match="already registered"):
        game.hook_register(bank, address, seen.append, None)
    game.hook_deregister(bank, address)
    assert game.memory[bank, address] == kept
    game.tick(2)
    assert len(seen) == 3
    with pytest.raises(ValueError, match="no hook there"):
        game.hook_deregister(bank, address)
    with pytest.raises(ValueError, match="did you mean next_frame"):
        game.hook_register(None, "nextframe", seen.append, None)
    with pytest.raises(PyBoyOutOfBoundsException, match="no code"):
        game.hook_register(9, 0x4000, seen.append, None)

    def fails(_: object) -> None:
        game.hook_deregister(bank, address)
        raise RuntimeError("mine")

    game.hook_register(bank, address, fails, None)
    with pytest.raises(RuntimeError, match="mine"):
        game.tick()
    assert game.tick()


# -- states ---------------------------------------------------------------------------------


def test_states_of_old_versions_are_read(game: PyBoy, booted: bytes) -> None:
    """Bytes of a new state in the order of versions 7 and 9, which have no sound and no cycles."""
    assert len(booted) == 153_524
    registers, interrupts = booted[6:19], booted[20:25]  # without the delay of EI
    video, lcd, clock = booted[45:8397], booted[8397:8408], booted[9143:9160]
    pixels = b"".join(booted[11_193 + 5 * n : 11_197 + 5 * n] for n in range(23_040))
    ram, timer, rest = booted[126_394:134_885], booted[134_886:134_894], booted[134_911:143_109]
    end = bytes(5 * 144) + pixels + ram + bytes(0x34) + timer + rest
    seven = bytes([7, 0]) + registers + interrupts[:3] + video + lcd + end
    nine = bytes([9, 0, 0, 0, 0]) + registers + interrupts + video + lcd + bytes(2) + clock + end
    for version, data in ((7, seven), (9, nine)):
        state = parse(data, game.machine.cartridge)
        assert state.version == version
        game.load_state(io.BytesIO(data))
        assert bytes(game.memory[0xC000:0xE000]) == ram[:0x2000]
        game.tick(2)


def test_states_that_are_refused_say_why(game: PyBoy, booted: bytes) -> None:
    for given, error, words in (
        (io.BytesIO(b"\x00123"), PyBoyAssertException, "version 0 is not read"),
        (io.BytesIO(booted[:-9]), PyBoyAssertException, "another ROM"),
        (io.StringIO("x"), PyBoyInvalidInputException, "binary file"),
        ("game.state", PyBoyInvalidInputException, "binary file"),
    ):
        with pytest.raises(error, match=words):
            game.load_state(given)
    game.button_press("a")
    game.tick()
    game.button("b", 4)
    frames = game.frame_count
    game.load_state(io.BytesIO(booted))
    assert (game.frame_count, len(game.events), game.machine.held[0]) == (frames, 1, 0)


# -- the rest of the surface ----------------------------------------------------------------


def test_what_the_constructor_refuses(tmp_path: Path) -> None:
    rom = str(POCKET_QUEST)
    refused: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"window": "SDL2"}, PyBoyInvalidInputException, "give 'null'"),
        ({"window": "huge"}, KeyError, "Unknown window"),
        ({"colour": 1}, KeyError, "Unknown keyword argument: colour"),
        ({"symbols": "no.sym"}, FileNotFoundError, "no.sym"),
        ({"bootrom": "no.bin"}, FileNotFoundError, "no.bin"),
        ({"rewind": True}, PyBoyInvalidInputException, "save_state"),
        ({"bootrom": io.BytesIO(b"12")}, PyBoyInvalidInputException, "256"),
        ({"breakpoints": "x"}, ValueError, "BANK:ADDRESS"),
    ]
    for keywords, error, words in refused:
        with pytest.raises(error, match=words):
            PyBoy(rom, **keywords)
    with pytest.raises(FileNotFoundError, match="no such file"):
        PyBoy(tmp_path / "no.gb")
    with pytest.raises(PyBoyException):
        PyBoy(io.BytesIO(b"rom"))


def test_names_of_the_first_version_and_missing_parts(game: PyBoy) -> None:
    with pytest.warns(DeprecationWarning, match=r"memory\[address\]"):
        assert game.get_memory_value(0xC000) == game.memory[0xC000]
    with pytest.warns(DeprecationWarning, match="get_tile"):
        assert game.botsupport_manager().screen().screen_ndarray().shape == (144, 160, 3)
    with pytest.warns(DeprecationWarning, match="botsupport_manager"):
        assert len(game.botsupport_manager().screen().tilemap_position_list()) == 144
    with pytest.warns(DeprecationWarning, match="tick"):
        game._rendering(False)
    with pytest.raises(AttributeError, match="Gym environment"):
        _ = game.openai_gym


def test_sound_of_each_tick(booted: bytes) -> None:
    pyboy = PyBoy(POCKET_QUEST, sound_sample_rate=24_000, debugging=False, hide_window=True)
    pyboy.load_state(io.BytesIO(booted))
    sound = pyboy.sound
    assert sound.ndarray.shape == (0, 2)
    lengths, heard = [], 0
    for _ in range(120):
        pyboy.tick(1, False)
        lengths.append(len(sound.ndarray))
        heard = max(heard, int(np.abs(sound.ndarray).max()))
        assert sound.raw_buffer[: sound.raw_buffer_head].tobytes() == sound.ndarray.tobytes()
    assert 400 < np.mean(lengths) < 403
    assert 5 < heard <= 127
    assert pyboy.memory[0xC000:0xE000] == without_sound(booted, 120)
    pyboy.tick(3, False, False)
    assert sound.ndarray.shape == (0, 2)
    with pytest.raises(PyBoyFeatureDisabledError, match="sound_emulated"):
        _ = PyBoy(POCKET_QUEST, sound_emulated=False).sound.ndarray
    with pytest.raises(PyBoyInvalidInputException, match="multiple of 60"):
        _ = PyBoy(POCKET_QUEST, sound_sample_rate=44_101).sound


def without_sound(state: bytes, ticks: int) -> list[int]:
    """Return WRAM after as many ticks of a console whose sound nobody reads."""
    pyboy = PyBoy(POCKET_QUEST)
    pyboy.load_state(io.BytesIO(state))
    pyboy.tick(ticks, False)
    return pyboy.memory[0xC000:0xE000]


def test_users_register_their_wrapper(monkeypatch: pytest.MonkeyPatch, booted: bytes) -> None:
    monkeypatch.setattr(base_plugin, "WRAPPERS", wrappers := [])
    monkeypatch.setattr("dmglab.pyboy.facade.WRAPPERS", wrappers)

    @register_game_wrapper
    class Mine(PyBoyGameWrapper):
        cartridge_title = "POCKET QUEST"

    pyboy = PyBoy(POCKET_QUEST)
    assert isinstance(pyboy.game_wrapper, Mine)
    pyboy.load_state(io.BytesIO(booted))
    pyboy.game_wrapper.start_game(timer_div=0x42)
    assert pyboy.memory[0xFF04] == 0x42
    pyboy.tick(5)
    pyboy.game_wrapper.reset_game(timer_div=0x43)
    assert pyboy.memory[0xFF04] == 0x43


def test_the_prompt_at_breakpoints(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("n\nwhat\nc\n"))
    PyBoy(POCKET_QUEST, breakpoints="-1:0,-1:3").tick()
    printed = capsys.readouterr().out
    assert (printed.count("-1:0000"), printed.count("-1:0003")) == (1, 2)
    assert "c: continue" in printed


def test_a_battery_keeps_the_cartridges_ram() -> None:
    image = bytearray(POCKET_QUEST.read_bytes())
    image[0x147], image[0x149] = 3, 2
    image[0x14D] = -sum(image[0x134:0x14D]) - 25 & 0xFF
    pyboy = PyBoy(io.BytesIO(image))
    pyboy.memory[0x0000] = 0x0A
    pyboy.memory[0xA010] = 77
    ram = io.BytesIO()
    pyboy.stop(ram_file=ram)
    assert (len(ram.getvalue()), ram.getvalue()[0x10]) == (0x2000, 77)
    ram.seek(0)
    assert PyBoy(io.BytesIO(image), ram_file=ram).memory[0, 0xA010] == 77


def test_unmodified_programs_import_it_as_pyboy(monkeypatch: pytest.MonkeyPatch) -> None:
    real = {name: module for name, module in sys.modules.items() if name.split(".")[0] == "pyboy"}
    if real:
        with pytest.raises(ImportError, match="imported already"):
            install()
    for name in real:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    install()
    assert sys.modules["pyboy"] is sys.modules["dmglab.pyboy"]
    assert sys.modules["pyboy.api.tile"].Tile is dmglab.pyboy.api.Tile
    assert sys.modules["pyboy.core.interaction"].Interaction is Interaction
