//! Numbers of options that are neither times nor sizes: block sizes, lists of CPUs.

use super::CommandError;
use measure::units::parse_bytes;

/// The two block sizes that there are need no unit.
pub(super) fn block_bytes(text: &str) -> Result<u32, CommandError> {
    let refused = |why: &str| CommandError::usage(format!("--block-size: {why}use 512 or 4096"));
    match text.trim() {
        "512" => return Ok(512),
        "4096" => return Ok(4096),
        _ => {}
    }
    let bytes = parse_bytes(text).map_err(|e| refused(&format!("{e}: ")))?;
    match bytes {
        512 | 4096 => Ok(bytes as u32),
        _ => Err(refused(&format!("block size {text}: "))),
    }
}

/// CPUs named as `0,2-3`, in ascending order, each once.
pub(super) fn cpu_list(text: &str) -> Result<Vec<usize>, String> {
    let number = |part: &str| {
        let cpu = part.trim().parse::<usize>().ok();
        cpu.filter(|cpu| *cpu <= MAX_CPU)
            .ok_or_else(|| format!("`{part}` in `{text}` is not a CPU; use a list such as 0,2-3"))
    };
    let mut cpus = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return Err(format!(
                "`{part}` in `{text}` is empty; the lower CPU comes first"
            ));
        }
        cpus.extend(first..=last);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}

/// Far beyond any machine.
const MAX_CPU: usize = 1 << 16;
