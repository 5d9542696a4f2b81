#!/bin/sh
# Runs two builds of redolab in turns A B B A, every second group B A A B, and prints CSV: cell, group,
# commits per second of both runs of the earlier build and of both runs of the present one.
#   run.sh EARLIER PRESENT DIRECTORY [GROUPS]
# EARLIER and PRESENT are release builds of the program; log files are made in DIRECTORY.
set -eu
earlier=$1
present=$2
dir=$3
groups=${4:-60}
store=$(mktemp -d "$dir/driver-seam-store-XXXXXX")
trap 'rm -rf "$store"' EXIT INT TERM

# rate PROGRAM OPTIONS…: commits per second of the one row
rate() {
    program=$1
    shift
    "$program" run --workload LGWR-LAT1 --warmup 100ms --time 400ms --store "$store" --format csv -q \
        "$@" | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "commit_throughput_tps") at = i }
                        NR == 2 { print $at; found = 1 }
                        END { exit !found }'
}

echo cell,group,earlier_1,earlier_2,present_1,present_2
group=1
while [ "$group" -le "$groups" ]; do
    for cell in 'null-1 --null --jobs 1' 'null-8 --null --jobs 8' 'null-64-async --null --jobs 64 --commit-api async --threads 1' \
        "disk-1 --on $dir --allow-busy --sync-method direct --log-file-size 64M --log-groups 2 --jobs 1"; do
        # shellcheck disable=SC2086
        set -- $cell
        name=$1
        shift
        if [ $((group % 2)) -eq 1 ]; then
            a1=$(rate "$earlier" "$@"); b1=$(rate "$present" "$@")
            b2=$(rate "$present" "$@"); a2=$(rate "$earlier" "$@")
        else
            b1=$(rate "$present" "$@"); a1=$(rate "$earlier" "$@")
            a2=$(rate "$earlier" "$@"); b2=$(rate "$present" "$@")
        fi
        echo "$name,$group,$a1,$a2,$b1,$b2"
    done
    group=$((group + 1))
done
