#!/bin/bash
# Commits of redolab's sessions and of mariadb-slap on one private MariaDB server, in turns A B B A,
# every second round B A A B. Prints CSV: cell, round, and of both chunks of mariadb-slap and of both
# chunks of redolab commits per second, and microseconds of the client's CPU per commit.
#   run.sh DIRECTORY [ROUNDS [SECONDS]]
# The server's data is made in DIRECTORY and removed. The programs are taken from PATH; MARIADB_SLAP names
# mariadb-slap (Debian: package mariadb-client). As root, the server runs as nobody. Nothing else should
# run meanwhile.
set -euo pipefail
directory=$1
rounds=${2:-20}
seconds=${3:-2}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
slap=${MARIADB_SLAP:-mariadb-slap}
PATH=$PATH:/usr/sbin
. "$root/experiments/turns.sh"
bench=$(sessions_program)
private_folder "$directory" mariadb-slap
cd "$home"
export TMPDIR=$home
(as_server mariadb-install-db --no-defaults --force --skip-test-db \
    --auth-root-authentication-method=normal --datadir="$home/data") >/dev/null 2>&1
as_server mariadbd --no-defaults --datadir="$home/data" --socket="$home/s" --pid-file="$home/pid" \
    --skip-networking --tmpdir="$home" --innodb-log-file-size=1G --innodb-buffer-pool-size=256M \
    --innodb-flush-log-at-trx-commit=1 --skip-log-bin 2>"$home/log" >&2 &
server=$!
sql() { mariadb --no-defaults --socket="$home/s" --user=root --batch --skip-column-names -e "$1"; }
for _ in $(seq 200); do
    sql 'SELECT 1' >/dev/null 2>&1 && break
    kill -0 "$server"
    sleep 0.1
done
sql 'SELECT VERSION()' | sed 's/^/# MariaDB /'
address="mariadb://root@/bench?socket=$home/s"

# The row of redolab's LGWR-LAT1 on this server; mariadb-slap inserts rows of the same size.
row=$("$bench" "$address" 1 10x | cut -d ' ' -f 4)
echo "# rows of $row bytes"
columns="(r VARBINARY($row) NOT NULL) ENGINE=InnoDB ROW_FORMAT=DYNAMIC"
literal=$(head -c "$row" /dev/zero | tr '\0' x)

# Tables of their own for a chunk, as redolab's sessions have.
new_tables() {
    local made='DROP DATABASE IF EXISTS slap; CREATE DATABASE slap' table
    for table in $(seq 0 "$1"); do made="$made; CREATE TABLE slap.t$table $columns"; done
    sql "$made"
}

# slap CLIENTS MODE COMMITS: seconds of all commits, as mariadb-slap prints them, and of its CPU.
slap() {
    local query init=() shown used
    if [ "$2" = prepared ]; then
        # Each connection prepares the INSERT into a table of its own, and then sends its EXECUTE only.
        query='EXECUTE s USING @p'
        init=(--init-command="BEGIN NOT ATOMIC SET @p = REPEAT('x', $row);
            PREPARE s FROM CONCAT('INSERT INTO slap.t', CONNECTION_ID() MOD $1, ' VALUES (?)'); END")
    else
        query="INSERT INTO slap.t0 VALUES ('$literal')"
    fi
    TIMEFORMAT='%3U %3S'
    { time "$slap" --no-defaults --socket="$home/s" --user=root --create-schema=slap --no-drop --delimiter='|' \
        --concurrency="$1" --number-of-queries="$3" "${init[@]}" --query="$query" \
        >"$home/out" 2>"$home/err"; } 2>"$home/times" || { cat "$home/err" >&2; exit 1; }
    shown=$(awk '/Average number of seconds/ { print $(NF - 1) }' "$home/out")
    read -r used <"$home/times"
    echo "$shown $used"
}

# chunk CLIENT CLIENTS MODE: commits per second, and microseconds of CPU per commit.
chunk() {
    local each total none all
    each=$(awk -v rate="${rates["$3 $2"]}" -v s="$seconds" -v c="$2" \
        'BEGIN { n = int(rate * s / c); print (n < 10 ? 10 : n) }')
    if [ "$1" = redolab ]; then
        "$bench" "$address" "$2" "${each}x" |
            awk 'NF == 4 { printf "%.1f %.3f\n", $1 / $2, $3 / $1; found = 1 } END { exit !found }'
        return
    fi
    total=$((each * $2))
    new_tables "$2"
    # What mariadb-slap takes to start and to connect is not of its commits.
    none=$(slap "$2" "$3" "$2")
    all=$(slap "$2" "$3" "$total")
    echo "$none $all $total $2" | awk 'NF == 8 {
        more = $7 - $8
        printf "%.1f %.3f\n", more / ($4 - $1), ($5 + $6 - $2 - $3) * 1e6 / more
        found = 1 } END { exit !found }'
}

# So many commits per second are made, so that chunks last as long as they should.
declare -A rates
cells=('prepared 1' 'prepared 8' 'text 1' 'text 8')
for cell in "${cells[@]}"; do
    rates[$cell]=$("$bench" "$address" "${cell#* }" 2 | awk '{ print $1 / $2 }')
done
turns_header slap
for round in $(seq "$rounds"); do
    for cell in "${cells[@]}"; do
        turns "$round" slap "$cell"
    done
done
