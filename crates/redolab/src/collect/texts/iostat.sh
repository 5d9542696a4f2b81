#!/bin/sh
# iostat.sh: iostat -x -t 1 for @SECONDS@ s, in the background. It ends by itself.
#
# Run:        sh iostat.sh [FILE]      (on the server; FILE is iostat.txt unless it is given)
# Privileges: none.
# Load:       iostat reads /proc/diskstats once per second.
# Writes:     FILE, which must not exist yet. It removes and changes nothing.
# Import:     redolab import FILE
# Without sysstat, it copies /proc/diskstats once per second into FILE instead.
set -u
file=${1:-iostat.txt}
reports=@REPORTS@

set -C
if ! : > "$file"; then
    echo "$file exists already, or cannot be made: name another file" >&2
    exit 1
fi
set +C

if command -v iostat > /dev/null 2>&1; then
    # The first report covers the time since boot, so there is one more than seconds.
    LC_ALL=C S_TIME_FORMAT=ISO
    export LC_ALL S_TIME_FORMAT
    nohup iostat -x -t@DEVICES@ 1 "$reports" >> "$file" 2>&1 < /dev/null &
else
    echo "iostat is not installed (package sysstat): copying /proc/diskstats" >&2
    nohup sh -c '
        left=$1
        while [ "$left" -gt 0 ]; do
            echo "TS $(date +%s)"
            cat /proc/diskstats
            left=$((left - 1))
            [ "$left" -gt 0 ] && sleep 1
        done' diskstats "$reports" >> "$file" 2>&1 < /dev/null &
fi
echo "Writing $file for @SECONDS@ s, as process $!. kill $! ends it earlier."
