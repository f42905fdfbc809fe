#!/bin/sh
# Rebuild pocket_quest.gb, bit for bit: ./build.sh [output]   (needs python3 and SDCC 4.2.0)
cd "$(dirname "$0")"
name=pocket_quest title="POCKET QUEST" banks=2
kit="screen sound"
sources="room actor main" rare="window text menu diary title"
. ../kit/build_rom.sh
