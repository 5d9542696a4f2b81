//! A thousand tasks on one thread of smol, each of which commits orders with `.await`. The log's
//! own thread writes; their commits share its log writes.
//!
//! `cargo run -p redolab-redo --example smol_tasks -- DIRECTORY`

use redo::{CommitPost, Log, Session, Shape};

type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// How many.
pub const TASKS: u32 = 1000;
/// Of each.
pub const ORDERS: u32 = 5;

fn main() -> Result<(), AnyError> {
    let directory = std::env::args_os()
        .nth(1)
        .ok_or("name an empty directory")?;
    let committed = run(directory.as_ref())?;
    println!("{committed} orders are durable");
    Ok(())
}

/// How many orders were committed.
pub fn run(directory: &std::path::Path) -> Result<u32, AnyError> {
    let shape = Shape::default().file_bytes(1 << 20);
    Log::builder(directory).shape(shape).create()?;
    let (log, _recovery) = Log::builder(directory).open()?;
    let executor = smol::LocalExecutor::new();
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| executor.spawn(orders(log.session(), task)))
        .collect();
    let committed = smol::block_on(executor.run(async {
        let mut committed = 0;
        for task in tasks {
            committed += task.await?;
        }
        Ok::<u32, redo::Error>(committed)
    }))?;
    log.close()?;
    Ok(committed)
}

async fn orders(mut session: Session, task: u32) -> Result<u32, redo::Error> {
    for order in 0..ORDERS {
        session.append(&[&task.to_le_bytes(), &order.to_le_bytes()])?;
        session.commit_async(CommitPost::Immediate)?.await?; // durable, or an error
    }
    Ok(ORDERS)
}
