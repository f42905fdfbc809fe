#!/bin/sh
# Proves the wheel: builds it from the source archive, installs it into an empty environment, makes
# that read-only, and from / as a user without rights trains the tiny task, by the command line and
# by the service, plays what was trained and opens the app without a display. Needs a few minutes,
# 3 GB in /tmp, and the network for what pip installs. Prints one JSON object, status 0 when it held.
#
#     scripts/prove_wheel.sh [--demo] [FOLDER]
#
# --demo   also trains the first stage of Pocket Quest, for which the Game Boy is compiled: minutes
# FOLDER   is kept; without it a new one below /tmp goes at the end
set -eu

CHECKOUT=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$CHECKOUT/scripts/setup.sh"

demo=
[ "${1:-}" != --demo ] || { demo=yes; shift; }
ROOM=${1:-}
if [ -z "$ROOM" ]; then
    ROOM=$(mktemp -d /tmp/dmglab-wheel-XXXXXX)
    trap 'chmod -R u+w "$ROOM"; rm -rf "$ROOM"' EXIT
fi
mkdir -p "$ROOM"
chmod 755 "$ROOM"
ENVIRONMENT="$ROOM/environment"
pip() { "$ENVIRONMENT/bin/python" -m pip "$@" -q --disable-pip-version-check; }

say "building the source archive and from it the wheel, in $ROOM"
[ -x "$ENVIRONMENT/bin/python" ] || "$(find_python)" -m venv "$ENVIRONMENT"
chmod -R u+w "$ENVIRONMENT"
pip install "setuptools>=77"
rm -rf "$ROOM/source" "$ROOM/wheel" "$ROOM/user"
mkdir -p "$ROOM/source" "$ROOM/wheel" "$ROOM/user"
# What git knows or would take, so that no stale build/ and no data of var/ gets in.
(cd "$CHECKOUT" && git ls-files -coz --exclude-standard | tar --null -T - -cf -) |
    tar -xf - -C "$ROOM/source"
(cd "$ROOM/source" && "$ENVIRONMENT/bin/python" -c \
    "from setuptools import build_meta; build_meta.build_sdist('$ROOM/wheel')" >/dev/null)
pip wheel --no-build-isolation --no-deps -w "$ROOM/wheel" "$ROOM"/wheel/dmglab-*.tar.gz
rm -rf "$ROOM/source"

say "installing it beside $TORCH"
PYTHON="$ENVIRONMENT/bin/python"
install_torch "$(torch_wanted)"
wheel=$(echo "$ROOM"/wheel/dmglab-*.whl)
pip install --force-reinstall --no-deps "$wheel"
pip install "${wheel}[train,gui]"
chmod -R a-w "$ENVIRONMENT"

# Permissions do not bind root: run as nobody, or where nobody may not read this interpreter
# (below /root) as a root without capabilities, whom they bind too.
as_user=
if [ "$(id -u)" -eq 0 ]; then
    as_user="setpriv --reuid=65534 --regid=65534 --clear-groups"
    if $as_user env "$ENVIRONMENT/bin/python" -c '' 2>/dev/null; then
        chown 65534:65534 "$ROOM/user"
    else
        as_user="setpriv --bounding-set=-all --inh-caps=-all"
    fi
fi
installed() {  # installed PROGRAM ARGUMENT...: from /, with nothing of ours in the environment
    (cd / && $as_user env -i PATH=/usr/bin:/bin HOME="$ROOM/user" LANG=C.UTF-8 \
        QT_QPA_PLATFORM=offscreen "$ENVIRONMENT/bin/$@")
}
if installed python -c "open('$ENVIRONMENT/written', 'w')" 2>/dev/null; then
    die "$ENVIRONMENT is writable: the proof would prove nothing"
fi

say "where our packages are"
installed python -c "
import sys, importlib.util as util
shelf = util.find_spec('dmglab').submodule_search_locations[0] + '/own-packages/'
for name in ('emulator', 'trainer_core', 'gui'):
    assert util.find_spec(name).origin == f'{shelf}{name}/__init__.py', util.find_spec(name)
import dmglab
assert not util.find_spec('dmglab.emulator') and dmglab.__version__, sys.path"

say "dmglab train, from / and without rights"
installed dmglab train --task tiny_goal --num-envs 64 --target-success 0.9 --seconds 60 \
    --name proof >"$ROOM/trained.json"
home="$ROOM/user/.local/share/dmglab"
[ -d "$home/training/runs" ] || die "the run is not below $home: $(cat "$ROOM/trained.json")"
if [ -n "$demo" ]; then
    say "dmglab demo"
    installed dmglab demo >"$ROOM/demo.json"
fi

say "a run, a player and a tool as child processes of the service"
installed python - "$home" <<'PROGRAM'
import asyncio
import sys
from pathlib import Path

from trainer_core.lab.paths import HomePaths
from trainer_core.service import PlayerService, TrainerService, run_job
from trainer_core.wire import records
from trainer_core.wire.config import RunConfig
from trainer_core.wire.playing import PlayerConfig
from trainer_core.wire.spec import RunSpec


async def main() -> None:
    wrong, acts = [], []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: wrong.append(context))
    home = HomePaths(Path(sys.argv[1]))
    service = TrainerService(home)
    service.open()
    (trained,) = [run for run in service.runs.values() if run.name == "proof"]
    plan = service.plan(RunSpec.of(RunConfig(task="tiny_goal", num_envs=16, seconds=5.0)))
    await service.start(plan)
    while not service.runs[plan.run_id].state.is_end:
        await asyncio.sleep(0.1)
    assert service.runs[plan.run_id].state == "finished", service.runs[plan.run_id]
    player = PlayerService(home)
    player.on_event = acts.append
    best = home.run(trained.run_id).root / trained.last_checkpoint
    await player.start(PlayerConfig(task="tiny_goal", checkpoint=str(best), mode="greedy"))
    async with asyncio.timeout(60):
        while not any(isinstance(event, records.PlayEvent) for event in acts):
            await asyncio.sleep(0.1)
    await player.stop()
    found = await run_job([sys.executable, "-m", "trainer_core.cli.main", "doctor"])
    assert found["home"]["path"] == str(home.root), found
    await service.close()
    assert not wrong, wrong


asyncio.run(main())
PROGRAM

say "the app opens and finds its icon"
installed python -c "
from gui.app import create_application, create_window
from trainer_core.lab.paths import default_home
app = create_application()
assert not app.windowIcon().pixmap(64).isNull()
create_window(default_home())
import os; os._exit(0)"
installed dmglab doctor --install-desktop >/dev/null
[ -s "$ROOM/user/.local/share/applications/dmglab.desktop" ] || die "no desktop file"
[ -s "$ENVIRONMENT/share/applications/dmglab.desktop" ] || die "no desktop file in the wheel"

say "held; runs lie in $home"
cat "$ROOM/trained.json"
