"""`dmglab train`: one run in this process; Ctrl-C finishes the update, saves and leaves."""

from __future__ import annotations

import dataclasses
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trainer_core.cli.options import home_paths, parse
from trainer_core.protocol.config import RunConfig
from trainer_core.protocol.errors import ConfigError
from trainer_core.protocol.presets import PRESETS, preset_config, suggest_preset


@dataclass(frozen=True)
class Options:
    run: RunConfig = field(default_factory=RunConfig)
    home: Path | None = None
    """Where runs, tasks and settings lie; default DMGLAB_HOME or var/ of the checkout."""
    preset: str = "auto"
    """laptop, gpu or big_gpu: the defaults of every other option; auto goes by the device."""
    name: str = ""
    """A name for people."""
    gpus: int = 1
    """Processes, one per GPU (or CPU share), started by torchrun; num_envs is per process."""


def run(argv: list[str]) -> dict[str, Any]:
    config_default = preset_config(_preset_name(argv))
    options = parse(Options, "train", argv, Options(run=config_default))
    config, home = options.run, home_paths(options.home)
    if options.gpus > 1:
        from trainer_core.startable import check_startable

        check_startable(config, home)  # once here: torchrun buries a rank's words in its own
        return _spread(argv, options.gpus)
    if not (config.seconds or config.total_env_steps or config.target_success):
        config = dataclasses.replace(config, target_success=0.98)
        print(
            "no limit given: training until greedy validation reaches 0.98; Ctrl-C saves and ends",
            file=sys.stderr,
        )
    from trainer_core.cli.running import new_run_paths, run_in_this_process

    return run_in_this_process(config, new_run_paths(home), home, name=options.name)


def _preset_name(argv: list[str]) -> str:
    """The preset that `argv` names: needed before its other options get their defaults."""
    values = {"--preset": "auto", "--device": "cpu"}
    for position, word in enumerate(argv):
        option, equals, value = word.partition("=")
        if option in values:
            following = argv[position + 1] if position + 1 < len(argv) else ""
            values[option] = value if equals else following
    if values["--preset"] == "auto":
        return suggest_preset(values["--device"])
    if values["--preset"] not in PRESETS:
        raise ConfigError(f"no preset {values['--preset']!r}; known presets: {', '.join(PRESETS)}")
    return values["--preset"]


def _spread(argv: list[str], gpus: int) -> dict[str, Any]:
    """The same command in `gpus` processes; the first of them prints the result."""
    at = argv.index("--gpus") if "--gpus" in argv else -1
    rest = [word for i, word in enumerate(argv) if not word.startswith("--gpus=")
            and i not in (at, at + 1 if at >= 0 else -1)]  # fmt: skip
    command = [
        sys.executable, "-m", "trainer_core.cli.launch_ranks", "--standalone",
        f"--nproc-per-node={gpus}", "-m", "trainer_core.cli.main", "train", *rest,
    ]  # fmt: skip
    launcher = subprocess.Popen(command)
    # Ctrl-C reaches the launcher by itself; this process only waits for what the ranks still save.
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda number, _: launcher.send_signal(number))
    failed = launcher.wait()
    return {"ok": False, "error": f"one of {gpus} processes failed, see above"} if failed else {}
