//! The cost of outliers in the paper's structure (KLLM, figure 10a): cycles by the recurrence that equals the RTL,
//! beside the cycles that `models::headlines` computes with.

use golden::accelerators::cycles::{Recurrence, Turns};
use golden::accelerators::memory::SparseMemory;
use golden::common::shell::job_controller::Limits;
use half::f16;
use hdl::accelerators::kllm::{KllmSpec, KllmTop};
use hdl::accelerators::top::TopParameters;
use hdl::accelerators::vector::VectorParameters;
use hdl::blocks::common::AxiSpec;
use host::kllm::{Bits, Codebook, MatMulJob, Panels, Product, Token, Tokens};
use host::vector::Operand;
use host::{Allocator, Chain, Format, Rows, Window};
use models::headlines::outliers::{COSTS, Cost, INNER};
use rand::RngExt;
use test_tag::tag;
use testbenches::accelerators::kllm::{caps_of, golden_of, timing::timing};

const WINDOW: Window = Window { base: 0, limit: 1 << 30, address_width: 40 };

/// Channels of a panel: all lanes.
const CHANNELS: usize = 512;

/// 16 lanes of 32 columns with 16 inputs on a bus of 512 bits; a bank holds the weights of a panel.
fn block() -> KllmTop {
    let product = KllmSpec {
        lanes: 16,
        columns: 32,
        inputs: 16,
        buffer: 256,
        depth: 256,
        outputs: 16,
        kmax: 256,
        ..KllmSpec::default()
    };
    let axi = AxiSpec { address_width: 40, data_width: 512, id_width: 1 };
    KllmTop {
        bus: TopParameters { axi, ..TopParameters::default() },
        vector: VectorParameters { max_beats: 128, ..VectorParameters::all() },
        product,
        orizuru: 4096,
        ..KllmTop::default()
    }
}

/// Cycles of a panel's product with so many tokens, each with so many outliers a side at random positions.
fn cycles(block: &KllmTop, tokens: usize, a_side: usize) -> anyhow::Result<u64> {
    let (caps, inner) = (caps_of(block), INNER as usize);
    // The seed is fixed: the cycles below belong to these positions.
    let mut rng = sim::stimulus::rng(7);
    let mut token = || {
        let mut positions: Vec<u16> = Vec::new();
        while positions.len() < 2 * a_side {
            let position = rng.random_range(0..inner as u16);
            if !positions.contains(&position) {
                positions.push(position);
            }
        }
        positions.sort_unstable();
        let outliers = positions.into_iter().map(|position| (position, f16::from_f32(3.0))).collect();
        let indices = (0..inner).map(|_| rng.random_range(0..16)).collect();
        Token { scale: f16::ONE, bits: Bits::Four, indices, outliers }
    };
    let all: Vec<Token> = (0..tokens).map(|_| token()).collect();
    let values: Vec<f16> = (0..16i8).map(|k| f16::from_f32(f32::from(k - 8) / 8.0)).collect();
    let codebook = Codebook::new(&values, &values, caps.centroid_bits)?;
    let (rows, panels) = (Tokens::new(tokens, inner, 2 * a_side)?, Panels::new(&caps, CHANNELS, inner)?);
    let indices: Vec<u8> = (0..CHANNELS * inner).map(|k| (k % 16) as u8).collect();
    let results = Rows::dense(Format::Fp16, tokens, CHANNELS)?;
    let (mut place, mut memory) = (Allocator::new(&WINDOW), SparseMemory::new());
    let job = place.take(128)?;
    let mut store = |bytes: Vec<u8>| -> anyhow::Result<u64> {
        let address = place.take(bytes.len() as u64)?;
        memory.store(address, &bytes);
        Ok(address)
    };
    let at = |address, stride: u64| Operand { address, stride: stride as u32 };
    let product = Product {
        tokens: tokens as u32,
        channels: CHANNELS as u32,
        inner: inner as u32,
        outliers: 2 * a_side as u32,
        token_rows: at(store(rows.pack(&all)?)?, rows.stride()),
        panels: at(store(panels.pack(&indices)?)?, panels.stride()),
        constants: store(codebook.constants(&[f16::ONE; CHANNELS])?)?,
        codebook: store(codebook.bytes())?,
    };
    let out = place.take(results.bytes() as u64)?;
    let descriptor = MatMulJob::new(product, at(out, results.stride())).exact().build(&caps, &WINDOW)?;
    let image = Chain::new().then(descriptor).place(job, &WINDOW, 1)?;
    memory.store(image.address, &image.bytes);
    let limits = Limits { base: WINDOW.base, limit: WINDOW.limit, max_descriptors: 1 };
    let golden = golden_of(block)?;
    let spent = timing(block, 20).job(&golden, limits, job, (&mut memory, &mut Turns::default()));
    let spent = spent.map_err(|code| anyhow::anyhow!("the job ends with {code}"))?;
    Ok(spent.iter().map(|spent| spent.cycles).sum())
}

/// A further token once the weights are there, and a further row that becomes a token.
#[tag(full)]
#[test]
#[ignore = "a quarter of a minute: products of 4096 positions"]
fn cycles_of_outliers() {
    let block = block();
    let quantizer = block.quantizer().unwrap().spec;
    let of = |cost: &Cost| {
        let [few, many] = [80, 96].map(|tokens| cycles(&block, tokens, cost.a_side as usize).unwrap());
        let row = u32::try_from(quantizer.row_cycles(INNER, cost.a_side)).unwrap();
        Cost { product: (many - few) as f64 / 16.0, row, ..*cost }
    };
    assert_eq!(COSTS.iter().map(of).collect::<Vec<_>>(), COSTS);
}
