#!/bin/bash
# Writes and flushes of a server's log as strace sees them, as the server counts them, and as redolab
# reports them of the same commits. Prints CSV.
#   run.sh DIRECTORY [SERVER...]
# SERVER is postgres, postgres=DIRECTORY_OF_PROGRAMS or mariadb. Needs root and strace, which slows the
# server down: the counts mean something, the times do not. Everything is made in DIRECTORY and removed.
set -euo pipefail
directory=$1
shift
[ $# -gt 0 ] || set -- postgres mariadb
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
redolab=${REDOLAB:-$root/target/release/redolab}
PATH=$PATH:/usr/sbin
. "$root/experiments/servers.sh"

await() {
    for _ in $(seq 200); do
        "$@" >/dev/null 2>&1 && return
        kill -0 "$server"
        sleep 0.1
    done
    return 1
}

start_postgres() {
    local bin=$1
    PATH=$bin:$PATH
    (as_server "$bin/initdb" -A trust -U redo --locale=C -E UTF8 -D "$home/data") >/dev/null
    as_server "$bin/postgres" -D "$home/data" -k "$home" -c listen_addresses= -c autovacuum=off \
        -c checkpoint_timeout=1h -c wal_init_zero=off 2>"$home/log" >&2 &
    server=$!
    export PGHOST=$home PGUSER=redo PGDATABASE=postgres
    await psql -qtAXc 'SELECT 1'
    address="postgres://redo@:5432/postgres?host=$home"
    log='pg_wal/0'
}

start_mariadb() {
    (as_server mariadb-install-db --no-defaults --force --skip-test-db \
        --auth-root-authentication-method=normal --datadir="$home/data") >/dev/null 2>&1
    as_server mariadbd --no-defaults --datadir="$home/data" --socket="$home/s" --pid-file="$home/pid" \
        --skip-networking --tmpdir="$home" --innodb-log-file-size=1G --skip-log-bin 2>"$home/log" >&2 &
    server=$!
    await mariadb --no-defaults --socket="$home/s" --user=root -e 'SELECT 1'
    address="mariadb://root@/bench?socket=$home/s"
    log='ib_logfile0'
}

# LSN, writes and flushes, as the server counts them; nothing where it does not.
counted() {
    if [ "$product" = mariadb ]; then
        mariadb --no-defaults --socket="$home/s" --user=root -BNe \
            "SHOW GLOBAL STATUS WHERE Variable_name IN ('Innodb_lsn_current', 'Innodb_log_writes')" |
            awk '{ v[$1] = $2 } END { print v["Innodb_lsn_current"] "," v["Innodb_log_writes"] "," }'
        return
    fi
    # What other processes counted arrives a second late.
    sleep 1.5
    local lsn="pg_current_wal_insert_lsn() - '0/0'"
    psql -qtAXF, -c "SELECT $lsn, wal_write, wal_sync FROM pg_stat_wal" 2>/dev/null ||
        psql -qtAXF, -c "SELECT $lsn, sum(writes), sum(fsyncs) FROM pg_stat_io WHERE object = 'wal' AND context = 'normal'"
}

echo product,version,workload,jobs,source,redo_bytes,writes,written_bytes,syncs
for asked in "$@"; do
    product=${asked%%=*}
    private_folder "$directory" system-calls
    cd "$home"
    if [ "$product" = mariadb ]; then
        start_mariadb
    else
        case $asked in *=*) start_postgres "${asked#*=}" ;; *) start_postgres "$(postgres_programs)" ;; esac
    fi
    for workload in LGWR-LAT1 LGWR-LAT25; do
        for jobs in 1 8; do
            before=$(counted)
            processes=()
            for pid in "$server" $(pgrep -P "$server" || true); do processes+=(-p "$pid"); done
            strace -f -qq -s 0 -y -o "$home/calls" -e trace=write,pwrite64,pwritev,pwritev2,fdatasync,fsync \
                "${processes[@]}" 2>/dev/null &
            tracer=$!
            sleep 1
            "$redolab" run --on "$address" -w "$workload" --jobs "$jobs" --time 2s --warmup 0 \
                --store "$home/store" --format json -q >"$home/run.json"
            after=$(counted)
            kill -INT "$tracer"
            wait "$tracer" || true
            python3 "$here/count.py" "$product" "$workload" "$jobs" "$before" "$after" "$log" \
                "$home/calls" "$home/run.json"
        done
    done
    end_server
    cd "$root"
    rm -rf "$home"
done
