//! The examples for async runtimes do what they say, and the guide shows the server as it is.

use crate::common::{Scratch, recovered};
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

#[path = "../../examples/smol_tasks.rs"]
#[expect(dead_code, reason = "its main is for the command line")]
mod smol_tasks;
#[path = "../../examples/tokio_server.rs"]
#[expect(dead_code, reason = "its main is for the command line")]
mod tokio_server;

/// Sends orders one by one; each is answered.
async fn client(address: std::net::SocketAddr, who: u32, orders: u32) {
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    let (reader, mut writer) = stream.split();
    let mut answers = BufReader::new(reader).lines();
    for order in 0..orders {
        let line = format!("order {order} of {who}\n");
        writer.write_all(line.as_bytes()).await.expect("it reads");
        let answer = answers.next_line().await.expect("it answers");
        assert_eq!(answer.as_deref(), Some("ok"));
    }
}

#[test]
fn what_the_server_answers_is_recovered() {
    const CLIENTS: u32 = 20;
    const ORDERS: u32 = 30;
    let scratch = Scratch::new();
    let log = Arc::new(tokio_server::open(&scratch.0).expect("a new log"));
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("bound");
        tokio::spawn(tokio_server::serve(listener, log));
        let clients = (0..CLIENTS).map(|who| tokio::spawn(client(address, who, ORDERS)));
        for client in clients.collect::<Vec<_>>() {
            client.await.expect("all are answered");
        }
    });
    // The runtime and the log in it are dropped, not closed.
    drop(runtime);
    let (records, _) = recovered(&scratch.0);
    let mut found: Vec<_> = records.into_iter().map(|(_, bytes)| bytes).collect();
    found.sort();
    let expected = (0..CLIENTS).flat_map(|who| {
        (0..ORDERS).map(move |order| format!("order {order} of {who}").into_bytes())
    });
    let mut expected: Vec<_> = expected.collect();
    expected.sort();
    // The checkpoints may have let the log forget some of the first.
    assert!(
        found
            .iter()
            .all(|order| expected.binary_search(order).is_ok())
    );
    assert!(!found.is_empty() && found.len() <= expected.len());
}

#[test]
fn a_thousand_tasks_of_smol_commit() {
    let scratch = Scratch::new();
    let committed = smol_tasks::run(&scratch.0).expect("it runs");
    assert_eq!(committed, smol_tasks::TASKS * smol_tasks::ORDERS);
    let (records, _) = recovered(&scratch.0);
    assert_eq!(records.len() as u32, committed);
}

/// The guide's server is the example's text behind its heading.
#[test]
fn the_guide_shows_the_server_as_it_is() {
    let here = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let Ok(guide) = std::fs::read_to_string(here.join("../../docs/embedding.md")) else {
        return println!("skipped: docs/embedding.md is not part of the package");
    };
    let example = std::fs::read_to_string(here.join("examples/tokio_server.rs")).expect("ours");
    let code = example.split_once("\n\n").expect("a heading").1;
    assert!(guide.contains(&format!("```rust,no_run\n{code}```")));
}
