//! Cuts by file-system shutdown on ext4 and xfs: nothing is lost, and the verdict stays unverified,
//! since the device kept its cache.

use crate::bench::{Scratch, Server, Writer, await_kept, unmount, verify};
use crate::program::done;
use crate::{alone, number, skipped};
use std::time::Duration;

/// Cuts a file system of that kind so many times.
fn cut_by_shutdown(kind: &str, mib: u64, cuts: u64) -> Result<(), String> {
    if !rustix::process::geteuid().is_root() {
        return Err("loop devices need root".to_owned());
    }
    done("xfs_io", &["-V"])?;
    let scratch = Scratch::new(&format!("shutdown-{kind}"));
    let (image, at) = (scratch.place("image"), scratch.place("mount"));
    let file = std::fs::File::create(&image).map_err(|e| e.to_string())?;
    file.set_len(mib << 20).map_err(|e| e.to_string())?;
    done(&format!("mkfs.{kind}"), &["-q", &image])?;
    let mount = || done("mount", &["-t", kind, "-o", "loop", &image, &at]).map(drop);
    mount()?;
    let server = Server::start(&scratch, &[]);
    for cut in 0..cuts {
        let mut writer = Writer::on(&scratch, &server, &at, &["--jobs", "4"]);
        await_kept(&scratch, &server.address, &at, 20);
        std::thread::sleep(Duration::from_millis(cut * 37 % 200));
        done("xfs_io", &["-x", "-c", "shutdown", &at])?;
        writer.fails();
        unmount(&at)?;
        mount()?;
        let kind = ["--cut-kind", "file-system-shutdown"];
        let judged = verify(&scratch, &server.address, &at, &kind);
        let cycle = judged.json();
        assert_eq!(cycle["class"], "nothing_lost", "{cycle}");
        assert!(cycle["counts"]["demanded"].as_u64() > Some(0), "{cycle}");
        assert_eq!(cycle["basis"], "file_system_error", "{cycle}");
        assert_eq!(
            cycle["totals"]["cuts"], 0,
            "no cache has lost its power: {cycle}"
        );
    }
    Ok(())
}

#[test]
fn ext4_loses_nothing_when_it_is_shut_down() {
    let _alone = alone();
    if let Err(why) = cut_by_shutdown("ext4", 64, number("REDOLAB_POWER_SHUTDOWNS", 2)) {
        skipped(&why);
    }
}

#[test]
fn xfs_loses_nothing_when_it_is_shut_down() {
    let _alone = alone();
    // The smallest that mkfs.xfs still makes is 300 MiB.
    if let Err(why) = cut_by_shutdown("xfs", 320, number("REDOLAB_POWER_SHUTDOWNS", 1)) {
        skipped(&why);
    }
}
