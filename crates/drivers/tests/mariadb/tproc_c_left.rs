//! What a load of TPROC-C that was killed leaves, and what of others looks like it.

use crate::tproc_c::{assert_unchanged, connected, empty, loaded, opened, violated};
use drivers::tprocc;

/// A load that was killed after its first statement leaves an empty schema, of its collation; one
/// of others has something in it or another collation.
#[test]
fn an_empty_schema_is_replaced_and_one_of_others_is_not() {
    const EMPTY: &str = "CREATE DATABASE redolab_tprocc CHARACTER SET ascii COLLATE ascii_bin;";
    let Some((server, address)) = empty(&[]) else {
        return;
    };
    let drop = || tprocc::drop_schema(&*connected(&address)?);
    for mine in [
        format!("{EMPTY}\nCREATE VIEW redolab_tprocc.mine AS SELECT 1;"),
        format!("{EMPTY}\nCREATE PROCEDURE redolab_tprocc.mine() SELECT 1;"),
        "CREATE DATABASE redolab_tprocc CHARACTER SET utf8mb4;".to_owned(),
    ] {
        server.sql(&mine).expect("made");
        let found = server.everything_else();
        let outcomes = [
            loaded(&address, 1).map(|_| ()),
            opened(&address).map(|_| ()),
            drop().map(|_| ()),
        ];
        for outcome in outcomes {
            let text = outcome.expect_err(&mine).to_string();
            assert!(text.contains("redolab did not make"), "{mine}: {text}");
        }
        assert_unchanged(&server, &found);
        server.sql("DROP DATABASE redolab_tprocc").expect("dropped");
    }
    server.sql(EMPTY).expect("made");
    let error = opened(&address).map(|_| ()).expect_err("not loaded");
    assert!(error.to_string().contains("did not end"), "{error}");
    assert!(drop().expect("removed"));
    server.sql(EMPTY).expect("made");
    assert!(loaded(&address, 1).expect("loaded").replaced);
    assert_eq!(violated(&address), [0; 0]);
}
