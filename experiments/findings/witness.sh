#!/bin/bash
# What the kernel counted while a command ran, and whether that was healthy: independent of redolab and of
# the command's own figures. Sourced, with $device (a name in /proc/diskstats), $out and $group (a control
# group, so that the processors' time of others is known).

# One line: seconds, writes, their ms, requests in flight, flushes, their ms, busy ticks of all processors.
counters() {
    local now=${EPOCHREALTIME/,/.} line word
    while read -ra line; do
        [ "${line[2]}" != "$device" ] || break
    done </proc/diskstats
    read -ra word </proc/stat
    echo "$now ${line[7]} ${line[10]} ${line[11]} ${line[18]} ${line[19]}" \
        $((word[1] + word[2] + word[3] + word[6] + word[7]))
}

watch_device() {
    while counters; do sleep 0.1; done
}

# Microseconds: the processors' time of the group, and the time in which any of its processes, and all that could
# have run, waited for a processor.
own_us() {
    awk '$1 == "usage_usec" { used = $2 } FILENAME ~ /pressure/ { sub(".*total=", ""); waited[FNR] = $0 }
        END { print used, waited[1], waited[2] }' \
        "$group/cpu.stat" "$group/cpu.pressure"
}

# judge SAMPLES BEFORE AFTER: seconds, mean ms of a write, mean ms of a flush, the longest time in which requests
# were in flight and none ended, the processors' time of others, the times in which any and in which all processes of the
# command waited for a processor, in percent, and the verdict.
judge() {
    awk -v before="$2" -v after="$3" -v processors="$(nproc)" -v hz="$(getconf CLK_TCK)" '
        NR == 1 { split($0, first) }
        NR > 1 && $4 > 0 && $2 == last[2] && $5 == last[5] { still += $1 - last[1]; if (still > stall) stall = still }
        NR > 1 && !($4 > 0 && $2 == last[2] && $5 == last[5]) { still = 0 }
        { split($0, last) }
        END {
            s = last[1] - first[1]
            writes = last[2] - first[2]; flushes = last[5] - first[5]
            write = writes ? (last[3] - first[3]) / writes : 0
            flush = flushes ? (last[6] - first[6]) / flushes : 0
            split(before, b); split(after, a)
            others = 100 * ((last[7] - first[7]) / hz - (a[1] - b[1]) / 1e6) / (s * processors)
            if (others < 0) others = 0
            any = (a[2] - b[2]) / s / 1e4; all = (a[3] - b[3]) / s / 1e4
            healthy = write < 5 && flush < 5 && stall < 0.3 && all < 50
            printf "%.1f,%d,%.2f,%d,%.2f,%.0f,%.0f,%.0f,%.0f,%s\n", s, writes, write, flushes, flush, stall * 1000,
                others, any, all, healthy ? "healthy" : "rejected"
        }' "$1"
}

# take FILE COMMAND...: runs the command, keeps what it prints, and a line of what the kernel saw of it.
take() {
    local file=$1 own verdict failed=; shift
    [ -n "$device" ] || { echo "which device?" >&2; return 1; }
    [ ! -e "$out/$file" ] || return 0
    own=$(own_us)
    watch_device >"$home/samples" &
    watcher=$!
    "$@" >"$home/taken" 2>&1 || failed=yes
    kill "$watcher" && wait "$watcher" 2>/dev/null
    watcher=
    [ -z "$failed" ] || { echo "$file failed: $(tail -3 "$home/taken")" >&2; return 1; }
    verdict=$(judge "$home/samples" "$own" "$(own_us)")
    echo "$file,$verdict" | tee -a "$out/collected.csv"
    case $verdict in *,healthy) cp "$home/taken" "$out/$file" ;; esac
}
