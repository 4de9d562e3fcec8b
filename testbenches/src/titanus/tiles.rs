//! Golden tiles as beats of the streams between the units, and the timing of a stream at full speed.

use golden::common::compactor::compact;
use golden::common::crc32::crc32;
use golden::titanus::cpq::Sequence;
use golden::titanus::dequantization_unit::Restored;
use golden::titanus::format::Tile;
use golden::titanus::kv_unpacker::Parsed;
use hdl::blocks::titanus::{ByteBlock, PrunedTile, QuantizedTile, RANGE_BITS, RebuiltTile, StoredTile, ZERO_BITS};
use sim::{Bits, Difference, Run, Sim, StreamDriver, StreamMonitor, Values};

/// Fields of a quantized tile on its way to memory.
pub const QUANTIZED: [&str; 9] = ["bits", "initial", "index", "label", "values", "open", "range", "zero", "last"];

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

/// A quantized tile on its way to memory.
pub fn quantized_tile(bits: u32, tile: &Tile, last: bool) -> QuantizedTile<Values> {
    let StoredTile { bits, initial, index, label, values, open, range, zero, .. } = stored_tile(bits, tile);
    QuantizedTile { bits, initial, index, label, values, open, range, zero, last: flag(last) }
}

/// A tile that comes back from memory, neither the first nor the last one.
pub fn stored_tile(bits: u32, tile: &Tile) -> StoredTile<Values> {
    let values: Vec<u64> = tile.values.iter().map(|&q| q.into()).collect();
    let record = |pick: fn((i32, i32)) -> i32| tile.records.iter().map(move |r| r.map_or(0, pick) as u64);
    StoredTile {
        first: flag(false),
        last: flag(false),
        error: flag(false),
        bits: Bits::truncated(4, bits.into()),
        initial: flag(tile.initial),
        index: mask(tile.index.iter().copied()),
        label: mask(tile.label.iter().copied()),
        values: Bits::pack(8, compact(&tile.label, &values)),
        open: mask(tile.records.iter().map(Option::is_some)),
        range: Bits::pack(RANGE_BITS, record(|r| r.0)),
        zero: Bits::pack(ZERO_BITS, record(|r| r.1)),
    }
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

/// The output of an unpacker for a stream: its tiles, and a beat without a tile when it is damaged.
pub fn stored_tiles(parsed: &Parsed, lanes: usize) -> Vec<StoredTile<Values>> {
    let mut beats: Vec<_> = parsed.tiles.iter().map(|t| stored_tile(parsed.bits, t)).collect();
    if parsed.damage.is_some() {
        beats.push(StoredTile { error: flag(true), ..stored_tile(0, &Tile::empty(lanes)) });
    }
    if let Some(first) = beats.first_mut() {
        first.first = flag(true);
    }
    if let Some(last) = beats.last_mut() {
        last.last = flag(true);
    }
    beats
}

/// Values as they leave a dequantizer with so many levels.
pub fn rebuilt(beats: &[Restored], levels: u32) -> Vec<RebuiltTile<Values>> {
    let level_bits = u64::from(levels).next_power_of_two().ilog2().max(1);
    let beat = |r: &Restored| RebuiltTile {
        first: flag(r.first),
        last: flag(r.last),
        error: flag(r.error),
        x: bytes(&r.x),
        index: mask(r.index.iter().copied()),
        level: Bits::pack(level_bits, r.level.iter().map(|&l| l as u64)),
    };
    beats.iter().map(beat).collect()
}

/// The blocks of a stream of bytes; with checksums, each block has the checksum of all bytes up to its end.
pub fn blocks(bytes: &[u8], (block_bytes, checksum): (u32, bool)) -> Vec<ByteBlock<Values>> {
    let size = block_bytes as usize;
    let count = bytes.len() / size;
    let block = |(i, b): (usize, &[u8])| ByteBlock {
        data: Bits::pack(8, b.iter().map(|&b| b.into())),
        last: flag(i + 1 == count),
        crc: checksum.then(|| Bits::truncated(32, crc32(&bytes[..(i + 1) * size]).into())),
    };
    bytes.chunks(size).enumerate().map(block).collect()
}

/// Runs streams for so many cycles, or until all of them are done, then resets: everything inside is lost.
///
/// # Errors
/// A mismatch before the reset.
pub fn broken_off(
    sim: &mut Sim,
    run: &mut Run,
    drivers: &mut [impl AsMut<StreamDriver>],
    monitors: &mut [impl AsMut<StreamMonitor>],
    cycles: u64,
) -> sim::Result<()> {
    for _ in 0..cycles {
        if monitors.iter_mut().all(|m| m.as_mut().is_done()) {
            break;
        }
        run.cycle(sim, drivers, monitors)?;
    }
    sim.reset(1)
}

/// Runs streams without pauses to their end. The first beat of `monitor` must come `latency` cycles after the first
/// beat of `driver`, and the others one a cycle after it.
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
