//! [`Compactor`] against lists: random masks of all densities, corners of masks and data.

use golden::common::compactor::compact;
use hdl::blocks::common::Compactor;
use rand::RngExt;
use sim::{Bits, Run, Sim};

/// The bench of a compactor; a vector is one mask with one set of elements.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &Compactor) -> anyhow::Result<Box<dyn sim::Bench>> {
    let (lanes, width) = (p.lanes, p.width);
    sim::kit::bench(p, move |sim, run| masks(sim, run, (lanes as usize, width), compact, |_, got| got))
}

/// Masks and elements go in; the results of `move_lanes` and their number come out. `defined` clears elements that may
/// be anything.
pub(super) fn masks(
    sim: &mut Sim,
    run: &mut Run,
    (lanes, width): (usize, u32),
    move_lanes: fn(&[bool], &[u64]) -> Vec<u64>,
    defined: fn(&[bool], Vec<u64>) -> Vec<u64>,
) -> sim::Result<()> {
    let mut rng = run.rng("lanes");
    let (mask_i, data_i) = (sim.input("mask_i")?, sim.input("data_i")?);
    let (data_o, count_o) = (sim.output("data_o")?, sim.output("count_o")?);
    for number in 0..run.vectors() {
        // Small lane counts: every mask in turn. Otherwise all densities, with all and none among them.
        let density = rng.random_range(0..=8u8);
        let mask: Vec<bool> = (0..lanes)
            .map(|i| if lanes <= 8 { number >> i & 1 == 1 } else { rng.random_range(0..8u8) < density })
            .collect();
        let limit = u64::MAX >> (64 - width);
        let data: Vec<u64> =
            (0..lanes).map(|_| if number % 3 == 0 { limit } else { rng.random::<u64>() & limit }).collect();
        sim.poke(mask_i, &Bits::pack(1, mask.iter().map(|&m| u64::from(m))));
        sim.poke(data_i, &Bits::pack(width, data.iter().copied()));
        sim.settle()?;
        let got = defined(&mask, sim.peek(data_o).unpack(width));
        let expected = move_lanes(&mask, &data);
        let [expected, got] = [expected, got].map(|all| Bits::pack(width, all));
        run.expect_equal(sim, "data_o", "elements", expected, got)?;
        run.expect_u64(sim, count_o, mask.iter().filter(|&&m| m).count() as u64)?;
    }
    Ok(())
}
