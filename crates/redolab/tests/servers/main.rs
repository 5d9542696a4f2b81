//! Database servers as targets, through the binary. A program of its own, because a server takes
//! the device and the processors: beside other tests, rows of these would have no commit.

mod canary;
mod collect;
mod databases;
mod foreign;
#[path = "../cli/harness.rs"]
#[expect(dead_code, reason = "what tests of devices need")]
mod harness;
mod hostile;
#[path = "../cli/inside.rs"]
#[expect(dead_code, reason = "what tests of files need")]
mod inside;
mod kills;
mod limits;
mod mariadb;
mod own_mariadb;
mod own_server;
mod private;
mod private_tproc_c;
mod secrets;
mod turn;
mod watch;
mod watch_files;
mod watch_verdicts;
