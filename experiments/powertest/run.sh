#!/bin/sh
# Commits per second of the writer of a power test beside those of `redolab run`, in interleaved
# pairs on one directory, with the same jobs, records, log files and sync method. Prints a line of
# CSV for each pair: pair,jobs,run_tps,write_tps,ratio.
#
#   experiments/powertest/run.sh DIRECTORY [PAIRS] [JOBS] [SECONDS] [SERVER_DIRECTORY]
#
# The server runs on this machine, on SERVER_DIRECTORY, which should be another device; on a second
# machine it would take none of this one's processors. REDOLAB names the binary.
set -eu
directory=${1:?name a directory on the device}
pairs=${2:-10}
jobs=${3:-8}
seconds=${4:-10}
redolab=${REDOLAB:-redolab}
scratch=$(mktemp -d)
keep=${5:-$scratch}/powertest-keep
export REDOLAB_STORE="$scratch/store"
server=
end() {
    [ -z "$server" ] || { kill "$server"; wait "$server"; } 2> /dev/null || true
    rm -rf "$scratch" "$keep"
}
trap end EXIT INT TERM
(umask 077; head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' > "$scratch/token")
"$redolab" powertest serve --keep "$keep" --token-file "$scratch/token" \
    --listen 127.0.0.1:0 > "$scratch/server" &
server=$!
until grep -q '^Listening on' "$scratch/server"; do sleep 0.1; done
address=$(sed -n 's/^Listening on \(.*\)\.$/\1/p' "$scratch/server")

measured() {
    "$redolab" run --on "$directory" --workload LGWR-LAT1 --jobs "$jobs" --time "${seconds}s" \
        --warmup 1s --log-file-size 64M --log-groups 3 --sync-method direct --allow-busy \
        --format csv --quiet | awk -F, '
            NR == 1 { for (i = 1; i <= NF; i++) if ($i == "commit_throughput_tps") at = i }
            NR == 2 { print $at }'
}
written() {
    "$redolab" powertest write --on "$directory" --to "$address" --token-file "$scratch/token" \
        --jobs "$jobs" --time "${seconds}s" --abandon 2> "$scratch/errors" |
        sed -n 's/.*(\([0-9]*\) per second).*/\1/p'
}
echo pair,jobs,run_tps,write_tps,ratio
pair=1
while [ "$pair" -le "$pairs" ]; do
    # Which one is first alternates.
    if [ $((pair % 2)) -eq 1 ]; then
        run=$(measured); write=$(written)
    else
        write=$(written); run=$(measured)
    fi
    awk -v p="$pair" -v j="$jobs" -v a="$run" -v b="$write" \
        'BEGIN { printf "%d,%d,%.0f,%.0f,%.3f\n", p, j, a, b, b / a }'
    pair=$((pair + 1))
done
"$redolab" powertest verify --on "$directory" --to "$address" --token-file "$scratch/token" \
    --abandon 2> /dev/null
rm -rf "$directory/redolab-powertest"
