"""Input movies played on our console: a complete recording, states included."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from emulator import Cartridge, EmulatorError
from emulator.state.pyboy_state import parse, to_snapshot
from trainer_core.envs.recording_writer import RecordingWriter
from trainer_core.envs.single_game import ConsoleGame
from trainer_core.lab.paths import HomePaths
from trainer_core.lab.recording import FRAMES_PER_SECOND
from trainer_core.lab.roms import known_roms, named_rom
from trainer_core.play.clips.movies import Movie, digest
from trainer_core.wire.errors import LabError


def press_movie(
    path: Path, movie: Movie, out: Path, rom: str, home: HomePaths, on_progress: Callable[[float], None]
) -> tuple[Path, str]:
    """Play the input movie of the file `path` into a recording in `out`; return (recording, note for the user).

    `rom` names its game; "" searches the known ROMs. Raises LabError.
    """
    cartridge, place = find_game(path, movie, rom, home)
    game = ConsoleGame(cartridge, str(place), [])
    game.restart(0)
    if movie.pyboy_state:
        try:
            game.restore(to_snapshot(parse(movie.pyboy_state, cartridge), cartridge))
        except EmulatorError as error:
            raise LabError(f"{path}: its state: {error}") from None
    writer = RecordingWriter(
        out, game, mode="human", checkpoint="", checkpoint_sha256="", source=f"{movie.what} {path.name}"
    )
    expected, other = dict(movie.pictures), 0
    first_other = -1
    for frame, mask in enumerate(movie.masks):
        wanted = expected.get(frame)
        if wanted is not None and digest(game.picture()) != wanted:
            other += 1
            first_other = frame if first_other < 0 else first_other
        game.frame(mask)
        writer.add_frame(game.picture(), mask)
        if frame % 120 == 0:
            on_progress(frame / len(movie.masks))
    writer.finish()
    return out, _note(movie, other, first_other)


def _note(movie: Movie, other: int, first_other: int) -> str:
    notes = []
    if movie.cut:
        seconds = movie.cut / FRAMES_PER_SECOND
        notes.append(f"the first ten minutes of it; {seconds:.0f} s were left out")
    if other:
        notes.append(
            f"{other} of the {len(movie.pictures)} pictures in the movie are others than here, the "
            f"first before frame {first_other + 1}"
        )
    elif not movie.pictures:
        notes.append("the file holds no picture to compare with: look whether it plays as meant")
    return "; ".join(notes)


def find_game(path: Path, movie: Movie, rom: str, home: HomePaths) -> tuple[Cartridge, Path]:
    """Return the cartridge and ROM path of the movie's game: `rom`, or one of the known ROMs.

    Raises LabError when none fits.
    """
    places = [named_rom(rom, home)] if rom else [known.path for known in known_roms(home)]
    for place in places:
        try:
            cartridge = Cartridge.from_file(place)
        except EmulatorError as error:
            if rom:
                raise LabError(str(error)) from None
            continue
        if _fits(movie, cartridge):
            return cartridge, place
        if rom:
            raise LabError(f"{path}: is of {_named(movie)}, not of {place.name}")
    raise LabError(f"{path}: is of {_named(movie)}, which is not known here; name it with --rom")


def _fits(movie: Movie, cartridge: Cartridge) -> bool:
    if movie.rom_sha256:
        return cartridge.sha256 == movie.rom_sha256
    rom = cartridge.rom.tobytes() if hasattr(cartridge.rom, "tobytes") else bytes(cartridge.rom)
    title = rom[0x134 : 0x134 + 12].split(b"\0")[0].decode("ascii", "replace").strip()
    # VisualBoyAdvance stores the bytes 014E-014F in either order.
    sums = {int.from_bytes(rom[0x14E:0x150], order) for order in ("little", "big")}
    return title == movie.title and movie.checksum in sums


def _named(movie: Movie) -> str:
    if movie.rom_sha256:
        return f"the ROM {movie.rom_sha256[:12]}..."
    return f"the game {movie.title!r} with checksum {movie.checksum:04X}"
