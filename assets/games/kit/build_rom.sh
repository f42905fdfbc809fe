#!/bin/sh
# Build one of our games, bit for bit. Sourced by a game's build.sh, which names:
#   name      file name of the ROM and its symbols     title    in the cartridge header
#   sources   C files of src/, without .c              kit      C files of ../kit/src/
#   rare      more of src/, compiled for size
#   banks     16 KiB banks of the cartridge            polled   1 if it enables no interrupt
#   banked    C files that generate.py writes for banks 2 and up, as "file:bank"
# Needs python3 (standard library only) and SDCC 4.2.0 (Debian 12: apt install sdcc).
set -eu
command -v sdcc >/dev/null || { echo "build.sh: sdcc not found: apt install sdcc" >&2; exit 1; }
output=${1:-$name.gb}
flags="-msm83 -Isrc -I../kit/src"
fast="--opt-code-speed --max-allocs-per-node 20000"
small="--opt-code-size --max-allocs-per-node 20000"
mkdir -p build
export PYTHONPATH=..  # for the kit
python3 -B generate.py build
{ echo "POLLED = ${polled:-0}"; cat ../kit/src/crt0.s; } > build/crt0.s
sdasgb -o build/crt0.rel build/crt0.s
objects=build/crt0.rel
for file in $kit; do
    sdcc $flags $fast -c "../kit/src/$file.c" -o "build/$file.rel"
    objects="$objects build/$file.rel"
done
for file in $sources $rare; do
    case " $rare " in *" $file "*) pace=$small ;; *) pace=$fast ;; esac
    sdcc $flags $pace -c "src/$file.c" -o "build/$file.rel"
    objects="$objects build/$file.rel"
done
sdcc $flags -c build/tables.c -o build/tables.rel
objects="$objects build/tables.rel"
areas=
for entry in ${banked:-}; do
    file=${entry%:*} bank=${entry#*:}
    sdcc $flags --constseg "BANK_$bank" -c "build/$file.c" -o "build/$file.rel"
    objects="$objects build/$file.rel"
    areas="$areas -Wl-b_BANK_$bank=0x${bank}4000"
done
sdcc -msm83 --no-std-crt0 --code-loc 0x0260 --data-loc 0xc0a0 $areas -o "build/$name.ihx" $objects
python3 -B ../kit/pack_rom.py "build/$name.ihx" "$output" --title "$title" --banks "${banks:-2}"

# Symbols for debuggers and scripts: "bank:address name", variables and functions
awk '/^DEF _[a-z]/ { name = substr($2, 2); address = substr($3, 3)
    print "00:" substr("0000" address, length(address) + 1) " " name }' "build/$name.noi" \
    | LC_ALL=C sort > "${output%.gb}.sym"
