//! Evidence in listings, reports and JSON: formats of several versions, layouts of the field, files
//! cut anywhere. `crates/redolab/tests/consistency` has what the figures of such evidence say
//! against each other, and the figures of the studies.

mod cut;
mod formats;
mod generated;
mod invented;
mod kinds_load;
mod kinds_oracle;
mod kinds_postgres;
mod kinds_storage;
mod misleading;
mod mutated;
mod places;
mod read;
mod samples;
mod wild_awr;
mod wild_fio;
mod wild_lists;
mod wild_mixed;
mod wild_named;
mod wild_pasted;
mod wild_tools;

#[path = "../../../../xtask/src/generate/evidence/mod.rs"]
mod generate;

use read::{cell, import, import_in, number, table};
