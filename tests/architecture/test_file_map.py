"""ARCHITECTURE.md names every file of the trainer, and no file that is gone."""

from __future__ import annotations

import re

from tests.support.imports import CHECKOUT, sources

ONE_FILE_A_COMMAND = "cli"


def test_the_map_of_files_is_whole() -> None:
    page = (CHECKOUT / "ARCHITECTURE.md").read_text(encoding="utf-8").split("\n## Files\n")[1]
    rooms = re.split(r"\n### trainer_core/", page)[1:]
    assert len(rooms) > 10
    for room in rooms:
        folder = re.match(r"\w+", room)
        assert folder is not None
        named = set(re.findall(r"`([\w/*]+)`", room))
        there = {
            str(path.relative_to(CHECKOUT / "trainer_core" / folder[0]).with_suffix(""))
            for path in sources(f"trainer_core/{folder[0]}")
            if path.stem != "__init__"
        }
        assert there, folder[0]
        if folder[0] != ONE_FILE_A_COMMAND:
            missing = {
                name
                for name in there - named
                if not any(f"{part}/*" in named for part in name.split("/")[:-1])
            }
            assert not missing, f"ARCHITECTURE.md does not name, below {folder[0]}: {missing}"
        first_cells = re.findall(r"^\| (.*?) \|", room, flags=re.MULTILINE)
        for cell in first_cells[1:]:
            for name in re.findall(r"`([\w/]+)`", cell):
                assert name in there, f"ARCHITECTURE.md names {folder[0]}/{name}, which is gone"
