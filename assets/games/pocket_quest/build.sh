#!/bin/sh
# Rebuild pocket_quest.gb, bit for bit: ./build.sh [output]   (needs python3 and SDCC 4.2.0)
set -eu
cd "$(dirname "$0")"
output=${1:-pocket_quest.gb}
command -v sdcc >/dev/null || { echo "build.sh: sdcc not found: apt install sdcc" >&2; exit 1; }
mkdir -p build
python3 -B generate.py build/tables.c
sdasgb -o build/crt0.rel src/crt0.s
objects=build/crt0.rel
for name in screen room actor text title main; do
    sdcc -msm83 --opt-code-speed --max-allocs-per-node 20000 -Isrc -c "src/$name.c" -o "build/$name.rel"
    objects="$objects build/$name.rel"
done
sdcc -msm83 -Isrc -c build/tables.c -o build/tables.rel
sdcc -msm83 --no-std-crt0 --code-loc 0x0260 --data-loc 0xc0a0 -o build/pocket_quest.ihx \
    $objects build/tables.rel
python3 -B pack_rom.py build/pocket_quest.ihx "$output"

# Symbols for debuggers and make_tasks.py: "bank:address name", variables and functions
awk '/^DEF _[a-z]/ { name = substr($2, 2); address = substr($3, 3)
    print "00:" substr("0000" address, length(address) + 1) " " name }' build/pocket_quest.noi \
    | LC_ALL=C sort > "${output%.gb}.sym"
