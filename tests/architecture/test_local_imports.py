"""Imports stand at the top of their file. One stands inside a function where the file would else
load something heavy that most who import the file do not need, or where it has to wait.

Scripts and tests are held to the same list. They have few entries, since hardly any of them has to
be light: the programs that tests start by the dozen, and what is collected where a library is not
installed.
"""

from __future__ import annotations

import pytest

from tests.support.imports import CHECKOUT, imported_in_functions, loaded_by, sources

HEAVY = {
    "torch": """
        trainer_core/cli/bench/curve.py: torch
        trainer_core/cli/bench/cycles.py: torch trainer_core.envs.game_env
        trainer_core/cli/bench/env_bench.py: torch trainer_core.envs.frame_stack trainer_core.envs.game_env
        trainer_core/cli/bench/load.py: torch
        trainer_core/cli/bench/rig.py: torch trainer_core.envs.sharded_emulator trainer_core.host.provenance
        trainer_core/cli/bench/train_bench.py: torch trainer_core.cli.local_run
            trainer_core.envs.startable
            trainer_core.host.native trainer_core.host.provenance trainer_core.host.ranks
        dmglab/library.py: trainer_core.author.new_task
        trainer_core/cli/demo.py: trainer_core.cli.local_run
        trainer_core/cli/verify_claims.py: torch trainer_core.host.provenance
        trainer_core/cli/doctor.py: torch trainer_core.host.provenance
        trainer_core/cli/eval.py: torch trainer_core.envs.build trainer_core.envs.startable
            trainer_core.host.checkpoint trainer_core.host.evaluate trainer_core.host.loop_leaving
            trainer_core.host.run trainer_core.learn.policy
        trainer_core/cli/ram.py: trainer_core.author.ram_branches trainer_core.author.ram_roles
        trainer_core/cli/explore.py: trainer_core.runners.explore.ways
        trainer_core/cli/resume.py: trainer_core.cli.local_run
        trainer_core/cli/sweep.py: trainer_core.envs.startable
        trainer_core/cli/task_making.py: trainer_core.author.new_task
        trainer_core/cli/task_reports.py: torch trainer_core.author.reports
        trainer_core/cli/train.py: trainer_core.cli.local_run trainer_core.envs.startable
        trainer_core/envs/single_game.py: trainer_core.envs.toy
        trainer_core/host/agent.py: torch trainer_core.envs.pressed trainer_core.host.checkpoint
            trainer_core.host.saliency
        trainer_core/host/validation_process.py: torch trainer_core.host.validator trainer_core.learn.policy
        trainer_core/host/worker.py: trainer_core.envs.startable trainer_core.host.native
            trainer_core.host.run trainer_core.host.warm_up
        trainer_core/play/warm_up.py: torch trainer_core.host.checkpoint trainer_core.learn.policy
        trainer_core/player.py: trainer_core.envs.startable
        tests/gui/test_failures.py: trainer_core.learn.finite
        """,
    "safetensors.torch": "trainer_core/host/validation_process.py: safetensors.torch",  # brings torch
    "warp": """
        emulator/launch/compile_watch.py: warp._src
        trainer_core/cli/bench/load.py: warp emulator.state.batch
        trainer_core/cli/bench/replays.py: warp emulator.emulator emulator.launch.launch_shapes
            emulator.state.batch emulator.state.snapshot
        trainer_core/cli/bench/rig.py: warp emulator.emulator emulator.launch.warp_start
            emulator.state.snapshot trainer_core.envs.start_states trainer_core.envs.task_files
        trainer_core/cli/bench/train_bench.py: emulator.frame_launcher
        trainer_core/cli/demo.py: trainer_core.play.rollout
        trainer_core/cli/doctor.py: warp emulator.launch.warp_start
            emulator.tools.warmup
        trainer_core/cli/eval.py: trainer_core.play.league.players trainer_core.play.league.table
        trainer_core/cli/export.py: trainer_core.cli.export_frames
        trainer_core/cli/league.py: trainer_core.play.episode trainer_core.play.league.players
            trainer_core.play.league.table
        trainer_core/cli/ram.py: trainer_core.author.inputs trainer_core.author.ram_task trainer_core.envs.single_game
        trainer_core/cli/replay.py: trainer_core.envs.single_game
        trainer_core/cli/rollout.py: trainer_core.play.rollout
        trainer_core/cli/sound.py: emulator.sound trainer_core.author.inputs
            trainer_core.envs.single_game trainer_core.play.sound
        trainer_core/cli/task_making.py: trainer_core.author.capturing trainer_core.author.folder
        trainer_core/cli/task_reports.py: trainer_core.author.probing
        trainer_core/cli/task_sharing.py: trainer_core.author.archive trainer_core.author.folder
        trainer_core/play/clips/opening.py: trainer_core.play.clips.pressing trainer_core.play.clips.rollouts
        """,
    # Warp reads the text of every kernel of it: 0.2 s and 0.6 s, and few searches end with code.
    "emulator.launch.threaded": "emulator/hot_code/adopt.py: emulator.hot_code.compile_gpu",
    "emulator.launch.native": "emulator/hot_code/adopt.py: emulator.hot_code.compile_cpu",
    "msgspec": """
        dmglab/__init__.py: trainer_core.envs.compile_progress
        dmglab/registration.py: trainer_core.lab.manifest_checks trainer_core.lab.tasks
            trainer_core.wire.regular_files
        trainer_core/wire/process_guard.py: trainer_core.wire.errors
        """,  # a guard is forked before all else
    "platformdirs": "dmglab/registration.py: trainer_core.lab.paths",
    "torchrl": "dmglab/environments.py: dmglab.torchrl_env tests/packaging/test_public_face.py: torchrl.envs.utils",
    "numpy": """
        trainer_core/cli/importing.py: trainer_core.play.clips.opening
        trainer_core/cli/replay.py: trainer_core.envs.recording_writer
        trainer_core/cli/rom.py: trainer_core.envs.rom_registry
        trainer_core/host/worker.py: trainer_core.envs.compile_progress
        tests/gui/echo_player.py: numpy
        """,
    "PySide6": """
        gui/__main__.py: gui.app
        gui/shell/qt_check.py: PySide6
        scripts/endurance/soak.py: gui.app gui.features.checkpoints.controller
            gui.features.play.controller gui.features.train.controller gui.state.checkpoints gui.state.session
            tests.gui.conftest
        """,
    "matplotlib": "trainer_core/formats/plot.py: matplotlib",
    "http.client": "trainer_core/runners/native.py: trainer_core.runners.remote.jobs",
    "http.cookiejar": "trainer_core/envs/single_game.py: trainer_core.envs.arc.game",  # with urllib and ssl
    "importlib.metadata": """
        dmglab/__init__.py: importlib.metadata
        trainer_core/runners/catalog.py: importlib.metadata
        trainer_core/service/bug_report.py: importlib.metadata
        """,  # with all of email
    "tomllib": "dmglab/__init__.py: tomllib",
    # Every window reads the runners' descriptions, and nothing else of them (test_plug_ins.py).
    "trainer_core.runners.corl.flags": "trainer_core/runners/corl/runner.py: trainer_core.runners.corl.flags",
    "trainer_core.runners.rllm.countdown": "trainer_core/runners/rllm/runner.py: trainer_core.runners.rllm.countdown",
    # Libraries that need not be installed.
    "ale_py": "trainer_core/runners/cleanrl/worker.py: ale_py",
    "arc_agi": "trainer_core/envs/arc/host.py: arc_agi arc_agi.local_wrapper",
    "arcengine": "trainer_core/envs/arc/host.py: arcengine",
    "pip": "tests/packaging/test_setup.py: pip._vendor.packaging.requirements",
    "pyboy": "emulator/verify/fuzz_files.py: pyboy trainer_core/cli/bench/peers.py: pyboy",
    "pyqtgraph": "gui/features/curves/card.py: gui.kit.plot_canvas",
    "ray": "trainer_core/sweeps/cluster.py: ray tests/trainer_core/test_sweeps_ray.py: ray.cluster_utils",
    "rllm": """
        trainer_core/runners/rllm/engine.py: rllm.engine.agent_workflow_engine
            rllm.engine.rollout.rollout_engine rllm.rewards.countdown_reward rllm.utils.episode_logger
            rllm.workflows.simple_workflow
        """,
    "sdl2": "gui/features/play/gamepad.py: sdl2 trainer_core/play/sdl_output.py: sdl2",
    "stable_baselines3": """
        dmglab/environments.py: trainer_core.envs.sb3_vec_env
        tests/trainer_core/test_faces.py: stable_baselines3.common.vec_env trainer_core.envs.sb3_vec_env
        """,
    "transformers": "trainer_core/runners/rllm/in_verl/dmglab_rollout.py: transformers",
    "wandb": "trainer_core/formats/wandb_offline.py: wandb trainer_core/runners/rllm/validation.py: wandb",
}
"""By what they load: `file: the modules that its functions import`."""
WAITING = """
    dmglab/__init__.py: trainer_core.wire.environment trainer_core.wire.errors
    dmglab/programs.py: gui.__main__ trainer_core.cli.main trainer_core.runners.remote.job
    trainer_core/runners/rllm/in_verl/dmglab_cpu.py: verl.workers verl.workers.engine.base
    scripts/bench_executors.py: emulator emulator.emulator emulator.hot_code.search emulator.launch.launch_shapes
        emulator.state.snapshot numpy warp
    scripts/bench_rivals.py: nesle._cuda_core
    scripts/bench_app.py: PySide6.QtCore PySide6.QtTest gui.app gui.features.curves.dock
        gui.features.curves.page gui.features.curves.view gui.features.play.live gui.features.runs.dock
        gui.features.runs.model gui.state.appearance
        PySide6.QtGui gui.kit.plot_picture
        gui.state.session gui.state.telemetry numpy psutil
        tests.support.made_homes tests.support.made_records trainer_core.wire.frames
    """
"""In this order: until `sys.path` finds them first, until torch.cpu has what they ask of CUDA, until the
checkout that was named is on the path, until the clock runs that measures how long they take."""


def listed(text: str) -> set[tuple[str, str]]:
    """Return (file, module) pairs."""
    found, file = set(), ""
    for word in text.split():
        if word.endswith(":"):
            file = word[:-1]
        else:
            found.add((file, word))
    return found


def test_functions_import_what_is_listed_and_nothing_else() -> None:
    files = [
        path
        for package in ("emulator", "trainer_core", "dmglab", "gui", "scripts", "tests")
        for path in sources(package)
    ]
    found = {(str(path.relative_to(CHECKOUT)), name) for path in files for name in imported_in_functions(path)}
    wanted = set().union(*map(listed, HEAVY.values()), listed(WAITING))
    assert len(files) > 500
    new, gone = sorted(found - wanted), sorted(wanted - found)
    assert not new, f"move these to the top of their files, or list them under what heavy they bring: {new}"
    assert not gone, f"no function imports these any more: {gone}"


@pytest.mark.parametrize("heavy", HEAVY)
def test_what_is_imported_late_brings_what_its_file_does_not(heavy: str) -> None:
    for file, module in listed(HEAVY[heavy]):
        assert heavy in loaded_by(module), f"{module} does not bring {heavy}"
        own = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        assert heavy not in loaded_by(own), f"{own} has loaded {heavy} anyway: move {module} to its top"
