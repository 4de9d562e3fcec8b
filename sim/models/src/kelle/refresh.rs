//! Refreshes of a bank group while a text is decoded, with an ideal schedule.

use anyhow::ensure;
use golden::kelle::decode::{Hardware, Numbers, budget};
use golden::kelle::refresh_controller::Intervals;
use golden::kelle::schedule::{Counter, Step};

use super::decode::Trace;

/// The paper's intervals at 1 GHz: MSB and LSB banks.
pub const PAPER: [(&str, Intervals); 2] =
    [("MSB", Intervals { high: 360_000, low: 1_440_000 }), ("LSB", Intervals { high: 5_400_000, low: 7_200_000 })];

/// The same interval for all rows.
#[must_use]
pub const fn uniform(interval: u64) -> Intervals {
    Intervals { high: interval, low: interval }
}

/// Cycles of a decode step: 135 million weights of 8 bits at 64 GB/s, 1 GHz.
pub const PERIOD: u64 = 2_100_000;

/// Refreshes of a bank group over a decode trace, of an ideal schedule.
#[derive(Clone, Copy, Debug)]
pub struct Decoded {
    /// Refreshes.
    pub refreshes: u64,
    /// Share of rows with high scores.
    pub high: f64,
}

/// The events of the last `steps` steps of a trace, for the rows of a cache of `tokens` tokens. Scores of `threshold`
/// and more are high.
///
/// # Errors
/// The budget is refused, or the trace has fewer steps.
pub fn steps(trace: &Trace, tokens: usize, threshold: i64, steps: usize) -> anyhow::Result<Vec<Step>> {
    ensure!(steps <= trace.tokens(), "the trace has {} steps, not {steps}", trace.tokens());
    let (q, k) = trace.quantized();
    let mut hardware = Hardware::new(q, k, budget(tokens), Numbers::FOUR_BITS).map_err(anyhow::Error::msg)?;
    let mut list = Vec::new();
    for query in 0..trace.tokens() {
        hardware.step(query).map_err(|e| anyhow::anyhow!("{e:?}"))?;
        let written = hardware.map().entries().last().map_or(0, |e| e.slot);
        list.push(Step { written, high: (0..tokens).map(|slot| hardware.score(slot) >= threshold).collect() });
    }
    Ok(list.split_off(trace.tokens() - steps))
}

/// Counts the refreshes of an ideal schedule over the last `count` steps of a trace. All rows are written before these
/// steps.
///
/// # Errors
/// The budget is refused.
pub fn decoded(
    trace: &Trace,
    tokens: usize,
    threshold: i64,
    count: usize,
    intervals: Intervals,
) -> anyhow::Result<Decoded> {
    let mut counter = Counter::new(tokens, intervals);
    (0..tokens).for_each(|row| counter.write(row, 0));
    let (mut now, mut high) = (0, 0);
    for step in steps(trace, tokens, threshold, count)? {
        counter.write(step.written, now);
        for (row, &is_high) in step.high.iter().enumerate() {
            counter.set_class(row, is_high, now);
            high += usize::from(is_high);
        }
        now += PERIOD;
    }
    counter.finish(now);
    Ok(Decoded { refreshes: counter.refreshes(), high: high as f64 / (tokens * count) as f64 })
}
