//! Fills in the tables of docs/comparison.md: accelerators on the same layer at equal area (`models::cycles::comparison`).
//!
//! `cargo run -p senbazuru-testbenches --example comparison -- docs/comparison.md`; with a second file, the points of its curves as JSON.

use anyhow::{Context, bail};
use hdl::accelerators::kelle::{AttentionSpec, KelleSpec, KelleTop};
use hdl::accelerators::kllm::{KllmSpec, KllmTop};
use hdl::accelerators::tender::TenderTop;
use hdl::accelerators::titanus::{TitanusCore, TitanusSpec};
use hdl::accelerators::top::TopParameters;
use hdl::accelerators::vector::VectorParameters;
use hdl::blocks::common::{AxiSpec, DmaSpec};
use hdl::blocks::tender::MultiScaleArray;
use hdl::blocks::titanus::{DcimCells, DcimImplementation, DcimLinear, DcimMacro};
use host::kllm::Bits;
use host::vector::Integer;
use models::cycles::comparison::{Costs, Machine};
use models::cycles::{kelle, kllm, tender, titanus};
use testbenches::accelerators as benches;

/// Around the tables.
const BEGIN: &str = "<!-- comparison -->\n";
const END: &str = "<!-- /comparison -->";

/// Of memory.
const LATENCY: u32 = 20;
/// The beats that a DMA can hold have to cover the latency.
const BEATS: u32 = 64;

fn axi() -> AxiSpec {
    AxiSpec { address_width: 40, data_width: 512, id_width: 1 }
}

/// The paper's array on a bus of 64 bytes.
fn tender_block() -> TenderTop {
    TenderTop {
        bus: TopParameters {
            axi: axi(),
            dma: DmaSpec { burst_beats: 8, ..DmaSpec::default() },
            read_beats: BEATS,
            ..TopParameters::default()
        },
        vector: VectorParameters { max_beats: 256, ..VectorParameters::all() },
        array: MultiScaleArray { rows: 64, columns: 64, ..MultiScaleArray::default() },
        depth: 4096,
        steps: 8192,
        ..TenderTop::default()
    }
}

/// The paper's lanes on a bus of 64 bytes.
fn kllm_block() -> KllmTop {
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
    KllmTop {
        bus: TopParameters { axi: axi(), read_beats: BEATS, ..TopParameters::default() },
        vector: VectorParameters { max_beats: 256, ..VectorParameters::all() },
        product,
        orizuru: 4096,
        ..KllmTop::default()
    }
}

/// Tokens that a head of Kelle keeps: 32 heads of one sequence take 4,096 rows.
const BUDGET: u32 = 127;

/// The paper's array and memories on a bus of 64 bytes.
fn kelle_block() -> KelleTop {
    let spec = KelleSpec { axi: axi(), weights: 65_536, inner: 11_008, ..KelleSpec::default() };
    let attention =
        AttentionSpec { spec: spec.clone(), heads: 3, slots: BUDGET, width: 128, group: 4, ..AttentionSpec::default() };
    let dma = DmaSpec { burst_beats: 8, ..DmaSpec::default() };
    KelleTop {
        vector: VectorParameters { max_beats: 256, ..VectorParameters::all() },
        dma,
        spec,
        attention,
        read_beats: BEATS,
        ..KelleTop::default()
    }
}

/// Tokens of Titanus' context. The streams of 4,096 tokens would take more blocks than an area has.
const CONTEXT: u32 = 1024;

/// Macros for half of the inputs of a projection. They are twice as wide as the paper's, so that a row of weights is
/// one beat of the bus of 64 bytes.
fn titanus_block() -> TitanusCore {
    let cells = DcimCells { outputs: 64, implementation: DcimImplementation::BlackBox, ..DcimCells::default() };
    let tile = DcimMacro { cells, ..DcimMacro::default() };
    let store = DcimLinear { tile, rows: 8, columns: 1, load: 64, drain: 8 };
    let spec =
        TitanusSpec { store, constants: 11_008, lanes: 32, tiles: 128, context: CONTEXT, ..TitanusSpec::default() };
    // A row of weights is a burst, so as many have to be open as the latency has cycles.
    let dma = DmaSpec { burst_beats: 8, outstanding: 32, ..DmaSpec::default() };
    TitanusCore {
        bus: TopParameters { axi: axi(), dma, read_beats: BEATS, ..TopParameters::default() },
        vector: VectorParameters { max_beats: 256, ..VectorParameters::all() },
        spec,
        ..TitanusCore::default()
    }
}

/// The tables between the marks of the page, and the points of the curves.
///
/// # Errors
/// Parameters that a block or its model refuses.
pub fn tables() -> anyhow::Result<(String, String)> {
    let (block, timing) = (tender_block(), benches::tender::timing::timing(&tender_block(), LATENCY));
    let on_tender = |integer| -> anyhow::Result<tender::Tender> {
        let (caps, golden) = (benches::tender::caps_of(&block), benches::tender::golden_of(&block)?);
        Ok(tender::Tender::new(caps, (golden, timing), integer, 8))
    };
    let (int8, int4) = (on_tender(Integer::Int8)?, on_tender(Integer::Int4)?);
    let block = kllm_block();
    let (caps, timing) = (benches::kllm::caps_of(&block), benches::kllm::timing::timing(&block, LATENCY));
    let kllm = kllm::Kllm::new(caps, (benches::kllm::golden_of(&block)?, timing), Bits::Four, 200);
    let block = kelle_block();
    let (golden, timing) = (benches::kelle::golden_of(&block)?, benches::kelle::timing::timing(&block, LATENCY));
    let kelle = kelle::Kelle::new(benches::kelle::caps_of(golden.shape()), (golden, timing), BUDGET.into());
    let block = titanus_block();
    let (golden, timing) = (benches::titanus::golden_of(&block)?, benches::titanus::timing::timing(&block, LATENCY));
    let titanus = titanus::Titanus::new(benches::titanus::caps_of(&golden), (golden, timing), 4.3);
    let of_tender = "64 x 64 PEs, [260 mm²](blocks/tender-top.md#the-papers-size) with 64 lanes of the vector unit, less 32 of 1.80 mm²; memories as in that design";
    let machines = [
        Machine {
            name: "Tender INT8",
            area: 202.0,
            memory: 6.2,
            peak: 64 * 64 / 4,
            perplexity: "24.82",
            most: u64::MAX,
            source: of_tender,
            layer: Box::new(|model, work| int8.layer(model, work)),
        },
        Machine {
            name: "Tender INT4",
            area: 202.0,
            memory: 6.2,
            peak: 64 * 64,
            perplexity: "755.59",
            most: u64::MAX,
            source: "the same",
            layer: Box::new(|model, work| int4.layer(model, work)),
        },
        Machine {
            name: "KLLM W4A4, 1 %",
            area: 453.0,
            // 256 words of a bank, not the 128 that were synthesised.
            memory: 18.1,
            peak: 16 * 32 * 16,
            perplexity: "31.73",
            most: u64::MAX,
            source: "16 lanes of 32 columns with 16 inputs, [synthesised](blocks/kllm-top.md#cost) with half of the banks of weights and shorter rows; memories as here",
            layer: Box::new(|model, work| kllm.layer(model, work)),
        },
        Machine {
            name: "Kelle, N' = 127",
            area: 147.0,
            memory: 47.8,
            peak: 32 * 32 / 2,
            perplexity: "16.89",
            most: u64::MAX,
            source: "32 x 32 PEs, 2 MB of weights, 32 heads, synthesised as [below](#kelles-area)",
            layer: Box::new(|model, work| kelle.layer(model, work)),
        },
        Machine {
            name: "Titanus, 4-bit cache",
            area: 338.5,
            memory: 78.0,
            peak: 8 * 256 * 64 / 8,
            perplexity: "19.50",
            most: CONTEXT.into(),
            source: "8 macros of 256 x 64 and a cache of 4,096 channels, put together [below](#titanus-area) from syntheses of its parts",
            layer: Box::new(|model, work| titanus.layer(model, work)),
        },
    ];
    let costs = Costs::new(&machines)?;
    Ok((costs.markdown(&machines), serde_json::to_string(&costs.curves(&machines))?))
}

/// The page before its tables, the tables, and the page after them.
///
/// # Errors
/// It has no marks.
pub fn parts(page: &str) -> anyhow::Result<[&str; 3]> {
    let (before, rest) = page.split_once(BEGIN).context("the page has no mark of its tables")?;
    let (tables, behind) = rest.split_once(END).context("the page has no end of its tables")?;
    Ok([before, tables, behind])
}

fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let Some(page) = arguments.next() else { bail!("give the page to fill in: docs/comparison.md") };
    let (tables, curves) = tables()?;
    let text = std::fs::read_to_string(&page).with_context(|| page.clone())?;
    let [before, _, behind] = parts(&text)?;
    std::fs::write(&page, [before, BEGIN, &tables, END, behind].concat())?;
    if let Some(file) = arguments.next() {
        std::fs::write(file, curves)?;
    }
    print!("{tables}");
    Ok(())
}
