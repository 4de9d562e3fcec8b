//! Outliers among beats: none, one, or several, for which the beat is sent again.

use super::task::Inputs;
use hdl::blocks::kllm::PeLane;
use rand::RngExt;
use sim::stimulus::StimulusRng;

/// Puts at most `left` outliers into beats, and lowers `left` by their number. With `wild`, any number of outliers,
/// also at positions that do not exist.
pub(super) fn put_in(p: &PeLane, beats: Vec<Inputs>, left: &mut u64, wild: bool, rng: &mut StimulusRng) -> Vec<Inputs> {
    if p.outliers == 0 {
        return beats;
    }
    let dense = rng.random_range(0..3u8);
    let mut all = Vec::new();
    for beat in beats {
        let wanted = match dense {
            0 => u64::from(rng.random_range(0..8u8) == 0),
            1 => rng.random_range(0..=1),
            _ => [0, 1, 1, 2, 3][rng.random_range(0..5usize)],
        };
        let count = if wild { wanted } else { wanted.min(*left) };
        *left = left.saturating_sub(count);
        for number in 0..count.max(1) {
            let mut one = beat.clone();
            // Indices count once; here in the first of the beats.
            if number > 0 {
                one.present.fill(false);
            }
            if number < count {
                let positions =
                    if wild && rng.random_range(0..8u8) == 0 { p.inputs.next_power_of_two().max(2) } else { p.inputs };
                let position = rng.random_range(0..positions) as usize;
                one.outlier = Some((position, value(rng)));
                if let Some(present) = one.present.get_mut(position) {
                    *present = false;
                }
            }
            one.again = number + 1 < count;
            all.push(one);
        }
    }
    all
}

/// Values of all exponents, ends of the ranges, and a few infinities and NaNs.
fn value(rng: &mut StimulusRng) -> u16 {
    let sign = u16::from(rng.random::<bool>()) << 15;
    match rng.random_range(0..160u16) {
        0 => sign | 0x7c00 | rng.random_range(0..0x400u16),
        1..=20 => sign | [0, 1, 0x3ff, 0x400, 0x7bff, 0x3c00][rng.random_range(0..6usize)],
        _ => sign | rng.random_range(0..0x7c00u16),
    }
}
