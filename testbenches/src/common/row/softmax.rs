//! [`Softmax`]: like and unlike scores, ties, masks, minus infinity, and NaNs.

use golden::common::row::Unrounded;
use golden::common::row::softmax::Softmax as Golden;
use hdl::blocks::common::Softmax;
use rand::RngExt;
use sim::kit::tensors::FromTensors;
use sim::stimulus::StimulusRng;

use super::{Elements, Normalised, RowUnit, rows, sharp, wanted};

/// The bench of a softmax; a vector is a row.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &Softmax) -> anyhow::Result<Box<dyn sim::Bench>> {
    bench_of(p, Vec::new())
}

/// Rows of scores of a user; all of a row count.
pub const TENSORS: FromTensors<Softmax> = FromTensors {
    wanted: |p| Ok(wanted(p.lanes, p.max_beats, &[])),
    bench: |p, tensors| {
        let most = p.lanes as usize * p.max_beats as usize;
        let given = rows(tensors, most, &[], &[most as u64])?;
        let count = given.len() as u64;
        Ok((bench_of(p, given)?, count))
    },
};

/// The bench of the rows `given`; without any, of made ones.
fn bench_of(p: &Softmax, given: Vec<Elements>) -> anyhow::Result<Box<dyn sim::Bench>> {
    let (lanes, places, golden, drawing) = (p.lanes as usize, p.places(), Golden::new(), Golden::new());
    let most = u64::from(p.lanes) * u64::from(p.max_beats);
    let unit = RowUnit {
        lanes,
        max_beats: p.max_beats as usize,
        buffer: p.buffer as usize,
        latency: p.frame().latency().into(),
        ports: vec!["input_values_i"],
        beside: vec![("length_i", hdl::lang::bits_for(most))],
        flags: vec!["output_undefined_o", "output_empty_o"],
        given,
        stimulus: Box::new(move |rng, elements| {
            let length = match rng.random_range(0..4u8) {
                0 => rng.random_range(0..=elements as u64),
                1 => elements as u64,
                _ => most,
            };
            let scores = if sharp::is_wanted(rng) {
                sharp_scores(rng, elements, |x| drawing.unrounded(x, length as usize, lanes, places))
            } else {
                scores(rng, elements)
            };
            Elements { ports: vec![scores], beside: vec![length] }
        }),
        golden: Box::new(move |row| {
            let row = golden.softmax(&row.ports[0], row.beside[0] as usize, lanes, places);
            Normalised { values: row.values, flags: vec![row.undefined, row.empty] }
        }),
    };
    unit.bench(p)
}

/// Last scores that are compared for a sharp row: for a tie, or a result a single bit from one; and for the nearest.
const CANDIDATES: usize = 1024;
const FEW: usize = 256;

/// Scores with a share that is near to a tie: the last score is chosen so.
pub(super) fn sharp_scores(
    rng: &mut StimulusRng,
    count: usize,
    unrounded: impl Fn(&[u16]) -> Option<Vec<Unrounded>>,
) -> Vec<u16> {
    let mut row = scores(rng, count);
    let last = row[count - 1];
    let candidates: Vec<u16> = (0..CANDIDATES).map(|_| last ^ rng.random_range(0..0x400)).collect();
    let with = |row: &[u16], last: u16| [&row[..count - 1], &[last]].concat();
    let is_exact = |last: &u16| {
        let shares = unrounded(&with(&row, *last));
        shares.is_some_and(|row| row.iter().any(|share| sharp::is_exact(share.magnitude)))
    };
    if let Some(&exact) = candidates.iter().find(|last| is_exact(last)) {
        row[count - 1] = exact;
        return row;
    }
    let candidates = candidates.into_iter().take(FEW);
    let chosen = sharp::nearest(rng, candidates, |&last| unrounded(&with(&row, last)));
    row[count - 1] = chosen.unwrap_or(last);
    row
}

/// Scores of one size, rising or falling ones, with infinities and NaNs here and there.
fn scores(rng: &mut StimulusRng, count: usize) -> Vec<u16> {
    // Below 1, 8, 32, and anything.
    let most = [0x3c00, 0x4800, 0x5000, 0x7c00][rng.random_range(0..4usize)];
    let kind = rng.random_range(0..12u8);
    let mut all: Vec<u16> = (0..count).map(|_| rng.random_range(0..most) | rng.random_range(0..2u16) << 15).collect();
    let key = |x: &u16| if x >> 15 == 1 { -i32::from(x & 0x7fff) } else { i32::from(*x) };
    let at = rng.random_range(0..count);
    match kind {
        0 => all.sort_by_key(key),
        1 => all.sort_by_key(|x| -key(x)),
        2 => all = vec![all[0]; count],
        3 => all.iter_mut().filter(|x| **x & 3 > 0).for_each(|x| *x = 0xfc00),
        4 => all = vec![0xfc00; count],
        5 => all[at] = [0x7c00, 0x7e00, 0xfe00, 0x7c01][rng.random_range(0..4usize)],
        6 => all[at] = 0x7bff,
        // Neighbours of any size: their weights differ little, and all places of their logarithms count.
        7 | 8 => {
            let base = rng.random_range(0..0x7bf0u16) | rng.random_range(0..2u16) << 15;
            all.iter_mut().for_each(|x| *x = base + rng.random_range(0..8));
        }
        _ => {}
    }
    all
}
