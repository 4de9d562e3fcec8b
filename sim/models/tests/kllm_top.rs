//! Projections of the real model on the golden model of `kllm_top`: fp16 rows become tokens, and these results, in one job that
//! the host crate builds. The distance to float is that of the quantization, to which the hardware's arithmetic adds little.

use golden::accelerators::kllm::{KllmTop, Report, Shape};
use golden::accelerators::memory::SparseMemory;
use golden::accelerators::vector::{Shape as VectorShape, Units as VectorUnits};
use golden::common::float::Function;
use golden::common::shell::job_controller::Limits;
use golden::kllm::outliers::per_side;
use half::f16;
use host::kllm::{Bits, Caps, Codebook, MatMulJob, Panels, Product, Quantize, QuantizeJob, Token, Tokens};
use host::vector::{self, Operand, Units};
use host::{Allocator, Chain, Format, Rows, Window};
use models::kllm::quantization::{
    ActivationBook, Detection, Projection, Sensitivity, dot, quantized_weights, reals, values,
};

const WINDOW: Window = Window { base: 0x1000, limit: 0xff_ffff, address_width: 32 };
/// 1 %: the paper's.
const SHARE: u32 = 100;

/// A top that has room for 1536 positions.
fn shape(lanes: u32, columns: u32, inputs: u32) -> Shape {
    Shape {
        lanes,
        columns,
        groups: 1,
        inputs,
        centroid_bits: 12,
        buffer: 4,
        depth: 1536 / inputs,
        orizuru: 4096,
        kmax: 16,
        vector: VectorShape {
            lanes: 4,
            max_beats: 8,
            function: Function::Silu,
            address_width: WINDOW.address_width,
            steps: VectorUnits::default().steps(),
        },
    }
}

fn caps(shape: &Shape) -> Caps {
    Caps {
        lanes: shape.lanes,
        columns: shape.columns,
        groups: shape.groups,
        inputs: shape.inputs,
        centroid_bits: shape.centroid_bits,
        buffer: shape.buffer,
        inner: shape.depth * shape.inputs,
        segment: shape.orizuru,
        outliers: shape.kmax,
        vector: vector::Caps { opcode: 3, lanes: 4, max_beats: 8, function: 2, units: Units::default() },
    }
}

/// A quantized projection.
struct Quantized {
    /// Tokens that were not calibrated with.
    tokens: Vec<Vec<u64>>,
    book: ActivationBook,
    weights: golden::kllm::quantize::QuantizedWeights,
    columns: Vec<Vec<f64>>,
}

impl Quantized {
    fn new(name: &str, bits: u32) -> Self {
        let all = Projection::all().unwrap();
        let projection = all.into_iter().find(|projection| projection.name == name).unwrap();
        let (calibration, evaluation) = projection.folds()[0].clone();
        let calibration = projection.tokens[calibration].to_vec();
        let (sensitivity, detection) = (Sensitivity::Both, Detection::Online);
        let book = ActivationBook::train(&projection, &calibration, sensitivity, detection, bits, SHARE).unwrap();
        let weights = quantized_weights(&projection, &calibration, sensitivity).unwrap();
        Self { tokens: projection.tokens[evaluation].to_vec(), book, weights, columns: values(&projection.columns) }
    }
}

/// What came of a job.
struct Done {
    tokens: Vec<Token>,
    results: Vec<f16>,
    report: Report,
}

fn halves(bits: &[u64]) -> Vec<f16> {
    bits.iter().map(|&bits| f16::from_bits(bits as u16)).collect()
}

/// Quantizes all tokens and multiplies them, as one job.
fn run(shape: Shape, quantized: &Quantized) -> Done {
    let caps = caps(&shape);
    let (rows, inner, channels) = (quantized.tokens.len(), quantized.tokens[0].len(), quantized.weights.columns.len());
    let k = per_side(inner, SHARE).unwrap();
    let book = halves(quantized.book.codebook.values());
    let codebook = Codebook::new(&book, &halves(quantized.weights.codebook.values()), caps.centroid_bits).unwrap();
    let x = Rows::dense(Format::Fp16, rows, inner).unwrap();
    let tokens = Tokens::new(rows, inner, 2 * k).unwrap();
    let panels = Panels::new(&caps, channels, inner).unwrap();
    let out = Rows::dense(Format::Fp16, rows, channels).unwrap();
    let indices: Vec<u8> = quantized.weights.columns.iter().flatten().map(|&index| index as u8).collect();
    let mut room = Allocator::new(&WINDOW);
    let mut memory = SparseMemory::new();
    let mut store = |bytes: Vec<u8>| {
        let at = room.take(bytes.len() as u64).unwrap();
        memory.store(at, &bytes);
        at
    };
    let at = |address: u64, stride: u64| Operand { address, stride: stride as u32 };
    let x_at = at(store(x.pack_floats(&halves(&quantized.tokens.concat())).unwrap()), x.stride());
    let panels_at = at(store(panels.pack(&indices).unwrap()), panels.stride());
    let constants = store(codebook.constants(&halves(&quantized.weights.scales)).unwrap());
    let codebook_at = store(codebook.bytes());
    let tokens_at = at(store(vec![0xee; tokens.bytes()]), tokens.stride());
    let out_at = at(store(vec![0xee; out.bytes()]), out.stride());
    let quantize = Quantize {
        rows: rows as u32,
        columns: inner as u32,
        bits: codebook.bits(),
        largest: k as u16,
        smallest: k as u16,
        x: x_at,
        codebook: codebook_at,
        out: tokens_at,
    };
    let quantize = QuantizeJob::new(quantize).exact();
    let product = Product {
        tokens: rows as u32,
        channels: channels as u32,
        inner: inner as u32,
        outliers: 2 * k as u32,
        token_rows: tokens_at,
        panels: panels_at,
        constants,
        codebook: codebook_at,
    };
    let multiply = MatMulJob::new(product, out_at).exact().build(&caps, &WINDOW).unwrap();
    let chain = Chain::new().then(quantize.build(&caps, &WINDOW).unwrap()).then(multiply);
    let job = room.take(chain.bytes()).unwrap();
    let image = chain.place(job, &WINDOW, 2).unwrap();
    memory.store(image.address, &image.bytes);
    let limits = Limits { base: WINDOW.base, limit: WINDOW.limit, max_descriptors: 2 };
    let report = KllmTop::new(shape).unwrap().run(limits, job, &mut memory);
    assert_eq!((report.end.code, report.end.descriptors, report.overflows()), (0, 2, 0));
    Done {
        tokens: tokens.unpack(&memory.bytes(tokens_at.address, tokens.bytes())).unwrap(),
        results: out.unpack_floats(&memory.bytes(out_at.address, out.bytes())).unwrap(),
        report,
    }
}

/// The distance of `found` from `expected` by the length of the latter.
fn distance(found: &[f64], expected: &[f64]) -> f64 {
    let square = |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>();
    let error = square(&mut found.iter().zip(expected).map(|(a, b)| a - b));
    (error / square(&mut expected.iter().copied())).sqrt()
}

/// Runs a projection on tops of two shapes; returns the distance to float.
fn projection(name: &str, bits: u32) -> f64 {
    let quantized = Quantized::new(name, bits);
    let paper = run(shape(16, 32, 16), &quantized);
    let odd = run(shape(3, 5, 6), &quantized);
    assert_eq!(paper.results, odd.results, "lanes and beats are no part of a result");
    assert_eq!(paper.tokens, odd.tokens);
    // Tokens are those of the algorithm.
    let expected: Vec<_> = quantized.tokens.iter().map(|token| quantized.book.quantize(token).unwrap()).collect();
    for (token, expected) in paper.tokens.iter().zip(&expected) {
        let mut outliers: Vec<(u16, f16)> =
            expected.outliers.iter().map(|o| (o.index as u16, f16::from_bits(o.value as u16))).collect();
        outliers.sort_by_key(|(position, _)| *position);
        assert_eq!(token.outliers, outliers);
        assert_eq!(u64::from(token.scale.to_bits()), expected.scale);
        assert_eq!(token.bits, if bits == 3 { Bits::Three } else { Bits::Four });
        assert!(token.indices.iter().map(|&index| u16::from(index)).eq(expected.indices.iter().copied()));
    }
    // So the rest is arithmetic: centroids of 12 bits, three roundings to fp32, one to fp16.
    let weights: Vec<Vec<f64>> =
        (0..quantized.columns.len()).map(|n| reals(&quantized.weights.dequantized(n).unwrap())).collect();
    let all = |tokens: &[Vec<f64>], columns: &[Vec<f64>]| -> Vec<f64> {
        tokens.iter().flat_map(|token| columns.iter().map(move |column| dot(token, column))).collect()
    };
    let dequantized: Vec<Vec<f64>> = expected.iter().map(|token| reals(&token.dequantized().unwrap())).collect();
    let algorithm = all(&dequantized, &weights);
    let float = all(&values(&quantized.tokens), &quantized.columns);
    let results: Vec<f64> = paper.results.iter().map(|y| y.to_f64()).collect();
    let (arithmetic, quantization, whole) =
        (distance(&results, &algorithm), distance(&algorithm, &float), distance(&results, &float));
    let beats = paper.report.beats();
    println!(
        "{name}, W4A{bits}: {:.2} % from float, of the algorithm {:.2} %; {:.3} % from the algorithm; {} of {} beats \
         are sent again",
        100.0 * whole,
        100.0 * quantization,
        100.0 * arithmetic,
        beats.repeated,
        beats.taken,
    );
    assert!(arithmetic < 0.002, "{arithmetic}");
    assert!((whole - quantization).abs() < 0.001, "{whole} {quantization}");
    assert!(beats.repeated < beats.taken / 20, "{beats:?}");
    whole
}

#[test]
fn a_projection_with_outliers() {
    let (four, three) = (projection("14 q", 4), projection("14 q", 3));
    assert!(four < 0.2 && four < three && three < 0.3, "{four} {three}");
}

#[test]
fn a_projection_with_large_elements() {
    let (four, three) = (projection("28 down", 4), projection("28 down", 3));
    assert!(four < 0.2 && four < three && three < 0.3, "{four} {three}");
}
