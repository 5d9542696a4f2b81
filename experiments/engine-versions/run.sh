#!/bin/sh
# Extracts the crates of the redo engine as of an earlier commit, links them and the present ones
# into one program, and runs it. Prints CSV: cell, life, group, processor, order, and commits and
# nanoseconds of the four chunks of the group.
#   run.sh build
#   run.sh DIRECTORY disk|null|all [LIVES [GROUPS [CHUNK_MS]]]
# DIRECTORY is on the disk to be measured and needs room for 2.5 GB; what the program makes there it
# removes. Nothing else should run meanwhile. The figures of a cell come from LIVES times GROUPS
# groups of four chunks (20 times 15).
set -eu
old=${OLD:-1a323d12323aba9d5f8f108a2ce009dc7174be4a}
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
extracted=$here/target/old-engine

if [ ! -f "$extracted/extracted" ]; then
    rm -rf "$extracted"
    mkdir -p "$extracted"
    git -C "$root" archive "$old" Cargo.toml crates/measure crates/device crates/redo |
        tar -x -C "$extracted"
    # Both versions are in one lock file, so they need different versions; nothing else changes.
    sed -i 's/"0\.1\.0"/"0.0.9"/; s/^members = .*/members = ["crates\/*"]/; /^default-members/d' \
        "$extracted/Cargo.toml"
    touch "$extracted/extracted"
fi
cd "$here"
cargo build --release --quiet
[ "$1" = build ] || exec target/release/engine-versions "$@"
