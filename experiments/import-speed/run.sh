#!/bin/sh
# Reads a generated trace of one process and one of many with redolab import, wc -l and grep -c, in
# turns, from the page cache. Prints CSV: round, file, tool, seconds, MB a second, peak KiB.
#   run.sh DIRECTORY [WAITS [ROUNDS]]
# DIRECTORY needs room for both files; WAITS 11000000 make about 2 GB each. Needs GNU time.
set -eu
dir=$1
waits=${2:-11000000}
rounds=${3:-7}
root=$(cd "$(dirname "$0")/../.." && pwd)
redolab="$root/target/release/redolab"
store=$(mktemp -d "$dir/import-speed-store-XXXXXX")
one="$dir/import-speed-one.trc"
many="$dir/import-speed-many.trc"
trap 'rm -rf "$store" "$one" "$many" "$one.answers.json" "$many.answers.json" "$dir/import-speed.time"' EXIT INT TERM

cd "$root"
cargo build --release --quiet -p redolab -p xtask
target/release/xtask generate trace --waits "$waits" --out "$one"
target/release/xtask generate trace --waits "$waits" --processes 500 --seed 2 --release 19 --out "$many"

measure() {
    tool=$1
    file=$2
    shift 2
    command time -f '%e %M' -o "$dir/import-speed.time" "$@" > /dev/null
    read -r seconds peak < "$dir/import-speed.time"
    bytes=$(stat -c %s "$file")
    rate=$(awk -v b="$bytes" -v s="$seconds" 'BEGIN { printf "%.0f", (s > 0) ? b / s / 1e6 : 0 }')
    echo "$round,$(basename "$file"),$tool,$seconds,$rate,$peak"
}

echo round,file,tool,seconds,mb_per_s,peak_kib
for file in "$one" "$many"; do
    cat "$file" > /dev/null
done
round=1
while [ "$round" -le "$rounds" ]; do
    for file in "$one" "$many"; do
        measure redolab "$file" "$redolab" import -q --store "$store" --format json "$file"
        measure wc "$file" wc -l "$file"
        measure grep "$file" grep -c 'log file parallel write' "$file"
    done
    round=$((round + 1))
done
