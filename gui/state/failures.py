"""Catalogue of known failures: code, title, meaning, and the command that helps.

Error texts come from many sources (a worker's last lines, the file system, a library), so entries are found by
patterns. An unknown error text is shown as it is.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from trainer_core.service.preflight import Check


@dataclass(frozen=True, slots=True)
class Failure:
    """Entry of the catalogue; `title` and `means` are English keys for `tr`, `command` is a command id."""

    code: str
    title: str
    means: str
    command: str
    signs: tuple[str, ...]
    """Regular expressions; the entry applies if one of them matches the error text in any case."""


CATALOGUE = (
    Failure(
        "E10", "The training diverged",
        "A loss or weight became NaN or grew without bound. Try a lower learning rate; the error record has the "
        "last steps.",
        "openReceipt", (r"\bis (nan|-?inf)\b", r"not finite", r"grew to .* at update"),
    ),
    Failure(
        "E11", "The checkpoint was changed or damaged",
        "Its weights do not match their checksum. The current player continues.",
        "import", (r"the file was changed or damaged", r"weights are (mismatch|missing)",
                   r"does not match the hash"),
    ),
    Failure(
        "E12", "Made by a newer DMG Lab",
        "This version cannot read the format; update DMG Lab to read it.",
        "openRunFolder", (r"update DMG Lab to read it",),
    ),
    Failure(
        "E06", "The disk is full",
        "Free some space: archive old runs, or use a folder on another disk.",
        "diskUse", (r"no space left", r"disk quota exceeded", r"^disk: .* free"),
    ),
    Failure(
        "E13", "The folder is read-only",
        "Allow writing to this folder, or start DMG Lab with another data folder.",
        "openHome", (r"read-only file system", r"permission denied", r"cannot be written"),
    ),
    Failure(
        "E02", "The GPU's driver is too old",
        "Update the NVIDIA driver, or train on the CPU, which is slower.",
        "useCpu", (r"driver .*too old", r"driver version is insufficient"),
    ),
    Failure(
        "E09", "The training process was ended",
        "The computer ran out of memory, or somebody ended the process. Fewer Game Boys need less memory.",
        "fewerGameBoys", (r"killed by signal 9", r"sigkill"),
    ),
    Failure(
        "E07", "Not enough memory for so many Game Boys",
        "Fewer Game Boys need less memory.",
        "fewerGameBoys", (r"out of memory", r"^memory: ", r"not even one game boy fits",
                          r"cannot allocate memory"),
    ),
    Failure(
        "E01", "The GPU was not found",
        "PyTorch finds no such GPU on this computer. Train on the CPU instead.",
        "useCpu", (r"no cuda device", r"no such device", r"^device: ", r"cuda.* not available"),
    ),
    Failure(
        "E03", "A Python package of the trainer is missing",
        "Install it; the command is in the details.",
        "copyInstall", (r"no module named", r"cannot be found by", r"has no interpreter"),
    ),
    Failure(
        "E05", "Made for another ROM",
        "The start state, goal or task belongs to another version of the game. Open that ROM.",
        "openRom", (r"another rom", r"belongs to a rom", r"was made for", r"the task was made"),
    ),
    Failure(
        "E04", "The ROM is missing",
        "Open your own copy once; the file stays where it is.",
        "openRom", (r"register your copy", r"\.gbc?: (no such file|not found)",
                    r"no rom is registered"),
    ),
    Failure(
        "E08", "The Game Boy could not be compiled",
        "The message of the compiler is in the log.",
        "showError", (r"nvrtc", r"failed to (build|compile)", r"compil\w+ (failed|error)",
                      r"ptxas"),
    ),
    Failure(
        "E14", "The gamepad was disconnected",
        "Its buttons are released and the game is paused. Plug it in again, or use the keyboard.",
        "playPause", (r"gamepad .*(gone|lost|unplugged|disconnected)",),
    ),
    Failure(
        "E15", "This PySide6 does not work with this Python",
        "The app would crash; the message says which version to install.",
        "copyInstall", (r"pyside6 .*(aborts on|is too old|is not installed)",),
    ),
)  # fmt: skip
_SIGNS = tuple((entry, re.compile("|".join(entry.signs), re.IGNORECASE)) for entry in CATALOGUE)


def failure_of(cause: str) -> Failure | None:
    """Return the first entry of the catalogue that matches an error text; None without one."""
    return next((entry for entry, signs in _SIGNS if signs.search(cause)), None)


def failure_of_check(check: Check) -> Failure | None:
    """Return the entry for a failed preflight check, or for its warning about the disk; None without one."""
    if check.status == "ok":
        return None
    return failure_of(check.detail) or failure_of(f"{check.name}: {check.detail}")


def install_line(cause: str) -> str:
    """Return the command in an error text that installs a missing package; empty without one."""
    found = re.search(r"(?:python\S* -m )?(?:pip )?install ('[^']+'|[\w.-]+\[?[\w,]*\]?)", cause)
    if found is None:
        return ""
    line = found[0] if "pip install" in found[0] else f"pip {found[0]}"
    return line.strip()
