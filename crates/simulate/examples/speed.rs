//! How many log writes per second of wall time are simulated with each device: one session on the
//! inline log writer, redo of 2 kB, one core.

use measure::workload::Workload;
use redo::{Geometry, LogWriter, Policy, Triggers};
use simulate::{Costs, DeviceModel, LogSetup, ModelDevice, SimulationSetup, run};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let names = ModelDevice::shipped_names();
    let shipped = names.filter_map(ModelDevice::shipped);
    let mut devices: Vec<_> = shipped.map(|of| (of.name, of.device)).collect();
    // Others keep the collector at work.
    for (name, others_per_s) in [("nvme", 10_000.0), ("sata", 2000.0)] {
        if let Some(DeviceModel::Flash(of)) = ModelDevice::shipped(name).map(|of| of.device) {
            let mut of = of;
            (of.others_per_s, of.others_share) = (others_per_s, 0.9);
            devices.push((format!("{name} beside others"), DeviceModel::Flash(of)));
        }
    }
    println!("device,log_writes_per_s_of_wall,virtual_log_writes_per_s");
    for (name, device) in devices {
        let setup = SimulationSetup {
            processors: 2,
            costs: Costs::ROUND,
            log: LogSetup {
                writer: LogWriter::Inline,
                log_file_sync: None,
                triggers: Triggers::default(),
                policy: Policy::default(),
                geometry: Geometry {
                    block_bytes: 4096,
                    seal_blocks: 1,
                    groups: 3,
                    blocks_per_group: 65_534,
                    header_bytes: 8192,
                    file_bytes: 256 << 20,
                },
                buffer_blocks: (16 << 20) / 4096,
            },
            sessions: 1,
            workload: Workload::standard().swap_remove(0),
            device,
            members: None,
            way: simulate::WayToDevices::default(),
            warmup_ns: 0,
            time_ns: u64::MAX / 4,
            commits: Some(500_000),
            seed: 7,
        };
        let begun = Instant::now();
        let outcome = run(&setup)?;
        let wall = begun.elapsed().as_secs_f64();
        let writes = outcome.recording.background.as_ref();
        let writes = writes.map_or(0, |log| log.write.count()) as f64;
        let seconds = outcome.recording.elapsed_ns() as f64 / 1e9;
        println!("{name},{:.0},{:.0}", writes / wall, writes / seconds);
    }
    Ok(())
}
