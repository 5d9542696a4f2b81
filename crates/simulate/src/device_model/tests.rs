//! Devices against closed forms. Every draw has a fixed seed, so that no test fails by chance.

use super::flash::FlashDevice;
use super::translation::{ROW, Translation};
use super::*;
use crate::ModelDevice;

const SEED: u64 = 20_261_128;

fn device(of: &DeviceModel, log_bytes: u64) -> (Device, Chance) {
    let mut chance = Chance::new(SEED);
    (Device::new(of, log_bytes, &mut chance), chance)
}

fn write(place: u64, bytes: u64) -> Operation {
    Operation::Write { place, bytes }
}

#[track_caller]
fn assert_near(found: f64, expected: f64, share: f64) {
    let off = (found / expected - 1.0).abs();
    assert!(off <= share, "seed {SEED}: {found} against {expected}");
}

fn exponential(mean_ns: f64) -> ServiceModel {
    ServiceModel {
        tail: LatencyTail {
            share: 1.0,
            mean_ns,
        },
        ..ServiceModel::NOTHING
    }
}

/// The mean time of a device without the service, with Poisson arrivals.
fn mean_wait(of: ServiceModel, mean_service: f64, between_ns: f64) -> f64 {
    let (mut device, mut chance) = device(&DeviceModel::Service(of), 1 << 30);
    let (mut at, mut sum) = (0.0, 0.0);
    let count = 3_000_000;
    for _ in 0..count {
        at += chance.exponential(between_ns);
        let now = at as u64;
        sum += (device.ends(now, write(0, 0), &mut chance) - now) as f64;
    }
    sum / f64::from(count) - mean_service
}

#[test]
fn queues_wait_as_long_as_their_closed_forms_say() {
    // M/D/1: rho / (2 mu (1 - rho)).
    let fixed = ServiceModel {
        write_ns: 1e5,
        channels: 1,
        ..ServiceModel::NOTHING
    };
    let rho: f64 = 0.6;
    let expected = rho * 1e5 / (2.0 * (1.0 - rho));
    assert_near(mean_wait(fixed, 1e5, 1e5 / rho), expected, 0.01);
    // M/M/c: the probability of Erlang's C over c mu - lambda.
    for channels in [1, 3] {
        let of = ServiceModel {
            channels,
            ..exponential(1e5)
        };
        let c = f64::from(channels);
        let load = c * rho;
        let (mut term, mut sum) = (1.0, 0.0);
        for n in 1..=channels {
            sum += term;
            term *= load / f64::from(n);
        }
        let last = term / (1.0 - rho);
        let expected = last / (sum + last) * 1e5 / (c * (1.0 - rho));
        assert_near(mean_wait(of, 1e5, 1e5 / load), expected, 0.01);
    }
}

#[test]
fn two_devices_have_the_order_statistics_of_two_exponentials() {
    let of = DeviceModel::Service(exponential(1e6));
    let ((mut one, mut chance), (mut other, _)) = (device(&of, 0), device(&of, 0));
    let (mut mirror, mut race) = (0.0, 0.0);
    let count = 400_000;
    for _ in 0..count {
        let ends = [&mut one, &mut other].map(|d| d.ends(0, write(0, 4096), &mut chance));
        mirror += ends[0].max(ends[1]) as f64 / f64::from(count);
        race += ends[0].min(ends[1]) as f64 / f64::from(count);
    }
    assert_near(mirror, 1.5e6, 0.01);
    assert_near(race, 0.5e6, 0.01);
}

#[test]
fn a_bucket_is_empty_after_its_credits_by_what_goes_out_more_than_in() {
    let DeviceModel::Service(of) = ModelDevice::shipped("gp2-100").expect("shipped").device else {
        panic!("a service");
    };
    let at_once = ServiceModel {
        write_ns: 0.0,
        write_ns_per_kb: 0.0,
        variation: 0.0,
        ..of
    };
    let (mut device, mut chance) = device(&DeviceModel::Service(at_once), 1 << 30);
    let (mut now, mut count) = (0, 0);
    let (mut empty, mut behind) = (0, 0);
    while behind < 1000 {
        let next = device.ends(now, write(0, 4096), &mut chance);
        count += 1;
        if empty == 0 && next - now > 500_000 {
            empty = next;
        }
        behind += u64::from(empty > 0);
        now = next;
    }
    assert_near(empty as f64 / 1e9, 5.4e6 / (3000.0 - 300.0), 1e-3);
    assert_near((count - behind) as f64, 3000.0 * 2000.0, 1e-3);
    // Then the rate of the refill is left.
    assert_near((now - empty) as f64 / 1e9, 999.0 / 300.0, 1e-3);
    // What nobody asks for is saved again.
    now += 100_000_000_000;
    for _ in 0..30_000 {
        now = device.ends(now, write(0, 4096), &mut chance);
    }
    let again = device.ends(now, write(0, 4096), &mut chance);
    assert!(
        (300_000..400_000).contains(&(again - now)),
        "{}",
        again - now
    );
    // 300 kB count as two, and MB have a cap of their own.
    let begins = now + 1_000_000_000;
    let ends = |device: &mut Device, bytes| {
        let mut now = begins;
        (0..1000).for_each(|_| now = device.ends(now, write(0, bytes), &mut Chance::new(1)));
        (now - begins) as f64 / 1e9
    };
    let capped = |iops, mb| {
        let cap = |per_s| RateCap {
            per_s,
            ..RateCap::NONE
        };
        ServiceModel {
            iops: cap(iops),
            mb: cap(mb),
            ..at_once
        }
    };
    let mut twice = super::Device::new(&DeviceModel::Service(capped(1000.0, 0.0)), 0, &mut chance);
    assert_near(ends(&mut twice, 300 << 10), 2.0, 0.01);
    let mut mb = super::Device::new(&DeviceModel::Service(capped(0.0, 100.0)), 0, &mut chance);
    assert_near(ends(&mut mb, 1 << 20), 10.0, 0.01);
}

/// 4 ms and 512 kB per rotation.
const DISK: RotationModel = RotationModel {
    rpm: 15_000.0,
    track_kb: 512.0,
    seek_track_ns: 4e5,
    seek_ns: 4e6,
    front: DeviceFront {
        command_ns: 5e4,
        ns_per_kb: 0.0,
        cache_kb: 0.0,
        protected_cache_kb: 0.0,
    },
    destage_mb_per_s: 0.0,
    capacity_gb: 100.0,
};

/// Nanoseconds of a synchronous append of 4 kB, flushed where the device needs that.
fn append_ns(of: RotationModel) -> f64 {
    let model = DeviceModel::Rotation(of);
    let (mut device, mut chance) = device(&model, 1 << 30);
    let (mut now, mut place, mut begun) = (0, 0, 0);
    let count = 1000;
    for at in 0..=count {
        if at == 1 {
            begun = now;
        }
        now = 30_000 + device.ends(now, write(place, 4096), &mut chance);
        if !model.has_durable_writes() {
            now = 30_000 + device.ends(now, Operation::Flush, &mut chance);
        }
        place += 4096;
    }
    (now - begun) as f64 / f64::from(count)
}

#[test]
fn an_append_that_is_flushed_costs_a_rotation_and_a_protected_cache_none() {
    let a_rotation = 4e6 * (1.0 + 4.0 / 512.0);
    assert_near(append_ns(DISK), a_rotation, 1e-6);
    let mut cached = DISK;
    cached.front.cache_kb = 8192.0;
    assert_near(append_ns(cached), a_rotation, 1e-6);
    cached.front.protected_cache_kb = std::mem::take(&mut cached.front.cache_kb);
    assert_near(append_ns(cached), 80_000.0, 1e-6);
}

#[test]
fn a_disk_writes_in_sequence_what_passes_its_head() {
    let (mut device, mut chance) = device(&DeviceModel::Rotation(DISK), 1 << 30);
    let (mut place, mut ends) = (0, vec![0]);
    while place < 256 << 20 {
        // Two are on their way.
        let now = ends[ends.len().saturating_sub(2)];
        ends.push(device.ends(now, write(place, 64 << 10), &mut chance));
        place += 64 << 10;
    }
    let seconds = (ends[ends.len() - 1] - ends[1]) as f64 / 1e9;
    let kb = (place - (64 << 10)) as f64 / 1024.0;
    assert_near(kb / seconds, 512.0 * 15_000.0 / 60.0, 1e-3);
    // Over random places it seeks as long as the model says, and waits half a rotation.
    let bytes = 99_u64 << 30;
    let (mut now, mut sum) = (0, 0.0);
    for _ in 0..100_000 {
        let place = (chance.unit() * bytes as f64) as u64;
        let ends = device.ends(now, write(place, 0), &mut chance);
        sum += (ends - now) as f64 / 1e5;
        now = ends + 1;
    }
    assert_near(sum, 4e6 + 2e6 + 5e4, 0.01);
}

/// When the first write waits that is begun at `mb_per_s`, seconds.
fn full_after(model: &DeviceModel, mb_per_s: f64) -> f64 {
    let (mut device, mut chance) = device(model, 1 << 30);
    let between = 1e9 / (mb_per_s * 16.0);
    for at in 0..1_000_000_u64 {
        let now = (at as f64 * between) as u64;
        let place = at * (64 << 10) % (1 << 30);
        if device.ends(now, write(place, 64 << 10), &mut chance) > now + 60_000 {
            return now as f64 / 1e9;
        }
    }
    f64::INFINITY
}

#[test]
fn a_cache_is_full_after_its_size_by_what_comes_in_more_than_goes_out() {
    let mut disk = DISK;
    disk.front.protected_cache_kb = 256.0 * 1024.0;
    // 125 MB/s pass the head.
    let model = DeviceModel::Rotation(disk);
    assert_near(full_after(&model, 250.0), 256.0 / 125.0, 0.01);
    assert_eq!(full_after(&model, 100.0), f64::INFINITY);
    let array = RotationModel {
        destage_mb_per_s: 200.0,
        ..disk
    };
    assert_near(full_after(&DeviceModel::Rotation(array), 250.0), 5.12, 0.01);
    // 16 dies of 16 kB in 1 ms.
    let mut flash = FLASH;
    flash.front.cache_kb = 256.0 * 1024.0;
    assert_near(
        full_after(&DeviceModel::Flash(flash), 400.0),
        256.0 / 150.0,
        0.01,
    );
}

const FLASH: FlashModel = FlashModel {
    channels: 4,
    dies: 4,
    page_kb: 16.0,
    block_pages: 256,
    program_ns: 1e6,
    read_ns: 1e5,
    erase_ns: 0.0,
    channel_mb_per_s: 1e6,
    over_provisioning: 0.1,
    capacity_gb: 256.0,
    front: DeviceFront {
        command_ns: 5e4,
        ns_per_kb: 0.0,
        cache_kb: 0.0,
        protected_cache_kb: 0.0,
    },
    others_per_s: 0.0,
    others_share: 0.0,
};

#[test]
fn flash_programs_a_page_of_each_die_at_a_time_and_erases_a_block_after_its_pages() {
    let seconds = |of: FlashModel, bytes| {
        let (mut device, mut chance) = device(&DeviceModel::Flash(of), 1 << 30);
        device.ends(0, write(0, bytes), &mut chance) as f64 / 1e9
    };
    assert_near(seconds(FLASH, 256 << 20), 256.0 / 250.0, 0.01);
    let erases = FlashModel {
        erase_ns: 128e6,
        ..FLASH
    };
    assert_near(seconds(erases, 256 << 20), 256.0 / 250.0 * 1.5, 0.02);
    let link = FlashModel {
        channel_mb_per_s: 25.0,
        ..FLASH
    };
    assert_near(seconds(link, 256 << 20), 2.56, 0.01);
    // A part of a page that was written is read before.
    let (mut device, mut chance) = device(&DeviceModel::Flash(FLASH), 1 << 30);
    let first = device.ends(0, write(0, 4096), &mut chance);
    let second = device.ends(first, write(4096, 4096), &mut chance) - first;
    assert_eq!((first, second), (1_050_016, 1_150_032));
}

#[test]
fn a_flush_waits_for_what_a_volatile_cache_has() {
    let mut of = FLASH;
    of.front.cache_kb = 1024.0;
    let (mut device, mut chance) = device(&DeviceModel::Flash(of), 1 << 30);
    let written = device.ends(0, write(0, 4096), &mut chance);
    assert_eq!(written, 50_000);
    let flushed = device.ends(written, Operation::Flush, &mut chance);
    assert_eq!(flushed, written + 1_000_016 + 50_000);
    let nothing = device.ends(flushed, Operation::Flush, &mut chance);
    assert_eq!(nothing, flushed + 50_000);
}

/// The branch of Lambert's function that is above -1.
fn lambert(x: f64) -> f64 {
    let mut w = 0.0_f64;
    for _ in 0..200 {
        let e = w.exp();
        w -= (w * e - x) / (e * (w + 1.0) - (w + 2.0) * (w * e - x) / (2.0 * w + 2.0));
    }
    w
}

#[test]
fn greedy_collection_writes_as_much_more_as_its_closed_form_says() {
    let pages = 1 << 17;
    for spare in [0.1, 0.2, 0.3, 0.5] {
        let mut of = Translation::new(pages, spare);
        let mut chance = Chance::new(SEED);
        let mut random = || (chance.unit() * pages as f64) as usize % pages;
        let write = |of: &mut Translation, page| {
            of.write(page);
        };
        (0..pages).for_each(|page| write(&mut of, page));
        (0..2 * pages).for_each(|_| write(&mut of, random()));
        let before = (of.written, of.programmed);
        (0..2 * pages).for_each(|_| write(&mut of, random()));
        let found = (of.programmed - before.1) as f64 / (of.written - before.0) as f64;
        let all: f64 = 1.0 + spare;
        let expected = all / (all + lambert(-all * (-all).exp()));
        assert_near(found, expected, 0.02);
    }
}

/// The write amplification of `writes` log writes, and their mean time.
fn flash_log(of: &FlashModel, log_bytes: u64, writes: u64) -> (f64, f64) {
    let mut chance = Chance::new(SEED);
    let mut device = FlashDevice::new(of, log_bytes, &mut chance);
    let (mut now, mut sum) = (0, 0.0);
    for at in 0..writes {
        let place = at * 16_384 % log_bytes;
        let ends = device.ends(now, write(place, 16_384), &mut chance);
        sum += (ends - now) as f64;
        now = ends;
    }
    (device.write_amplification(), sum / writes as f64)
}

#[test]
fn a_circular_log_alone_has_a_write_amplification_of_one() {
    for (capacity_gb, log_bytes, others_share) in [
        (1.0, 1_u64 << 30, 0.0),
        (1.0, 100 << 20, 0.5),
        (256.0, 192 << 20, 0.9),
        (0.1, 16_384 * 100, 0.0),
    ] {
        let of = FlashModel {
            capacity_gb,
            others_share,
            ..FLASH
        };
        let wraps = 5 * (log_bytes / 16_384).max(60_000);
        let (found, _) = flash_log(&of, log_bytes, wraps);
        assert_eq!(found, 1.0, "{capacity_gb} GB, {log_bytes} bytes");
    }
}

#[test]
fn others_on_the_same_flash_make_the_log_wait() {
    let mut of = FLASH;
    of.capacity_gb = 1.0;
    of.erase_ns = 5e6;
    let alone = flash_log(&of, 64 << 20, 20_000);
    of.others_share = 0.9;
    of.others_per_s = 2000.0;
    let beside = flash_log(&of, 64 << 20, 20_000);
    assert_eq!(alone.0, 1.0);
    assert!(beside.0 > 1.2, "{}", beside.0);
    assert!(beside.1 > 1.1 * alone.1, "{} against {}", beside.1, alone.1);
    // Where others alone overload it, they wait too, and the log goes on.
    of.others_per_s = 1e6;
    let overloaded = flash_log(&of, 64 << 20, 200);
    assert!(overloaded.1 < 1e9, "{}", overloaded.1);
}

#[test]
fn the_largest_device_needs_no_more_memory() {
    let of = FlashModel {
        capacity_gb: 1e6,
        others_share: 0.5,
        ..FLASH
    };
    let mut chance = Chance::new(SEED);
    let device = FlashDevice::new(&of, 1 << 40, &mut chance);
    let debug = format!("{device:?}");
    assert!(debug.len() < 24 * 262_144 + 64 * ROW, "{}", debug.len());
}

fn empirical() -> EmpiricalModel {
    EmpiricalModel {
        shares: vec![0.0, 0.5, 0.9, 0.99, 1.0],
        kb: vec![4.0, 64.0, 4.0],
        depth: vec![1.0, 1.0, 8.0],
        write_ns: [
            [2e4, 4e4, 6e4, 2e5, 1e6],
            [8e4, 1e5, 1.2e5, 4e5, 2e6],
            [5e4, 9e4, 2e5, 8e5, 4e6],
        ]
        .concat(),
        flush_ns: vec![1e5, 1e5, 2e5, 3e5, 4e5],
        autocorrelation: 0.5,
    }
}

/// Ranks of `values`, from 0.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut out = vec![0.0; values.len()];
    for (rank, at) in order.into_iter().enumerate() {
        out[at] = rank as f64;
    }
    out
}

#[test]
fn a_measured_device_keeps_its_distribution_and_its_autocorrelation() {
    let of = empirical();
    for (bytes, times) in [
        (4096, of.write_ns[..5].to_vec()),
        (65_536, of.write_ns[5..10].to_vec()),
    ] {
        let (mut device, mut chance) = device(&DeviceModel::Empirical(of.clone()), 0);
        let mut now = 0;
        let drawn: Vec<f64> = (0..200_000)
            .map(|_| {
                let ends = device.ends(now, write(0, bytes), &mut chance);
                (ends - std::mem::replace(&mut now, ends)) as f64
            })
            .collect();
        // The distance of Kolmogorov and Smirnov to the table.
        let ranks = ranks(&drawn);
        let count = drawn.len() as f64;
        let expected = |time: f64| {
            let next = times
                .partition_point(|t| *t < time)
                .clamp(1, times.len() - 1);
            let part = (time - times[next - 1]) / (times[next] - times[next - 1]);
            of.shares[next - 1] + part * (of.shares[next] - of.shares[next - 1])
        };
        let far = drawn
            .iter()
            .zip(&ranks)
            .map(|(t, rank)| (expected(*t) - rank / count).abs());
        let far = far.fold(0.0, f64::max);
        assert!(far < 0.005, "seed {SEED}: {far}");
        // Spearman's correlation with the one before.
        let mean = (count - 1.0) / 2.0;
        let products = ranks.windows(2).map(|w| (w[0] - mean) * (w[1] - mean));
        let correlation = products.sum::<f64>() / count / (count * count / 12.0);
        assert!(
            (correlation - 0.5).abs() < 0.01,
            "seed {SEED}: {correlation}"
        );
    }
    // Between two sizes the times are between; with eight in flight those of eight are used.
    let median = |bytes, in_flight: u64| {
        let mut of = of.clone();
        for row in of.write_ns.chunks_mut(5) {
            row.fill(row[1]);
        }
        let (mut device, mut chance) = device(&DeviceModel::Empirical(of), 0);
        let mut last = || device.ends(0, write(0, bytes), &mut chance);
        (0..in_flight).for_each(|_| assert!(last() > 0));
        last()
    };
    assert_eq!(median(34 << 10, 0), 70_000);
    assert_eq!((median(4096, 6), median(4096, 7)), (40_000, 90_000));
    assert_eq!((median(512, 0), median(1 << 20, 0)), (40_000, 100_000));
}

#[test]
fn every_kind_takes_twice_the_time_when_it_is_scaled() {
    let mut cached = DISK;
    cached.front.cache_kb = 1024.0;
    for of in [
        DeviceModel::Rotation(DISK),
        DeviceModel::Rotation(cached),
        DeviceModel::Flash(FLASH),
        DeviceModel::Empirical(empirical()),
    ] {
        let took = |of: &DeviceModel| {
            let (mut device, mut chance) = device(of, 1 << 30);
            let mut now = 0;
            for at in 0..100 {
                now = device.ends(now, write(at * 4096, 4096), &mut chance);
                now = device.ends(now, Operation::Flush, &mut chance);
            }
            now as f64
        };
        assert_near(took(&of.scaled(2.0)), 2.0 * took(&of), 0.02);
        assert!(!of.is_nothing());
    }
}
