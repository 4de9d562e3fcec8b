//! [`BankedMemory`] cycle by cycle: many requests for few banks, requests that wait, reads of words that are written.

use golden::common::memory::banked_memory::{BankedMemory as Golden, Write};
use hdl::blocks::common::BankedMemory;
use hdl::blocks::common::stream::Arbitration;
use rand::RngExt;
use sim::{Bits, Run, Sim};

/// The bench of a banked memory; a vector is one cycle.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &BankedMemory) -> anyhow::Result<Box<dyn sim::Bench>> {
    let block = p.clone();
    sim::kit::bench(p, move |sim, run| requests(&block, sim, run))
}

fn requests(p: &BankedMemory, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
    let mut rng = run.rng("requests");
    let (width, granule, banks) = (p.ram.width, p.ram.granule, u64::from(p.banks));
    let granules = (width / granule) as usize;
    let (readers, writers) = (p.readers as usize, p.writers as usize);
    let sizes = (p.banks as usize, p.ram.depth as usize, granules);
    let mut golden = Golden::new(sizes, (readers, writers), p.arbitration == Arbitration::RoundRobin);
    let (read_valid_i, read_address_i) = (sim.input("read_valid_i")?, sim.input("read_address_i")?);
    let (write_valid_i, write_address_i) = (sim.input("write_valid_i")?, sim.input("write_address_i")?);
    let (write_strobe_i, write_data_i) = (sim.input("write_strobe_i")?, sim.input("write_data_i")?);
    let (read_ready_o, write_ready_o) = (sim.output("read_ready_o")?, sim.output("write_ready_o")?);
    let (data_valid_o, data_o) = (sim.output("data_valid_o")?, sim.output("data_o")?);
    let address_width = p.address().width;
    let words = banks << p.ram.address().width;
    run.only_while("data_valid_o", &["data_o"]);
    sim.poke_u64(read_valid_i, 0);
    sim.poke_u64(write_valid_i, 0);
    run.reset(sim, 2)?;
    let mut reads: Vec<Option<usize>> = vec![None; readers];
    let mut writes: Vec<Option<Write<Bits>>> = vec![None; writers];
    let mut density = 8;
    for cycle in 0..run.vectors() {
        if cycle % 64 == 63 {
            density = rng.random_range(1..=8);
        }
        // A few rows, so that readers and writers meet.
        let near = rng.random_range(0..words);
        let mut place = || (near + rng.random_range(0..2 * banks)) % words;
        let places: Vec<u64> = (0..readers + writers).map(|_| place()).collect();
        for (k, read) in reads.iter_mut().enumerate().filter(|(_, r)| r.is_none()) {
            *read = (rng.random_range(0..8) < density).then_some(places[k] as usize);
        }
        for (k, write) in writes.iter_mut().enumerate().filter(|(_, w)| w.is_none()) {
            let data = (0..granules).map(|_| rng.random::<bool>().then(|| Bits::random(granule, &mut rng))).collect();
            *write = (rng.random_range(0..8) < density).then_some((places[readers + k] as usize, data));
        }
        sim.poke(read_valid_i, &Bits::pack(1, reads.iter().map(|r| r.is_some().into())));
        sim.poke(
            read_address_i,
            &Bits::pack(address_width, (0..readers).map(|k| reads[k].map_or(places[k], |a| a as u64))),
        );
        sim.poke(write_valid_i, &Bits::pack(1, writes.iter().map(|w| w.is_some().into())));
        let address = |k: usize| writes[k].as_ref().map_or(places[k], |w| w.0 as u64);
        sim.poke(write_address_i, &Bits::pack(address_width, (0..writers).map(address)));
        // Noise where nothing is written.
        let mut data = Bits::random(width * p.writers, &mut rng);
        let mut strobes = Bits::random(granules as u32 * p.writers, &mut rng);
        for (k, (_, parts)) in writes.iter().enumerate().filter_map(|(k, w)| Some((k as u32, w.as_ref()?))) {
            for (g, part) in parts.iter().enumerate().map(|(g, part)| (g as u32, part)) {
                strobes.set_bit(k * granules as u32 + g, part.is_some());
                if let Some(part) = part {
                    data.set_slice(k * width + g * granule, part);
                }
            }
        }
        sim.poke(write_strobe_i, &strobes);
        sim.poke(write_data_i, &data);
        sim.settle()?;
        let served = golden.cycle(&reads, &writes);
        run.expect(sim, read_ready_o, &Bits::pack(1, served.reads.iter().map(|r| r.is_some().into())))?;
        run.expect(sim, write_ready_o, &Bits::pack(1, served.writes.iter().map(|&w| w.into())))?;
        sim.tick()?;
        run.expect(sim, data_valid_o, &Bits::pack(1, served.reads.iter().map(|r| r.is_some().into())))?;
        let got = sim.peek(data_o);
        for (k, word) in served.reads.iter().enumerate().filter_map(|(k, r)| Some((k as u32, r.as_ref()?))) {
            for (g, part) in word.iter().enumerate().filter_map(|(g, part)| Some((g as u32, part.as_ref()?))) {
                let part_o = got.slice(k * width + g * granule, granule);
                run.expect_equal(sim, "data_o", &format!("reader {k}, granule {g}"), part, &part_o)?;
            }
        }
        for (read, _) in reads.iter_mut().zip(&served.reads).filter(|(_, s)| s.is_some()) {
            *read = None;
        }
        for (write, _) in writes.iter_mut().zip(&served.writes).filter(|(_, s)| **s) {
            *write = None;
        }
    }
    Ok(())
}
