//! [`RotaryEmbedding`]: both streams pause on their own, the output stalls, clears come at any moment; beats without pauses to
//! the cycle.

use std::collections::VecDeque;

use golden::common::row::rotary_embedding::turn;
use hdl::blocks::common::RotaryEmbedding;
use hdl::blocks::common::row::RotaryPairs;
use jobs::draw::numbers;
use rand::RngExt;
use sim::kit::tensors::{Extent, FromTensors, Numbers, Wanted};
use sim::stimulus::StimulusRng;
use sim::{Bits, Run, Sim};

/// The bench of the block; a vector is a beat.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &RotaryEmbedding) -> anyhow::Result<Box<dyn sim::Bench>> {
    let p = p.clone();
    sim::kit::bench(&p.clone(), move |sim, run| play(&p, sim, run, &[]))
}

/// Beats of a user, each a row with its angles.
pub const TENSORS: FromTensors<RotaryEmbedding> = FromTensors {
    wanted: |p| {
        let of = |name, meaning, width| {
            let shape = vec![Extent::Named("beats"), Extent::Exactly(width as usize)];
            Wanted { name, meaning, numbers: Numbers::Float16, shape }
        };
        let half = p.lanes / 2;
        Ok(vec![
            of("values", "numbers of each beat", p.lanes),
            of("cosines", "a cosine for each pair of a beat", half),
            of("sines", "a sine for each pair of a beat", half),
        ])
    },
    bench: |p, tensors| {
        let rows = |name| tensors.rows(name).map(|row| row.iter().map(|&x| x as u16).collect::<Vec<u16>>());
        let angles = rows("cosines").zip(rows("sines"));
        let beat = |(values, (cosines, sines)): (Vec<u16>, _)| Beat {
            used: values.len() as u64,
            values,
            cosines,
            sines,
            last: true,
        };
        let given: Vec<Beat> = rows("values").zip(angles).map(beat).collect();
        let (block, count) = (p.clone(), given.len() as u64);
        Ok((sim::kit::bench(p, move |sim, run| play(&block, sim, run, &given))?, count))
    },
};

/// A beat, its cosines and sines, and whether it ends a row.
#[derive(Clone)]
struct Beat {
    values: Vec<u16>,
    cosines: Vec<u16>,
    sines: Vec<u16>,
    used: u64,
    last: bool,
}

impl Beat {
    fn draw(rng: &mut StimulusRng, pairs: RotaryPairs, lanes: usize) -> Self {
        let angle = |rng: &mut StimulusRng| match rng.random_range(0..16u8) {
            0..4 => rng.random(),
            4 => [0, 0x3c00, 0xbc00, 0x8000][rng.random_range(0..4usize)],
            5 => [1, 0x8002, 0x3ff, 0x400, 0x7bff][rng.random_range(0..5usize)],
            _ => rng.random_range(0x2000..=0x3c00u16) | rng.random_range(0..2u16) << 15,
        };
        let mut values = numbers(rng, lanes);
        let [cosines, mut sines] = [0, 1].map(|_| (0..lanes / 2).map(|_| angle(rng)).collect::<Vec<u16>>());
        if rng.random_range(0..8u8) == 0 {
            // Equal numbers turned by 45 degrees: one result is the error of a product's rounding.
            for i in 0..lanes / 2 {
                let sign = |rng: &mut StimulusRng| rng.random_range(0..2u16) << 15;
                sines[i] = cosines[i] ^ sign(rng);
                let (a, b) = pair(pairs, i, lanes / 2);
                values[b] = values[a] ^ sign(rng);
            }
        }
        Self { values, cosines, sines, used: rng.random_range(0..=lanes as u64), last: rng.random() }
    }

    fn turned(&self, pairs: RotaryPairs) -> Vec<u16> {
        let (mut turned, half) = (self.values.clone(), self.cosines.len());
        for i in 0..half {
            let (a, b) = pair(pairs, i, half);
            (turned[a], turned[b]) = turn((self.values[a], self.values[b]), self.cosines[i], self.sines[i]);
        }
        turned
    }
}

/// The two numbers of a pair, of so many.
fn pair(pairs: RotaryPairs, i: usize, half: usize) -> (usize, usize) {
    match pairs {
        RotaryPairs::Neighbours => (2 * i, 2 * i + 1),
        RotaryPairs::Halves => (i, i + half),
    }
}

fn words(values: &[u16]) -> Bits {
    Bits::pack(16, values.iter().map(|&x| x.into()))
}

/// Random beats, or those that are `given`, without clears.
fn play(p: &RotaryEmbedding, sim: &mut Sim, run: &mut Run, given: &[Beat]) -> sim::Result<()> {
    let mut rng = run.rng("beats");
    let lanes = p.lanes as usize;
    let input = |name: &str| sim.input(name);
    let (clear_i, output_ready) = (input("clear_i")?, input("output_ready_i")?);
    let valid = [input("input_valid_i")?, input("angle_valid_i")?];
    let (values_i, last_i) = (input("input_values_i")?, input("input_last_i")?);
    let (used_i, used_o) = (input("input_used_i")?, sim.output("output_used_o")?);
    let (cosines_i, sines_i) = (input("angle_cosines_i")?, input("angle_sines_i")?);
    let ready = [sim.output("input_ready_o")?, sim.output("angle_ready_o")?];
    let (output_valid, values_o) = (sim.output("output_valid_o")?, sim.output("output_values_o")?);
    let (last_o, computing) = (sim.output("output_last_o")?, sim.output("computing_o")?);
    run.only_while("output_valid_o", &["output_values_o", "output_used_o", "output_last_o"]);
    sim.poke_u64(clear_i, 0);
    run.reset(sim, 2)?;
    let mut left = run.vectors();
    let mut group = 0;
    while left > 0 {
        let count = left.min(rng.random_range(1..=30));
        let mut beats: VecDeque<Beat> = match given.len() as u64 {
            0 => (0..count).map(|_| Beat::draw(&mut rng, p.pairs, lanes)).collect(),
            all => given[(all - left) as usize..][..count as usize].iter().cloned().collect(),
        };
        left -= count;
        let mut expected: VecDeque<(Vec<u16>, u64, bool)> = VecDeque::new();
        let quick = group == 0;
        group += 1;
        let paces: [u8; 3] = [0; 3].map(|_| if quick { 8 } else { [1, 4, 7, 8][rng.random_range(0..4usize)] });
        // Sometimes so late that everything before is full.
        let late: [u64; 3] = [0; 3].map(|_| if quick || rng.random_range(0..4u8) > 0 { 0 } else { 40 });
        let clears = !quick && given.is_empty() && rng.random_range(0..3u8) == 0;
        let mut offers = [false; 2];
        let begin = sim.cycle_count();
        while !(beats.is_empty() && expected.is_empty()) {
            if sim.cycle_count() - begin > 30 * (count + u64::from(p.cycles(1))) {
                return run.expect_equal(sim, "output", "beats that are missing", 0, beats.len() + expected.len());
            }
            let clear = clears && rng.random_range(0..40u8) == 0;
            let passed = sim.cycle_count() - begin;
            let go = [0, 1, 2].map(|k| passed >= late[k] && rng.random_range(0..8) < paces[k]);
            sim.poke_u64(clear_i, clear.into());
            sim.poke_u64(output_ready, go[2].into());
            for k in 0..2 {
                offers[k] = (offers[k] || go[k]) && !beats.is_empty();
                sim.poke_u64(valid[k], offers[k].into());
            }
            let noise = Beat::draw(&mut rng, p.pairs, lanes);
            let shown = |k: usize| beats.front().filter(|_| offers[k]).unwrap_or(&noise);
            sim.poke(values_i, &words(&shown(0).values));
            sim.poke_u64(used_i, shown(0).used);
            sim.poke_u64(last_i, shown(0).last.into());
            sim.poke(cosines_i, &words(&shown(1).cosines));
            sim.poke(sines_i, &words(&shown(1).sines));
            sim.settle()?;
            if sim.peek_u64(output_valid) == 1 {
                let Some((turned, used, last)) = expected.front() else { return run.expect_u64(sim, output_valid, 0) };
                run.expect_u64(sim, used_o, *used)?;
                run.expect_u64(sim, last_o, (*last).into())?;
                for (lane, (&expected, got)) in turned.iter().zip(sim.peek(values_o).unpack(16)).enumerate() {
                    run.expect_equal(sim, "output_values_o", &format!(" of lane {lane}"), expected, got as u16)?;
                }
                if go[2] {
                    expected.pop_front();
                }
            }
            let taken = [0, 1].map(|k| offers[k] && sim.peek_u64(ready[k]) == 1);
            run.expect_equal(sim, "angle_ready_o", "taken as the input is", taken[0], taken[1])?;
            run.expect_u64(sim, computing, taken[0].into())?;
            if clear {
                run.expect_u64(sim, ready[0], 0)?;
            }
            if taken[0]
                && let Some(beat) = beats.pop_front()
            {
                expected.push_back((beat.turned(p.pairs), beat.used, beat.last));
                offers = [false; 2];
            }
            if clear {
                expected.clear();
            }
            sim.tick()?;
        }
        if quick {
            let took = sim.cycle_count() - begin;
            run.expect_equal(sim, "output", "cycles", u64::from(p.cycles(count as u32)), took)?;
        }
    }
    Ok(())
}
