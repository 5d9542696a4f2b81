# Hostile evidence as streams; sourced by run.sh. `stream NAME` writes without an end to standard
# output, and `kind_of NAME` says what the importer is told that it is.

WAIT="WAIT #1: nam='log file sync' ela= 5 obj#=-1 tim=9"
CORPUS=$root/fuzz/corpus
HISTOGRAM=HISTFAAAACh4nJNpmSzMwMDAzgABzFCaEch0M9ixgMH+A0TgOGPFdrkOPgB5gQb9

NAMES="trace-line trace-nul trace-invalid trace-cursors trace-events trace-processes trace-pairs
trace-glued trace-glued-calls trace-statements trace-errors trace-binds trace-numbers trace-stamps
trace-wide trace-warnings trace-facts trace-utf16 line-of-digits csv csv-nothing histogram-events
histogram-snapshots html-nested html-tags html-tables html-cells html-cell json-nested json-objects
json-key json-jobs json-bins json-samples iostat-devices iostat-reports iostat-columns awr-rows
awr-snapshots hlog-lines hlog-tags outliers cells
$(for kind in awr-text awr-html fio-json iostat-json iostat study-table pg-test-fsync r-summary \
    lgwr-outliers cell-metrics hlog count-elapsed event-histogram oracle-trace; do
    for file in "$CORPUS/$kind"/*; do echo "corpus/$kind/$(basename "$file")"; done
done)"

kind_of() {
    case $1 in
        corpus/*) dirname "${1#corpus/}" ;;
        trace-*) echo oracle-trace ;;
        csv*) echo count-elapsed ;;
        line-of-digits) echo count-elapsed ;;
        histogram-*) echo event-histogram ;;
        html-*) echo awr-html ;;
        json-samples) echo iostat-json ;;
        json-*) echo fio-json ;;
        iostat-*) echo iostat ;;
        awr-*) echo awr-text ;;
        hlog-*) echo hlog ;;
        outliers) echo lgwr-outliers ;;
        cells) echo cell-metrics ;;
    esac
}

# each FORMAT [BEFORE]: BEFORE, then FORMAT with the number of the item for each %d, for ever.
each() {
    printf '%b' "${2-}"
    awk -v f="$1" 'BEGIN {
        gsub(/%d/, "\001", f); n = split(f, part, "\001")
        for (i = 1; ; i++) {
            out = part[1]
            for (k = 2; k <= n; k++) out = out i part[k]
            printf "%s", out
        }
    }'
}

# A file again and again.
repeat() {
    cp "$1" "$work/once"
    while [ "$(stat -c %s "$work/once")" -lt 1000000 ]; do
        cat "$work/once" "$work/once" > "$work/twice"
        mv "$work/twice" "$work/once"
    done
    while cat "$work/once"; do :; done
}

stream() {
    case $1 in
        corpus/*) repeat "$CORPUS/${1#corpus/}" ;;
        trace-line) echo "$WAIT"; tr '\0' x < /dev/zero ;;
        trace-nul) echo "$WAIT"; cat /dev/zero ;;
        trace-invalid) echo "$WAIT"; while :; do printf '\377\376\303\050\200\n%s\n' "$WAIT"; done ;;
        trace-cursors) each "WAIT #%d: nam='log file sync' ela= 5 obj#=-1 tim=%d\n" ;;
        trace-events) each "WAIT #1: nam='event %d' ela= %d obj#=-1 tim=%d\n" ;;
        trace-processes) each "*** [ Unix process pid: %d ]\n$WAIT\n" ;;
        trace-pairs) awk 'BEGIN { for (i = 1; ; i++)
            printf "*** [ Unix process pid: %d ]\nWAIT #1: nam=\047log file %d\047 ela= %d tim=%d\n",
                i % 3001, i % 5003, i % 9973, i }' ;;
        trace-wide) awk 'BEGIN { srand(7); for (i = 1; ; i++) {
            ela = int(exp(rand() * 22))
            printf "*** [ Unix process pid: %d ]\nWAIT #1: nam=\047log file %s\047 ela= %d tim=%d\n", 7 + i % 420, i % 5 ? "sync" : "parallel write", ela, int(rand() * 4000000000)
            printf "WAIT #1: nam=\047event %d\047 ela= %d tim=%d\n", i % 39, ela, i } }' ;;
        trace-glued) each "WAIT #1: nam='log file sync' ela= 5 obj#=-1 tim=%d" "$WAIT\n" ;;
        trace-glued-calls) each "PARSE #1:c=1,e=1,tim=%dWAIT #1: nam='log" "$WAIT\n" ;;
        trace-statements) each "PARSING IN CURSOR #%d len=9000000 dep=0\nselect %d\n" ;;
        trace-errors) each "PARSE ERROR #1:len=65000 dep=0 err=942\nselect %d\n" ;;
        trace-binds) each ' value="a%d\n' ;;
        trace-numbers) each "WAIT #1: nam='x' ela= -%d\nWAIT #1: nam='x' ela= NaN\nWAIT #1: nam='x' ela= 99999999999999999999999999%d\n$WAIT\n" ;;
        trace-stamps) each '*** 2013-08-26 14:40:23.%d\n' "$WAIT\n" ;;
        trace-warnings) each 'Warning: log write elapsed time %dms, size 4KB\n*** TRACE CONTINUED FROM FILE /%d ***\n' ;;
        trace-facts) each 'Instance name: i%d\nOracle Database 19c Release %d.0.0\n' "$WAIT\n" ;;
        trace-utf16) each "WAIT #1: nam='event %d' ela= %d\n" | head -c 100000000 |
            iconv -f UTF-8 -t UTF-16 ;; # which reads to the end before it writes
        line-of-digits) tr '\0' 9 < /dev/zero ;;
        csv) each '%d,%d\n' ;;
        csv-nothing) each '%d,-%d\nNaN,%d\n%d,99999999999999999999999\n' '1,2\n' ;;
        histogram-events) each "event%d  1  5\nevent%d  2  7\n" 'EVENT WAIT_TIME_MILLI WAIT_COUNT\n------- --- ---\n' ;;
        histogram-snapshots) each "select wait_time_milli, wait_count from v\$event_histogram where event='log file sync';\n\nWAIT_TIME_MILLI WAIT_COUNT\n--------------- ----------\n              1 %d\n              2 %d\n\n" ;;
        html-nested) each '<table><tr><td>%d' '<html class="awr">' ;;
        html-tags) tr '\0' '<' < /dev/zero ;;
        html-tables) each '<h3>Foreground Wait Events</h3><table><tr><th>Event</th><th>Waits</th><th>Total Wait Time (s)</th><th>Avg wait</th></tr><tr><td>e%d</td><td>%d</td><td>%d</td><td>5ms</td></tr></table>\n' ;;
        html-cells) each '<td>%d</td>' '<h3>Foreground Wait Events</h3><table><tr><th>Event</th><th>Waits</th></tr><tr>' ;;
        html-cell) printf '<h3>Foreground Wait Events</h3><table><tr><td>'; tr '\0' '&' < /dev/zero ;;
        json-nested) each '[' '{"fio version":"3","jobs":' ;;
        json-objects) each '{"a":' '{"fio version":"3","jobs":[' ;;
        json-key) printf '{"'; tr '\0' k < /dev/zero ;;
        json-jobs) each '{"jobname":"j%d","write":{"iops":%d.5,"total_ios":%d,"clat_ns":{"mean":%d,"percentile":{"99.000000":%d}}}},\n' '{"fio version":"3","jobs":[' ;;
        json-bins) each '"%d":%d,' '{"fio version":"3","jobs":[{"jobname":"a","write":{"total_ios":1,"clat_ns":{"bins":{' ;;
        json-samples) each '{"disk":[{"disk_device":"d%d","w/s":%d.0,"wkB/s":1.0}]},\n' '{"sysstat":{"hosts":[{"nodename":"n","statistics":[' ;;
        iostat-devices) each 'sd%d 1.00 2.00 3.00\n' 'Device r/s w/s %util\n' ;;
        iostat-reports) each 'Device r/s w/s %util\nsda %d.00 2.00 3.00\n\n' ;;
        iostat-columns) each ' c%d/s' 'Device' ;;
        awr-rows) each 'event %d   %d  0  5  1  0.1\n' 'Foreground Wait Events\n\nEvent  Waits  %%Timeouts Time(s) Avg\n------- ----- -- -- -- --\n' ;;
        awr-snapshots) each 'Foreground Wait Events\n\nEvent                   Waits  Time(s)\n------------------ ---------- --------\nevent%d             1234 5\n\n' 'WORKLOAD REPOSITORY report for\n\n' ;;
        hlog-lines) each "%d.000,1.000,0.002,$HISTOGRAM\n" '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"\n' ;;
        hlog-tags) each "Tag=t%d,%d.000,1.000,0.002,$HISTOGRAM\n" ;;
        outliers) each '%d 512 4 1 2 /dev/sd%d\n' "$(cat "$CORPUS/lgwr-outliers/whole.txt")\n" ;;
        cells) each 'FL_DISK_FIRST  cell%d  %d IO requests  2014-01-01T00:00:00+00:00\n' ;;
    esac
}
