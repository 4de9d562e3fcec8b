//! [`TokenPacker`]: tokens of any length, with few outliers or as many as fit, with stalls on all streams and clears at
//! random moments.

use golden::accelerators::token_packer::{Size, Token};
use hdl::accelerators::kllm::{IndexBeats, TokenHead, TokenPacker};
use hdl::blocks::common::stream::Word;
use rand::RngExt;
use sim::stimulus::{Stall, StimulusRng};
use sim::{Bits, Run, Sim, Values};

fn any(rng: &mut StimulusRng, size: Size) -> Token {
    let count = if rng.random() { size.room } else { rng.random_range(0..=size.room) };
    Token {
        scale: rng.random(),
        indices: (0..size.columns).map(|_| rng.random_range(0..16u8)).collect(),
        outliers: (0..count).map(|_| (rng.random(), rng.random())).collect(),
    }
}

/// The bench; a vector is a token.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &TokenPacker) -> anyhow::Result<Box<dyn sim::Bench>> {
    let p = p.clone();
    sim::kit::bench(&p.clone(), move |sim, run| {
        let mut rng = run.rng("tokens");
        let clear = sim.input("clear_i")?;
        sim.poke_u64(clear, 0);
        run.reset(sim, 2)?;
        let mut tokens = 0;
        while tokens < run.vectors() {
            let count = rng.random_range(1..6u64);
            tokens += count;
            job(&p, sim, run, &mut rng, count)?;
        }
        Ok(())
    })
}

/// Some tokens of one size, from a clear on, up to their end or not.
fn job(p: &TokenPacker, sim: &mut Sim, run: &mut Run, rng: &mut StimulusRng, count: u64) -> sim::Result<()> {
    let columns = if rng.random_range(0..4u8) == 0 { p.spec.inner } else { rng.random_range(1..=p.spec.inner) };
    let most = (2 * p.spec.kmax).min(columns);
    let room = [0, most, rng.random_range(0..=most)][rng.random_range(0..3usize)];
    let size = Size { columns, room, three: rng.random() };
    let tokens: Vec<Token> = (0..count).map(|_| any(rng, size)).collect();
    let (lanes, width) = (p.spec.lanes() as usize, p.spec.axi.data_width);
    let beats = |bytes: u32| u64::from(bytes.next_multiple_of(64) * 8 / width);
    for (name, value) in [
        ("index_beats_i", beats(columns.div_ceil(2))),
        ("outlier_beats_i", beats(4 * room)),
        ("three_bits_i", size.three.into()),
    ] {
        let input = sim.input(name)?;
        sim.poke_u64(input, value);
    }
    let clear = sim.input("clear_i")?;
    sim.poke_u64(clear, 1);
    sim.tick()?;
    sim.poke_u64(clear, 0);
    let stall = |rng: &mut StimulusRng| match rng.random_range(0..3u8) {
        0 => Stall::Never,
        k => Stall::Random { num: k.into(), den: 4 },
    };
    let mut heads = run.driver_of::<TokenHead<Values>>(sim, "heads", stall(rng))?;
    let mut indices = run.driver_of::<IndexBeats<Values>>(sim, "indices", stall(rng))?;
    let mut records = run.driver_of::<Word<Values>>(sim, "records", stall(rng))?;
    let mut write = run.monitor_of::<Word<Values>>(sim, "write", stall(rng))?;
    for token in &tokens {
        let outliers = token.outliers.len() as u64;
        heads.push(TokenHead {
            scale: Bits::truncated(16, token.scale.into()),
            outliers: Bits::truncated(16, outliers),
        })?;
        let number = token.indices.chunks(lanes).count();
        for (k, beat) in token.indices.chunks(lanes).enumerate() {
            let nibbles = (0..lanes).map(|i| beat.get(i).copied().unwrap_or(0).into());
            let last = Bits::truncated(1, (k + 1 == number).into());
            indices.push(IndexBeats { indices: Bits::pack(4, nibbles), last })?;
        }
        for &(position, value) in &token.outliers {
            records.push(Word { data: Bits::truncated(32, u64::from(position) | u64::from(value) << 16) })?;
        }
        for beat in token.bytes(size).chunks(width as usize / 8) {
            write.expect([Word { data: Bits::pack(8, beat.iter().map(|&byte| byte.into())) }])?;
        }
    }
    if rng.random_range(0..3u8) == 0 {
        for _ in 0..rng.random_range(0..200u32) {
            run.cycle(sim, &mut [&mut *heads, &mut *indices, &mut *records], &mut [&mut *write])?;
        }
        for name in ["heads", "indices", "records"] {
            let valid = sim.input(&format!("{name}_valid_i"))?;
            sim.poke_u64(valid, 0);
        }
        return Ok(());
    }
    run.streams(sim, &mut [&mut *heads, &mut *indices, &mut *records], &mut [&mut *write])
}
