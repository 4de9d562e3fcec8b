//! A function of one number between the tokens of the real model and a product: the codebook of the product is another one.

use golden::accelerators::kllm::KllmTop;
use golden::kllm::activation::Function;
use golden::kllm::fp16;
use golden::tender::granularity::{product, relative_error};
use half::f16;
use host::Window;
use host::kllm::{Bits, Caps, Token, Tokens};
use lower::chain::{ChainBuilder, Floats, Measured};
use lower::kllm::SHARE;
use lower::kllm::builder::{Builder, columns_of, fp16 as bits_of_rows};

use super::super::float_head::Exact;

/// Tokens of layer 14 before the query projection, without outliers. They are multiplied by its weights, plain and
/// after ReLU, with a codebook each. The errors compare with float arithmetic. They are: the plain product; the product
/// after ReLU; the same product beside float arithmetic on the quantized tokens; and the same product beside one
/// without ReLU.
///
/// # Errors
/// A missing or damaged file; an error of the host crate.
pub fn real_relu(
    caps: &Caps,
    window: &Window,
    golden: KllmTop,
    (bits, tokens): (Bits, usize),
) -> anyhow::Result<Measured> {
    let (exact, all) = (Exact::of(tokens)?, Exact::of(64)?);
    let mut b = Builder { caps, bits, share: SHARE, b: ChainBuilder::new(caps.vector, window, golden)? };
    let rows = b.b.given(&exact.normed)?;
    let x = b.quantize("tokens", &rows, 0, &all.normed)?;
    let w = b.weights(&columns_of(&bits_of_rows(&exact.w_q)))?;
    let plain = b.multiply("product", &x, &w, 1.0)?;
    let relu = |x: f16| f16::from_bits(Function::Relu.apply(x.to_bits().into()) as u16);
    let activated = b.multiply_activated("product behind ReLU", &x, &w, relu)?;
    let of_numbers = |x: &f64| fp16::value(Function::Relu.apply(fp16::from_f64(*x)));
    let positive: Vec<Vec<f64>> = exact.normed.iter().map(|row| row.iter().map(of_numbers).collect()).collect();
    let job = b.b.job()?;
    let stand_for = |token: &Token| -> Vec<f64> {
        let value = |&index: &u8| token.scale.to_f64() * fp16::value(x.codebook.value(index.into()));
        token.indices.iter().map(value).map(|x| x.max(0.0)).collect()
    };
    let made = Tokens::new(tokens, rows.columns, 0)?.unpack(job.results("tokens")?)?;
    let of_tokens: Vec<Vec<f64>> = made.iter().map(stand_for).collect();
    let error = |x: &[Vec<f64>], rows: &Floats| relative_error(&product(x, &exact.w_q), &b.b.values(rows));
    let errors = vec![
        ("product", error(&exact.normed, &plain)),
        ("product behind ReLU", error(&positive, &activated)),
        ("product of tokens behind ReLU", error(&of_tokens, &activated)),
        ("product without ReLU", error(&exact.normed, &activated)),
    ];
    Ok(Measured { job, errors })
}
