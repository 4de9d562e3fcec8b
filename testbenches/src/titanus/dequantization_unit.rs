//! [`DequantizationUnit`] against the golden sequence, values, levels and the work of its multipliers.

use golden::titanus::cpq::Sequence;
use golden::titanus::format;
use hdl::blocks::titanus::{DequantizationUnit, RebuiltTile};
use rand::RngExt;
use sim::{Bits, Run, Sim, Values};

use super::sequences::{Case, STALLS};
use super::tiles::{at_full_speed, bytes, levels, mask, stored_tile};

/// The bench of a dequantization unit; a vector is a sequence.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &DequantizationUnit) -> anyhow::Result<Box<dyn sim::Bench>> {
    let bench = Bench { p: p.clone() };
    crate::bench(p, move |sim, run| bench.run(sim, run))
}

/// What leaves a dequantizer for a sequence: values, index and levels, a beat for each tile of a token.
pub fn results(sequence: &Sequence, lanes: usize, max_levels: u32) -> Vec<RebuiltTile<Values>> {
    let level_bits = u64::from(max_levels).next_power_of_two().ilog2().max(1);
    let initial = if sequence.prefilled { sequence.initial.chunks(lanes).count() } else { 0 };
    let mut numbers = levels(sequence, lanes).into_iter().skip(initial);
    let mut beats = Vec::new();
    for (token, values) in sequence.tokens.iter().zip(sequence.decode()) {
        for (part, values) in token.chunks(lanes).zip(values.chunks(lanes)) {
            let mut x = values.to_vec();
            x.resize(lanes, 0);
            let mut index: Vec<bool> = part.iter().map(|e| e.index).collect();
            index.resize(lanes, false);
            let levels = numbers.next().map(|n| n.0).unwrap_or_default();
            beats.push(RebuiltTile { x: bytes(&x), index: mask(index), level: Bits::pack(level_bits, levels) });
        }
    }
    beats
}

struct Bench {
    p: DequantizationUnit,
}

impl Bench {
    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("sequences");
        let lanes = self.p.lanes as usize;
        let width = lanes * self.p.tiles as usize;
        sim.reset(2)?;
        let mut work = [0u64; 4];
        for (i, (input, output)) in STALLS.into_iter().enumerate() {
            let mut driver = [run.driver_of(sim, "tile", input)?];
            let mut monitor = [run.monitor_of(sim, "result", output)?];
            for number in 0..run.vectors().div_ceil(STALLS.len() as u64) {
                let cut = rng.random_range(0..lanes);
                let mut case = Case::random(&mut rng, width - cut, 14);
                let timed = i == 0 && number == 0;
                if timed {
                    case.prefill = 0;
                }
                let sequence = case.encode(self.p.levels, u32::MAX);
                let tiles = format::tiles(&sequence, lanes);
                driver[0].extend(tiles.iter().enumerate().map(|(n, t)| stored_tile(case.bits, t, n == 0)))?;
                monitor[0].expect(results(&sequence, lanes, self.p.levels))?;
                self.add_work(&sequence, &mut work);
                if timed {
                    at_full_speed(sim, run, &mut driver, &mut monitor, 2)?;
                }
            }
            run.streams(sim, &mut driver, &mut monitor)?;
            if self.p.count_skips {
                let ports = ["multiplications_o", "index_skips_o", "label_skips_o", "zero_point_skips_o"];
                for (port, expected) in ports.into_iter().zip(work) {
                    let port = sim.output(port)?;
                    run.expect_u64(sim, port, expected)?;
                }
            }
        }
        Ok(())
    }

    /// Golden skips are those of elements. What opens a level costs the product for the level's constant, whatever it is
    /// itself, and so does a level that the prefill gave.
    fn add_work(&self, sequence: &Sequence, work: &mut [u64; 4]) {
        let elements = sequence.dequantizer_work();
        let mut opened = (0, 0);
        for (e, channel) in sequence.tokens.iter().flat_map(|t| t.iter().zip(&sequence.channels)) {
            if let Some(level) = e.level.filter(|_| e.opened && e.label) {
                let at_zero = i32::from(e.q) == channel.levels[level].zero_point();
                opened = (opened.0 + u64::from(!at_zero), opened.1 + u64::from(at_zero));
            }
        }
        let padding = (self.p.lanes * self.p.tiles) as usize - sequence.channels.len();
        let now = [
            elements.multiplications - opened.0 + sequence.levels() as u64,
            elements.index_skips + (padding * sequence.tokens.len()) as u64,
            elements.label_skips,
            elements.zero_point_skips - opened.1,
        ];
        work.iter_mut().zip(now).for_each(|(w, n)| *w += n);
    }
}
