# A virtual user whose client is a Tcl script: what the client costs. It calls redolab's routines, on one
# warehouse, until the time has passed.
#   tclsh user.tcl SOCKET_DIRECTORY SECONDS
package require Pgtcl
lassign $argv host seconds

proc draw {low high} { expr {int(rand() * ($high - $low + 1)) + $low} }

set syllables {BAR OUGHT ABLE PRI PRES ESE ANTI CALLY ATION EING}
proc last_name {} {
    global syllables
    set number [expr {(([draw 0 255] | [draw 0 999]) + 123) % 1000}]
    set name {}
    foreach digit [split [format %03d $number] {}] { append name [lindex $syllables $digit] }
    return $name
}

set db [pg_connect -conninfo "host=$host user=redo dbname=postgres"]
proc ended {result} {
    if {[pg_result $result -status] ni {PGRES_TUPLES_OK PGRES_COMMAND_OK}} {
        error [pg_result $result -error]
    }
    pg_result $result -clear
}
proc call {name args} {
    global db
    ended [pg_exec_prepared $db $name {*}$args]
}
# A number and a name, one of which is empty.
proc customer {} {
    if {[draw 1 100] <= 60} { return [list 0 [last_name]] }
    return [list [draw 1 3000] {}]
}
proc new_order {} {
    global db
    set items {}
    set count [draw 5 15]
    for {set line 0} {$line < $count} {incr line} { lappend items [draw 1 100000] }
    set items [lsort -integer $items]
    if {[draw 1 100] == 1} { lset items end 100001 }
    set quantities {}
    foreach item $items { lappend quantities [draw 1 10] }
    set suppliers [lrepeat $count 1]
    set lists {}
    foreach list [list $items $suppliers $quantities] { lappend lists "'{[join $list ,]}'" }
    # A CALL cannot be prepared by name.
    ended [pg_exec $db "CALL redolab_tprocc.new_order(1, [draw 1 10], [draw 1 3000],\
        [join $lists {, }], NULL, NULL)"]
}

foreach sql {
    {SET search_path = pg_catalog, redolab_tprocc}
    {PREPARE payment (int, int, int, int, int, varchar, int) AS
        SELECT redolab_tprocc.payment($1, $2, $3, $4, $5, $6, $7)}
    {PREPARE delivery (int, int) AS SELECT redolab_tprocc.delivery($1, $2)}
    {PREPARE stock_level (int, int, int) AS SELECT redolab_tprocc.stock_level($1, $2, $3)}
    {PREPARE order_status (int, int, int, varchar) AS
        SELECT redolab_tprocc.order_status($1, $2, $3, $4)}
} {
    ended [pg_exec $db $sql]
}
set district [draw 1 10]
set end [expr {[clock milliseconds] + 1000 * $seconds}]
while {[clock milliseconds] < $end} {
    set kind [draw 1 23]
    if {$kind <= 10} {
        new_order
    } elseif {$kind <= 20} {
        call payment 1 [draw 1 10] 1 [draw 1 10] {*}[customer] [draw 100 500000]
    } elseif {$kind == 21} {
        call delivery 1 [draw 1 10]
    } elseif {$kind == 22} {
        call stock_level 1 $district [draw 10 20]
    } else {
        call order_status 1 [draw 1 10] {*}[customer]
    }
}
