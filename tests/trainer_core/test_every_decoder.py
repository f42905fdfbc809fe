"""Whatever a file holds: each decoder reads it, or refuses it in one short line, soon and small.

The decoders stand in `tests/support/decoders.py`. `DMGLAB_FUZZ_EXAMPLES=20000` makes the longer run
that docs/notebook/robustness.md reports.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.support.decoders import DECODERS, Part
from tests.support.decoding_calls import decoding_functions, unpickling
from tests.support.decoding_process import DecodingProcess
from tests.support.imports import CHECKOUT, sources
from tests.support.mutated import CHANGES, FORMS, Bytes

EXAMPLES = int(os.environ.get("DMGLAB_FUZZ_EXAMPLES", "6"))
MOST_CHANGES = EXAMPLES * 3 if EXAMPLES >= 100 else 6
"""Of all changes of one value of a file, how many are tried for each part."""
DAMAGED = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="DMGLAB_FUZZ_EXAMPLES" not in os.environ,
    database=None,
    suppress_health_check=list(HealthCheck),  # pyright: ignore[reportArgumentType]  # its metaclass says no type
    phases=[Phase.generate],  # an input is one change of a good file: nothing is there to shrink
)
OTHERS = {
    "emulator/verify/": "a tool of ours reads what it wrote itself",
    "trainer_core/cli/verify_claims.py": "figures of the checkout, and what our own commands print",
    "trainer_core/cli/bench/": "a bench reads its own replays, by read_arrays",
    "emulator/__main__.py": "reads by job_files.read_json, which is tried",
    "emulator/tools/png.py": "reference pictures of test suites, for developers",
    "emulator/hot_code/background_search.py": "the user's own cache, written by our compiler",
    "emulator/kernels/ppu/picture_arrays.py": "a method of ours that is called `unpack`",
    "trainer_core/author/probing.py": "a cache of our own, by read_arrays",
    "trainer_core/author/archive.py:export_task": "writes",
    "trainer_core/formats/": "looks at a file that it has just written, or at a recording that was "
    "read by read_recording",
    "trainer_core/play/roll.py": "a recording that was read by read_recording",
    "trainer_core/service/bug_report.py": "writes",
    "trainer_core/play/labelled/writers.py": "writes",
    "trainer_core/runs/archive.py:_write": "writes",
    "trainer_core/runs/storage.py:pack": "a file that it has just written",
    "trainer_core/service/job.py": "lines of a child of ours",
    "trainer_core/sweeps/slot.py": "the result of a child of ours",
    "trainer_core/sweeps/cluster.py": "the result of a worker of ours",
    "trainer_core/host/validation_process.py": "a pipe to a child of ours",
    "trainer_core/host/wait_for_order.py": "the order of our own parent",
    "trainer_core/host/worker.py:run": "limits that our own `resume` passes on",
    "trainer_core/service/preflight.py:_answer": "what an interpreter that we started prints",
    "trainer_core/lab/guest_environment.py:RunnerEnvironment.probe": "the same",
    "trainer_core/runners/rllm/runner.py:find_verl": "the same",
    "trainer_core/runners/spade_bdi/runner.py:SpadeBdiRunner._check_plans": "the same",
    "trainer_core/envs/arc/host.py": "the library's process: orders of ours, cards of the library",
    "trainer_core/envs/arc/session.py": "lines of a child of ours",
    "trainer_core/runners/cleanrl/": "weights_only, in the guest's process",
    "trainer_core/runners/d3rlpy/worker.py": "weights_only, in the guest's process",
    "trainer_core/runners/sb3/": "weights_only, in the guest's process",
    "trainer_core/runners/skrl/": "weights_only, in the guest's process",
    "trainer_core/runners/guest/generators.py": "of a state that was loaded in the guest's process",
    "trainer_core/runners/spade_bdi/checkpoint.py": "a checkpoint's mind, in the guest's process",
    "trainer_core/runners/rllm/in_verl/": "files that our worker wrote, in VERL's process",
    "trainer_core/runners/rllm/verl_process.py": "a checkpoint's pointer, in the guest's process",
    "trainer_core/runners/rllm/worker.py": "a checkpoint's state, in the guest's process",
    "trainer_core/lab/dataset_download.py:_read_metadata": "a server's answer: test_datasets has rubbish",
    "trainer_core/runners/remote/courier.py:Courier._verified": "a cluster's file: test_remote has rubbish",
    "trainer_core/runners/remote/courier.py:follow": "limits that our own `resume` passes on",
    "trainer_core/runners/remote/jobs.py": "a server's answer: test_remote has rubbish",
    "trainer_core/runners/remote/parcel.py": "writes",
    "trainer_core/service/wandb_sender.py": "what a child of ours prints",
    "gui/kit/words.py": "our own translations",
}
"""Functions that decode and are not in the table: a folder, a file or file:function, and why."""


class Samples:
    """A folder with the good files of each decoder, made when they are asked for."""

    def __init__(self, root: Path, process: DecodingProcess) -> None:
        self.process, self._root = process, root
        self._folders: dict[str, Path] = {}
        self._functions: dict[str, set[tuple[str, str]]] = {}

    def folder(self, name: str) -> Path:
        if name not in self._folders:
            self._folders[name] = folder = self._root / str(len(self._folders)) / "sample"
            folder.mkdir(parents=True)
            DECODERS[name].make(folder)
        return self._folders[name]

    def functions(self, name: str) -> set[tuple[str, str]]:
        """What reading the good sample calls; asserts that it is read."""
        if name not in self._functions:
            self._functions[name] = self.process.functions(name, self.folder(name))
        return self._functions[name]

    def damage(self, name: str) -> Iterator[tuple[Part, bytes, Bytes]]:
        """Each part, what it is, and what it may become."""
        for part in DECODERS[name].parts:
            good = (self.folder(name) / part.file).read_bytes()
            unwrap, wrap = part.inside or (bytes, bytes)
            yield part, good, FORMS[part.form](unwrap(good)).map(wrap)

    def changes(self, name: str) -> Iterator[tuple[Part, bytes]]:
        """Files with one value changed; of too many some, others for each part."""
        for number, part in enumerate(DECODERS[name].parts):
            if part.form in CHANGES:
                unwrap, wrap = part.inside or (bytes, bytes)
                good = (self.folder(name) / part.file).read_bytes()
                found = list(CHANGES[part.form](unwrap(good)))
                step = -(-len(found) // MOST_CHANGES)
                for change in found[(len(name) + number) % step :: step]:
                    yield part, wrap(change())


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Samples]:
    process = DecodingProcess()
    yield Samples(tmp_path_factory.mktemp("samples"), process)
    process.close()


@pytest.mark.parametrize("name", DECODERS)
def test_damage_is_read_or_refused(name: str, samples: Samples) -> None:
    folder, process = samples.folder(name), samples.process
    samples.functions(name)
    parts = list(samples.damage(name))

    def tried(part: Part, good: bytes, data: bytes) -> None:
        (folder / part.file).write_bytes(data)
        try:
            process.read(name, folder)
        finally:
            (folder / part.file).write_bytes(good)

    whole = {part: good for part, good, _ in parts}
    for part, data in samples.changes(name):
        tried(part, whole[part], data)

    @DAMAGED
    @given(st.one_of([damaged.map(lambda data, at=at: (at, data)) for at, (_, _, damaged) in enumerate(parts)]))
    def each(found: tuple[int, bytes]) -> None:
        at, data = found
        tried(*parts[at][:2], data)

    each()


def test_every_function_that_decodes_is_called_by_a_sample_or_excused(samples: Samples) -> None:
    visited: set[tuple[str, str]] = set()
    for name in DECODERS:
        visited |= samples.functions(name)
    visited = {(file, function.partition(".<locals>")[0]) for file, function in visited}
    found = decoding_functions()
    missing = [
        f"{file}:{function} calls {call}: put a line into tests/support/decoders.py"
        for (file, function), call in sorted(found.items())
        if (file, function) not in visited and not _excuse(f"{file}:{function}")
    ]
    assert not missing, "\n".join(missing)
    used = {_excuse(f"{file}:{function}") for file, function in found}
    assert set(OTHERS) <= used, f"excuses without a function: {set(OTHERS) - used}"


def _excuse(place: str) -> str:
    """The longest of OTHERS that is about this place."""
    return max((key for key in OTHERS if place.startswith(key)), key=len, default="")


@pytest.mark.parametrize("package", ["emulator", "trainer_core", "gui"])
def test_no_loader_of_ours_unpickles(package: str) -> None:
    wrong = [f"{path.relative_to(CHECKOUT)}: {what}" for path in sources(package) for what in unpickling(path)]
    assert not wrong, "\n".join(wrong)
