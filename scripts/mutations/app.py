"""List wrong lines of the app's models and of what it reads."""

from __future__ import annotations

SERIES = "tests/gui/test_metric_series.py"
PLAYING = "tests/gui/test_playing.py -k "

MUTATIONS = [
    ("gui/state/metric_series.py", 'env_steps, side="right"', 'env_steps, side="left"',
     SERIES + " -k resume"),
    ("gui/state/metric_series.py", "    average[: len(biases)] /= biases\n", "",
     SERIES + " -k constant"),
    ("gui/features/replay/model.py", "bisect.bisect_left(self._last_frames, frame)",
     "bisect.bisect_right(self._last_frames, frame)",
     "tests/trainer_core/test_recordings.py -k told_with"),
    ("gui/features/replay/model.py", "packed, about = self._pictures[number], ",
     "packed, about = self._pictures[max(number - 1, 0)], ", PLAYING + "frame_n"),
    ("trainer_core/formats/video.py", "first + int(index * step)",
     "first + int(index * step) - 1",
     "tests/trainer_core/test_tools.py -k on_the_screen"),
    ("gui/state/config_fields.py", "if self.maximum is not None and number > self.maximum:",
     "if False:", "tests/gui/test_config_draft.py"),
    ("trainer_core/wire/frames.py", "if before == after == seq:", "if before == seq - 1:",
     PLAYING + "follows_a_file"),
]  # fmt: skip
