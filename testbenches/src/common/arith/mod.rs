//! Benches of small integer arithmetic.

pub mod leading_zeros;
pub mod popcount;
pub mod priority_encoder;

use rand::RngExt;
use sim::Bits;
use sim::stimulus::StimulusRng;

/// Words of all kinds: nothing, everything, single bits, few and many ones.
fn words(width: u32, count: u64, rng: &mut StimulusRng) -> Vec<Bits> {
    let mut words = vec![Bits::zero(width), Bits::ones(width)];
    for k in 0..width {
        let mut one = Bits::zero(width);
        one.set_bit(k, true);
        words.push(one);
    }
    for _ in 0..count {
        let mut word = Bits::random(width, rng);
        for _ in 0..rng.random_range(0..4u8) {
            let cut = rng.random_range(0..=width);
            let high = rng.random::<bool>();
            for k in if high { cut..width } else { 0..cut } {
                word.set_bit(k, false);
            }
        }
        words.push(word);
    }
    words
}

/// The bits of a word, lowest first.
fn bits(word: &Bits) -> Vec<bool> {
    (0..word.width()).map(|k| word.bit(k)).collect()
}
