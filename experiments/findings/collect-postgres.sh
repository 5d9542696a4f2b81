# PostgreSQL: pgbench, pg_test_fsync, views. Sourced by collect.sh.
bin=$(postgres_programs)
base=$home/pg
as_user() { (as_server "$@"); }
as_user "$bin/initdb" -D "$base" -A trust -U postgres >/dev/null
cat >>"$base/postgresql.conf" <<C
listen_addresses = ''
unix_socket_directories = '$home'
track_wal_io_timing = on
shared_buffers = 256MB
max_wal_size = 4GB
C
(as_server "$bin/postgres" -D "$base" >"$home/pg.log" 2>&1) &
server=$!
export PGHOST=$home PGUSER=postgres PGDATABASE=postgres
for _ in $(seq 100); do "$bin/pg_isready" -q && break; sleep 0.2; done
"$bin/pgbench" -i -s 10 -q >/dev/null 2>&1
"$bin/psql" -qc checkpoint
bench() { "$bin/pgbench" -n "$@"; }
logged() { rm -f "$home"/log.*; (cd "$home" && bench "$@" --log --log-prefix=log >/dev/null && cat log.*); }
# view LAYOUT QUERY CLIENTS: after a load of two seconds.
view() {
    "$bin/psql" -qc "select pg_stat_reset_shared('wal')" >/dev/null
    bench -T 2 -c "$3" -N >/dev/null 2>&1 && "$bin/psql" $1 -c "$2"
}
for c in 1 2 4 8 16; do
    run pgbench-simple-$c.out bench -T 3 -c $c -N
    run pgbench-tpcb-$c.out bench -T 3 -c $c
    run pgbench-connect-$c.out bench -T 2 -c $c -C -N
    run pgbench-prepared-$c.out bench -T 4 -c $c -j 2 -M prepared -N
    run pgbench-statements-$c.out bench -T 3 -c $c -r
    run pgbench-progress-$c.out bench -T 12 -P 1 -c $c -N
    run pgbench-progress-tpcb-$c.out bench -T 16 -P 1 -c $c
    run pgbench-rate-$c.out bench -T 10 -P 1 -R 100 -c $c -N
    run pgbench-log-$c.out logged -t $((240 / c)) -c $c -N
    run pgbench-aggregate-$c.out logged -T 6 --aggregate-interval=1 -c $c -N
    run pg-stat-wal-$c.out view "" "select * from pg_stat_wal" $c
    run pg-stat-wal-expanded-$c.out view -x "select * from pg_stat_wal" $c
    run pg-stat-bgwriter-$c.out view -x "select * from pg_stat_bgwriter" $c
done
for n in 1 2 3 4; do
    run pg-test-fsync-$n.out as_user "$bin/pg_test_fsync" -s $((1 + n / 3)) -f "$home/fsync"
done
end_server
