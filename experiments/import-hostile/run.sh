#!/bin/sh
# Feeds hostile streams to redolab import, each cut after N and after 2 N bytes, and prints CSV:
# stream, bytes, the least processor time of the rounds (seconds), peak KiB, exit code. Ends with 1
# where a stream took over 256 MiB, grew over 2.5 times in processor time, hung or ended otherwise
# than it may.
#   run.sh DIRECTORY [BYTES [ROUNDS [NAME…]]]
# Needs GNU time, iconv. Where others load the machine the least of the rounds still says most.
set -eu
dir=$1
bytes=${2:-33554432}
rounds=${3:-3}
root=$(cd "$(dirname "$0")/../.." && pwd)
redolab=${REDOLAB:-$root/target/release/redolab}
. "$root/experiments/import-hostile/streams.sh"
[ $# -gt 3 ] && shift 3 && NAMES=$*
[ -x "$redolab" ] || (cd "$root" && cargo build --release --quiet -p redolab)
work=$(mktemp -d "$dir/import-hostile-XXXXXX")
trap 'rm -rf "$work"' EXIT INT TERM

# once NAME BYTES: processor seconds, peak KiB, exit code.
once() {
    code=0
    # The writer of a stream ends with a broken pipe.
    { stream "$1" 2> /dev/null || :; } | head -c "$2" |
        command time -q -f '%U %S %M' -o "$work/time" timeout 300 "$redolab" import -q \
            --store "$work/store" --kind "$(kind_of "$1")" - > "$work/out" 2>&1 || code=$?
    tail -n 1 "$work/time" | awk -v c="$code" '{ printf "%.2f %d %d\n", $1 + $2, $3, c }'
    rm -rf "$work/store"
}

failed=0
echo stream,bytes,cpu_s,peak_kib,code
for name in $NAMES; do
    before=
    for size in "$bytes" $((2 * bytes)); do
        least=
        peak=0
        round=0
        while [ "$round" -lt "$rounds" ]; do
            set -- $(once "$name" "$size")
            least=$(echo "${least:-$1} $1" | awk '{ print $1 < $2 ? $1 : $2 }')
            [ "$2" -gt "$peak" ] && peak=$2
            code=$3
            round=$((round + 1))
        done
        echo "$name,$size,$least,$peak,$code"
        case $code in 0 | 1 | 4) ;; *) failed=1 && echo "$name: ended with $code" >&2 ;; esac
        if grep -q panicked "$work/out"; then failed=1 && echo "$name: panicked" >&2; fi
        [ "$peak" -le 262144 ] || { failed=1 && echo "$name: over 256 MiB" >&2; }
        # What takes under 0.1 s says nothing in hundredths of a second.
        if [ -n "$before" ] && awk -v a="$before" -v b="$least" 'BEGIN { exit !(b > 0.1 && b > 2.5 * a) }'; then
            failed=1 && echo "$name: $before s, then $least s" >&2
        fi
        before=$least
    done
done
exit $failed
