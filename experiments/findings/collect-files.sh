# fio, sysbench on files, iostat and the kernel's counters. Sourced by collect.sh.
cd "$home" || exit 1
job() { fio --name=log --filename=fio.dat --size=64m --runtime=2 --time_based "$@"; }
beside() { # beside LOAD COMMAND...: the command's output, while fio writes and synchronises.
    local load=$1; shift
    [ "$load" = 0 ] || job --rw=write --bs=8k --fdatasync=1 --numjobs="$load" --runtime=30 >/dev/null 2>&1 &
    local writer=$!
    sleep 1
    "$@"
    [ "$load" = 0 ] || { pkill -P "$writer" -x fio; wait "$writer"; } 2>/dev/null
    return 0
}
twice() { # two copies of the kernel's counters, as pt-diskstats collects them
    for _ in $(seq "$1"); do cat /proc/diskstats; echo "TS $(date +%s.%N)"; sleep 1; done
}
for bs in 4k 8k 16k 64k; do
    run fio-fdatasync-$bs.out job --rw=write --bs=$bs --fdatasync=1
    run fio-fdatasync-$bs.json job --rw=write --bs=$bs --fdatasync=1 --output-format=json
    run fio-dsync-$bs.out job --rw=write --bs=$bs --sync=dsync
    run fio-direct-$bs.json job --rw=write --bs=$bs --direct=1 --fdatasync=1 --output-format=json
    run fio-every-10-$bs.out job --rw=write --bs=$bs --fdatasync=10
done
for jobs in 2 4; do
    run fio-jobs-$jobs.out job --rw=write --bs=4k --fdatasync=1 --numjobs=$jobs --group_reporting
    run fio-jobs-$jobs.json job --rw=randwrite --bs=8k --fsync=1 --numjobs=$jobs --group_reporting --output-format=json
done
for load in 0 1 2; do
    for options in "-x" "-xt" "-xm" "-dx" "-y -x" "-x -o JSON"; do
        run "iostat${options// /}-$load.out" beside $load iostat $options "$device" 1 6
    done
    [ $load = 0 ] || run iostat-12-$load.out beside $load iostat -x "$device" 1 12
    run diskstats-$load.out beside $load twice 2
    run diskstats-6-$load.out beside $load twice 6
done
sysbench fileio --file-num=4 --file-total-size=64M prepare >/dev/null
for mode in seqwr rndwr rndrw; do
    for threads in 1 4; do
        run sysbench-fileio-$mode-$threads.out sysbench fileio --file-num=4 --file-total-size=64M \
            --file-test-mode=$mode --file-fsync-all=on --threads=$threads --time=4 --report-interval=1 run
        run sysbench-histogram-$mode-$threads.out sysbench fileio --file-num=4 --file-total-size=64M \
            --file-test-mode=$mode --file-fsync-freq=10 --histogram --threads=$threads --time=3 run
    done
done
cd "$here" || exit 1
