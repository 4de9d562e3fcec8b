//! [`Ram`] under random reads and writes, often of one address in one cycle.

use golden::common::memory::ram::Ram as Golden;
use hdl::blocks::common::Ram;
use rand::RngExt;
use sim::{Bits, Run, Sim};

/// The bench of a RAM; a vector is one cycle.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &Ram) -> anyhow::Result<Box<dyn sim::Bench>> {
    let block = p.clone();
    sim::kit::bench(p, move |sim, run| accesses(&block, sim, run))
}

fn accesses(p: &Ram, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
    let mut rng = run.rng("accesses");
    let (width, granule) = (p.width, p.granule);
    let granules = (width / granule) as usize;
    let mut golden = Golden::new(p.depth as usize, granules);
    let (write_i, write_address_i) = (sim.input("write_i")?, sim.input("write_address_i")?);
    let (data_i, read_i) = (sim.input("data_i")?, sim.input("read_i")?);
    let (read_address_i, data_o) = (sim.input("read_address_i")?, sim.output("data_o")?);
    let places = 1u64 << p.address().width;
    // Addresses close to each other, so that they meet.
    let mut address = 0;
    for _ in 0..run.vectors().max(2 * u64::from(p.depth)) {
        address = (address + rng.random_range(0..3u64)) % places;
        let other = if rng.random() { address } else { rng.random_range(0..places) };
        let data = Bits::random(width, &mut rng);
        let enables: Vec<bool> = (0..granules).map(|_| rng.random()).collect();
        let read: bool = rng.random();
        sim.poke(write_i, &Bits::pack(1, enables.iter().map(|&e| e.into())));
        sim.poke_u64(write_address_i, address);
        sim.poke(data_i, &data);
        sim.poke_u64(read_i, read.into());
        sim.poke_u64(read_address_i, other);
        sim.tick()?;
        let part = |g: usize, from: &Bits| from.slice(g as u32 * granule, granule);
        let write = (0..granules).map(|g| enables[g].then(|| part(g, &data))).collect();
        let expected = golden.cycle(read.then_some(other as usize), Some((address as usize, write)));
        let got = sim.peek(data_o);
        for (g, expected) in expected.iter().enumerate() {
            if let Some(expected) = expected {
                run.expect_equal(sim, "data_o", &format!("granule {g}"), expected, &part(g, &got))?;
            }
        }
    }
    Ok(())
}
