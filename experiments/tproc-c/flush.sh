#!/bin/bash
# NOPM of TPROC-C on a private PostgreSQL server (1 warehouse, 4 users) against the time of a flush, against a
# client in Tcl, and against other routines. Prints CSV.
#   flush.sh DIRECTORY SECONDS VARIANT...
# A variant is NAME:DELAY:CLIENT:FILE: microseconds that are added to each flush; `redolab` or `tcl`; a
# file of SQL that replaces routines. All but the name may be empty. The data is loaded once, copied for each
# variant, and removed. On a tmpfs a flush takes the delay. As root, the server runs as nobody.
set -euo pipefail
directory=$1
seconds=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
redolab=${REDOLAB:-$root/target/release/redolab}
. "$root/experiments/servers.sh"
bin=$(postgres_programs)
private_folder "$directory" tproc-c
cc -O2 -shared -fPIC -o "$home/delay.so" "$here/flush-delay.c"
chmod 755 "$home"
cd "$home"

url="postgres://redo@:5432/postgres?host=$home"
sql() { "$bin/psql" -qtAX -F, -v ON_ERROR_STOP=1 "$url" "$@"; }
start() {
    as_server env LD_PRELOAD="$home/delay.so" FLUSH_DELAY_US="$1" "$bin/postgres" -D "$home/pg" -k "$home" \
        -c listen_addresses= -c track_wal_io_timing=on 2>>"$home/log" >&2 &
    server=$!
    for _ in $(seq 100); do
        sql -c 'SELECT 1' >/dev/null 2>&1 && break
        kill -0 "$server"
        sleep 0.1
    done
}
reading() {
    sql -c "SELECT (SELECT sum(d_next_o_id) FROM redolab_tprocc.district),
        (SELECT sum(xact_commit + xact_rollback) FROM pg_stat_database),
        wal_bytes, wal_sync, wal_sync_time, extract(epoch FROM clock_timestamp()) FROM pg_stat_wal"
    local pid ticks=0
    for pid in "$@"; do
        ticks=$((ticks + $(cut -d')' -f2 "/proc/$pid/stat" | awk '{print $12 + $13}')))
    done
    echo "$ticks"
    head -1 /proc/stat
}
users() {
    if [ "$1" = tcl ]; then
        for _ in 1 2 3 4; do
            tclsh "$here/user.tcl" "$home" "$2" &
            pids+=($!)
        done
    else
        "$redolab" run --workload tproc-c --on "$url" --jobs 4 --warmup 1s --time "$2s" -q --store "$home/store" \
            >"$home/out" 2>&1 &
        pids+=($!)
    fi
}

(as_server "$bin/initdb" -A trust -U redo --locale=C -E UTF8 -D "$home/pg") >/dev/null
start 0
"$redolab" tprocc load --url "$url" --warehouses 1 -q >/dev/null
end_server TERM
mv "$home/pg" "$home/loaded"
kind=$(stat -f -c %T "$home")
declare -A rounds
echo where,round,name,delay_us,client,nopm,tpm,wal_bytes_per_txn,syncs_per_txn,flush_us,client_us_per_txn,idle_pct
for variant in "$@"; do
    IFS=: read -r name delay client file <<<"$variant"
    rounds[$variant]=$((${rounds[$variant]:-0} + 1))
    rm -rf "$home/pg"
    cp -a "$home/loaded" "$home/pg"
    start "${delay:-0}"
    [ -z "$file" ] || sql -f "$file" >/dev/null
    # Until statistics of the ramp-up are older than a second.
    pids=()
    users "${client:-redolab}" $((seconds + 8))
    sleep 5
    reading "${pids[@]}" >"$home/before"
    sleep "$seconds"
    reading "${pids[@]}" >"$home/after"
    for pid in "${pids[@]}"; do wait "$pid" || true; done
    end_server TERM
    python3 - "$home" "$kind,${rounds[$variant]},$name,${delay:-0},${client:-redolab}" <<'PY'
import sys
home, label = sys.argv[1:]
def read(name):
    counts, ticks, cpu = open(f"{home}/{name}").read().splitlines()
    return [float(x) for x in counts.split(",")], int(ticks), [int(x) for x in cpu.split()[1:9]]
before, after = read("before"), read("after")
orders, txns, wal, syncs, sync_ms, s = (b - a for a, b in zip(before[0], after[0]))
cpu = [b - a for a, b in zip(before[2], after[2])]
idle = 100 * (cpu[3] + cpu[4]) / sum(cpu)
client = (after[1] - before[1]) * 10_000 / txns
print(f"{label},{orders * 60 / s:.0f},{txns * 60 / s:.0f},{wal / txns:.0f},{syncs / txns:.2f},"
      f"{1000 * sync_ms / max(syncs, 1):.0f},{client:.0f},{idle:.0f}", flush=True)
PY
done
