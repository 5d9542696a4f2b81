//! A server on tokio that commits with `.await`: each line of a connection is a record, and is
//! answered with "ok" when it is durable. Try it with `nc 127.0.0.1 7000`, as many as you like.
//!
//! `cargo run -p redolab-redo --example tokio_server -- DIRECTORY 127.0.0.1:7000`

use redo::{CommitPost, Log, Session, Shape};
use std::{path::Path, sync::Arc, time::Duration};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

type AnyError = Box<dyn std::error::Error + Send + Sync>;

#[tokio::main]
async fn main() -> Result<(), AnyError> {
    let mut args = std::env::args().skip(1);
    let (directory, address) = (args.next(), args.next());
    let log = Arc::new(open(directory.ok_or("name a directory")?.as_ref())?);
    let listener = TcpListener::bind(address.ok_or("name an address")?).await?;
    serve(listener, log).await
}

/// Opens the log, after creating it where there is none, and applies what it recovers.
pub fn open(directory: &Path) -> Result<Log, AnyError> {
    if !directory.join("redo.ctl").exists() {
        let shape = Shape::default().file_bytes(16 << 20);
        Log::builder(directory).shape(shape).create()?;
    }
    let (log, recovery) = Log::builder(directory).open()?;
    let orders = recovery.recover(|_rba, _order| Ok::<(), redo::Error>(()))?;
    println!("{orders} orders were recovered");
    Ok(log)
}

/// Accepts connections for ever.
pub async fn serve(listener: TcpListener, log: Arc<Log>) -> Result<(), AnyError> {
    let checkpointed = Arc::clone(&log);
    tokio::spawn(checkpoints(checkpointed));
    loop {
        let (connection, _peer) = listener.accept().await?;
        let session = log.session(); // one for each connection: it is cheap
        tokio::spawn(async move {
            if let Err(error) = orders(connection, session).await {
                eprintln!("a connection ended: {error}"); // not answered: outcome unknown
            }
        });
    }
}

async fn orders(mut connection: TcpStream, mut session: Session) -> Result<(), AnyError> {
    let (reader, mut writer) = connection.split();
    let mut lines = BufReader::new(reader).lines();
    while let Some(order) = lines.next_line().await? {
        // `try_append` does not block the runtime's thread if the log buffer is full.
        while session.try_append(&[order.as_bytes()])?.is_none() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        session.commit_async(CommitPost::Immediate)?.await?; // durable, or an error
        writer.write_all(b"ok\n").await?;
    }
    Ok(())
}

/// Lets the log reuse its files. Your engine first makes its data durable up to that position.
async fn checkpoints(log: Arc<Log>) -> Result<(), AnyError> {
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let log = Arc::clone(&log);
        tokio::task::spawn_blocking(move || log.checkpoint(log.durable())).await??; // it does I/O
    }
}
