#!/bin/bash
# A server of a database in a folder of its own: what experiments share that start one. Sourced.

# The programs of PostgreSQL: REDOLAB_POSTGRES_BIN, or those of the newest version that is installed.
postgres_programs() {
    local bin
    for bin in /usr/lib/postgresql/*/bin; do :; done
    echo "${REDOLAB_POSTGRES_BIN:-$bin}"
}

# Runs a server's program as an unprivileged user: servers refuse root.
as_server() {
    if [ "$(id -u)" -eq 0 ]; then
        exec setpriv --reuid 65534 --regid 65534 --clear-groups --pdeathsig KILL -- "$@"
    fi
    exec "$@"
}

# private_folder PARENT PREFIX: makes $home, which is removed at the end together with $server, if it runs.
private_folder() {
    home=$(mktemp -d "$1/$2-XXXXXX")
    server=
    trap 'end_server; rm -rf "$home"' EXIT
    trap 'exit 1' INT TERM
    [ "$(id -u)" -ne 0 ] || chown 65534:65534 "$home"
}

# end_server [SIGNAL]: at once, unless a signal asks for an orderly end.
end_server() {
    if [ -n "$server" ]; then
        kill "-${1:-QUIT}" "$server" 2>/dev/null || true
        for _ in $(seq 100); do
            kill -0 "$server" 2>/dev/null || break
            sleep 0.1
        done
        kill -KILL "$server" 2>/dev/null || true
        wait "$server" 2>/dev/null || true
        server=
    fi
}
