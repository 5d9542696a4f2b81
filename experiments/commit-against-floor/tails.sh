#!/bin/bash
# p99.9 of commits over p99.9 of raw writes from the chunks of a CSV file, with a 95 % interval: pairs of chunks
# that took turns are drawn with replacement, in blocks of ten neighbours, 2,000 times (seed 1).
python3 - "$1" <<'END'
import csv, random, sys
chunks = {"commit": {}, "raw": {}}
for row in csv.DictReader(open(sys.argv[1])):
    chunks[row["case"]][int(row["chunk"])] = [int(ns) for ns in row["longest_ns"].split()]
pairs = sorted(set(chunks["commit"]) & set(chunks["raw"]))
SIZE, BLOCK = 2000, 10
def p999(case, of):
    longest = sorted((ns for n in of for ns in chunks[case][n]), reverse=True)
    rank = max(1, round(0.001 * SIZE * len(of)))
    value = longest[rank - 1]
    cut = sum(1 for n in of if chunks[case][n][-1] > value)
    return value, cut
def ratio(of):
    return p999("commit", of)[0] / p999("raw", of)[0]
for case in ("commit", "raw"):
    value, cut = p999(case, pairs)
    print(f"{case}: p99.9 {value / 1000:.1f} us of {SIZE * len(pairs)}; chunks of which a longer time was not kept: {cut}")
draw = random.Random(1)
starts = [pairs[i:i + BLOCK] for i in range(0, len(pairs), BLOCK)]
drawn = sorted(ratio([n for _ in starts for n in draw.choice(starts)]) for _ in range(2000))
print(f"ratio of p99.9: {ratio(pairs):.3f} (95 % interval {drawn[50]:.3f} to {drawn[-51]:.3f})")
END
