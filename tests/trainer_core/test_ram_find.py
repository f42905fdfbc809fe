"""`dmglab ram find` against the sources of our own game."""

from pathlib import Path

import pytest

from trainer_core.cli.ram import find


@pytest.mark.warp
def test_the_coordinates_and_the_room_of_pocket_quest_are_found(tmp_path: Path) -> None:
    few = ["--rounds", "10", "--consoles", "256", "--start", "20", "--home", str(tmp_path)]
    found = find(["pocket_quest/leave_house", *few])
    first = {row["kind"]: row["address"] for row in reversed(found["rows"])}
    assert (first["x"], first["y"], first["timer"]) == ("C1FD", "C1FE", "C135")  # actors[0].x and .y, clock
    (room,) = (row for row in found["rows"] if row["kind"] == "map" and "C14F" in (row["address"], *row["also"]))
    assert room["rank"] <= 10
    assert found["seconds"] < 30
