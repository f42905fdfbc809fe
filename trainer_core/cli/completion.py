"""`dmglab completion SHELL`: print a script by which a shell completes commands, options, tasks and runs.

The script calls `dmglab completion words WORD...` with the words before the cursor.
"""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro

from trainer_core.cli.command_table import COMMANDS, Command, find
from trainer_core.cli.options import home_paths, named, parse
from trainer_core.cli.output import Result, standard_output
from trainer_core.lab.roms import registered_roms
from trainer_core.lab.tasks import BUILT_IN_TASKS, list_tasks
from trainer_core.runners.catalog import registered_runners
from trainer_core.runs.index import RunRegistry
from trainer_core.wire.errors import LabError

WORDS = "words"
EVERYWHERE = ["--help", "--json", "--text"]
NAMED_BY = {
    "--task": "task",
    "--base": "task",
    "--from-goal-of": "task",
    "--checkpoint": "run",
    "--warm-start": "run",
    "--rom": "rom",
    "--runner": "runner",
}
"""Options, and the things that their values name."""
SCRIPTS = {
    "bash": """\
_dmglab() {
    local word
    COMPREPLY=()
    while IFS= read -r word; do
        [[ $word ]] && COMPREPLY+=("$(printf %q "$word")")
    done < <(dmglab completion words "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _dmglab dmglab""",
    "zsh": """\
#compdef dmglab
_dmglab() {
    local -a found
    found=("${(@f)$(dmglab completion words "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    [[ -n $found[1] ]] && compadd -- $found || _files
}
if [ "$funcstack[1]" = _dmglab ]; then _dmglab; else compdef _dmglab dmglab; fi""",
    "fish": """\
complete -c dmglab -a '(dmglab completion words (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'""",
}


@dataclass(frozen=True)
class Options:
    shell: Annotated[Literal["bash", "zsh", "fish"], tyro.conf.Positional]


def run(argv: list[str]) -> dict[str, Any]:
    if argv[:1] == [WORDS]:
        print("\n".join(completions(argv[1:])), file=standard_output())
        return {}
    script = SCRIPTS[parse(Options, "completion", argv).shell]
    if standard_output().isatty():
        return Result({"ok": True, "script": script}, script)
    print(script, file=standard_output())  # into a file: never as JSON
    return {}


def completions(words: Sequence[str]) -> list[str]:
    """Return the words that may stand in place of the last one of `words`; none where a file may."""
    *before, begun = words or [""]
    if not before:
        first = [name for name in COMMANDS if " " not in name]
        return _beginning([*first, "--help", "--version"], begun)
    command, typed = find(before)
    if command is None:
        return []
    if begun.startswith("-"):
        return _beginning([*_options(command), *EVERYWHERE], begun)
    if typed and typed[-1].startswith("-"):
        choices = _options(command).get(typed[-1], [])
        return _beginning(choices or _names(NAMED_BY.get(typed[-1], ""), typed), begun)
    verbs = [] if typed else [row.name.rpartition(" ")[2] for row in command.verbs]
    return _beginning([*verbs, *_names(command.takes, typed)], begun)


def _beginning(words: Sequence[str], begun: str) -> list[str]:
    return list(dict.fromkeys(word for word in words if word.startswith(begun)))


def _options(command: Command) -> dict[str, list[str]]:
    """Return the options of a command and the choices of each, read from its help."""
    if not command.function:
        return {}
    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.suppress(SystemExit, LabError):
        command.load()(["--help"])
    plain = re.sub(r"\x1b\[[0-9;]*m|[\u2500-\u257f]", "", told.getvalue())
    found = re.findall(r"(--[a-z][\w-]*)(?: \{([^}]*)\})?", plain.partition("options")[2])
    return {name: choices.split(",") if choices else [] for name, choices in found}


def _names(kind: str, typed: list[str]) -> list[str]:
    """Return the names of the tasks, runs, ROMs or trainers that exist."""
    try:
        folder = named(typed, "--home")
        home = home_paths(Path(folder) if folder else None)
        match kind:
            case "task":
                return [*BUILT_IN_TASKS, *(task.id for task in list_tasks(home))]
            case "run":
                runs = reversed(RunRegistry(home).load().values())
                return ["latest", *(word for run in runs for word in (run.name, run.run_id))]
            case "rom":
                return [rom.path.rpartition("/")[2] for rom in registered_roms(home).values()]
            case "runner":
                return [runner.id for runner in registered_runners()]
    except (LabError, OSError):
        pass  # nothing to offer
    return []
