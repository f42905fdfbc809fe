"""A start that takes long says that it goes on."""

from __future__ import annotations

import threading

from trainer_core.cli.still_starting import StillStarting
from trainer_core.protocol import records


def event(state: str, detail: str = "") -> records.StateEvent:
    return records.StateEvent(run_id="r", seq=0, time=0.0, state=state, detail=detail)


def test_a_long_start_says_so_until_something_else_is_heard() -> None:
    said, twice = [], threading.Event()

    def say(text: str) -> None:
        said.append(text)
        if len(said) >= 2:
            twice.set()

    still = StillStarting(say, every_s=0.001)
    still.hear(event("starting", "preparing 32 consoles"))
    still.hear(records.HeartbeatEvent(run_id="r", seq=0, time=0.0, env_steps=0))
    assert twice.wait(10), "a heartbeat tells nothing"
    assert said[0].startswith("still starting after 0 s: a game's first start compiles")
    thread = next(t for t in threading.enumerate() if t.name.endswith("(_tell)"))
    still.hear(event("running"))
    thread.join(10)
    assert not thread.is_alive()
