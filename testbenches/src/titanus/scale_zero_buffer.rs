//! [`ScaleZeroBuffer`] against the golden one, with writes and reads that meet.

use golden::titanus::scale_zero_buffer::ScaleZeroBuffer as Golden;
use hdl::blocks::titanus::ScaleZeroBuffer;
use rand::RngExt;
use sim::{Bits, Run, Sim};

use super::tiles::mask;

/// The bench of a scale-zero buffer; a vector is a cycle.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &ScaleZeroBuffer) -> anyhow::Result<Box<dyn sim::Bench>> {
    let bench = Bench { p: p.clone() };
    sim::kit::bench(p, move |sim, run| bench.run(sim, run))
}

struct Bench {
    p: ScaleZeroBuffer,
}

impl Bench {
    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("words");
        let (lanes, limit) = (self.p.lanes as usize, u64::MAX >> (64 - self.p.width));
        let [write, write_tile, write_level, write_data, read, read_tile, read_level] = {
            let names =
                ["write_i", "write_tile_i", "write_level_i", "write_data_i", "read_i", "read_tile_i", "read_level_i"];
            let found: Vec<_> = names.iter().map(|n| sim.input(n)).collect::<sim::Result<_>>()?;
            [found[0], found[1], found[2], found[3], found[4], found[5], found[6]]
        };
        let data_o = sim.output("data_o")?;
        let level_bits = sim.port_of_input(write_level).width / self.p.lanes;
        let tile_bits = sim.port_of_input(write_tile).width;
        // Levels that are not there are not asked for.
        if u64::from(self.p.levels) < 1 << level_bits {
            for (lane, port) in (0..self.p.lanes).flat_map(|i| [(i, "write_level_i"), (i, "read_level_i")]) {
                let (low, high) = (lane * level_bits, (lane + 1) * level_bits - 1);
                run.given(&format!("{port}[{high}:{low}] < {}", self.p.levels));
            }
        }
        let mut words = Golden::default();
        // Every word once, so that all are known.
        let mut fill: Vec<(u32, u32)> =
            (0..self.p.tiles).flat_map(|t| (0..self.p.levels).map(move |n| (t, n))).collect();
        let mut expected: Option<Vec<u64>> = None;
        while !fill.is_empty() || run_more(&mut expected, sim, run, data_o, self.p.width)? {
            let first = fill.pop();
            let (tile, level) = first.unwrap_or_else(|| (rng.random_range(0..self.p.tiles), 0));
            let pick = |rng: &mut sim::stimulus::StimulusRng| rng.random_range(0..self.p.levels);
            let levels: Vec<u32> = (0..lanes).map(|_| if first.is_some() { level } else { pick(&mut rng) }).collect();
            let enable: Vec<bool> = (0..lanes).map(|_| first.is_some() || rng.random_range(0..2u8) == 0).collect();
            let data: Vec<u64> = (0..lanes).map(|_| rng.random::<u64>() & limit).collect();
            // Reads often meet the write.
            let reads = fill.is_empty() && first.is_none() && rng.random_range(0..3u8) > 0;
            let meets = rng.random_range(0..2u8) == 0;
            let from_tile = if meets { tile } else { rng.random_range(0..self.p.tiles) };
            let from: Vec<u32> = levels.iter().map(|&l| if meets { l } else { pick(&mut rng) }).collect();
            sim.poke(write, &mask(enable.iter().copied()));
            sim.poke_u64(write_tile, tile.into());
            sim.poke(write_level, &Bits::pack(level_bits, levels.iter().map(|&l| l.into())));
            sim.poke(write_data, &Bits::pack(self.p.width, data.iter().copied()));
            sim.poke_u64(read, reads.into());
            sim.poke_u64(read_tile, from_tile.into());
            sim.poke(read_level, &Bits::pack(level_bits, from.iter().map(|&l| l.into())));
            // Now and then a tile is written that is not there.
            let absent =
                first.is_none() && (2..1 << tile_bits).contains(&self.p.tiles) && rng.random_range(0..8u8) == 0;
            if absent {
                sim.poke_u64(write_tile, rng.random_range(u64::from(self.p.tiles)..1 << tile_bits));
            }
            for lane in (0..lanes).filter(|&i| enable[i] && !absent) {
                words.write((lane, tile, levels[lane]), data[lane]);
            }
            if reads {
                expected = (0..lanes).map(|i| words.read((i, from_tile, from[i]))).collect();
            }
            sim.tick()?;
        }
        Ok(())
    }
}

/// Compares the last read data; returns whether the run goes on.
fn run_more(
    expected: &mut Option<Vec<u64>>,
    sim: &mut Sim,
    run: &mut Run,
    data_o: sim::Out,
    width: u32,
) -> sim::Result<bool> {
    if let Some(expected) = expected {
        run.expect(sim, data_o, &Bits::pack(width, expected.iter().copied()))?;
    }
    Ok(sim.cycle_count() < run.vectors() + 600)
}
