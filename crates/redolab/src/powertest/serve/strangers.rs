//! Clients that have not shown yet that they have the token.
//!
//! Invariant: there is always room for one more; a stranger that says nothing keeps nobody out.

use std::net::{IpAddr, Shutdown, TcpStream};

/// Connections of clients that have not shown it yet. One more has the oldest closed, of the
/// address that has most of them: a stranger that says nothing keeps nobody out.
const STRANGERS_MAX: usize = 64;
/// Those who are connected, in the order in which they came.
#[derive(Debug, Default)]
pub(super) struct Strangers(Vec<Stranger>);

#[derive(Debug)]
struct Stranger {
    number: u64,
    from: IpAddr,
    stream: TcpStream,
}

impl Strangers {
    /// Notes one more, and closes an earlier one where there are too many.
    pub(super) fn enter(&mut self, number: u64, from: IpAddr, stream: TcpStream) {
        let all = &mut self.0;
        if all.len() >= STRANGERS_MAX {
            let of = |from: IpAddr| all.iter().filter(|one| one.from == from).count();
            let most = all.iter().map(|one| of(one.from)).max();
            let oldest = all.iter().position(|one| Some(of(one.from)) == most);
            if let Some(oldest) = oldest {
                let closed = all.remove(oldest);
                // Its thread ends by itself.
                let _ = closed.stream.shutdown(Shutdown::Both);
            }
        }
        all.push(Stranger {
            number,
            from,
            stream,
        });
    }

    /// One has shown the token, or is gone. False where it was closed in favour of others.
    pub(super) fn leave(&mut self, number: u64) -> bool {
        let at = self.0.iter().position(|one| one.number == number);
        at.map(|at| self.0.remove(at)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;
    use std::net::TcpListener;

    #[test]
    fn the_oldest_of_the_address_with_most_of_them_makes_room() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let mut strangers = Strangers::default();
        let mut clients = Vec::new();
        let addresses = ["192.0.2.1", "192.0.2.2"].map(|a| a.parse().expect("an address"));
        // One of the other address, which came first.
        for number in 0..STRANGERS_MAX as u64 + 3 {
            let client = TcpStream::connect(address).expect("connects");
            let (server, _) = listener.accept().expect("a client");
            strangers.enter(number, addresses[usize::from(number > 0)], server);
            clients.push(client);
        }
        assert_eq!(strangers.0.len(), STRANGERS_MAX);
        assert!(strangers.leave(0), "the only one of its address stays");
        for (number, client) in clients.iter_mut().enumerate().skip(1).take(3) {
            assert!(!strangers.leave(number as u64), "{number}");
            assert_eq!(client.read(&mut [0]).expect("closed"), 0);
        }
        assert!(strangers.leave(4) && !strangers.leave(4));
    }
}
