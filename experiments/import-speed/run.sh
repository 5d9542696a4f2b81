#!/bin/sh
# Reads a generated trace of one process and one of many with redolab import, wc -l and grep -c, in
# turns, from the page cache, and redolab also the first quarter and half of each, to show whether
# memory grows. Prints CSV: round, file, bytes, tool, seconds by the clock, seconds of processor
# time in user space and in the system, MB a second by the clock, peak KiB.
#   run.sh DIRECTORY [WAITS [ROUNDS]]
# DIRECTORY needs room for 9 GB: WAITS 11000000 make a file of more than 2 GB of each. Needs GNU time. Set
# REDOLAB and XTASK to use programs that are built.
set -eu
dir=$1
waits=${2:-11000000}
rounds=${3:-7}
root=$(cd "$(dirname "$0")/../.." && pwd)
redolab=${REDOLAB:-$root/target/release/redolab}
xtask=${XTASK:-$root/target/release/xtask}
store=$(mktemp -d "$dir/import-speed-store-XXXXXX")
one="$dir/import-speed-one.trc"
many="$dir/import-speed-many.trc"
trap 'rm -rf "$store" "$one"* "$many"* "$dir/import-speed.time" "$dir/import-speed.out"' EXIT INT TERM

cd "$root"
[ -n "${REDOLAB-}" ] && [ -n "${XTASK-}" ] || cargo build --release --quiet -p redolab -p xtask
"$xtask" generate trace --waits "$waits" --out "$one"
"$xtask" generate trace --waits "$waits" --processes 500 --seed 2 --release 19 --out "$many"

# measure TOOL FILE COMMAND…
measure() {
    tool=$1
    read_file=$2
    bytes=$(stat -c %s "$read_file")
    shift 2
    # To a file: grep ends with its first match where its output is the null device.
    command time -f '%e %U %S %M' -o "$dir/import-speed.time" "$@" > "$dir/import-speed.out"
    read -r seconds user system peak < "$dir/import-speed.time"
    rate=$(awk -v b="$bytes" -v s="$seconds" 'BEGIN { printf "%.0f", (s > 0) ? b / s / 1e6 : 0 }')
    echo "$round,$(basename "$read_file"),$bytes,$tool,$seconds,$user,$system,$rate,$peak"
}

echo round,file,bytes,tool,seconds,user_s,system_s,mb_per_s,peak_kib
for file in "$one" "$many"; do
    size=$(stat -c %s "$file")
    head -c $((size / 4)) "$file" > "$file.quarter"
    head -c $((size / 2)) "$file" > "$file.half"
    cat "$file" > /dev/null
done
round=1
while [ "$round" -le "$rounds" ]; do
    for file in "$one" "$many"; do
        for part in "$file" "$file.half" "$file.quarter"; do
            measure redolab "$part" "$redolab" import -q --store "$store" --format json "$part"
            rm -rf "$store"
        done
        measure wc "$file" wc -l "$file"
        measure grep "$file" grep -c 'log file parallel write' "$file"
    done
    round=$((round + 1))
done
