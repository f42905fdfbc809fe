"""Refresh the verdict table of docs/notebook/accuracy.md: `python -m emulator.verify.accuracy_table FOLDER DOCUMENT`.

Runs every test ROM below FOLDER and replaces the text between the two markers of DOCUMENT.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import warp as wp

from emulator.rom.cartridge import EmulatorError
from emulator.tools import rom_suite

BEGIN, END = "<!-- verdicts: begin -->", "<!-- verdicts: end -->"


def replace_between(text: str, table: str) -> str:
    """Return `text` with `table` between its two markers; raise EmulatorError if they are missing."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise EmulatorError(f"the document lacks the markers {BEGIN} and {END}; add them")
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def main(argv: list[str] | None = None) -> int:
    """Run the test ROMs and rewrite the document; return 1 with one line on stderr if that failed, else 0."""
    parser = argparse.ArgumentParser(prog="python -m emulator.verify.accuracy_table", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("document", type=Path)
    parser.add_argument("--device", default="cpu")
    arguments = parser.parse_args(argv)
    wp.config.log_level = wp.LOG_WARNING
    try:
        text = arguments.document.read_text(encoding="utf-8")
        replace_between(text, "")
        verdicts = rom_suite.run_suite(
            arguments.folder, arguments.device, progress=lambda line: print(line, file=sys.stderr)
        )
        arguments.document.write_text(replace_between(text, rom_suite.markdown(verdicts)), encoding="utf-8")
    except EmulatorError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
