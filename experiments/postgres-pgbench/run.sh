#!/bin/bash
# Commits of redolab's sessions and of pgbench on one private PostgreSQL server, in turns A B B A,
# every second round B A A B. Prints CSV: cell, round, and of both chunks of pgbench and of both
# chunks of redolab commits per second, and microseconds of the client's CPU per commit.
#   run.sh DIRECTORY [ROUNDS [SECONDS]]
# The server's data is made in DIRECTORY and removed. REDOLAB_POSTGRES_BIN names the folder of the
# server's programs; pgbench and psql are taken from there or from PATH. As root, the server runs as
# nobody. Nothing else should run meanwhile.
set -euo pipefail
directory=$1
rounds=${2:-20}
seconds=${3:-2}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

. "$root/experiments/turns.sh"
bin=$(postgres_programs)
PATH=$bin:$PATH
bench=$(sessions_program)
private_folder "$directory" postgres-pgbench
cd "$home"
(as_server "$bin/initdb" -A trust -U redo --locale=C -E UTF8 -D "$home/data") >/dev/null
as_server "$bin/postgres" -D "$home/data" -k "$home" -c listen_addresses= -c autovacuum=off \
    -c checkpoint_timeout=1h -c min_wal_size=1GB -c max_wal_size=1GB -c wal_level=replica \
    2>"$home/log" >&2 &
server=$!
export PGHOST=$home PGUSER=redo PGDATABASE=postgres
for _ in $(seq 100); do
    psql -qtAXc 'SELECT 1' >/dev/null 2>&1 && break
    kill -0 "$server"
    sleep 0.1
done
psql -qtAXc 'SELECT version()' | sed 's/^/# /'

# As large as that of redolab's LGWR-LAT1; text is sent as it is, which costs pgbench the least.
payload=$(printf '%01905d' 0 | tr 0 x)
echo "SELECT pg_catalog.pg_logical_emit_message(true, 'r', :payload)" >"$home/script"
address="postgres://redo@:5432/postgres?host=$home"

# chunk CLIENT CLIENTS MODE: commits per second, and microseconds of CPU per commit
chunk() {
    local off='' nowait='' out times
    if [ "$3" = nowait ]; then
        off='-c synchronous_commit=off'
        nowait=nowait
    fi
    TIMEFORMAT='%3U %3S'
    if [ "$1" = pgbench ]; then
        { time PGOPTIONS=$off pgbench -n -M prepared -c "$2" -j "$2" -T "$seconds" -D payload="$payload" \
            -f "$home/script" >"$home/out" 2>"$home/err"; } 2>"$home/times"
        out=$(awk '/actually processed/ { n = $NF } /^tps = / { print n, n / $3 }' "$home/out")
    else
        # shellcheck disable=SC2086
        { time "$bench" "$address" "$2" "$seconds" $nowait >"$home/out" 2>"$home/err"; } 2>"$home/times"
        out=$(cut -d ' ' -f 1,2 "$home/out")
    fi
    read -r times <"$home/times"
    echo "$out $times" | awk 'NF == 4 { printf "%.1f %.3f\n", $1 / $2, ($3 + $4) * 1e6 / $1; found = 1 }
                              END { exit !found }'
}

# Segments of the WAL are there to be used again before anything is measured.
PGOPTIONS='-c synchronous_commit=off' pgbench -n -M prepared -c 4 -j 4 -T 20 -D payload="$payload" \
    -f "$home/script" >/dev/null 2>&1
turns_header pgbench
for round in $(seq "$rounds"); do
    for cell in 'wait 1' 'wait 8' 'nowait 1' 'nowait 8'; do
        psql -qtAXc CHECKPOINT
        turns "$round" pgbench "$cell"
    done
done
