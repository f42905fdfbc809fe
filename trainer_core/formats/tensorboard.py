"""Export of a run's curves as TensorBoard events.

Started as `python -m trainer_core.formats.tensorboard RUN_DIR [OUT]`.

Writes the file format itself (TFRecords of Event messages), so that exporting needs no package; only viewing does.
Progress is printed as JSON lines, the result last.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Generator
from pathlib import Path

from trainer_core.formats.as_job import run_export
from trainer_core.formats.protobuf import masked_crc
from trainer_core.lab.paths import RunPaths
from trainer_core.runs.log_reader import read_history
from trainer_core.wire import records
from trainer_core.wire.errors import LabError
from trainer_core.wire.metric_names import metric, scalars

_PROGRESS_EVERY = 500


def record_bytes(data: bytes) -> bytes:
    """Return `data` as one TFRecord: its length, a CRC of the length, the data, a CRC of the data."""
    length = struct.pack("<Q", len(data))
    return b"".join([length, struct.pack("<I", masked_crc(length)), data, struct.pack("<I", masked_crc(data))])


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def _field(number: int, data: bytes) -> bytes:
    """Return `data` encoded as the length-delimited protobuf field `number`."""
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def event(wall_time: float, step: int, scalars: dict[str, float]) -> bytes:
    """Return an Event message (tensorboard/compat/proto/event.proto) with the values of `scalars`, by their tags."""
    values = b"".join(
        _field(1, _field(1, name.encode()) + b"\x15" + struct.pack("<f", value)) for name, value in scalars.items()
    )
    return b"\x09" + struct.pack("<d", wall_time) + b"\x10" + _varint(step) + _field(5, values)


def tags_of(record: records.Event) -> dict[str, float]:
    """Return the scalars of one log record by TensorBoard tag, without the counters, which are axes, not curves."""
    return {
        name if "/" in name else f"train/{name}": value
        for name, value in scalars(record).items()
        if metric(name).group != "counter"
    }


def export(run: RunPaths, out: Path) -> Generator[float, None, Path]:
    """Write `out`/events.out.tfevents...; yield the share done, return `out`.

    Raises LabError when the run has no curve yet or the file cannot be written.
    """
    past = [record for record in read_history(run.train_log).events if tags_of(record)]
    if not past:
        raise LabError(f"{run.train_log}: no update records yet; wait for the first one")
    start = int(past[0].time)
    path = out / f"events.out.tfevents.{start}.{run.run_id}"
    partial = out / f".{path.name}.partial"
    try:
        out.mkdir(parents=True, exist_ok=True)
        with partial.open("wb") as file:
            version = b"\x09" + struct.pack("<d", past[0].time) + _field(3, b"brain.Event:2")
            file.write(record_bytes(version))
            for index, record in enumerate(past):
                step = getattr(record, "env_steps", 0)
                file.write(record_bytes(event(record.time, step, tags_of(record))))
                if index % _PROGRESS_EVERY == 0:
                    yield index / len(past)
        os.replace(partial, path)
    except OSError as error:
        raise LabError(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        partial.unlink(missing_ok=True)
    return out


def main(argv: list[str]) -> int:
    return run_export(argv, "tensorboard", export, "tensorboard")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
