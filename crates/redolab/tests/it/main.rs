//! Integration tests of the laboratory, in one program so that they link once.

mod common;
mod disk_full;
mod hlog;
mod live;
mod schema;
mod store;
mod violence;
