#!/bin/bash
# What two busy loops lose per commit of the default, over what they lose per commit of post/wait (lgwr), by round.
# Their turns without a log are those of the mode `none` of the same round. Reads lost.csv beside this script.
cd "$(dirname "$0")" || exit 1
python3 - <<'END'
import collections, csv
rounds = collections.defaultdict(dict)
for row in csv.DictReader(open("lost.csv")):
    rounds[row["round"]][row["sessions"], row["mode"]] = (float(row["load_per_s"]), float(row["per_s"]))
for sessions in ("1", "8", "64", "256"):
    ratios = []
    for cells in rounds.values():
        alone = cells["0", "none"][0]
        lost = lambda mode: (alone - cells[sessions, mode][0]) / cells[sessions, mode][1]
        ratios.append(lost("auto") / lost("lgwr"))
    ratios.sort()
    median = (ratios[(len(ratios) - 1) // 2] + ratios[len(ratios) // 2]) / 2
    print(f"{sessions} sessions: {median:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})")
END
