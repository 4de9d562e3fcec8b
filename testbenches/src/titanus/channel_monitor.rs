//! [`ChannelMonitor`] against the golden levels, token by token, with and without a prefill; sequences that break off, resets.

use golden::titanus::channel_monitor::Level;
use hdl::blocks::titanus::channel_monitor::{MonitorTile, MonitoredTile};
use hdl::blocks::titanus::{ChannelMonitor, RANGE_BITS};
use rand::RngExt;
use sim::stimulus::{Stall, StimulusRng};
use sim::{Bits, Run, Sim, Values};

use super::sequences::{Case, STALLS};
use super::tiles::{at_full_speed, broken_off, bytes, flag, levels, mask};

/// The bench of a channel monitor; a vector is a sequence.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &ChannelMonitor) -> anyhow::Result<Box<dyn sim::Bench>> {
    let bench = Bench { p: p.clone() };
    sim::kit::bench(p, move |sim, run| bench.run(sim, run))
}

struct Bench {
    p: ChannelMonitor,
}

impl Bench {
    /// Input and output beats of a sequence. Extremes come from the prefill tokens.
    fn beats(
        &self,
        case: &Case,
        noise: &mut StimulusRng,
        mut tag: impl FnMut() -> Bits,
    ) -> Vec<(MonitorTile<Values>, MonitoredTile<Values>)> {
        let lanes = self.p.lanes as usize;
        let sequence = case.encode(self.p.levels, u32::MAX);
        let level_bits = u64::from(self.p.levels).next_power_of_two().ilog2().max(1);
        let bits = Bits::truncated(4, case.bits.into());
        let width = sequence.channels.len();
        let mut shown = levels(&sequence, lanes).into_iter();
        let mut beats = Vec::new();
        let channel_level = |c: usize, level: Option<usize>| level.map(|l| sequence.channels[c].levels[l]);
        let prefill = &case.tokens[..case.prefill.min(case.tokens.len())];
        // The largest and the smallest element; without elements, any pair in the wrong order.
        let mut extremes = |c: usize| -> (i8, i8) {
            let seen = || prefill.iter().map(|t| t[c]).filter(|&x| x != 0);
            let none = match noise.random() {
                true => (-128, 127),
                false => {
                    let low = noise.random_range(-128..127i8);
                    (low, noise.random_range(low + 1..=127))
                }
            };
            seen().max().zip(seen().min()).unwrap_or(none)
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
                let (mut rmax, mut rmin): (Vec<i8>, Vec<i8>) = channels.clone().map(&mut extremes).unzip();
                rmax.resize(lanes, -128);
                rmin.resize(lanes, 127);
                let input = MonitorTile {
                    bits: bits.clone(),
                    load: flag(token.is_none()),
                    first: flag(round == 0 && left == 0),
                    index: index.clone(),
                    x: pad(x.clone()),
                    rmax: bytes(&rmax),
                    rmin: bytes(&rmin),
                    tag: tag.clone(),
                };
                let opened = |c: usize| element(c).map_or(sequence.initial[c].is_some(), |e| e.opened);
                let none = pad_mask(vec![]);
                let of_level = |pick: fn(Level) -> i32| channels.clone().map(move |c| level(c).map_or(0, pick) as u64);
                let output = MonitoredTile {
                    bits: bits.clone(),
                    index: if token.is_some() { index } else { none },
                    open: pad_mask(channels.clone().map(opened).collect()),
                    x: pad(x),
                    lo: pad_u64(8, of_level(|l| l.lo).collect()),
                    range: pad_u64(RANGE_BITS, of_level(|l| l.range).collect()),
                    level: Bits::pack(level_bits, level_numbers),
                    overflow: flag(overflow),
                    tag,
                };
                beats.push((input, output));
            }
        }
        beats
    }
}

impl Bench {
    fn run(&self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        let mut rng = run.rng("sequences");
        let (mut tags, mut noise) = (run.rng("tags"), run.rng("extremes"));
        let width = (self.p.lanes * self.p.tiles) as usize;
        run.reset(sim, 2)?;
        for (i, (input, output)) in STALLS.into_iter().enumerate() {
            let mut driver = [run.driver_of::<MonitorTile<Values>>(sim, "tile", input)?];
            let mut monitor = [run.monitor_of::<MonitoredTile<Values>>(sim, "result", output)?];
            for _ in 0..run.vectors().div_ceil(STALLS.len() as u64) {
                // The last tile of a token may be partly empty, but is there.
                let cut = rng.random_range(0..self.p.lanes as usize);
                let case = Case::random(&mut rng, width - cut, 12);
                let mut beats = self.beats(&case, &mut noise, || Bits::random(self.p.tag_width, &mut tags));
                if rng.random_range(0..3u8) == 0 {
                    // The sequence breaks off: the next one begins at once.
                    beats.truncate(rng.random_range(1..=beats.len()));
                }
                for (input, output) in beats {
                    driver[0].push(input)?;
                    monitor[0].expect([output])?;
                }
            }
            if i == 0 {
                at_full_speed(sim, run, &mut driver, &mut monitor, 1)?;
            }
            run.streams(sim, &mut driver, &mut monitor)?;
        }
        // Resets at any time; the sequence that begins afterwards is right.
        for _ in 0..run.vectors().div_ceil(4) {
            for stall in [Stall::Random { num: 1, den: 4 }, Stall::Never] {
                let mut driver = [run.driver_of::<MonitorTile<Values>>(sim, "tile", stall)?];
                let mut monitor = [run.monitor_of::<MonitoredTile<Values>>(sim, "result", stall)?];
                let case = Case::random(&mut rng, width, 12);
                for (input, output) in self.beats(&case, &mut noise, || Bits::random(self.p.tag_width, &mut tags)) {
                    driver[0].push(input)?;
                    monitor[0].expect([output])?;
                }
                if stall == Stall::Never {
                    run.streams(sim, &mut driver, &mut monitor)?;
                } else {
                    broken_off(sim, run, &mut driver, &mut monitor, rng.random_range(0..24))?;
                }
            }
        }
        Ok(())
    }
}
