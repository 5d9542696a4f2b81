#!/usr/bin/env bash
# Usage: run.sh DIRECTORY ROUNDS NAME=REDOLAB NAME=REDOLAB … > data.csv
# Measures the same work with several binaries of redolab, in rounds; the order is turned round to round.
# DIRECTORY is for evidence and runs (about 200 MB); what is made there is removed. Run it in a checkout.
set -euo pipefail
place=$(mktemp -d "$1/static-binary.XXXXXX")
rounds=$2
shift 2
trap 'rm -rf "$place"' EXIT
for seed in $(seq 30); do
    cargo xtask generate awr-text --seed "$seed" --out "$place/$seed.txt" 2>/dev/null
    cargo xtask generate trace --waits 30000 --seed "$seed" --out "$place/$seed.trc" 2>/dev/null
done
# One run, whose report each binary writes. Where events were lost it ends with 4, and its report is
# as large.
"${1#*=}" run --null --jobs 1,4 --time 2s --events --store "$place/common" >/dev/null 2>&1 || [ $? = 4 ]

# Seconds that a command takes, by the clock.
seconds() {
    local begun=$EPOCHREALTIME
    "$@" >/dev/null 2>&1
    echo "$begun $EPOCHREALTIME" | awk '{ printf "%.4f", $2 - $1 }'
}

echo "round,binary,work,value,unit"
for round in $(seq "$rounds"); do
    order=("$@")
    for _ in $(seq $((round % $#))); do order=("${order[@]:1}" "${order[0]}"); done
    for each in "${order[@]}"; do
        name=${each%%=*} redolab=${each#*=}
        for jobs in 1 64; do
            rate=$("$redolab" run --null --jobs "$jobs" --time 2s --format csv --store "$place/store" 2>/dev/null |
                awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "commit_throughput_tps") at = i }
                         NR == 2 { print $at }')
            echo "$round,$name,null device $jobs jobs,$rate,commits/s"
        done
        echo "$round,$name,import,$(seconds "$redolab" import "$place"/*.txt "$place"/*.trc --store "$place/store"),s"
        echo "$round,$name,summary,$(seconds "$redolab" compare --as r2 "$place"/*.trc),s"
        echo "$round,$name,report,$(seconds "$redolab" report last --store "$place/common" -o "$place/report.html"),s"
        rm -rf "$place/store" "$place/report.html"
    done
done
