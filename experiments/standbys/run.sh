#!/bin/bash
# What a synchronous standby costs a commit: private PostgreSQL servers on one directory, without a
# standby and with one or two, in rounds. Prints CSV.
#   run.sh DIRECTORY [ROUNDS [SECONDS [distance]]]
# With `distance` it measures one standby, connected directly and through redolab's relay.
# Everything is made in DIRECTORY and removed. Nothing else should run meanwhile.
set -euo pipefail
directory=$1
rounds=${2:-5}
seconds=${3:-3}
root=$(cd "$(dirname "$0")/../.." && pwd)
redolab=${REDOLAB:-$root/target/release/redolab}
store=$(mktemp -d)
trap 'rm -rf "$store"' EXIT

# measure NAME ROUND SETTING...
measure() {
    local name=$1 round=$2 settings=()
    shift 2
    for setting in "$@"; do settings+=(--server-setting "$setting"); done
    "$redolab" run --driver postgres --on "$directory" "${settings[@]}" --jobs 1,8 --time "${seconds}s" \
        --warmup 1s --store "$store" --format json -q |
        python3 -c '
import json, sys
run = json.load(sys.stdin)
assert run["validity"]["valid"]
for row in run["rows"]:
    wait = row["commit_latency"]
    print(*sys.argv[1:], row["jobs"], round(row["commit_throughput_tps"], 1),
          round(wait["mean_ns"] / 1e3, 1), round(wait["p99_ns"] / 1e3, 1) if wait["p99_ns"] else "", sep=",")' "$name" "$round"
}

echo standbys,round,jobs,commits_per_s,mean_us,p99_us
for round in $(seq "$rounds"); do
    if [ "${4:-}" = distance ]; then
        measure on "$round" standbys=1
        for delay in 0 1ms 5ms; do measure "$delay" "$round" standbys=1 standby_round_trip="$delay"; done
        continue
    fi
    measure none "$round"
    measure remote_write "$round" standbys=1 synchronous_commit=remote_write
    measure on "$round" standbys=1
    measure remote_apply "$round" standbys=1 synchronous_commit=remote_apply
    measure any "$round" standbys=2
done
