//! Golden tiles as beats of the streams between the units, and the timing of a stream at full speed.

use golden::common::compactor::compact;
use golden::titanus::cpq::Sequence;
use golden::titanus::format::Tile;
use hdl::blocks::titanus::{PrunedTile, RANGE_BITS, ZERO_BITS};
use sim::{Bits, Difference, Run, Sim, StreamDriver, StreamMonitor, Values};

/// Fields of a quantized tile on its way to memory.
pub const QUANTIZED: [&str; 9] = ["bits", "initial", "index", "label", "values", "open", "range", "zero", "last"];

/// Fields of a tile that comes back.
pub const STORED: [&str; 9] = ["first", "bits", "initial", "index", "label", "values", "open", "range", "zero"];

/// One bit a lane.
pub fn mask(lanes: impl IntoIterator<Item = bool>) -> Bits {
    Bits::pack(1, lanes.into_iter().map(u64::from))
}

/// Eight bits a lane.
pub fn bytes(lanes: &[i8]) -> Bits {
    Bits::pack(8, lanes.iter().map(|&x| x as u8 as u64))
}

fn common(bits: u32, tile: &Tile) -> Vec<Bits> {
    let values: Vec<u64> = tile.values.iter().map(|&q| q.into()).collect();
    let record = |pick: fn((i32, i32)) -> i32| tile.records.iter().map(move |r| r.map_or(0, pick) as u64);
    vec![
        Bits::truncated(4, bits.into()),
        Bits::truncated(1, tile.initial.into()),
        mask(tile.index.iter().copied()),
        mask(tile.label.iter().copied()),
        Bits::pack(8, compact(&tile.label, &values)),
        mask(tile.records.iter().map(Option::is_some)),
        Bits::pack(RANGE_BITS, record(|r| r.0)),
        Bits::pack(ZERO_BITS, record(|r| r.1)),
    ]
}

/// A beat of [`QUANTIZED`].
pub fn quantized(bits: u32, tile: &Tile, last: bool) -> Vec<Bits> {
    let mut beat = common(bits, tile);
    beat.push(Bits::truncated(1, last.into()));
    beat
}

/// One bit.
pub fn flag(value: bool) -> Bits {
    Bits::truncated(1, value.into())
}

/// A beat of [`STORED`].
pub fn stored(bits: u32, tile: &Tile, first: bool) -> Vec<Bits> {
    let mut beat = vec![Bits::truncated(1, first.into())];
    beat.extend(common(bits, tile));
    beat
}

/// Per tile of the stream (initial ones first): the level of each lane, 0 without one, and whether a level was missing.
pub fn levels(sequence: &Sequence, lanes: usize) -> Vec<(Vec<u64>, bool)> {
    let mut all = Vec::new();
    let padded = |mut levels: Vec<u64>| {
        levels.resize(lanes, 0);
        levels
    };
    if sequence.prefilled {
        all.extend(sequence.initial.chunks(lanes).map(|_| (vec![0; lanes], false)));
    }
    for token in &sequence.tokens {
        for part in token.chunks(lanes) {
            let levels = part.iter().map(|e| e.level.unwrap_or(0) as u64).collect();
            all.push((padded(levels), part.iter().any(|e| e.overflow)));
        }
    }
    all
}

/// A pruned tile.
pub fn pruned(lanes: usize, x: &[i8], last: bool) -> PrunedTile<Values> {
    let mut x: Vec<u64> = x.iter().map(|&x| x as u8 as u64).collect();
    x.resize(lanes, 0);
    let index: Vec<bool> = x.iter().map(|&x| x != 0).collect();
    let count = index.iter().filter(|&&i| i).count() as u64;
    let width = u64::BITS - (lanes as u64).leading_zeros();
    PrunedTile {
        count: Bits::truncated(width, count),
        values: Bits::pack(8, compact(&index, &x)),
        index: mask(index),
        last: flag(last),
    }
}

/// The blocks of a stream of bytes, each with its `last`.
pub fn blocks(bytes: &[u8], block_bytes: usize) -> Vec<Vec<Bits>> {
    let count = bytes.len() / block_bytes;
    let block = |(i, b): (usize, &[u8])| {
        vec![Bits::pack(8, b.iter().map(|&b| b.into())), Bits::truncated(1, (i + 1 == count).into())]
    };
    bytes.chunks(block_bytes).enumerate().map(block).collect()
}

/// Runs streams without pauses to their end and demands that the first beat of `monitor` comes `latency` cycles after the
/// first of `driver`, and the others one a cycle after it.
///
/// # Errors
/// A mismatch of values or of cycles.
pub fn at_full_speed(
    sim: &mut Sim,
    run: &mut Run,
    drivers: &mut [impl AsMut<StreamDriver>],
    monitors: &mut [impl AsMut<StreamMonitor>],
    latency: u64,
) -> sim::Result<()> {
    let drivers = &mut drivers.iter_mut().map(AsMut::as_mut).collect::<Vec<_>>()[..];
    let monitors = &mut monitors.iter_mut().map(AsMut::as_mut).collect::<Vec<_>>()[..];
    let (sent, taken) = (drivers[0].sent(), monitors[0].beats().len());
    let (mut entered, mut first, mut last) = (None, None, None);
    let begin = sim.cycle_count();
    while !(drivers.iter().all(|d| d.is_done()) && monitors.iter().all(|m| m.is_done())) {
        let (now, seen) = (sim.cycle_count(), monitors[0].beats().len());
        run.cycle(sim, drivers, monitors)?;
        if entered.is_none() && drivers[0].sent() > sent {
            entered = Some(now);
        }
        if monitors[0].beats().len() > seen {
            first.get_or_insert(now);
            last = Some(now);
        }
        if now - begin > 100_000 {
            let streams = vec!["full speed".into()];
            return Err(run.fail(now, Difference::Deadlock { cycles: now - begin, streams }));
        }
    }
    let (Some(entered), Some(first), Some(last)) = (entered, first, last) else { return Ok(()) };
    let beats = (monitors[0].beats().len() - taken) as u64;
    let got = (first - entered, last - first);
    if got != (latency, beats - 1) {
        let difference = Difference::Value {
            port: "cycles".into(),
            expected: format!("latency {latency}, {beats} beats in {beats} cycles"),
            got: format!("latency {}, {beats} beats in {} cycles", got.0, got.1 + 1),
            place: String::new(),
        };
        return Err(run.fail(sim.cycle_count(), difference));
    }
    Ok(())
}
