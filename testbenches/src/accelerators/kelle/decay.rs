//! A head decoded on hardware whose cells decay, beside the golden model that replays all accesses to them.

use std::cell::RefCell;
use std::rc::Rc;

use anyhow::ensure;
use golden::accelerators::kelle::{GROUPS, Replay};
use golden::accelerators::memory::SparseMemory;
use golden::common::shell::job_controller::Limits;
use hdl::accelerators::kelle::KelleTop;
use host::kelle::{Counts, RefreshJob};
use host::{Bus, Device, Window};
use lower::chain::Results;

use super::golden_of;
use super::real::{ATTENTION, Decoded};
use super::recorder::{Record, Recorder};
use crate::kelle::edram_bank::load_times;
use jobs::hardware::Hardware;

/// The result of a decoding on cells that decay.
#[derive(Clone, Copy, Debug)]
pub struct Aged {
    /// Flipped bits that were read, by operations and refreshes, of all banks.
    pub flips: u64,
    /// Distance of the results from a full cache.
    pub from_full: f64,
    /// Distance of the results from cells that hold their bits.
    pub from_exact: f64,
    /// Counters of the hardware.
    pub counts: Counts,
    /// Cycles of the job.
    pub cycles: u64,
}

/// Sets the times of all cells of an accelerator.
///
/// # Errors
/// It has no such ports.
pub fn set_times(hardware: &mut Hardware<'_>, block: &KelleTop, cells: &Replay) -> anyhow::Result<()> {
    let cache = block.attention.cache();
    let (group_i, bank_i) = (hardware.sim.input("cell_group_i")?, hardware.sim.input("cell_bank_i")?);
    for (group, banks) in (0..GROUPS as u64).zip(cells.banks()) {
        hardware.sim.poke_u64(group_i, group);
        for (number, bank) in (0..).zip(banks) {
            hardware.sim.poke_u64(bank_i, number);
            load_times(hardware.sim, bank, cache.refresh.rows, 8 * cache.lanes)?;
        }
    }
    Ok(())
}

/// The same, and records all accesses to them from now on.
///
/// # Errors
/// It has no such ports.
pub fn prepare(hardware: &mut Hardware<'_>, block: &KelleTop, cells: &Replay) -> anyhow::Result<Rc<RefCell<Record>>> {
    set_times(hardware, block, cells)?;
    let (recorder, record) = Recorder::new(hardware.sim, block)?;
    hardware.watch(Box::new(recorder));
    Ok(record)
}

/// Runs a decoding with the refresh that it begins with: each byte that it writes must equal the golden model with the
/// same cells, under the same accesses and refreshes. These must be legal.
///
/// # Errors
/// A byte differs, an access or refresh is not legal, or the device fails.
pub fn run<B: Bus>(
    device: &mut Device<B>,
    (block, window): (&KelleTop, &Window),
    (decoded, refresh): (&Decoded, &RefreshJob),
    (cells, record): (&Replay, &RefCell<Record>),
) -> anyhow::Result<Aged> {
    let job = &decoded.measured.job;
    record.borrow_mut().refresh(block, refresh)?;
    let cycles = job.run_unchecked(device)?.cycles;
    let counts = Counts::read(device)?;
    let events = record.borrow_mut().take()?;

    let golden = golden_of(block)?.replaying(cells.clone().with_events(events));
    let mut memory = SparseMemory::new();
    job.images.iter().for_each(|image| memory.store(image.address, &image.bytes));
    let limits = Limits { base: window.base, limit: window.limit, max_descriptors: job.descriptors };
    let end = golden.run(limits, job.address, &mut memory).end;
    ensure!(end.code == 0, "the replay ends with error {}", end.code);
    let flips = golden.replayed().map_err(anyhow::Error::msg)?;
    let mut errors = [0.0; 2];
    for Results { name, address, bytes } in &job.results {
        let expected = memory.bytes(*address, bytes.len());
        let mut got = vec![0; bytes.len()];
        device.bus().read_memory(*address, &mut got)?;
        let place = got.iter().zip(&expected).position(|(got, expected)| got != expected);
        ensure!(place.is_none(), "{name} at {address:#x} differ from the replay's, byte {place:?} first");
        if *name == ATTENTION {
            errors = decoded.errors(&got)?;
        }
    }
    Ok(Aged { flips, from_full: errors[0], from_exact: errors[1], counts, cycles })
}
