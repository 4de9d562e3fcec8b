//! Rows of a user, all with the same steps.

use golden::common::row::vector_unit::{Norm, Scalars, Steps};
use hdl::blocks::common::VectorUnit;
use sim::kit::tensors::{Extent, FromTensors, Numbers, Tensors, Wanted};

use super::super::rms_norm::EPSILON;
use super::operands::{Given, Operands};
use super::player::Player;

/// Rows of a user through the steps of a word, with an epsilon of 10^-5; a vector is a row.
pub const TENSORS: FromTensors<VectorUnit> = FromTensors {
    wanted: |p| {
        let (rows, elements) = (Extent::Named("rows"), Extent::Named("elements"));
        let of = |name, meaning, shape| Wanted { name, meaning, numbers: Numbers::Float16, shape };
        let mut all = vec![
            of("values", "rows", vec![rows, elements]),
            of("addends", "addends of the elements", vec![rows, elements]),
            of("factors", "their factors; cosine and sine of each pair where the steps rotate", vec![rows, elements]),
            of("gains", "gains of a norm", vec![elements]),
            of("scalars", "scale, and factor before the conversion to integers", vec![Extent::Exactly(2)]),
        ];
        if p.units.layer_norm {
            all.push(of("biases", "biases of a layer norm", vec![elements]));
        }
        let meaning = "field `steps` of a descriptor";
        all.push(Wanted {
            name: "steps",
            meaning,
            numbers: Numbers::Integers(0..=0x7ff),
            shape: vec![Extent::Exactly(1)],
        });
        Ok(all)
    },
    bench: |p, tensors| {
        let fp16 = |all: &[u64]| all.iter().map(|&x| x as u16).collect::<Vec<u16>>();
        let rows = |name| tensors.rows(name).map(fp16);
        let (gains, scalars) = (fp16(tensors.all("gains")), fp16(tensors.all("scalars")));
        let biases = if p.units.layer_norm { fp16(tensors.all("biases")) } else { vec![0; gains.len()] };
        let row = |((values, addends), factors): ((Vec<u16>, _), _)| {
            let length = values.len();
            Operands { streams: [values, addends, factors, gains.clone()], biases: biases.clone(), length }
        };
        let steps = steps(p, tensors, gains.len())?;
        let given = Given {
            steps: (steps, Scalars { scale: scalars[0], quantizer: scalars[1], epsilon: EPSILON }),
            rows: rows("values").zip(rows("addends")).zip(rows("factors")).map(row).collect(),
        };
        let (block, count) = (p.clone(), given.rows.len() as u64);
        let bench = sim::kit::bench(p, move |sim, run| Player::new(&block, sim, run)?.play(sim, run, Some(&given)))?;
        Ok((bench, count))
    },
};

/// The steps for rows of so many elements.
fn steps(p: &VectorUnit, tensors: &Tensors, elements: usize) -> anyhow::Result<Steps> {
    let word = tensors.integers("steps")[0][0] as u32;
    let Some(steps) = Steps::of(word) else {
        anyhow::bail!("steps.npy has {word}; wanted: formats 0 to 2 in bits 8 and 9, norms 0 to 2 in bits 6 and 7");
    };
    let (softmax, layer) = (steps.kind == Norm::Softmax, steps.kind == Norm::LayerNorm);
    let missing = [
        (steps.norm && softmax && !p.units.softmax, "units.softmax"),
        (steps.norm && layer && !p.units.layer_norm, "units.layer_norm"),
        (steps.rotate && !p.units.rotary, "units.rotary"),
    ];
    if let Some((_, unit)) = missing.into_iter().find(|(is_missing, _)| *is_missing) {
        anyhow::bail!("steps.npy has {word}, and the block lacks a unit for it; wanted: {unit} = true");
    }
    let most = (p.lanes * p.max_beats) as usize;
    let refused = [
        (steps.gain && !steps.norm, "no gains (bit 5) without a norm (bit 4)"),
        (steps.rotate && steps.multiply, "either factors (bit 3) or rotation (bit 10)"),
        (steps.rotate && steps.norm && softmax, "no rotation (bit 10) with a softmax"),
        (steps.rotate && !elements.is_multiple_of(2), "rows of pairs for a rotation (bit 10)"),
    ];
    if let Some((_, wanted)) = refused.into_iter().find(|(is_wrong, _)| *is_wrong) {
        anyhow::bail!("steps.npy has {word}; wanted: {wanted}");
    }
    anyhow::ensure!(
        !steps.norm || elements <= most,
        "values.npy has rows of {elements}; wanted: 1 to {most} elements for a norm"
    );
    Ok(steps)
}
