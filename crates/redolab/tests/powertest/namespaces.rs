//! Two network namespaces with a cable between them.

use crate::bench::wrapped;
use crate::program::done;
use std::process::Command;

/// Two namespaces with a cable between them, removed when it is dropped.
pub struct TwoNetworks {
    names: [String; 2],
}

/// Their addresses.
pub const ADDRESSES: [&str; 2] = ["10.213.7.1", "10.213.7.2"];

impl TwoNetworks {
    pub fn make() -> Result<TwoNetworks, String> {
        if !rustix::process::geteuid().is_root() {
            return Err("network namespaces need root".to_owned());
        }
        let id = std::process::id();
        let names = ["a", "b"].map(|end| format!("rlpt-{id}-{end}"));
        let networks = TwoNetworks { names };
        let ends = ["a", "b"].map(|end| format!("rlpt{}{end}", id % 100_000));
        for name in &networks.names {
            done("ip", &["netns", "add", name])?;
        }
        done(
            "ip",
            &[
                "link", "add", &ends[0], "type", "veth", "peer", "name", &ends[1],
            ],
        )?;
        for ((name, end), address) in networks.names.iter().zip(&ends).zip(ADDRESSES) {
            done("ip", &["link", "set", end, "netns", name])?;
            let within = |arguments: &[&str]| {
                let inside = ["netns", "exec", name.as_str(), "ip"];
                done("ip", &[&inside, arguments].concat()).map(drop)
            };
            within(&["addr", "add", &format!("{address}/24"), "dev", end])?;
            within(&["link", "set", end, "up"])?;
            within(&["link", "set", "lo", "up"])?;
        }
        Ok(networks)
    }

    /// Pulls or plugs the cable of the second one: `down` or `up`.
    pub fn cable(&self, state: &str) -> Result<(), String> {
        let end = format!("rlpt{}b", std::process::id() % 100_000);
        let name = self.names[1].as_str();
        done(
            "ip",
            &["netns", "exec", name, "ip", "link", "set", &end, state],
        )
        .map(drop)
    }

    /// The same command in one of the two.
    pub fn within(&self, which: usize, command: &Command) -> Command {
        // ip(8) would give it mounts of its own, which keep a file system busy.
        let mut inside = Command::new("nsenter");
        inside.arg(format!("--net=/run/netns/{}", self.names[which]));
        wrapped(inside, command)
    }
}

impl Drop for TwoNetworks {
    fn drop(&mut self) {
        for name in &self.names {
            // Best effort: the test has its result already.
            let _ = done("ip", &["netns", "delete", name]);
        }
    }
}
