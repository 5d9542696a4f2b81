#!/bin/sh
# Generates a folder of AWR reports, half as text and half in HTML, each with the figures of
# `xtask generate` and lists of SQL statements up to the size of a real report, and reads the folder
# with redolab import. Each report begins an hour after the one before it, so that all of them are one
# series. Prints CSV: round, files, bytes, seconds by the clock, seconds of processor time
# in user space and in the system, MB a second by the clock, peak KiB.
#   reports.sh DIRECTORY [FILES [ROUNDS]]
# DIRECTORY needs room for 1 GB with 1,000 files. Needs GNU time. Set REDOLAB and XTASK to use
# programs that are built.
set -eu
dir=$1
files=${2:-1000}
rounds=${3:-5}
root=$(cd "$(dirname "$0")/../.." && pwd)
redolab=${REDOLAB:-$root/target/release/redolab}
xtask=${XTASK:-$root/target/release/xtask}
store=$(mktemp -d "$dir/import-reports-store-XXXXXX")
folder=$(mktemp -d "$dir/import-reports-XXXXXX")
trap 'rm -rf "$store" "$folder" "$dir/import-reports.time" "$dir/import-reports.out"' EXIT INT TERM

cd "$root"
[ -n "${REDOLAB-}" ] && [ -n "${XTASK-}" ] || cargo build --release --quiet -p redolab -p xtask

# statements FORM BYTES: lists of SQL statements, which no reader keeps.
statements() {
    awk -v form="$1" -v bytes="$2" 'BEGIN {
        srand(7)
        while (written < bytes) {
            out = ""
            if (form == "text") {
                out = "\fSQL ordered by Elapsed Time           DB/Inst: LAB/lab1  Snaps: 100-101\n\n"
                out = out "        Elapsed                  Elapsed Time\n"
                out = out "        Time (s)    Executions  per Exec (s)  %Total   %CPU    %IO    SQL Id\n"
                out = out "---------------- -------------- ------------- ------ ------ ------ -------------\n"
            } else {
                out = "<h3>SQL ordered by Elapsed Time</h3><table><tr><th>Elapsed Time (s)</th>"
                out = out "<th>Executions</th><th>%Total</th><th>SQL Id</th><th>SQL Text</th></tr>\n"
            }
            for (i = 0; i < 60; i++) {
                time = rand() * 10000
                runs = int(rand() * 1000000)
                text = "SELECT o.order_id, o.customer_id, l.line_no, l.amount FROM orders o, order_lines l"
                more = "WHERE o.order_id = l.order_id AND o.status = :1 AND l.shipped < :2 ORDER BY 1"
                if (form == "text")
                    out = out sprintf("%16.1f %14d %13.2f %6.1f %6.1f %6.1f 4k2m%09d\n%s\n%s\n\n",
                        time, runs, time / (runs + 1), 1.5, 40.1, 3.2, runs, text, more)
                else
                    out = out sprintf("<tr><td>%.1f</td><td>%d</td><td>1.5</td><td>4k2m%09d</td><td>%s %s</td></tr>\n",
                        time, runs, runs, text, more)
            }
            out = out (form == "text" ? "          -----------------------------------------------\n" : "</table>\n")
            written += length(out)
            printf "%s", out
        }
    }'
}

statements text 890000 > "$folder/text.filler"
statements html 890000 > "$folder/html.filler"
i=1
while [ "$i" -le "$files" ]; do
    begin=$(LC_ALL=C date -u -d "2013-01-01 $((i - 1)) hours" '+%d-%b-%y %H:%M:%S')
    if [ $((i % 2)) = 0 ]; then
        "$xtask" generate awr-text --layout 12.2 --seed "$i" --answer /dev/null |
            sed "s/01-Jan-13 11:00:00/$begin/" > "$folder/report-$i.txt"
        cat "$folder/text.filler" >> "$folder/report-$i.txt"
    else
        "$xtask" generate awr-html --layout 12.2-html --seed "$i" --answer /dev/null |
            sed "s/01-Jan-13 11:00:00/$begin/" > "$folder/report-$i.html"
        cat "$folder/html.filler" >> "$folder/report-$i.html"
    fi
    i=$((i + 1))
done
rm "$folder/text.filler" "$folder/html.filler"
bytes=$(du -sb "$folder" | cut -f 1)
cat "$folder"/* > /dev/null

echo round,files,bytes,seconds,user_s,system_s,mb_per_s,peak_kib
round=1
while [ "$round" -le "$rounds" ]; do
    command time -f '%e %U %S %M' -o "$dir/import-reports.time" \
        "$redolab" import -q --store "$store" --format json "$folder" > "$dir/import-reports.out"
    read -r seconds user system peak < "$dir/import-reports.time"
    rate=$(awk -v b="$bytes" -v s="$seconds" 'BEGIN { printf "%.0f", (s > 0) ? b / s / 1e6 : 0 }')
    echo "$round,$files,$bytes,$seconds,$user,$system,$rate,$peak"
    rm -rf "$store"
    round=$((round + 1))
done
