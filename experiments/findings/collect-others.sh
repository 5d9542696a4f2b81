# MariaDB with sysbench and mariadb-slap, etcd, and bpftrace where the kernel allows it. Sourced by collect.sh.
data=$home/maria
mkdir "$data" && chown 65534:65534 "$data"
(as_server mariadb-install-db --no-defaults --datadir="$data" --auth-root-authentication-method=normal --skip-test-db >/dev/null 2>&1)
(as_server mariadbd --no-defaults --datadir="$data" --socket="$home/m.sock" --pid-file="$home/m.pid" --skip-networking \
    --innodb-buffer-pool-size=256M >"$home/maria.log" 2>&1) &
server=$!
ask() { mariadb --no-defaults -S "$home/m.sock" -u root "$@"; }
for _ in $(seq 100); do ask -e "select 1" >/dev/null 2>&1 && break; sleep 0.3; done
ask -e "create database sbtest"
oltp() { # oltp SCRIPT WORD...
    local script=$1; shift
    sysbench "$script" --mysql-socket="$home/m.sock" --mysql-user=root --tables=2 --table-size=5000 "$@"
}
oltp oltp_write_only prepare >/dev/null
after() { # after CLIENTS COMMAND...: the command's output after a load.
    local clients=$1; shift
    oltp oltp_write_only --threads="$clients" --time=2 run >/dev/null && "$@"
}
for c in 1 2 4 8; do
    run sysbench-write-$c.out oltp oltp_write_only --threads=$c --time=3 run
    run sysbench-intervals-$c.out oltp oltp_write_only --threads=$c --time=12 --report-interval=1 run
    run sysbench-update-$c.out oltp oltp_update_index --threads=$c --time=3 --percentile=99 run
    run sysbench-histogram-$c.out oltp oltp_insert --threads=$c --time=3 --histogram run
    run mariadb-status-$c.out after $c ask -t -e "show global status like 'Innodb%log%'"
    run mariadb-status-all-$c.out after $c ask -e "show global status like 'Innodb%'"
    run innodb-status-$c.out after $c ask -e "show engine innodb status\G"
done
end_server TERM
etcd --name one --data-dir "$home/etcd" --listen-client-urls http://127.0.0.1:23790 --advertise-client-urls http://127.0.0.1:23790 \
    --listen-peer-urls http://127.0.0.1:23800 --initial-advertise-peer-urls http://127.0.0.1:23800 \
    --initial-cluster one=http://127.0.0.1:23800 >"$home/etcd.log" 2>&1 &
echo $! >"$home/etcd.pid"
put() { # put CLIENTS: keys for two seconds, then the counters
    local end=$((SECONDS + 2))
    for _ in $(seq "$1"); do
        while [ $SECONDS -lt $end ]; do ETCDCTL_API=3 etcdctl --endpoints=127.0.0.1:23790 put k v >/dev/null; done &
    done
    for job in $(jobs -p); do
        [ "$job" = "$(cat "$home/etcd.pid")" ] || [ "$job" = "$watcher" ] || wait "$job"
    done
    curl -s http://127.0.0.1:23790/metrics | grep -E "etcd_disk_(wal_fsync|backend_commit)"
}
sleep 2
for c in 1 2 4 6; do run etcd-metrics-$c.out put $c; done
kill "$(cat "$home/etcd.pid")"; rm "$home/etcd.pid"
program='kprobe:vfs_fsync_range { @s[tid] = nsecs; } kretprobe:vfs_fsync_range /@s[tid]/ { @usecs = hist((nsecs - @s[tid]) / 1000); delete(@s[tid]); } END { clear(@s); }'
probe() { # probe JOBS: fails where the kernel has no kprobes
    fio --name=log --filename="$home/fio.dat" --size=32m --runtime=4 --time_based --rw=write --bs=8k --fdatasync=1 \
        --numjobs="$1" >/dev/null &
    local load=$! status=0
    timeout -s INT 3 bpftrace -e "$program" || status=$?
    wait "$load"
    [ "$status" = 0 ] || [ "$status" = 124 ]
}
for n in 1 2; do run bpftrace-fsync-$n.out probe $n; done
