//! [`ChannelMonitor`] against the golden levels, token by token, with and without a prefill.

use hdl::blocks::titanus::{ChannelMonitor, RANGE_BITS};
use hdl::lang::{Block, Parameters};
use rand::RngExt;
use serde_json::Value;
use sim::{Bits, Run, Sim};

use super::sequences::{Case, STALLS};
use super::tiles::{at_full_speed, bytes, levels, mask};

/// The bench of a channel monitor; a vector is a sequence.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &ChannelMonitor) -> anyhow::Result<Box<dyn sim::Bench>> {
    p.check()?;
    Ok(Box::new(Bench { parameters: serde_json::to_value(p)?, p: p.clone() }))
}

struct Bench {
    p: ChannelMonitor,
    parameters: Value,
}

impl Bench {
    /// Input and output beats of a sequence. Extremes are those of the prefill tokens.
    fn beats(&self, case: &Case, mut tag: impl FnMut() -> Bits) -> Vec<[Vec<Bits>; 2]> {
        let lanes = self.p.lanes as usize;
        let sequence = case.encode(self.p.levels, u32::MAX);
        let level_bits = u64::from(self.p.levels).next_power_of_two().ilog2().max(1);
        let bits = Bits::truncated(4, case.bits.into());
        let flag = |b: bool| Bits::truncated(1, b.into());
        let width = sequence.channels.len();
        let mut shown = levels(&sequence, lanes).into_iter();
        let mut beats = Vec::new();
        let channel_level = |c: usize, level: Option<usize>| level.map(|l| sequence.channels[c].levels[l]);
        let prefill = &case.tokens[..case.prefill.min(case.tokens.len())];
        let extreme = |c: usize, pick: fn(&[i8]) -> i8, none: i8| {
            let seen: Vec<i8> = prefill.iter().map(|t| t[c]).filter(|&x| x != 0).collect();
            if seen.is_empty() { none } else { pick(&seen) }
        };
        let rounds = usize::from(sequence.prefilled) + case.tokens.len();
        for round in 0..rounds {
            let token = round.checked_sub(usize::from(sequence.prefilled));
            for left in (0..width).step_by(lanes) {
                let (level_numbers, overflow) = shown.next().unwrap_or_default();
                let channels = left..(left + lanes).min(width);
                let element = |c: usize| token.map(|t| sequence.tokens[t][c]);
                let level = |c: usize| channel_level(c, element(c).map_or(sequence.initial[c].map(|_| 0), |e| e.level));
                let x: Vec<i8> = channels.clone().map(|c| token.map_or(7, |t| case.tokens[t][c])).collect();
                let pad = |mut v: Vec<i8>| {
                    v.resize(lanes, 0);
                    bytes(&v)
                };
                let pad_mask = |mut v: Vec<bool>| {
                    v.resize(lanes, false);
                    mask(v)
                };
                let pad_u64 = |width, mut v: Vec<u64>| {
                    v.resize(lanes, 0);
                    Bits::pack(width, v)
                };
                let index = pad_mask(channels.clone().map(|c| element(c).is_none_or(|e| e.index)).collect());
                let tag = tag();
                let (mut rmax, mut rmin): (Vec<i8>, Vec<i8>) = channels
                    .clone()
                    .map(|c| {
                        let of = |pick, none| extreme(c, pick, none);
                        (of(|s| *s.iter().max().unwrap_or(&0), -128), of(|s| *s.iter().min().unwrap_or(&0), 127))
                    })
                    .unzip();
                rmax.resize(lanes, -128);
                rmin.resize(lanes, 127);
                let input = vec![
                    bits.clone(),
                    flag(token.is_none()),
                    flag(round == 0 && token.is_some() && left == 0),
                    index.clone(),
                    pad(x.clone()),
                    bytes(&rmax),
                    bytes(&rmin),
                    tag.clone(),
                ];
                let opened = |c: usize| element(c).map_or(sequence.initial[c].is_some(), |e| e.opened);
                let none = pad_mask(vec![]);
                let output = vec![
                    bits.clone(),
                    if token.is_some() { index } else { none },
                    pad_mask(channels.clone().map(opened).collect()),
                    pad(x),
                    pad_u64(8, channels.clone().map(|c| level(c).map_or(0, |l| l.lo) as u64).collect()),
                    pad_u64(RANGE_BITS, channels.clone().map(|c| level(c).map_or(0, |l| l.range) as u64).collect()),
                    Bits::pack(level_bits, level_numbers),
                    flag(overflow),
                    tag,
                ];
                beats.push([input, output]);
            }
        }
        beats
    }
}

impl sim::Bench for Bench {
    fn block(&self) -> &str {
        ChannelMonitor::ABOUT.name
    }

    fn parameters(&self) -> Value {
        self.parameters.clone()
    }

    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("sequences");
        let mut tags = run.rng("tags");
        let width = (self.p.lanes * self.p.tiles) as usize;
        sim.reset(2)?;
        for (i, (input, output)) in STALLS.into_iter().enumerate() {
            let fields = ["bits", "load", "first", "index", "x", "rmax", "rmin", "tag"];
            let mut driver = [run.driver(sim, "tile", &fields, input)?];
            let fields = ["bits", "index", "open", "x", "lo", "range", "level", "overflow", "tag"];
            let mut monitor = [run.monitor(sim, "result", &fields, output)?];
            for _ in 0..run.vectors().div_ceil(STALLS.len() as u64) {
                // The last tile of a token may be partly empty, but is there.
                let cut = rng.random_range(0..self.p.lanes as usize);
                let case = Case::random(&mut rng, width - cut, 12);
                for [input, output] in self.beats(&case, || Bits::random(self.p.tag_width, &mut tags)) {
                    driver[0].push(input)?;
                    monitor[0].expect([output])?;
                }
            }
            if i == 0 {
                at_full_speed(sim, run, &mut driver, &mut monitor, 1)?;
            }
            run.streams(sim, &mut driver, &mut monitor)?;
        }
        Ok(())
    }
}
