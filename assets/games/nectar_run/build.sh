#!/bin/sh
# Rebuild nectar_run.gb, bit for bit: ./build.sh [output]   (needs python3 and SDCC 4.2.0)
cd "$(dirname "$0")"
name=nectar_run title="NECTAR RUN" banks=4
kit="screen sound"
sources="ground flight foes hornet" rare="status title main"
banked="stage_0:2 stage_1:2 stage_2:3"
. ../kit/build_rom.sh
