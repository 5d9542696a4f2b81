#!/bin/bash
# Commits of a private PostgreSQL (log in the page cache) and a private MariaDB (direct log), with and
# without `redolab watch`, in turns A B B A, every second round B A A B. Prints CSV: the cell, the
# round, and commits per second and mean commit latency (ms) of both chunks without and both with.
#   run.sh DIRECTORY [ROUNDS [SECONDS [CELL [FIRST]]]]
# With CELL only this one, with FIRST its rounds are numbered from there: more rounds of one cell.
# The servers' data is made in DIRECTORY and removed. REDOLAB names the binary (a release build by
# default), REDOLAB_POSTGRES_BIN the folder of PostgreSQL's programs. It needs root; the servers run as
# nobody. Nothing else should run meanwhile.
set -euo pipefail
shopt -s inherit_errexit
directory=$1
rounds=${2:-20}
seconds=${3:-3}
cells=('mariadb direct 5000' 'mariadb direct max' 'postgres buffered 5000' 'postgres buffered max')
[ -z "${4:-}" ] || cells=("$4")
first=${5:-1}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
redolab=${REDOLAB:-$root/target/release/redolab}
PATH=$PATH:/usr/sbin

. "$root/experiments/servers.sh"
bin=$(postgres_programs)
private_folder "$directory" watch
cd "$home"
export REDOLAB_STORE=$home/store TMPDIR=$home
mkdir "$home/store"

ready() {
    for _ in $(seq 200); do
        "$@" >/dev/null 2>&1 && return
        sleep 0.1
    done
    return 1
}

(as_server "$bin/initdb" -A trust -U redo --locale=C -E UTF8 -D "$home/pg") >/dev/null
as_server "$bin/postgres" -D "$home/pg" -k "$home" -c listen_addresses= -c autovacuum=off \
    -c checkpoint_timeout=1h -c min_wal_size=1GB -c max_wal_size=1GB -c wal_level=replica \
    2>"$home/pg.log" >&2 &
server=$!
ready psql -h "$home" -U redo -d postgres -qtAXc 'SELECT 1'
psql -h "$home" -U redo -d postgres -qtAXc 'SELECT version()' | sed 's/^/# /'
pg_pid=$(head -1 "$home/pg/postmaster.pid")

(as_server mariadb-install-db --no-defaults --force --skip-test-db \
    --auth-root-authentication-method=normal --datadir="$home/maria") >/dev/null 2>&1
as_server mariadbd --no-defaults --datadir="$home/maria" --socket="$home/s" --pid-file="$home/pid" \
    --skip-networking --tmpdir="$home" --innodb-log-file-size=1G --innodb-buffer-pool-size=256M \
    --skip-log-bin 2>"$home/maria.log" >&2 &
server="$server $!"
ready mariadb --no-defaults --socket="$home/s" --user=root -e 'SELECT 1'
mariadb --no-defaults --socket="$home/s" --user=root -BNe 'SELECT VERSION()' | sed 's/^/# MariaDB /'
maria_pid=$(cat "$home/pid")
echo "# $("$redolab" --version), $(uname -sr), $(nproc) processors"

# load CELL: commits per second and mean latency of a chunk.
load() {
    local address rate=()
    case $1 in
        postgres*) address="postgres://redo@:5432/postgres?host=$home" ;;
        *) address="mariadb://root@/?socket=$home/s" ;;
    esac
    case $1 in *5000) rate=(--rate 5000) ;; esac
    "$redolab" run --workload LGWR-LAT1 --jobs 8 "${rate[@]}" --time "${seconds}s" --warmup 500ms \
        --on "$address" --format json -q --allow-busy 2>"$home/err" |
        python3 -c 'import json, sys
row = json.load(sys.stdin)["rows"][0]
print("%.1f %.4f" % (row["commit_throughput_tps"], row["commit_latency_ms"]))'
}

# chunk off|on CELL: the same, without or with `redolab watch`.
chunk() {
    local pid=$pg_pid watcher out
    if [ "$1" = off ]; then
        load "$2"
        return
    fi
    case $2 in mariadb*) pid=$maria_pid ;; esac
    "$redolab" watch --pid "$pid" --format json >"$home/watched.json" 2>"$home/watch.err" &
    watcher=$!
    ready grep -q 'log writes/s' "$home/watch.err"
    out=$(load "$2")
    kill -INT "$watcher"
    wait "$watcher"
    python3 -c 'import json, sys
lost = json.load(open(sys.argv[1]))["rows"][0]["watched"]["lost_events"]
sys.exit(f"{lost} events were lost" if lost else 0)' "$home/watched.json"
    echo "$out"
}

turn() {
    local round=$1 cell=$2 a1 a2 b1 b2
    if [ $((round % 2)) -eq 1 ]; then
        a1=$(chunk off "$cell"); b1=$(chunk on "$cell"); b2=$(chunk on "$cell"); a2=$(chunk off "$cell")
    else
        b1=$(chunk on "$cell"); a1=$(chunk off "$cell"); a2=$(chunk off "$cell"); b2=$(chunk on "$cell")
    fi
    echo "$cell,$round,${a1% *},${a2% *},${b1% *},${b2% *},${a1#* },${a2#* },${b1#* },${b2#* }"
}

echo "cell,round,off_1,off_2,on_1,on_2,off_ms_1,off_ms_2,on_ms_1,on_ms_2"
for round in $(seq "$first" $((first + rounds - 1))); do
    for cell in "${cells[@]}"; do
        turn "$round" "$cell"
    done
done
