#!/bin/bash
# The geometric means of the default over the best fixed way: of the same round, and of a way that was
# chosen on the other rounds. Reads data.csv beside this script.
cd "$(dirname "$0")" || exit 1
python3 - <<'END'
import collections, csv, math
rounds = collections.defaultdict(dict)
for row in csv.DictReader(open("data.csv")):
    cell = (row["device"], row["cpus"], row["load"], row["sessions"])
    rounds[cell, row["round"]][row["mode"]] = float(row["per_s"])
cells = {cell for cell, _ in rounds}
mean = lambda values: math.exp(sum(map(math.log, values)) / len(values))
for load, name in (("0", "quiet"), ("2", "beside two busy loops")):
    same, chosen = [], []
    for cell in cells:
        if cell[2] != load:
            continue
        own = {number: modes for (of, number), modes in rounds.items() if of == cell}
        fixed = [mode for mode in next(iter(own.values())) if mode != "auto"]
        same.append(mean([m["auto"] / max(m[f] for f in fixed) for m in own.values()]))
        for number, modes in own.items():
            others = [m for n, m in own.items() if n != number]
            best = max(fixed, key=lambda f: sum(m[f] for m in others))
            chosen.append(modes["auto"] / modes[best])
    print(f"{name}: best of the same round {mean(same):.3f}, chosen on other rounds {mean(chosen):.3f}")
END
