#!/bin/sh
# trace-lgwr.sh: runs trace-lgwr.sql, and switches the trace off however that ends.
#
# Run:        sh trace-lgwr.sh         (on the server, ORACLE_HOME and ORACLE_SID set)
# Privileges: an account that may connect `/ as sysdba`.
# Not verified against an Oracle server. kill -9 of this script leaves the trace on if sqlplus is
# killed as well: run trace-lgwr-off.sql then.
set -u
cd "$(dirname "$0")" || exit 1

if ! command -v sqlplus > /dev/null 2>&1; then
    echo "sqlplus is not found: set ORACLE_HOME, and add its bin to PATH" >&2
    exit 1
fi

switch_off() {
    trap - EXIT INT TERM HUP
    sqlplus -S -L "/ as sysdba" @trace-lgwr-off.sql < /dev/null ||
        echo "THE TRACE MAY STILL BE ON: run trace-lgwr-off.sql as SYSDBA" >&2
}
trap switch_off EXIT
trap 'exit 130' INT TERM HUP

sqlplus -S -L "/ as sysdba" @trace-lgwr.sql < /dev/null
