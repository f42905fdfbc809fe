"""Command line `python -m emulator`: run ROMs, test ROMs and comparisons; disassemble, trace, import states."""

from __future__ import annotations

import argparse
import dataclasses
import gc
import json
import os
import sys
from pathlib import Path
from typing import TypeAlias

import warp as wp

if __name__ == "__main__":  # before the imports below read the texts of the kernels
    wp.config.log_level = wp.LOG_WARNING  # the banner would land on stdout
    gc.set_threshold(50_000)  # kernels are 500 functions whose texts Warp reads: the objects made by that stay

from emulator.emulator import MOST_ENVS, Emulator
from emulator.hot_code.background_search import end_with, one_at_a_time
from emulator.hot_code.search import compile_hot_code
from emulator.launch.warp_start import start_warp
from emulator.rom.cartridge import MAX_ROM_SIZE, Cartridge, EmulatorError
from emulator.rom.disassembler import disassemble
from emulator.state.arguments import whole_number
from emulator.state.state_files import read_state
from emulator.tools import rom_list, rom_suite
from emulator.tools.job_files import MOST_FRAMES, Job, JobError, parse_inputs, read_jobs, read_json
from emulator.tools.jobs import run_jobs, run_many
from emulator.tools.trace import trace
from emulator.tools.warmup import warm_up
from emulator.verify import verify_commands
from emulator.verify.fuzz_roms import fuzz_in_child

BATTERY = ".sav"
MOST_SOAK_S = 1_000_000
MOST_SEED = (1 << 32) - 1
OWN_GAME = Path(__file__).parents[1] / "assets" / "games" / "pocket_quest" / "pocket_quest.gb"


def parse_batches(text: str) -> tuple[int, ...]:
    """Return the batch sizes of an option such as `1024,16384`."""
    try:
        batches = tuple(int(part) for part in filter(None, text.split(",")))
    except ValueError:
        batches = (0,)
    if not all(1 <= batch <= MOST_ENVS for batch in batches):
        raise argparse.ArgumentTypeError(f"{text!r}: give numbers of consoles, like 1024,16384")
    return batches


def parse_memory(text: str) -> tuple[tuple[int, int], ...]:
    """Return (address, number of bytes) pairs of an option such as `0xA000:4,0xFF80:3`."""
    ranges = []
    for part in filter(None, text.split(",")):
        try:
            address, size = part.split(":")
            ranges.append((int(address, 16), int(size)))
        except ValueError:
            raise JobError(f"--memory {part!r}: give ADDR:LEN, for example 0xA000:4") from None
        if not (0 <= ranges[-1][0] <= 0xFFFF and 1 <= ranges[-1][1] <= 0x10000):
            raise JobError(f"--memory {part!r}: address or length out of range")
    return tuple(ranges)


def parse_screens(text: str) -> tuple[int, ...]:
    """Return the frame numbers of an option such as `118,119,120`."""
    try:
        numbers = sorted(int(part) for part in filter(None, text.split(",")))
    except ValueError:
        raise JobError(f"--screens {text!r}: give frame numbers separated by commas") from None
    return tuple(whole_number("--screens", number, 1, MOST_FRAMES) for number in numbers)


def hex_address(text: str) -> int:
    """Parse an address in hex."""
    try:
        return int(text, 16)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: give an address in hex, like 0150") from None


def read_inputs(path: Path) -> tuple[tuple[int, int], ...]:
    """Read a JSON file of inputs as (frame, joypad mask) pairs."""
    try:
        return parse_inputs(read_json(path))
    except EmulatorError as error:
        message = str(error)
        named = message.startswith(str(path))
        raise JobError(message if named else f"{path}: {message}") from None


def command_run(arguments: argparse.Namespace) -> None:
    """Run one ROM; write result.json and the screens asked for."""
    inputs = read_inputs(arguments.inputs) if arguments.inputs else ()
    check_numbers(arguments, frames=(1, MOST_FRAMES))
    job = Job(
        id=arguments.rom.stem,
        rom=str(arguments.rom),
        frames=arguments.frames,
        inputs=inputs,
        screens=parse_screens(arguments.screens),
        memory=parse_memory(arguments.memory),
        until_ld_b_b=arguments.until_ld_b_b,
        until_serial=arguments.until_serial,
    )
    cartridge = Cartridge.from_file(arguments.rom)
    for warning in cartridge.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    run_jobs([job], [cartridge], arguments.out, arguments.device, folders=[arguments.out])
    print(written(job, arguments.out))


def written(job: Job, out: Path) -> str:
    """Return a line for the user: the number of frames that `job` ran, and the files in its folder `out`."""
    result = read_json(out / "result.json")
    screens = (out / f"frame_{number}.png" for number in job.screens if number <= result["frames"])
    names = ["result.json", *(path.name for path in screens if path.exists())]
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    reasons = {"ld_b_b": ", stopped at LD B,B", "serial": ", stopped at its serial output"}
    stopped = reasons.get(result["stopped"], "")
    return f"{out}: {', '.join(names[:5])}{more}; {result['frames']} frames ran{stopped}"


def command_run_many(arguments: argparse.Namespace) -> None:
    """Run all jobs of a jobs file side by side in one batch."""
    entries = read_jobs(arguments.jobs)
    failed = run_many(entries, arguments.out, arguments.device)
    print(f"{arguments.out}: results of {len(entries) - failed} of {len(entries)} jobs")
    if failed:
        print(f"{failed} of {len(entries)} jobs could not be run", file=sys.stderr)


def command_disassemble(arguments: argparse.Namespace) -> None:
    """Print the instructions of a ROM from an address on."""
    limits = {"start": (0, 0xFFFF), "count": (1, MAX_ROM_SIZE), "bank": (0, 511)}
    check_numbers(arguments, **limits)
    cartridge = Cartridge.from_file(arguments.rom)
    for line in disassemble(cartridge.rom, arguments.start, arguments.count, arguments.bank):
        print(line)


def command_trace(arguments: argparse.Namespace) -> None:
    """Print one gameboy-doctor line per instruction."""
    check_numbers(arguments, frames=(0, MOST_FRAMES), count=(0, 1 << 30))
    cartridge = Cartridge.from_file(arguments.rom)
    for line in trace(cartridge, arguments.frames, arguments.count, arguments.device):
        print(line)


def command_warmup(arguments: argparse.Namespace) -> None:
    """Compile the kernels and print start-up seconds as JSON."""
    print(json.dumps(warm_up(arguments.device, cold=arguments.cold)))


def command_hot_code(arguments: argparse.Namespace) -> None:
    """Find and compile the hot code of ROMs; print one JSON record for each stage."""
    if arguments.owner:
        end_with(arguments.owner)
    roms = [Cartridge.from_file(rom) for rom in arguments.rom]
    with one_at_a_time(roms):
        for record in compile_hot_code(roms, arguments.device):
            print(json.dumps(record), flush=True)


def command_suite(arguments: argparse.Namespace) -> int:
    """Run the test ROMs of a folder, or those of a list; return 1 if one failed."""
    how = (arguments.device, arguments.match, lambda text: print(text, file=sys.stderr))
    if arguments.config:
        beside = arguments.config.parent.parent  # tests/config/dmg.json: tests/roms/dmg, tests/results/dmg
        roms = arguments.folder or beside / "roms" / arguments.config.stem
        pictures = arguments.pictures or beside / "results" / arguments.config.stem
        verdicts = rom_list.run_list(arguments.config, roms, pictures, *how)
    elif arguments.folder:
        verdicts = rom_suite.run_suite(arguments.folder, *how)
    else:
        raise EmulatorError("suite: give a folder of test ROMs, or a list of them with --config FILE")
    if arguments.json:
        print(json.dumps([dataclasses.asdict(verdict) for verdict in verdicts], indent=1))
    else:
        print(rom_suite.markdown(verdicts) if arguments.markdown else rom_suite.table(verdicts))
    return int(any(verdict.outcome in (rom_suite.FAIL, rom_suite.ERROR) for verdict in verdicts))


def command_import_state(arguments: argparse.Namespace) -> None:
    """Convert a BESS or PyBoy state into one of this emulator, or put a battery file into a console switched on."""
    cartridge = Cartridge.from_file(arguments.rom)
    if arguments.state.suffix == BATTERY:
        console = Emulator(cartridge)
        console.load_battery(arguments.state)
        console.save_state(arguments.out)
    else:
        read_state(arguments.state, cartridge).save(arguments.out)
    print(f"{arguments.out}: written")


def command_export_state(arguments: argparse.Namespace) -> None:
    """Convert a state of this emulator into BESS, or write the battery file that the cartridge in it has."""
    console = Emulator(Cartridge.from_file(arguments.rom))
    console.load_state(arguments.state)
    (console.save_battery if arguments.out.suffix == BATTERY else console.save_bess)(arguments.out)
    print(f"{arguments.out}: written")


def command_verify(arguments: argparse.Namespace) -> int:
    """Compare the pictures of ROMs with PyBoy's; return 1 if one differs."""
    check_numbers(arguments, frames=(1, MOST_FRAMES), seed=(0, MOST_SEED))
    if arguments.soak is not None and not 0 < arguments.soak <= MOST_SOAK_S:
        raise EmulatorError(f"--soak {arguments.soak}: give seconds, up to {MOST_SOAK_S}")
    if arguments.soak:
        return verify_commands.soak_command(arguments.rom, arguments.soak, arguments.seed, arguments.device)
    inputs = None if arguments.inputs is None else read_inputs(arguments.inputs)
    return verify_commands.verify_command(
        arguments.rom, arguments.frames, arguments.seed, inputs, arguments.out, arguments.device
    )


def command_fuzz(arguments: argparse.Namespace) -> None:
    """Run random bytes as ROMs and print the record of the run as JSON."""
    check_numbers(arguments, consoles=(1, 1 << 14), frames=(1, MOST_FRAMES), seed=(0, MOST_SEED))
    result = fuzz_in_child(
        arguments.consoles,
        arguments.frames,
        arguments.seed,
        arguments.device,
        arguments.bounds_checks,
        arguments.executors,
    )
    print(json.dumps(dataclasses.asdict(result)))


Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
ON_A_DEVICE = ("run", "run-many", "trace", "warmup", "hot-code", "suite", "verify", "fuzz")


def parser() -> argparse.ArgumentParser:
    """Return the command-line parser."""
    top = argparse.ArgumentParser(prog="python -m emulator", description=__doc__)
    commands = top.add_subparsers(dest="command", required=True)
    add_runs(commands)
    add_views(commands)
    add_kernel_work(commands)
    add_checks(commands)
    for name in ON_A_DEVICE:
        commands.choices[name].add_argument("--device", default="cpu", help="cpu or cuda:0")
    return top


def add_runs(commands: Commands) -> None:
    """Add the commands that run ROMs: `run`, `run-many`."""
    run = commands.add_parser("run", help="run one ROM")
    run.add_argument("rom", type=Path)
    run.add_argument("--frames", type=int, required=True, help="frames of 70224 T-cycles")
    run.add_argument("--out", type=Path, required=True, help="folder for result.json and screens")
    run.add_argument("--inputs", type=Path, help='JSON list of {"frame": f, "buttons": [...]}')
    run.add_argument("--screens", default="", help="frame numbers, separated by commas")
    run.add_argument("--memory", default="", help="ADDR:LEN,... with ADDR in hex")
    run.add_argument("--until-ld-b-b", action="store_true", help="stop at opcode 40")
    run.add_argument("--until-serial", default="", metavar="TEXT", help="stop after this output")
    run.set_defaults(action=command_run)

    many = commands.add_parser("run-many", help="run a file of jobs")
    many.add_argument("jobs", type=Path)
    many.add_argument("--out", type=Path, required=True)
    many.set_defaults(action=command_run_many)


def add_views(commands: Commands) -> None:
    """Add the commands that inspect a ROM or a state: `disassemble`, `trace`, `import-state`, `export-state`."""
    listing = commands.add_parser("disassemble", help="print a ROM's instructions")
    listing.add_argument("rom", type=Path)
    listing.add_argument("--start", type=hex_address, default=0x100, help="hex")
    listing.add_argument("--count", type=int, default=32)
    listing.add_argument("--bank", type=int, default=1, help="bank mapped at 4000")
    listing.set_defaults(action=command_disassemble)

    tracing = commands.add_parser("trace", help="print registers before each instruction")
    tracing.add_argument("rom", type=Path)
    tracing.add_argument("--frames", type=int, default=0, help="frames to run before")
    tracing.add_argument("--count", type=int, default=1000, help="instructions to print")
    tracing.set_defaults(action=command_trace)

    state = commands.add_parser("import-state", help="turn a BESS, PyBoy or .sav file into a state of ours")
    state.add_argument("state", type=Path, help="BESS (SameBoy, BGB), .state of PyBoy 1.5 to 2.8, or battery file .sav")
    state.add_argument("--rom", type=Path, required=True, help="the ROM it was made with")
    state.add_argument("--out", type=Path, required=True, help="the .npz to write")
    state.set_defaults(action=command_import_state)

    export = commands.add_parser("export-state", help="turn a state of ours into BESS or .sav")
    export.add_argument("state", type=Path, help="an .npz, as the app's slots are")
    export.add_argument("--rom", type=Path, required=True, help="the ROM it was made with")
    export.add_argument("--out", type=Path, required=True, help="a .sav for the battery's RAM, else BESS")
    export.set_defaults(action=command_export_state)


def add_kernel_work(commands: Commands) -> None:
    """Add the commands that compile kernels: `warmup`, `hot-code`."""
    warm = commands.add_parser("warmup", help="compile the kernels, print the seconds it took")
    warm.add_argument("--cold", action="store_true", help="also measure with an empty kernel cache")
    warm.set_defaults(action=command_warmup)

    hot = commands.add_parser("hot-code", help="compile what ROMs spend their time in")
    hot.add_argument("--rom", type=Path, action="append", required=True, help="those of one batch")
    hot.add_argument("--owner", type=int, default=0, help="end when this is not the parent")
    hot.set_defaults(action=command_hot_code)


def add_checks(commands: Commands) -> None:
    """Add the commands that check the emulator: `suite`, `verify`, `fuzz`."""
    tests = commands.add_parser("suite", help="run a folder of test ROMs and print their verdicts")
    tests.add_argument("folder", type=Path, nargs="?", help="with --config: of its ROMs")
    tests.add_argument("--config", type=Path, metavar="FILE", help="JSON list of ROMs and what each must show")
    tests.add_argument("--pictures", type=Path, metavar="FOLDER", help="of the pictures that a list names")
    tests.add_argument("--match", default="", metavar="REGEX", help="only ROMs named like this")
    tests.add_argument("--json", action="store_true", help="print one JSON list")
    tests.add_argument("--markdown", action="store_true", help="print the tables of the docs")
    tests.set_defaults(action=command_suite)

    check = commands.add_parser("verify", help="compare with PyBoy, frame by frame")
    check.add_argument("rom", type=Path, nargs="+")
    check.add_argument("--frames", type=int, default=1800)
    check.add_argument("--seed", type=int, default=0, help="of the random buttons")
    check.add_argument("--inputs", type=Path, help="buttons of a file instead of random ones")
    check.add_argument("--out", type=Path, help="folder for the repro bundle of a difference")
    soaking = "play so many emulated seconds at random and report the agreement"
    check.add_argument("--soak", type=float, metavar="SECONDS", help=soaking)
    check.set_defaults(action=command_verify)

    chaos = commands.add_parser("fuzz", help="run random bytes as ROMs, memory fenced in")
    chaos.add_argument("--consoles", type=int, default=64)
    chaos.add_argument("--frames", type=int, default=10_000)
    chaos.add_argument("--seed", type=int, default=0, help="odd: rows end at a fence")
    chaos.add_argument("--bounds-checks", action="store_true", help="Warp's checks as well (slow)")
    chaos.add_argument("--executors", action="store_true", help="compare with another executor, frame by frame")
    chaos.set_defaults(action=command_fuzz)


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return 0 on success, 1 with one line on stderr for bad input."""
    arguments = parser().parse_args(argv)
    try:
        _choose_device(getattr(arguments, "device", None))
        return arguments.action(arguments) or 0
    except EmulatorError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        return 0
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        print(f"error: {place}{error.strerror}", file=sys.stderr)
        return 1


def check_numbers(arguments: argparse.Namespace, **limits: tuple[int, int]) -> None:
    """Raise EmulatorError, naming the option, for a number outside its limits."""
    for name, (low, high) in limits.items():
        whole_number(f"--{name}", getattr(arguments, name), low, high)


def _choose_device(device: str | None) -> None:
    """Raise EmulatorError for the name of a device that this machine does not have."""
    if device is None:
        return
    start_warp()
    try:
        wp.get_device(device)
    except (ValueError, RuntimeError):
        names = ", ".join(str(known) for known in wp.get_devices())
        raise EmulatorError(f"--device {device}: not on this machine; there is {names}") from None


def main_with_streams() -> int:
    """Run `main` as a process of its own; return 1 if standard output cannot be written."""
    closed = sys.stdout is None
    if closed:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115
    try:
        status = main()
    except SystemExit as end:  # --help, or a word that argparse refused
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    words = "closed" if closed else ""
    try:
        sys.stdout.flush()
    except OSError as error:
        # The interpreter flushes once more when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        words = "" if isinstance(error, BrokenPipeError) else error.strerror or str(error)
    if words and not status:
        print(f"error: standard output: {words}", file=sys.stderr)
        return 1
    return status


if __name__ == "__main__":
    sys.exit(main_with_streams())
