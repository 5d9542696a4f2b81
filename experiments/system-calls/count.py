"""Prints the rows of run.sh: what strace, the server and redolab counted of the same commits."""
import json
import re
import sys

product, workload, jobs, before, after, log, calls, run = sys.argv[1:]
run = json.load(open(run))
version = run["target"]["version"].split()[0]
# A call that another thread interrupts has its arguments in the line of its begin.
WRITE = re.compile(r"\s(?:write|pwrite64|pwritev2?)\(\d+<([^>]*)>, .*?\.\.\., (\d+)(?:, (\d+))?")
SYNC = re.compile(r"\s(?:fdatasync|fsync)\(\d+<([^>]*)>")
# The blocks of InnoDB in which checkpoints are, not redo.
CHECKPOINTS = {"4096", "8192"}
writes = written = syncs = checkpoints = 0
for line in open(calls, errors="replace"):
    if " resumed>" in line:
        continue
    if (call := WRITE.search(line)) and log in call[1]:
        if product == "mariadb" and call[3] in CHECKPOINTS:
            checkpoints += 1
            continue
        writes += 1
        written += int(call[2])
    elif (call := SYNC.search(line)) and log in call[1]:
        syncs += 1


def difference(column):
    a, b = (text.split(",")[column] for text in (before, after))
    return int(b) - int(a) if a and b else ""


def row(source, *values):
    print(product, version, workload, jobs, source, *values, sep=",")


row("strace", "", writes, written, syncs)
row("server", difference(0), difference(1), "", difference(2))
[measured] = run["rows"]
of = measured.get("server") or {}
value = lambda key: "" if of.get(key) is None else round(of[key])
commits = of.get("commits") or 0
each = lambda key: "" if of.get(key) is None else round(of[key] * commits)
row("redolab", each("redo_per_commit_bytes"), value("writes") or each("writes_per_commit"),
    each("written_per_commit_bytes"), value("syncs") or each("syncs_per_commit"))
