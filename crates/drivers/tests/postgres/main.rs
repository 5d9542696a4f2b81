//! The PostgreSQL driver on real servers, and on others that only look like one.
//!
//! The servers are those of `REDOLAB_POSTGRES_BIN`, or the newest below `/usr/lib/postgresql`; one
//! test also runs on every version below `target/postgres`. They have a temporary folder, an
//! unprivileged user, a Unix socket and a port of 127.0.0.1, and are stopped by their process id.
//! Where there are none, tests print why they are skipped.

mod authentication;
mod commits;
mod counts;
mod exact;
mod failures;
mod hostile;
mod modes;
mod records;
mod server;
mod settings;
mod tproc_c;
mod tproc_c_together;
