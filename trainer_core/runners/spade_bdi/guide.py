"""Agent in its own process that talks with a run's player through the run's XMPP server.

`.../envs/spade_bdi/bin/python -m trainer_core.runners.spade_bdi.guide PORT PLANS.asl`: PORT is in the run's worker.log
("the player listens"). The plans believe `player("JID")`; messages in both directions are printed, one per line. It
ends with the run.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

from trainer_core.runners.spade_bdi import asl
from trainer_core.runners.spade_bdi.mind import PATIENCE_S, PLAYER, TalkingAgent, told
from trainer_core.runners.spade_bdi.xmpp import HOST
from trainer_core.wire.errors import ConfigError

spade: Any = importlib.import_module("spade.agent")

POLL_S = 0.05


async def talk(port: int, plans: Path, name: str) -> None:
    """Run the agent with these plans, under `name`, until the XMPP server on `port` ends.

    Raises ConfigError if no server answers.
    """
    over = asyncio.Event()
    agent = TalkingAgent(f"{name}@{HOST}", plans, port, lambda actions: None, _say)
    try:
        await asyncio.wait_for(agent.start(), PATIENCE_S)
    except (TimeoutError, OSError, spade.DisconnectedException, spade.AuthenticationFailure):
        raise ConfigError(f"no run's XMPP server answers on 127.0.0.1:{port}; its worker.log says which port") from None
    agent.client.add_event_handler("disconnected", lambda _: over.set())
    agent.bdi._xmpp_send = partial(_send, agent.bdi._xmpp_send)
    agent.believe("player", f"{PLAYER}@{HOST}")
    agent.want()
    while not over.is_set() and not agent.bdi.is_killed():
        await asyncio.sleep(POLL_S)


async def _send(send: Any, msg: Any) -> None:
    await send(msg)
    _say(told(msg))


def _say(line: str) -> None:
    print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="guide", description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("plans", type=Path)
    parser.add_argument("--name", default="guide", help="its JID is NAME@localhost")
    options = parser.parse_args()
    try:
        asl.check(options.plans)
        loop = importlib.import_module("spade.container").Container().loop
        loop.run_until_complete(talk(options.port, options.plans, options.name))
    except ConfigError as error:
        print(f"guide: {error}", file=sys.stderr)
        os._exit(1)
    except KeyboardInterrupt:
        pass
    sys.stdout.flush()
    os._exit(0)  # leftover timers of its event loop would print errors


if __name__ == "__main__":
    main()
