"""List every command that writes: its words, and what may change in a home where it is killed."""

from __future__ import annotations

import shlex
import shutil
import tarfile
from dataclasses import dataclass, field
from pathlib import Path

from scripts.endurance.forked import run_forked

CHECKOUT = Path(__file__).resolve().parents[2]
OLD_HOME = CHECKOUT / "tests" / "old_homes" / "home-340a303.tar.xz"
GAME_RUN, KILLED, QUEUED = "20261124-171913-9f15", "20261124-172040-86f6", "20261124-172200-0968"
RECORDING = "players/20261124-172138-n2jyway4/recordings/20261124-172144-0000000"
GAME_CHECKPOINT = f"training/runs/{GAME_RUN}/checkpoints/000000000128"
ROM = CHECKOUT / "assets/games/mirror_moths/mirror_moths.gb"
SMALL = (
    "--task tiny_goal --num-envs 16 --num-steps 8 --num-minibatches 2 --update-epochs 1 "
    "--eval-every 2 --eval-episodes 4 --checkpoint-every 1 --keep-checkpoints 2 --threads 1"
)
LEARNED = (
    "--task tiny_goal --num-envs 32 --num-steps 16 --threads 1 --eval-every 10 "
    "--checkpoint-every 10 --keep-checkpoints 2 --total-env-steps 20480"
)
"""A run whose policy reaches its goal, so that there is something to record."""


@dataclass(frozen=True)
class Verb:
    """One command as it is typed; `{home}` is the home, `{out}` a folder for what it makes."""

    name: str
    words: str
    prepare: str = ""
    """A command that has to have been run before, in the same home."""
    changes: tuple[str, ...] = ()
    """Beginnings of paths in the home that it may change or remove."""
    refused_again: str = ""
    """Text of a refusal that is right when the killed one had done its work already."""
    share: float = 1.0
    """Of the instants; dear commands get fewer, none fewer than the least."""
    calls: bool = field(default=True)
    """Whether it can be ended at a chosen fsync, rename, unlink or write of its own process."""

    def argv(self, home: Path, out: Path) -> list[str]:
        words = self.words.format(home=home, out=out, rom=ROM, checkout=CHECKOUT)
        return shlex.split(words)


def _run(run_id: str) -> str:
    return f"training/runs/{run_id}"


VERBS = (
    Verb("train", f"train {SMALL} --total-env-steps 768 --home {{home}}"),
    Verb("resume", "resume tiny --total-env-steps 23040 --home {home}", changes=(_run("tiny"),)),
    Verb("queue add", f"queue add --hold {SMALL} --total-env-steps 256 --home {{home}}"),
    Verb("queue move", f"queue move {QUEUED} 1 --home {{home}}"),
    Verb("queue release", f"queue release {QUEUED} --home {{home}}"),
    Verb(
        "queue remove", f"queue remove {QUEUED} --home {{home}}", changes=(_run(QUEUED),), refused_again="does not wait"
    ),
    Verb(
        "queue run",
        "queue run --home {home}",
        prepare=f"queue release {QUEUED} --home {{home}}",
        changes=(_run(QUEUED),),
    ),
    Verb("rollout", "rollout --checkpoint tiny --out {out}/rollout --home {home}"),
    Verb(
        "league",
        "league random checkpoint=tiny --task tiny_goal --episodes 2 --record --out {out}/league --home {home}",
    ),
    Verb(
        "record", "record --checkpoint tiny --episodes 4 --out {out}/recorded --home {home}", refused_again="not empty"
    ),
    Verb("play", "play --checkpoint tiny --seconds 1 --speed 4 --record --home {home}"),
    Verb("plot", f"plot {{home}}/{_run('tiny')}/train_log.jsonl --out {{out}}/curves.png"),
    Verb("archive", f"archive {KILLED} tiny --home {{home}}", changes=("archives",)),
    Verb(
        "archive --remove",
        f"archive {KILLED} --remove --home {{home}}",
        changes=("archives", _run(KILLED)),
        refused_again="is archived",
    ),
    Verb(
        "archive restore",
        f"archive restore {{home}}/archives/{KILLED}.tar.gz --home {{out}}/other",
        refused_again="is there already",
    ),
    Verb("export curves", "export tiny --to tensorboard --out {out}/events --home {home}"),
    Verb("import curves", "import {home}/exported/history.jsonl --home {out}/other"),
    Verb("import checkpoint", f"import {{home}}/{GAME_CHECKPOINT} --home {{out}}/other"),
    Verb("export", f"export {{home}}/{RECORDING} --out {{out}}/clip.gif"),
    Verb("export PNGs", f"export {{home}}/{RECORDING} --out {{out}}/pictures", refused_again="exists"),
    Verb("import recording", "import {home}/rollout --out {out}/clip --home {home}", refused_again="exists"),
    Verb("query", "query 'SELECT run_id, state FROM runs' --home {home}"),
    Verb("runs", "runs --home {home}"),
    Verb("rom add", "rom add {rom} --home {home}", changes=("settings/roms.json",)),
    Verb("rom remove", "rom remove mirror_moths.gb --home {home}", changes=("settings/roms.json",), refused_again="no"),
    Verb(
        "task capture",
        "task capture {home}/walk.txt --rom {rom} --step 2 --state {out}/state.npz --goal {out}/goal.npz --home {home}",
        changes=("settings/roms.json",),
    ),
    Verb(
        "task new",
        "task new --id mine/again --rom {rom} --start {home}/state.npz "
        "--goal {home}/goal.npz --around --count 8 --min-distinct 2 --walk 4 "
        "--home {home}",
        changes=("settings/roms.json",),
        refused_again="exists",
    ),
    Verb("task export", "task export mine/first_moth --out {out}/moth.zip --home {home}"),
    Verb("task import", "task import {home}/moth.zip --home {out}/other", refused_again="exists"),
    Verb("sound", "sound {rom} --frames 300 --out {out}/sound.wav --home {home}"),
    Verb(
        "sweep",
        f"sweep {SMALL} --vary ent_coef=0.01,0.02 --total-env-steps 256 --first-rung 128 --home {{home}}",
        calls=False,
    ),
    Verb("demo", "demo --seconds 6 --home {home}"),
    Verb("doctor", "doctor --install-desktop --home {home}"),
    Verb("runner install", "runner install arc --home {home}", calls=False),
)
"""Killed by themselves; stop, pause and the app are killed beside a run (live.py)."""


def make_template(folder: Path) -> Path:
    """Make a home with something of everything: one of an older version, and a run of today."""
    with tarfile.open(OLD_HOME) as archive:
        archive.extractall(folder, filter="data")
    home = folder / "lab"
    (home / "walk.txt").write_text("wait 180 START wait 60 START wait 60 RIGHT 2 LEFT 2 DOWN UP 3 A RIGHT\n")
    where = ["--home", str(home)]
    capture = ["task", "capture", str(home / "walk.txt"), "--rom", str(ROM)]
    for words in (
        ["train", *shlex.split(LEARNED), "--name", "tiny", *where],
        ["export", GAME_RUN, "--to", "wandb_history", "--out", str(home / "exported"), *where],
        ["rom", "add", str(ROM), *where],
        [*capture, "--step", "2", "--state", str(home / "state.npz"), *where],
        [*capture, "--step", "9", "--goal", str(home / "goal.npz"), *where],
        ["task", "export", "mine/first_moth", "--out", str(home / "moth.zip"), *where],
    ):
        run_forked(words, folder / "said.txt").check()
    _call_tiny(home)
    words = ["rollout", "--checkpoint", "tiny", "--out", str(home / "rollout"), *where]
    run_forked(words, folder / "said.txt").check()
    return home


def _call_tiny(home: Path) -> None:
    """Give the run of today an id that is known here, as a restored archive would have."""
    newest = max((home / "training" / "runs").glob("2*"), key=lambda path: path.stat().st_mtime)
    index = home / "training" / "runs.jsonl"
    for path in (index, newest / "config.json", newest / "train_log.jsonl"):
        path.write_text(path.read_text().replace(newest.name, "tiny"))
    newest.rename(newest.with_name("tiny"))


def copy_home(template: Path, target: Path) -> Path:
    return Path(shutil.copytree(template, target, symlinks=True))
