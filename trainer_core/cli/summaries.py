"""What each command and verb does, in a line: for the usage and above the options of each."""

from __future__ import annotations

from collections.abc import Mapping

COMMANDS = {
    "train": "train a policy on a task",
    "resume": "continue a run from its newest checkpoint, or one that is paused",
    "stop": "stop any run of the home, whichever process keeps it",
    "pause": "hold any run of the home",
    "queue": "runs that wait for a device: list, add, move, hold, release, remove, run",
    "eval": "success of a checkpoint, or of a baseline, on held-out starts",
    "rollout": "one episode as GIF, JSON lines and a manifest",
    "league": "a policy, a script, a recording, a language model on one task: one table",
    "record": "a checkpoint's episodes as recordings, to learn from offline",
    "play": "one Game Boy in real time, frames to a file",
    "plot": "curves of one or more logs as a PNG",
    "disk": "what each run takes of the disk",
    "archive": "runs as one file each, with hashes; --remove makes room",
    "restore": "archived runs back into a home",
    "curves": "curves for TensorBoard, or in the form of W&B's history",
    "import": "a file of W&B as a run with its curves, or a checkpoint's folder",
    "validate": "check a train_log.jsonl",
    "runs": "list runs",
    "export": "a recording as GIF, APNG, MP4 or PNGs: range, speed, scale",
    "clip": "a rollout, GIF, input movie or failed run's receipt as a recording",
    "query": "ask runs and records in SQL, read-only",
    "task": "make, check, audit, share and list tasks",
    "rom": "register your own ROMs: add, list, remove",
    "runner": "the environments of other libraries: install, check, remove; trust a checkpoint",
    "gif": "a recording as an animated GIF",
    "replay": "press a recording's buttons again and compare the pictures",
    "sound": "what a game sounds like, as a WAV file",
    "bench": "measure training, the consoles alone, or the consoles beside PyBoy",
    "doctor": "device, driver, versions, compiled kernels and caches of this machine",
    "sweep": "many runs side by side: grid or random, on this computer or a Ray cluster",
    "demo": "train Pocket Quest's first stage and leave plot, checkpoint and GIF",
}
VERBS = {
    "queue": {
        "list": "what waits, the next first",
        "add": "let a run wait for its device; the options are those of `dmglab train`",
        "move": "to another place in the queue",
        "hold": "keep a run waiting until it is released",
        "release": "let a held run have its turn again",
        "remove": "take a run out of the queue",
        "run": "work the queue until nothing is left that could be started",
    },
    "rom": {
        "add": "register ROMs by their hashes; the files stay where they are",
        "list": "which are there, missing, moved or changed, and which games have profiles",
        "remove": "forget one; its file stays",
    },
    "task": {
        "list": "every task, and what is wrong with those that cannot be used",
        "new": "a task from a ROM and a script or recording: starts, goal, horizon are chosen",
        "make": "a task from start states and goal pictures that are there",
        "capture": "a start state, a goal or a picture from a step of a script or recording",
        "update": "give a task of yours the reward that new ones get",
        "demo": "cut a recording to the task's goal and add it as a demonstration",
        "check": "does it work: files, states, demonstrations, false goals",
        "audit": "is it a problem: random play, single buttons, aliasing",
        "probe": "what a goal would mean: distances of starts, the way and random play",
        "export": "an archive of it, without the ROM",
        "import": "an archive of `dmglab task export` into a home",
        "remove": "a task of yours, for good (--yes)",
    },
}


def rows(summaries: Mapping[str, str]) -> str:
    """Indented lines of name and summary."""
    return "\n".join(f"  {name:<9} {summary}" for name, summary in summaries.items())


def summary(command: str) -> str:
    """Of "train", or of "queue add"; empty for what is neither."""
    name, _, verb = command.partition(" ")
    return VERBS.get(name, {}).get(verb, "") if verb else COMMANDS.get(name, "")
