//! The driver of MariaDB and MySQL on real servers, and on others that only look like one.
//!
//! The server is the `mariadbd` of the system. It has a temporary folder, an unprivileged user, a
//! Unix socket and a port of 127.0.0.1, and is stopped by its process id. Where there is none,
//! tests print why they are skipped.

mod commits;
mod counts;
mod failures;
mod hostile;
mod refusals;
mod server;
mod tproc_c;
mod tproc_c_left;
#[path = "../postgres/tproc_c_together.rs"]
mod tproc_c_together;
