#!/bin/sh
# Rebuild mirror_moths.gb, bit for bit: ./build.sh [output]   (needs python3 and SDCC 4.2.0)
cd "$(dirname "$0")"
name=mirror_moths title="MIRROR MOTHS" banks=2 polled=1
kit="sound"
sources="video board main" rare="pages"
. ../kit/build_rom.sh
