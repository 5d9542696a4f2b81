#!/bin/bash
# Two clients on one server in turns A B B A, every second round B A A B: what experiments share that
# compare redolab's sessions with another client. Sourced, with $root, $seconds and $home set.
# A script that sources this has a function `chunk CLIENT CLIENTS MODE`, which prints commits per second
# and microseconds of the client's CPU time per commit.
. "$root/experiments/servers.sh"

# The program of `crates/drivers/benches/sessions.rs`.
sessions_program() {
    (cd "$root" && cargo bench --quiet -p redolab-drivers --bench sessions --no-run --message-format json) |
        sed -n 's/.*"name":"sessions".*"executable":"\([^"]*\)".*/\1/p' | tail -1
}

# turns_header OTHER: the columns of what `turns` prints.
turns_header() {
    echo "cell,round,$1_1,$1_2,redolab_1,redolab_2,$1_us_1,$1_us_2,redolab_us_1,redolab_us_2"
}

# turns ROUND OTHER CELL: one round of a cell, which is `MODE CLIENTS`.
turns() {
    local round=$1 other=$2 cell=$3 mode clients a1 a2 b1 b2
    read -r mode clients <<<"$cell"
    if [ $((round % 2)) -eq 1 ]; then
        a1=$(chunk "$other" "$clients" "$mode"); b1=$(chunk redolab "$clients" "$mode")
        b2=$(chunk redolab "$clients" "$mode"); a2=$(chunk "$other" "$clients" "$mode")
    else
        b1=$(chunk redolab "$clients" "$mode"); a1=$(chunk "$other" "$clients" "$mode")
        a2=$(chunk "$other" "$clients" "$mode"); b2=$(chunk redolab "$clients" "$mode")
    fi
    echo "$cell,$round,${a1% *},${a2% *},${b1% *},${b2% *},${a1#* },${a2#* },${b1#* },${b2#* }"
}
