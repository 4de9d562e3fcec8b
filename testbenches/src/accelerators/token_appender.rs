//! [`TokenAppender`]: tokens of any length that become channels and positions, and invalid heads of tokens. There are
//! stalls on all streams and clears at random moments.

use golden::accelerators::token_appender::{Appended, LINE};
use golden::common::float::{FloatFormat, single};
use hdl::accelerators::kllm::TokenAppender;
use hdl::blocks::common::bus::RowBeat;
use hdl::blocks::common::stream::Word;
use rand::RngExt;
use sim::stimulus::{Stall, StimulusRng};
use sim::{Bits, Run, Sim, Values};

use crate::common::float::Operands;

/// The bench; a vector is a token.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &TokenAppender) -> anyhow::Result<Box<dyn sim::Bench>> {
    let p = p.clone();
    sim::kit::bench(&p.clone(), move |sim, run| {
        let mut rng = run.rng("tokens");
        let clear = sim.input("clear_i")?;
        sim.poke_u64(clear, 0);
        run.reset(sim, 2)?;
        for _ in 0..run.vectors() {
            token(&p, sim, run, &mut rng)?;
        }
        Ok(())
    })
}

fn draw(p: &TokenAppender, rng: &mut StimulusRng) -> Appended {
    let (product, position) = (&p.spec.product, rng.random::<bool>());
    let (inner, panel, inputs) = (product.inner() as usize, product.panel() as usize, product.inputs as usize);
    let elements = if rng.random_range(0..4u8) == 0 { inner } else { rng.random_range(1..=inner) };
    let number = rng.random_range(0..if position { inner } else { panel });
    let lines = if position { elements.div_ceil(panel) * panel * inputs / 128 } else { elements.div_ceil(inputs) };
    let mut bytes = |count: usize| -> Vec<u8> { (0..count).map(|_| rng.random()).collect() };
    let mut token = bytes(LINE + elements.div_ceil(2).next_multiple_of(LINE));
    let lines = bytes(LINE * (lines + 1));
    token[2..4].fill(0);
    token[4] = rng.random_range(3..=4);
    match rng.random_range(0..12u8) {
        0 => token[rng.random_range(2..4usize)] = 1 << rng.random_range(0..8u8),
        1 => token[4] = [0, 2, 5, 0x14, 0x83][rng.random_range(0..5usize)],
        _ => {}
    }
    // A scale whose product rounds half way, is subnormal, or leaves the range.
    let scale = Operands::new(FloatFormat::Fp16).any(rng) as u16;
    token[..2].copy_from_slice(&scale.to_le_bytes());
    let mut factor = || Operands::new(FloatFormat::Fp32).factor(single::from_fp16(scale).into(), rng) as u32;
    let factors = [factor(), factor()];
    Appended { number, position, factors, token, lines }
}

fn beats(bytes: &[u8], width: usize, last: usize) -> Vec<RowBeat<Values>> {
    let beat = width / 8;
    let count = bytes.len() / beat;
    let of = |(k, data): (usize, &[u8])| RowBeat {
        data: Bits::pack(8, data.iter().map(|&byte| byte.into())),
        bytes: Bits::truncated(width.ilog2() - 2, beat as u64),
        row_last: Bits::truncated(1, ((k + 1) * beat).is_multiple_of(LINE).into()),
        last: Bits::truncated(1, (k + 1 == count || (k + 1) * beat == last).into()),
    };
    bytes.chunks(beat).enumerate().map(of).collect()
}

fn token(p: &TokenAppender, sim: &mut Sim, run: &mut Run, rng: &mut StimulusRng) -> sim::Result<()> {
    let job = draw(p, rng);
    let (inputs, width) = (p.spec.product.inputs as usize, p.spec.axi.data_width as usize);
    for (name, value) in [
        ("size_number_i", job.number as u64),
        ("size_position_i", job.position.into()),
        ("size_dense_i", job.factors[0].into()),
        ("size_outliers_i", job.factors[1].into()),
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
    let mut token = run.driver_of::<RowBeat<Values>>(sim, "token", stall(rng))?;
    let mut lines = run.driver_of::<RowBeat<Values>>(sim, "lines", stall(rng))?;
    let mut write = run.monitor_of::<Word<Values>>(sim, "write", stall(rng))?;
    for beat in beats(&job.token, width, 0) {
        token.push(beat)?;
    }
    for beat in beats(&job.lines, width, job.lines.len() - LINE) {
        lines.push(beat)?;
    }
    let right = job.is_right();
    // Of a wrong head nothing at all.
    write.expect([])?;
    if right {
        for beat in job.expected(inputs).chunks(width / 8) {
            write.expect([Word { data: Bits::pack(8, beat.iter().map(|&byte| byte.into())) }])?;
        }
    }
    // A clear in the middle of it. Nothing follows an invalid head, whatever comes.
    if !right || rng.random_range(0..4u8) == 0 {
        let cycles = if right { rng.random_range(0..200u32) } else { 200 };
        for _ in 0..cycles {
            run.cycle(sim, &mut [&mut *token, &mut *lines], &mut [&mut *write])?;
        }
        if !right {
            let error = sim.output("error_o")?;
            run.expect_u64(sim, error, 1)?;
        }
        for name in ["token", "lines"] {
            let valid = sim.input(&format!("{name}_valid_i"))?;
            sim.poke_u64(valid, 0);
        }
        return Ok(());
    }
    run.streams(sim, &mut [&mut *token, &mut *lines], &mut [&mut *write])
}
