#!/bin/bash
# PostgreSQL on ext4 and on xfs, each on a loop device of its own, compared by redolab. Prints CSV.
#   run.sh DIRECTORY [ROUNDS [SECONDS]]
# Needs root, mkfs.ext4 and mkfs.xfs. Everything is made in DIRECTORY and removed.
set -euo pipefail
directory=$1
rounds=${2:-10}
seconds=${3:-1}
root=$(cd "$(dirname "$0")/../.." && pwd)
redolab=${REDOLAB:-$root/target/release/redolab}
home=$(mktemp -d "$directory/file-systems-XXXXXX")
chmod 711 "$home"
remove() {
    for fs in ext4 xfs; do umount "$home/$fs" 2>/dev/null || true; done
    rm -rf "$home"
}
trap remove EXIT
trap 'exit 1' INT TERM
for fs in ext4 xfs; do
    truncate -s 12G "$home/$fs.img"
    "mkfs.$fs" -q "$home/$fs.img"
    mkdir "$home/$fs"
    # A loop device that the kernel removes with the mount.
    mount -o loop "$home/$fs.img" "$home/$fs"
    chmod 711 "$home/$fs"
done
"$redolab" compare --driver postgres --on ext4="$home/ext4" --on xfs="$home/xfs" --jobs 1,8 \
    --rounds "$rounds" --time "${seconds}s" --warmup 1s --allow-busy --store "$home/store" \
    ${REPORT:+--report "$REPORT"} --format json -q >"$home/comparison.json"
python3 - "$home/comparison.json" <<'END'
import json, sys
comparison = json.load(open(sys.argv[1]))
print("workload,jobs,metric,unit,ext4,xfs,ratio,low,high,rounds")
for d in comparison["differences"]:
    show = lambda key: "" if d.get(key) is None else f"{d[key]:.6g}"
    print(d["workload"], d["jobs"], d["metric"], d["unit"], show("a"), show("b"),
          show("ratio"), show("ci_low"), show("ci_high"), d["units_a"], sep=",")
END
