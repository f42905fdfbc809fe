"""Every command and verb of `dmglab`: its name, group, summary, examples and function.

Help, dispatch, shell completion and the text above a command's options are read from this table.
"""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

TABLE = """
# Train
train | train.run | - | train a policy on a task
    train --task pocket_quest/leave_bedroom
    train --task pocket_quest/leave_bedroom --device cuda:0 --seconds 600
explore | explore.run | - | find what a game shows from one start state, pixels only, and keep every way
    explore --task pocket_quest/whole_errand --until-goal
    explore --rom game.gb --minutes 5 --device cuda:0 --num-envs 4096 --cells 200000
explore sheet | explore.sheet | run | draw cells that a run of `dmglab explore` found, with their numbers
    explore sheet latest --out cells.png
    explore sheet latest --out cells.png --count 200
resume | resume.run | run | continue a stopped run from its newest checkpoint, or a paused run
    resume latest
    resume latest --seconds 600
stop | stop.run | run | save a run and end it, whichever process trains it
    stop
    stop latest
pause | pause.run | run | suspend a run until `dmglab resume`
    pause
    pause latest
queue | - | - | make runs wait for a free device
    queue add --task pocket_quest/leave_bedroom --seconds 600
    queue list
queue list | queue.list_waiting | - | list the waiting runs, the next one first
    queue list
    queue list --json
queue add | queue.add | - | add a run to the queue; the options are those of `dmglab train`
    queue add --task pocket_quest/leave_bedroom --seconds 600
    queue add --task pocket_quest/leave_bedroom --devices cuda:0,cuda:1 --priority 5
queue move | queue.move | run | move a run to another position in the queue
    queue move RUN 1
    queue move RUN 3
queue hold | queue.hold | run | keep a run waiting until it is released
    queue hold RUN
    queue hold RUN --home /data/lab
queue release | queue.release | run | let a held run start again
    queue release RUN
    queue release RUN --home /data/lab
queue remove | queue.remove | run | take a run out of the queue
    queue remove RUN
    queue remove RUN --home /data/lab
queue run | queue.work | - | start the waiting runs, one after another on each device
    queue run
    queue run --detach
sweep | sweep.run | - | train many settings side by side: grid or random search, here or on a Ray cluster
    sweep --task pocket_quest/leave_bedroom --vary ent_coef=0.01,0.02 --total-env-steps 100000
    sweep --resume latest
demo | demo.run | - | train the first stage of Pocket Quest and save a plot, a checkpoint and a GIF
    demo
    demo --device cuda:0 --seconds 120

# Play
eval | eval.run | - | measure the success of a checkpoint or a baseline on held-out start states
    eval --checkpoint latest
    eval --policy random --task pocket_quest/leave_bedroom
league | league.run | - | compare policies, recordings and language models on the same tasks
    league random checkpoint=latest
    league checkpoint=latest nearest=recordings --episodes 32
play | play.run | - | let a checkpoint play in real time and count its successes
    play --checkpoint latest
    play --checkpoint latest --seconds 60 --record
rollout | rollout.run | - | play one episode and write it as a GIF and as JSON lines
    rollout --out episode
    rollout --out episode --checkpoint latest --sample --per-step
record | record.run | - | save successful episodes of a checkpoint as recordings, for offline learning
    record --out recordings
    record --out recordings --checkpoint latest --episodes 100
replay | replay.run | file | press the buttons of a recording again and compare every picture
    replay recordings/0000-start003
    replay recordings/0000-start003 --json
arc | - | - | play ARC-AGI-3 games with agents, language models and classes of your own
    arc eval
    arc eval --task arc/sl01 --agent explore
arc eval | arc.evaluate | - | play one game; print its state, reward, score, scorecard and replay
    arc eval --agent my_module:MyAgent
    arc eval --task arc/wk01 --agent llm --llm http://127.0.0.1:8080/v1

# Data
runs | runs.run | - | list the runs, or the disk space of each
    runs --state running
    runs --disk
query | query.run | - | answer an SQL query over the runs and their records, read-only
    query "SELECT run_id, state FROM runs"
    query "SELECT run_id, max(env_steps) FROM updates GROUP BY run_id" --csv
plot | plot.run | run | draw the curves of one or more runs as a PNG
    plot quiet-moth-12 --out curves.png
    plot quiet-moth-12 latest --smoothing 0.6 --metrics success_rate
validate | validate.run | file | check a train_log.jsonl against the schema
    validate latest
    validate train_log.jsonl
export | export.run | run | write a recording as GIF, APNG, MP4 or PNGs, the curves of a run, or labelled frames
    export recordings/0000-start003 --out episode.mp4
    export game.gb --to webdataset --out frames --watch xy=D361+2
import | importing.run | file | read curves, a checkpoint, or a rollout, GIF or movie from elsewhere
    import offline-run/run-abc.wandb
    import movie.vbm --out recordings/movie
archive | archive.run | run | pack runs into one file each, with hashes, and restore them
    archive RUN --remove
    archive --older-than 30 --keep 20 --remove
archive restore | archive.restore_all | file | unpack archived runs and compare every file with its hash
    archive restore RUN.tar.gz
    archive restore RUN.tar.gz --check
storage | storage.show | - | list storage profiles and trash; move runs, and tidy old ones by a policy
    storage
    storage --on
storage move | storage.move | run | move runs to the folder of a storage profile, or back
    storage move RUN --to nas
    storage move RUN --to home
storage apply | storage.apply | - | do what the policy in storage_profiles.toml says, or list it
    storage apply --dry-run
    storage apply
storage undo | storage.undo | run | take runs out of the trash
    storage undo
    storage undo RUN
datasets | - | - | download and manage datasets of offline learning
    datasets download D4RL/pen/human-v2
    datasets list
datasets list | datasets.list_all | - | list the kept datasets and whether their files are intact
    datasets list
    datasets list --json
datasets download | datasets.fetch | - | download a dataset of Minari or D4RL by name; its hash is pinned
    datasets download D4RL/pen/human-v2
    datasets download halfcheetah-medium-v2
datasets verify | datasets.verify | - | compute the hashes of kept datasets again
    datasets verify
    datasets verify halfcheetah-medium-v2
datasets prune | datasets.prune | - | delete named datasets, or those that no run has learned from
    datasets prune
    datasets prune halfcheetah-medium-v2 --yes

# Games and tasks
task | - | - | make, check, share and list tasks
    task list
    task new --id mine/door --rom game.gb --script way.txt
task list | task_reports.list_all | - | list the tasks, and the problems of unusable ones
    task list
    task list --json
task new | task_making.new | - | make a task from a ROM and a script or recording; starts, goal, horizon are chosen
    task new --id mine/door --rom game.gb --script way.txt
    task new --id mine/next_door --base mine/door --script way.txt --count 96
task make | task_making.make | - | make a task from given start states and a goal picture
    task make --id mine/door --base pocket_quest/leave_bedroom --start a.npz --goal goal.npz
    task make --id mine/door --base mine/gate --start a.npz b.npz --goal goal.npz --horizon 256
task from-archive | explore.from_archive | run | make a task of a place that `dmglab explore` found, with its way
    task from-archive latest --id found/errand
    task from-archive latest --goal deepest --id found/far
task capture | task_making.capture | file | save a start state, a goal or a picture from one step of a script
    task capture way.txt --rom game.gb --step 12 --state start.npz
    task capture way.txt --rom game.gb --sheet steps.png
task update | task_making.update | task | give an own task the reward of newly made tasks
    task update mine/door
    task update mine/door --home /data/lab
task demo | task_making.demo | file | cut a recording at the goal of a task and add it as a demonstration
    task demo recordings/0000-start003 --task mine/door
    task demo recordings/0000-start003 --task mine/door --from-frame 60 --to-frame 900
task check | task_reports.check | task | check that a task works: files, states, demonstrations, false goals
    task check mine/door
    task check mine/door --episodes 512
task audit | task_reports.audit | task | measure the difficulty of a task: random play, single buttons, aliasing
    task audit pocket_quest/leave_bedroom
    task audit mine/door --episodes 512
task probe | task_reports.probe | - | measure how often random play meets a goal picture
    task probe --base pocket_quest/leave_bedroom --start start.npz --goal goal.npz
    task probe --rom game.gb --start start.npz --goal goal.npz --tau 0.02
task export | task_sharing.export | task | pack a task into one file, without the ROM
    task export mine/door --out door.zip
    task export pocket_quest/leave_bedroom --out bedroom.zip
task import | task_sharing.import_ | file | unpack a task from a file of `dmglab task export`
    task import door.zip
    task import door.zip --id mine/second_door
task remove | task_sharing.remove | task | delete an own task for good
    task remove mine/door --yes
    task remove mine/door --yes --home /data/lab
rom | - | - | register ROM files by their hashes
    rom add game.gb
    rom list
rom list | rom.list_all | - | list the registered ROMs, the state of their files, and the known games
    rom list
    rom list --json
rom add | rom.add | file | register ROM files; they stay in their folders
    rom add game.gb
    rom add roms/*.gb
rom remove | rom.remove | rom | remove a ROM from the register; its file stays
    rom remove game.gb
    rom remove 0a1b2c3d4e5f
ram | - | - | find the bytes of memory that mean something
    ram find pocket_quest/leave_bedroom
ram find | ram.find | task | rank bytes of memory that behave like coordinates, a map, health, counters or flags
    ram find pocket_quest/leave_bedroom
    ram find game.gb --state start.npz --json
ram task | ram.task | - | make a task whose reward reads memory
    ram task --id mine/walk --base pocket_quest/leave_bedroom --watch map=0xC14F --maximise map
    ram task --id mine/explore --base mine/door --watch x=C1FD y=C1FE --term "places=0.1*new(x, y)" --reads-ram
sound | sound.run | task | write the sound of a game as a WAV file
    sound game.gb --out game.wav
    sound pocket_quest/leave_bedroom --frames 600 --channels 12

# Machines
runner | - | - | manage the environments of other training libraries
    runner list
    runner install sb3
runner list | runner.list_all | - | list the trainers and the state of their environments
    runner list
    runner list --json
runner install | runner.install | runner | make the environment of a trainer
    runner install sb3
    runner install d3rlpy --python /usr/bin/python3.12
runner check | runner.check | runner | import the library of a trainer in its environment
    runner check sb3
    runner check sb3 --json
runner remove | runner.remove | runner | delete the environment of a trainer
    runner remove sb3
    runner remove sb3 --home /data/lab
runner trust | runner.trust_file | file | allow other libraries to load a checkpoint file of another computer
    runner trust model.zip
    runner trust 3f5d...  # the SHA-256 of the file
bench | bench.train_bench.run | - | measure speed: training, the consoles alone, or the consoles beside PyBoy
    bench env --task pocket_quest/leave_bedroom --num-envs 1024
    bench train --task tiny_goal --updates 10
bench train | bench.train_bench.run | - | measure rollout and learning (also `dmglab bench` without a verb)
    bench train --task tiny_goal --updates 10
    bench train --task pocket_quest/leave_bedroom --device cuda:0 --logging-ratio
bench env | bench.env_bench.run | - | measure the consoles alone
    bench env --task pocket_quest/leave_bedroom --num-envs 1024
    bench env --rom game.gb --device cuda:0 --num-envs 4096
bench load | bench.load.run | - | check that the consoles of a benchmark do different work and repeat exactly
    bench load --task pocket_quest/leave_bedroom --num-envs 256
    bench load --rom game.gb --num-envs 256 --replays 8
bench curve | bench.curve.run | - | measure speed over the number of consoles and the frames per step
    bench curve --task pocket_quest/leave_bedroom --num-envs 1,64,1024
    bench curve --rom game.gb --num-envs 64 --frames-per-step 1,4,24
bench cycles | bench.cycles.run | - | open and close an environment many times and measure the growth of memory
    bench cycles --count 100
    bench cycles --count 100 --device cuda:0
bench peers | bench.peers.run | - | measure the consoles and PyBoy on the same work
    bench peers --rom game.gb
    bench peers --rom game.gb --device cuda:0
verify-claims | verify_claims.run | - | repeat the measurements of docs/results that are possible on this machine
    verify-claims
    verify-claims --only kills first_stage_steps
doctor | doctor.run | - | report device, driver, versions, compiled kernels and caches of this machine
    doctor
    doctor --compile
completion | completion.run | - | print the completion script of a shell: bash, zsh or fish
    completion bash > ~/.local/share/bash-completion/completions/dmglab
    completion fish > ~/.config/fish/completions/dmglab.fish
"""
"""`# group`, then for each command `name | function | words | summary` and its examples, indented.

The function is named below `trainer_core.cli`, `-` for a command that needs a verb. `words` is the kind of the
positional words for completion: run, task, rom, runner, file, or - for others.
"""


class Command(NamedTuple):
    """A row of the table."""

    name: str
    """Words of the command: "train", or with its verb "queue add"."""
    group: str
    summary: str
    """In lower case, without a full stop."""
    examples: tuple[str, ...]
    """Command lines without `dmglab`."""
    function: str
    """Path below `trainer_core.cli`; it takes the words after the name. Empty where a verb has to follow."""
    takes: str

    @property
    def verbs(self) -> list[Command]:
        """Commands whose names begin with this one's."""
        return [row for row in COMMANDS.values() if row.name.startswith(f"{self.name} ")]

    def load(self) -> Callable[[list[str]], dict[str, Any]]:
        """Return the command's function, importing its module only."""
        module, _, name = self.function.rpartition(".")
        return getattr(importlib.import_module(f"trainer_core.cli.{module}"), name)


def _rows() -> Iterator[Command]:
    """Yield the rows of TABLE."""
    group = ""
    lines = [line for line in TABLE.splitlines() if line]
    for number, line in enumerate(lines):
        if line.startswith("# "):
            group = line[2:]
        elif not line.startswith(" "):
            name, function, takes, summary = line.split(" | ")
            examples = tuple(text.strip() for text in lines[number + 1 : number + 3])
            yield Command(name, group, summary, examples, function.strip("-"), takes.strip("-"))


COMMANDS = {row.name: row for row in _rows()}
GROUPS = tuple(dict.fromkeys(row.group for row in COMMANDS.values()))

RENAMED = {
    "gif": ("export",),
    "curves": ("export", "--to", "tensorboard"),
    "restore": ("archive", "restore"),
    "disk": ("runs", "--disk"),
    "clip": ("import",),
}
"""Former commands and their replacements; the former ones still work, with a note."""

AS_PLANNED = {("train", "--resume"): "resume", ("plot", "--log"): "plot", ("validate", "--log"): "validate"}
"""Options of the owner's plans that are positional words here: command and option, and the command that takes them."""

NOTES = """\
On a terminal a command prints sentences and tables. Elsewhere, or with --json, it prints one JSON
object; --text prints sentences and tables everywhere. Messages and progress go to standard error.
Exit status: 0 done, 1 failed, 2 unusable input, 130 interrupted.
`dmglab COMMAND --help` shows options and examples."""


def find(words: Sequence[str]) -> tuple[Command | None, list[str]]:
    """Return the command that `words` begin with, None for no command, and the words after its name."""
    first, rest = words[0], list(words[1:])
    if rest and (verb := COMMANDS.get(f"{first} {rest[0]}")):
        return verb, rest[1:]
    return (COMMANDS.get(first) if " " not in first else None), rest


def planned(argv: Sequence[str]) -> list[str]:
    """Return `argv` with the words after options of AS_PLANNED as positional words in front."""
    name, found, rest = argv[0], list[str](), list[str]()
    words = iter(argv[1:])
    for word in words:
        option, equals, value = word.partition("=")
        if (argv[0], option) not in AS_PLANNED:
            rest.append(word)
            continue
        name = AS_PLANNED[argv[0], option]
        found += [value] if equals else [*itertools.islice(words, 1)]
    return [name, *found, *rest]


def usage(of: Command | None = None) -> str:
    """Return the help of all commands, or of one with verbs."""
    if of is not None:
        note = f"`dmglab {of.name} VERB --help` shows the options of a verb."
        return f"usage: dmglab {of.name} VERB [options]\n\n{described(of)}\n{note}"
    lines = ["usage: dmglab COMMAND [options]   (no command: open the app)"]
    for group in GROUPS:
        rows = [row for row in COMMANDS.values() if row.group == group and " " not in row.name]
        lines += ["", f"{group}, for example `dmglab {rows[0].examples[0]}`", *_lines(rows)]
    return "\n".join([*lines, "", NOTES])


def described(of: Command) -> str:
    """Return the text above the options of a command: its summary, its examples, its verbs."""
    lines = [
        f"{of.summary[0].upper()}{of.summary[1:]}.",
        "",
        "examples:",
        *(f"  dmglab {text}" for text in of.examples),
    ]
    if of.verbs:
        lines += ["", "verbs:", *_lines(of.verbs)]
    return "\n".join([*lines, "", "--json prints one JSON object, --text prints text; see `dmglab --help`.", ""])


def _lines(rows: Sequence[Command]) -> list[str]:
    return [f"  {row.name.rpartition(' ')[2]:<13} {row.summary}" for row in rows]
