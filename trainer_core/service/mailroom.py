"""What other processes ask of a run that is kept here, carried out and answered."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from trainer_core.protocol import commands, records
from trainer_core.protocol.errors import LabError, ProtocolError
from trainer_core.runs.mailbox import Letter, Mailbox

MAILED = commands.Unpause | commands.SaveCheckpoint | commands.Watch


class Keeper(Protocol):
    """As much of a TrainerService."""

    async def stop(self, run_id: str) -> None: ...
    async def pause(self, run_id: str) -> None: ...
    async def request(
        self, run_id: str, command_type: type[commands.Command], **fields: Any
    ) -> records.AckEvent: ...


async def obey(keeper: Keeper, run_id: str, box: Mailbox, letter: Letter) -> None:
    """A stop is answered when it begins: whoever asked follows the run to its end."""
    command = letter.command
    try:
        if isinstance(command, commands.Stop):
            box.answer(letter, True)
            await keeper.stop(run_id)
            return
        if isinstance(command, commands.Pause):
            await keeper.pause(run_id)
        elif isinstance(command, MAILED):
            fields = msgspec.structs.asdict(command)
            del fields["id"]
            require(await keeper.request(run_id, type(command), **fields))
        else:
            raise ProtocolError(f"{type(command).__name__} is no command to a training")
    except LabError as error:
        box.answer(letter, False, str(error))
    else:
        box.answer(letter, True)


def require(ack: records.AckEvent) -> None:
    """Raises ProtocolError with the reason of a refusal."""
    if not ack.ok:
        raise ProtocolError(ack.detail or "refused")
