//! [`SinglePortRam`] under random reads and writes, often of one address, often both at once.

use golden::common::memory::single_port_ram::SinglePortRam as Golden;
use hdl::blocks::common::SinglePortRam;
use rand::RngExt;
use sim::Bits;

/// The bench of a RAM with one port; a vector is one cycle.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &SinglePortRam) -> anyhow::Result<Box<dyn sim::Bench>> {
    let (width, granule, depth, places) = (p.width, p.granule, p.depth as usize, 1u64 << p.address().width);
    sim::kit::bench(p, move |sim, run| {
        let mut rng = run.rng("accesses");
        let granules = (width / granule) as usize;
        let mut golden = Golden::new(depth, granules);
        let (write_i, address_i) = (sim.input("write_i")?, sim.input("address_i")?);
        let (data_i, read_i, data_o) = (sim.input("data_i")?, sim.input("read_i")?, sim.output("data_o")?);
        let mut address = 0;
        for _ in 0..run.vectors().max(2 * depth as u64) {
            address = (address + rng.random_range(0..3u64)) % places;
            let data = Bits::random(width, &mut rng);
            let writes = rng.random_range(0..2u8) == 0;
            let enables: Vec<bool> = (0..granules).map(|_| writes && rng.random()).collect();
            let read: bool = rng.random();
            sim.poke(write_i, &Bits::pack(1, enables.iter().map(|&e| e.into())));
            sim.poke_u64(address_i, address);
            sim.poke(data_i, &data);
            sim.poke_u64(read_i, read.into());
            sim.tick()?;
            let part = |g: usize, from: &Bits| from.slice(g as u32 * granule, granule);
            let write = (0..granules).map(|g| enables[g].then(|| part(g, &data))).collect();
            let got = sim.peek(data_o);
            for (g, expected) in golden.cycle(address as usize, read, write).iter().enumerate() {
                if let Some(expected) = expected {
                    run.expect_equal(sim, "data_o", &format!("granule {g}"), expected, &part(g, &got))?;
                }
            }
        }
        Ok(())
    })
}
