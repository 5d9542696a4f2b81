#!/bin/bash
# collect.sh OUT DEVICE [PART...]: makes inputs with programs that are not redolab's, on the file system of the
# current directory, and keeps those during which the kernel saw a healthy device. DEVICE is its name in
# /proc/diskstats. Runs as root, because it watches in a control group. Nothing that is printed is altered.
set -u
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../servers.sh"
. "$here/witness.sh"
mkdir -p "$1"
out=$(cd "$1" && pwd) device=$2
shift 2
private_folder . findings
home=$(cd "$home" && pwd)
group=/sys/fs/cgroup/unified/redolab-findings-$$
[ -d /sys/fs/cgroup/unified ] || group=/sys/fs/cgroup/redolab-findings-$$
mkdir "$group"
leave() {
    [ -z "${watcher:-}" ] || kill "$watcher" 2>/dev/null
    [ ! -s "$home/etcd.pid" ] || kill "$(cat "$home/etcd.pid")"
    end_server; rm -rf "$home"
    echo $$ >"${group%/*}/cgroup.procs"; sleep 0.2; rmdir "$group"
}
trap leave EXIT
echo $$ >"$group/cgroup.procs"
[ -s "$out/collected.csv" ] ||
    echo "file,seconds,writes,mean_write_ms,flushes,mean_flush_ms,longest_stall_ms,others_cpu_pct,any_waited_pct,all_waited_pct,verdict" >"$out/collected.csv"
# After half a second in which others used less than half of the processors, or after a second.
quiet() {
    local a b
    for _ in $(seq 2); do
        a=$(counters); sleep 0.5; b=$(counters)
        [ $(((${b##* } - ${a##* }) * 4)) -ge $(($(getconf CLK_TCK) * $(nproc))) ] || return 0
    done
}
# Three times at most: what is rejected is counted each time.
run() {
    for _ in 1 2 3; do
        quiet
        take "$@" || return
        [ ! -e "$out/$1" ] || return 0
    done
}
for part in "${@:-postgres}"; do . "$here/collect-$part.sh"; done
