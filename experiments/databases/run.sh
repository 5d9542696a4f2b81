#!/bin/bash
# Every workload at 1, 8 and 32 sessions on private servers: what the driver predicts that a commit adds
# to the log, what it adds, and what server and device count. Prints CSV.
#   run.sh DIRECTORY [SECONDS [SERVER...]]
# SERVER is postgres, mariadb, or either with =DIRECTORY_OF_PROGRAMS. Everything is made in DIRECTORY and
# removed. The prediction of PostgreSQL is exact; that of MariaDB is the calibrated mean of 1,000 commits.
set -euo pipefail
directory=$1
seconds=${2:-2}
shift; [ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- postgres mariadb
root=$(cd "$(dirname "$0")/../.." && pwd)
redolab=${REDOLAB:-$root/target/release/redolab}
store=$(mktemp -d)
trap 'rm -rf "$store"' EXIT

echo product,version,workload,jobs,commits,predicted_bytes,redo_bytes,written_bytes,device_bytes,writes,syncs,device_flushes,client_commits
for server in "$@"; do
    programs=()
    case $server in *=*) programs=(--server-bin "${server#*=}") ;; esac
    for workload in LGWR-LAT1 LGWR-LAT25 LGWR-LAT125 LGWR-THR storm size-sweep; do
        setting=()
        # Its commits wait for nothing, which is a setting of the whole server with MariaDB.
        if [ "${server%%=*} $workload" = 'mariadb LGWR-THR' ]; then
            setting=(--server-setting innodb_flush_log_at_trx_commit=2)
        fi
        more=(--time "${seconds}s" --warmup 1s --jobs 1,8,32)
        case $workload in
            storm) more=(--commits 200 --jobs 1,8,32) ;;
            size-sweep) more=(--time "${seconds}s" --warmup 1s --sizes 1k,64k,1M --jobs 1,8,32) ;;
        esac
        "$redolab" run --driver "${server%%=*}" "${programs[@]}" "${setting[@]}" --on "$directory" \
            -w "$workload" "${more[@]}" --store "$store" --format json -q |
            python3 -c '
import json, sys
run = json.load(sys.stdin)
target = run["target"]
# The redo of a transaction, as it was asked for, and as 1,000 commits made it before the rows.
calibrated = {c["redo_bytes"]: c["mean_bytes"] for c in target.get("calibrations") or []}
for row in run["rows"]:
    s = row.get("server") or {}
    each = lambda key: "" if s.get(key) is None else round(s[key], 3)
    asked = row["redo_bytes_per_txn"]
    print(target["product"], target["version"].split()[0], row["workload"], row["jobs"], s.get("commits") or "",
          calibrated.get(asked, asked), each("redo_per_commit_bytes"), each("written_per_commit_bytes"),
          each("device_per_commit_bytes"), each("writes_per_commit"), each("syncs_per_commit"),
          each("device_flushes_per_commit"), row["commits"], sep=",")'
    done
done
