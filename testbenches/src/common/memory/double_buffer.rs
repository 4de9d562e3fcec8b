//! [`DoubleBuffer`] under random fills and uses, requests that must be refused, and clears at random moments.

use golden::common::memory::double_buffer::{DoubleBuffer as Golden, Request};
use hdl::blocks::common::DoubleBuffer;
use rand::RngExt;
use sim::{Bits, Run, Sim};

/// The bench of a double buffer; a vector is one cycle.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &DoubleBuffer) -> anyhow::Result<Box<dyn sim::Bench>> {
    let block = p.clone();
    sim::kit::bench(p, move |sim, run| turns(&block, sim, run))
}

fn turns(p: &DoubleBuffer, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
    let mut rng = run.rng("turns");
    let (width, granule) = (p.ram.width, p.ram.granule);
    let granules = (width / granule) as usize;
    let depth = u64::from(p.ram.depth);
    let mut golden = Golden::new(p.ram.depth as usize, granules);
    let (clear_i, fill_last_i, use_last_i) =
        (sim.input("clear_i")?, sim.input("fill_last_i")?, sim.input("use_last_i")?);
    let (write_i, write_address_i, data_i) =
        (sim.input("write_i")?, sim.input("write_address_i")?, sim.input("data_i")?);
    let (read_i, read_address_i) = (sim.input("read_i")?, sim.input("read_address_i")?);
    let (fill_ready_o, use_valid_o) = (sim.output("fill_ready_o")?, sim.output("use_valid_o")?);
    let (refused_o, data_o) = (sim.output("refused_o")?, sim.output("data_o")?);
    sim.poke_u64(clear_i, 0);
    run.reset(sim, 2)?;
    // How often of 16 a bank is handed over and given back: each side is the slower one in turn.
    let (mut fill_pace, mut use_pace) = (4, 4);
    for cycle in 0..run.vectors().max(8 * depth) {
        if cycle % 64 == 63 {
            (fill_pace, use_pace) = (rng.random_range(1..=8), rng.random_range(1..=8));
        }
        let enables: Vec<bool> = (0..granules).map(|_| rng.random()).collect();
        let data = Bits::random(width, &mut rng);
        let (write_address, read_address) = (rng.random_range(0..depth), rng.random_range(0..depth));
        // Mostly actions that the rules allow.
        let bold = rng.random_range(0..8u8) == 0;
        let (fills, uses) = (bold || golden.fill_ready(), bold || golden.use_valid());
        let writes = fills && enables.iter().any(|&e| e);
        let ask = Request {
            clear: rng.random_range(0..200u8) == 0,
            write: writes.then(|| {
                let part = |g: usize| enables[g].then(|| data.slice(g as u32 * granule, granule));
                (write_address as usize, (0..granules).map(part).collect())
            }),
            fill_last: fills && rng.random_range(0..16u8) < fill_pace,
            read: (uses && rng.random()).then_some(read_address as usize),
            use_last: uses && rng.random_range(0..16u8) < use_pace,
        };
        sim.poke_u64(clear_i, ask.clear.into());
        sim.poke(write_i, &Bits::pack(1, enables.iter().map(|&e| (e && writes).into())));
        sim.poke_u64(write_address_i, write_address);
        sim.poke(data_i, &data);
        sim.poke_u64(fill_last_i, ask.fill_last.into());
        sim.poke_u64(read_i, ask.read.is_some().into());
        sim.poke_u64(read_address_i, read_address);
        sim.poke_u64(use_last_i, ask.use_last.into());
        sim.settle()?;
        run.expect_u64(sim, fill_ready_o, golden.fill_ready().into())?;
        run.expect_u64(sim, use_valid_o, golden.use_valid().into())?;
        let (refused, word) = golden.cycle(ask);
        run.expect_u64(sim, refused_o, refused.into())?;
        sim.tick()?;
        let got = sim.peek(data_o);
        for (g, expected) in word.iter().enumerate() {
            if let Some(expected) = expected {
                let part = got.slice(g as u32 * granule, granule);
                run.expect_equal(sim, "data_o", &format!("granule {g}"), expected, &part)?;
            }
        }
    }
    Ok(())
}
