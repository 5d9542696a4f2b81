//! Bugs planted in the writer under the pipelined host on threads: some order of completions shows
//! each of them.

use crate::orders::By;
use redo::planted::{Bug, Planted};

#[test]
fn some_order_shows_each_planted_bug() {
    for bug in [
        Bug::PublishOutOfOrder,
        Bug::PublishBeyondSnapshot,
        Bug::AcknowledgeBeforeFlush,
    ] {
        for by in [By::Workers, By::Queue] {
            let found = crate::orders::every_order(by, None, Planted::with(bug));
            let what = found.expect_err("it acknowledges what is not durable");
            println!("{by:?}, {bug:?}: {what}");
        }
    }
}

#[test]
fn a_failed_flush_that_is_retried_is_shown() {
    let fault = (device::fault::FaultTarget::Flush, 1);
    let planted = Planted::with(Bug::RetryFailedFlush);
    let found = crate::orders::every_order(By::Workers, Some(fault), planted);
    println!("{}", found.expect_err("it acknowledges after a failure"));
}
