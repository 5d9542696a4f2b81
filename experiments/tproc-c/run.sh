#!/bin/bash
# TPROC-C on a private PostgreSQL and a private MariaDB server: NOPM and TPM of runs of one minute with
# 1 warehouse and 4 users, and the time that 10 warehouses take to load. Prints CSV.
#   run.sh DIRECTORY [RUNS [SECONDS [PRODUCT]]]
# The servers' data is made in DIRECTORY and removed. REDOLAB_POSTGRES_BIN names the folder of
# PostgreSQL's programs. As root, the servers run as nobody. Nothing else should run meanwhile.
set -euo pipefail
directory=$1
runs=${2:-5}
seconds=${3:-60}
products=${4:-postgresql mariadb}
root=$(cd "$(dirname "$0")/../.." && pwd)
redolab=${REDOLAB:-$root/target/release/redolab}

. "$root/experiments/servers.sh"
bin=$(postgres_programs)
private_folder "$directory" tproc-c
cd "$home"

# As they are installed: the settings of both products are their defaults.
start_postgresql() {
    (as_server "$bin/initdb" -A trust -U redo --locale=C -E UTF8 -D "$home/pg") >/dev/null
    as_server "$bin/postgres" -D "$home/pg" -k "$home" -c listen_addresses= 2>"$home/log" >&2 &
    server=$!
    url="postgres://redo@:5432/postgres?host=$home"
    for _ in $(seq 100); do
        "$bin/psql" -qtAX "$url" -c 'SELECT 1' >/dev/null 2>&1 && break
        kill -0 "$server"
        sleep 0.1
    done
    "$bin/psql" -qtAX "$url" -c 'SELECT version()' | sed 's/^/# /'
}

start_mariadb() {
    (as_server mariadb-install-db --no-defaults --datadir="$home/my" \
        --auth-root-authentication-method=normal --skip-test-db) >/dev/null 2>&1
    as_server mariadbd --no-defaults --datadir="$home/my" --socket="$home/s" --skip-networking \
        2>"$home/log" >&2 &
    server=$!
    url="mariadb://root@/redolab?socket=$home/s"
    for _ in $(seq 100); do
        mariadb --no-defaults -uroot -S "$home/s" -e 'SELECT 1' >/dev/null 2>&1 && break
        kill -0 "$server"
        sleep 0.1
    done
    mariadb --no-defaults -uroot -S "$home/s" -Ne 'SELECT version()' | sed 's/^/# MariaDB /'
}

# loaded WAREHOUSES: seconds for rows, and with indexes and statistics
loaded() {
    "$redolab" tprocc load --url "$url" --warehouses "$1" -q |
        sed -n 's/.* rows in \([0-9.]*\) s .* in \([0-9.]*\) s\.$/\1,\2/p'
}

echo product,what,run,nopm,tpm,rows_s,whole_s
for product in $products; do
    "start_$product"
    echo "$product,load_10,1,,,$(loaded 10)"
    "$redolab" tprocc drop --url "$url" >/dev/null
    echo "$product,load_1,1,,,$(loaded 1)"
    for run in $(seq "$runs"); do
        "$redolab" run --workload tproc-c --on "$url" --jobs 4 --warmup 10s --time "${seconds}s" --seed "$run" -q \
            --store "$home/store" --format json >"$home/out.json"
        python3 - "$home/out.json" "$product,run,$run" <<'PY'
import json, sys
row = json.load(open(sys.argv[1]))["rows"][0]
print(f"{sys.argv[2]},{row['nopm']:.0f},{row['tpm']:.0f},,")
PY
    done
    end_server TERM
done
