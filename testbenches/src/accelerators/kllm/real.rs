//! Products of the real model as jobs: quantized by the golden model, laid out by the host crate.

use golden::accelerators::cycles::{Recurrence, Turns};
use golden::accelerators::kllm::cycles::Timing;
use golden::accelerators::kllm::{KllmTop, Report};
use golden::accelerators::memory::SparseMemory;
use golden::common::shell::job_controller::Limits;
use golden::kllm::codebook::Codebook as GoldenCodebook;
use golden::kllm::outliers::OutlierRule;
use golden::kllm::quantize::{Quantized, QuantizedWeights, samples, train_codebook};
use golden::tender::granularity::product;
use half::f16;
use hdl::accelerators::kllm::{KllmSpec, KllmTop as Block};
use hdl::accelerators::top::TopParameters;
use hdl::accelerators::vector::VectorParameters;
use hdl::blocks::common::AxiSpec;
use host::kllm::{Bits, Caps, Codebook, MatMulJob, Panels, Product, Quantize, QuantizeJob, Token, Tokens};
use host::vector::Operand;
use host::{Allocator, Chain, Format, Image, Rows, Window};
use sim::stimulus::{real_numbers, real_rows};

/// 64 channels at once, 8 positions a beat: banks hold the weights of a projection of the model.
#[must_use]
pub fn real_size() -> Block {
    Block {
        bus: TopParameters {
            axi: AxiSpec { address_width: 40, data_width: 128, id_width: 1 },
            ..TopParameters::default()
        },
        vector: VectorParameters { max_beats: 72, ..VectorParameters::all() },
        product: KllmSpec {
            lanes: 2,
            columns: 32,
            inputs: 8,
            buffer: 72,
            depth: 192,
            outputs: 8,
            ..KllmSpec::default()
        },
        ..Block::default()
    }
}

/// The same with an Orizuru that is narrower than rows of the model.
#[must_use]
pub fn with_orizuru() -> Block {
    Block { orizuru: 128, ..real_size() }
}

/// A job, and the approximate values of its results.
#[derive(Clone, Debug)]
pub struct Real {
    /// The descriptor and its operands.
    pub images: Vec<Image>,
    /// Address of the descriptor.
    pub job: u64,
    /// Where the results go, fp16.
    pub out: (u64, Rows),
    /// The product of the numbers that were quantized.
    pub exact: Vec<Vec<f64>>,
}

impl Real {
    /// The report of the model, and the bytes of the results.
    ///
    /// # Panics
    /// The model ends with an error.
    #[must_use]
    pub fn expected(&self, golden: &KllmTop, window: &Window) -> (Report, Vec<u8>) {
        let (limits, mut memory) = (limits(window), self.memory());
        let report = golden.run(limits, self.job, &mut memory);
        assert_eq!((report.end.code, report.overflows()), (0, 0));
        let bytes = memory.bytes(self.out.0, self.out.1.bytes());
        (report, bytes)
    }

    /// The register CYCLES at its end, with an ideal memory.
    ///
    /// # Panics
    /// The job is not right.
    #[must_use]
    pub fn cycles(&self, timing: &Timing, (golden, window): (&KllmTop, &Window), turns: &mut Turns) -> u64 {
        let spent = timing.job(golden, limits(window), self.job, (&mut self.memory(), turns));
        let spent = spent.unwrap_or_else(|code| panic!("the job ends with {code}"));
        spent.iter().map(|spent| spent.cycles).sum()
    }

    fn memory(&self) -> SparseMemory {
        let mut memory = SparseMemory::new();
        self.images.iter().for_each(|image| memory.store(image.address, &image.bytes));
        memory
    }
}

fn limits(window: &Window) -> Limits {
    Limits { base: window.base, limit: window.limit, max_descriptors: 1 }
}

/// A product to compute.
#[derive(Clone, Copy, Debug)]
pub struct Projection {
    /// Tensor of the tokens' activations.
    pub input: &'static str,
    /// Tensor of the weights: a row for each position.
    pub weights: &'static str,
    /// Bits of an index of an activation.
    pub bits: Bits,
    /// Tokens, from the first one on; the codebook is trained on all others.
    pub tokens: usize,
    /// Outliers of a token on each side.
    pub outliers: usize,
}

pub(super) fn halves(codebook: &GoldenCodebook) -> Vec<f16> {
    codebook.values().iter().map(|&value| f16::from_bits(value as u16)).collect()
}

fn token(quantized: &Quantized, bits: Bits) -> Token {
    let mut outliers: Vec<(u16, f16)> =
        quantized.outliers.iter().map(|pop| (pop.index as u16, f16::from_bits(pop.value as u16))).collect();
    outliers.sort_by_key(|&(position, _)| position);
    let indices = quantized.indices.iter().map(|&index| index as u8).collect();
    Token { scale: f16::from_bits(quantized.scale as u16), bits, indices, outliers }
}

/// The first tokens of a projection, in as many bits as `of` says.
///
/// # Errors
/// A missing or damaged file; an error of the golden model or the host crate.
pub fn projection(caps: &Caps, window: &Window, of: Projection) -> anyhow::Result<Real> {
    let (x, w) = (real_rows(of.input)?, real_rows(of.weights)?);
    let outputs = w.first().map_or(0, Vec::len);
    let columns: Vec<Vec<u64>> = (0..outputs).map(|n| w.iter().map(|row| row[n]).collect()).collect();
    let rule = if of.outliers == 0 { OutlierRule::None } else { OutlierRule::TopK { per_side: of.outliers } };
    let bits = if of.bits == Bits::Three { 3 } else { 4 };
    let activations = train_codebook(bits, &samples(&x[of.tokens..], rule, None)?, None)?;
    let weights = train_codebook(4, &samples(&columns, OutlierRule::None, None)?, None)?;
    let weights = QuantizedWeights::new(&columns, &weights)?;
    let quantized = x[..of.tokens].iter().map(|row| Quantized::new(row, &activations, rule));
    let tokens: Vec<Token> =
        quantized.map(|token_of| token_of.map(|one| token(&one, of.bits))).collect::<Result<_, _>>()?;

    let inner = w.len();
    let codebook = Codebook::new(&halves(&activations), &halves(&weights.codebook), caps.centroid_bits)?;
    let (rows, panels) = (Tokens::new(of.tokens, inner, 2 * of.outliers)?, Panels::new(caps, outputs, inner)?);
    let scales: Vec<f16> = weights.scales.iter().map(|&scale| f16::from_bits(scale as u16)).collect();
    let indices: Vec<u8> = weights.columns.iter().flatten().map(|&index| index as u8).collect();
    let results = Rows::dense(Format::Fp16, of.tokens, outputs)?;
    let mut memory = Allocator::new(window);
    let job = memory.take(128)?;
    let mut images = Vec::new();
    let mut store = |bytes: Vec<u8>| -> anyhow::Result<u64> {
        let address = memory.take(bytes.len() as u64)?;
        images.push(Image { address, bytes });
        Ok(address)
    };
    let at = |address, stride: u64| Operand { address, stride: stride as u32 };
    let operands = Product {
        tokens: of.tokens as u32,
        channels: outputs as u32,
        inner: inner as u32,
        outliers: 2 * of.outliers as u32,
        token_rows: at(store(rows.pack(&tokens)?)?, rows.stride()),
        panels: at(store(panels.pack(&indices)?)?, panels.stride()),
        constants: store(codebook.constants(&scales)?)?,
        codebook: store(codebook.bytes())?,
    };
    let out = memory.take(results.bytes() as u64)?;
    let descriptor = MatMulJob::new(operands, at(out, results.stride())).exact().build(caps, window)?;
    images.push(Chain::new().then(descriptor).place(job, window, 1)?);
    let exact = product(&real_numbers(of.input)?[..of.tokens], &real_numbers(of.weights)?);
    Ok(Real { images, job, out: (out, results), exact })
}

/// Rows that become tokens: as a job, and the expected tokens.
#[derive(Clone, Debug)]
pub struct RealTokens {
    /// The descriptor and its operands.
    pub images: Vec<Image>,
    /// Address of the descriptor.
    pub job: u64,
    /// Where the tokens go.
    pub out: u64,
    /// How they lie there.
    pub tokens: Tokens,
    /// The tokens that the algorithm makes of the rows, with outliers searched among all elements of a row at once.
    pub whole: Vec<Token>,
}

impl RealTokens {
    /// The report and the tokens of the model.
    ///
    /// # Panics
    /// The model ends with an error.
    #[must_use]
    pub fn expected(&self, golden: &KllmTop, window: &Window) -> Vec<u8> {
        let mut memory = SparseMemory::new();
        self.images.iter().for_each(|image| memory.store(image.address, &image.bytes));
        let limits = Limits { base: window.base, limit: window.limit, max_descriptors: 1 };
        let report = golden.run(limits, self.job, &mut memory);
        assert_eq!((report.end.code, report.overflows()), (0, 0));
        memory.bytes(self.out, self.tokens.bytes())
    }
}

/// The first rows of a tensor as a job; `of.weights` has no say.
///
/// # Errors
/// A missing or damaged file; an error of the golden model or the host crate.
pub fn quantization(caps: &Caps, window: &Window, of: Projection) -> anyhow::Result<RealTokens> {
    let x = real_rows(of.input)?;
    let rule = if of.outliers == 0 { OutlierRule::None } else { OutlierRule::TopK { per_side: of.outliers } };
    let bits = if of.bits == Bits::Three { 3 } else { 4 };
    let codebook = train_codebook(bits, &samples(&x[of.tokens..], rule, None)?, None)?;
    let quantized = x[..of.tokens].iter().map(|row| Ok(token(&Quantized::new(row, &codebook, rule)?, of.bits)));
    let whole: Vec<Token> = quantized.collect::<anyhow::Result<_>>()?;
    let columns = x[0].len();
    let weights = [f16::ONE; 16];
    let codebook = Codebook::new(&halves(&codebook), &weights, caps.centroid_bits)?;
    let rows = Rows::dense(Format::Fp16, of.tokens, columns)?;
    let values: Vec<f16> = x[..of.tokens].iter().flatten().map(|&bits| f16::from_bits(bits as u16)).collect();
    let tokens = Tokens::new(of.tokens, columns, 2 * of.outliers)?;
    let mut memory = Allocator::new(window);
    let job = memory.take(128)?;
    let mut images = Vec::new();
    let mut store = |bytes: Vec<u8>| -> anyhow::Result<u64> {
        let address = memory.take(bytes.len() as u64)?;
        images.push(Image { address, bytes });
        Ok(address)
    };
    let (x, codebook) = (store(rows.pack_floats(&values)?)?, store(codebook.bytes())?);
    let out = memory.take(tokens.bytes() as u64)?;
    let at = |address, stride: u64| Operand { address, stride: stride as u32 };
    let quantize = Quantize {
        rows: of.tokens as u32,
        columns: columns as u32,
        bits: of.bits,
        largest: of.outliers as u16,
        smallest: of.outliers as u16,
        x: at(x, rows.stride()),
        codebook,
        out: at(out, tokens.stride()),
    };
    let descriptor = QuantizeJob::new(quantize).exact().build(caps, window)?;
    images.push(Chain::new().then(descriptor).place(job, window, 1)?);
    Ok(RealTokens { images, job, out, tokens, whole })
}
