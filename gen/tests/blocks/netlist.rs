//! A whole accelerator in cells of a library does the same as its Verilog.

use test_tag::tag;

use hdl::accelerators::kelle::KelleTop;
use hdl::accelerators::kllm::{KllmSpec, KllmTop};
use hdl::accelerators::tender::{TenderLane, TenderTop};
use hdl::accelerators::titanus::{TitanusCore, TitanusSpec};
use hdl::accelerators::top::TopParameters;
use hdl::accelerators::vector::VectorParameters;
use hdl::accelerators::vector::VectorTop;
use hdl::blocks::common::row::{RequantizeLane, RowUnits, VectorLane};
use hdl::blocks::common::{AxiSpec, DmaSpec};
use hdl::blocks::tender::MultiScaleArray;
use hdl::blocks::titanus::{DcimCells, DcimLinear, DcimMacro};
use hdl::lang::CatalogBlock;
use jobs::hardware::Hardware;
use senbazuru::flows::{energy, liberty};
use sim::Design;
use sim::bus::AxiConfig;
use sim::kit::options;
use sim::stimulus::Stall;
use testbenches::accelerators::c_program::{CEnd, CProgram};
use testbenches::accelerators::kelle::bench as kelle_bench;
use testbenches::accelerators::kllm::bench as kllm_bench;
use testbenches::accelerators::tender::bench as tender_bench;
use testbenches::accelerators::titanus::bench as titanus_bench;
use testbenches::accelerators::vector::bench;

/// The design in cells of osu018, and how many they are.
fn mapped(block: &impl CatalogBlock) -> (Design, usize) {
    let library = liberty::open(&["osu018"]).unwrap();
    energy::in_cells(&hdl::lang::elaborate(block).unwrap(), &library).unwrap_or_else(|e| panic!("{e}"))
}

/// Four bytes wide. Memories are flip-flops here.
fn narrow() -> TopParameters {
    TopParameters {
        axi: AxiSpec { address_width: 32, data_width: 32, id_width: 1 },
        dma: DmaSpec { burst_beats: 4, outstanding: 2, commands: 2, ..DmaSpec::default() },
        read_beats: 8,
        write_beats: 4,
        ..TopParameters::default()
    }
}

/// No row unit but RMS norm; ranks of registers add nothing to the comparison.
fn bare() -> VectorParameters {
    VectorParameters {
        max_beats: 4,
        lane: VectorLane { mul_stages: 0, add_stages: 0, table_stages: 0, ..VectorLane::default() },
        requantize: RequantizeLane { mul_stages: 0, int_stages: 0, ..RequantizeLane::default() },
        units: RowUnits::default(),
    }
}

/// Two lanes, rows of up to 8 elements: a session of the C program, then jobs of the bench.
#[tag(release)]
#[test]
#[ignore = "minutes: synthesis and simulation of 113,639 cells"]
fn vector_top_runs_jobs_in_cells() {
    let block = VectorTop { bus: narrow(), vector: bare() };
    let (design, cells) = mapped(&block);
    println!("{cells} cells");
    assert!(cells > 10_000, "{cells} cells are no accelerator");
    let session = sim::kit::bench(&block, |sim, run| {
        let config = AxiConfig::rough(Stall::Random { num: 1, den: 4 });
        let mut hardware = Hardware::new(sim, &config, run.seed())?;
        let end = CProgram::build().unwrap().demo(&mut hardware, 0x2000, 2000).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(end, CEnd { tag: 0x600d_7a61, descriptors: 2, ..CEnd::default() });
        let irq = sim.output("irq_o")?;
        run.expect_u64(sim, irq, 0)
    });
    sim::run(&*session.unwrap(), &design, &options(1)).unwrap_or_else(|e| panic!("{e}"));
    let report = sim::run(&*bench(&block).unwrap(), &design, &options(20)).unwrap_or_else(|e| panic!("{e}"));
    println!("{} cycles in {:.0} s", report.cycles, report.seconds);
}

/// 4 x 4 PEs on a bus of 4 bytes, with no row unit but RMS norm: jobs of the bench.
#[tag(release)]
#[test]
#[ignore = "minutes: synthesis and simulation of a whole accelerator in cells"]
fn tender_top_runs_jobs_in_cells() {
    let block = TenderTop {
        bus: narrow(),
        vector: bare(),
        array: MultiScaleArray { rows: 4, columns: 4, ..MultiScaleArray::default() },
        depth: 8,
        steps: 16,
        strip: 32,
        result: TenderLane { mul_stages: 0, add_stages: 0, to_int_stages: 0, ..TenderLane::default() },
        ..TenderTop::default()
    };
    let (design, cells) = mapped(&block);
    println!("{cells} cells");
    assert!(cells > 10_000, "{cells} cells are no accelerator");
    let report = sim::run(&*tender_bench(&block).unwrap(), &design, &options(40)).unwrap_or_else(|e| panic!("{e}"));
    println!("{} cycles in {:.0} s", report.cycles, report.seconds);
}

/// A lane of 32 channels on a bus of 4 bytes, with no row unit but RMS norm: jobs of the bench.
#[tag(release)]
#[test]
#[ignore = "minutes: synthesis and simulation of a whole accelerator in cells"]
fn kllm_top_runs_jobs_in_cells() {
    let block = KllmTop {
        bus: narrow(),
        vector: bare(),
        product: KllmSpec {
            lanes: 1,
            columns: 32,
            inputs: 2,
            centroid_bits: 6,
            buffer: 3,
            depth: 12,
            kmax: 1,
            outputs: 1,
            ..KllmSpec::default()
        },
        ..KllmTop::default()
    };
    let (design, cells) = mapped(&block);
    println!("{cells} cells");
    assert!(cells > 10_000, "{cells} cells are no accelerator");
    let report = sim::run(&*kllm_bench(&block).unwrap(), &design, &options(40)).unwrap_or_else(|e| panic!("{e}"));
    println!("{} cycles in {:.0} s", report.cycles, report.seconds);
}

/// 2 x 2 PEs on a bus of 4 bytes, a head of two tokens, with no row unit but RMS norm: jobs of the bench.
#[tag(release)]
#[test]
#[ignore = "minutes: synthesis and simulation of a whole accelerator in cells"]
fn kelle_top_runs_jobs_in_cells() {
    let small = KelleTop::configurations().swap_remove(0);
    let block = KelleTop {
        dma: DmaSpec { burst_beats: 4, outstanding: 2, commands: 2, ..DmaSpec::default() },
        read_beats: 8,
        write_beats: 4,
        vector: bare(),
        ..small
    };
    let (design, cells) = mapped(&block);
    println!("{cells} cells");
    assert!(cells > 10_000, "{cells} cells are no accelerator");
    let report = sim::run(&*kelle_bench(&block).unwrap(), &design, &options(20)).unwrap_or_else(|e| panic!("{e}"));
    println!("{} cycles in {:.0} s", report.cycles, report.seconds);
}

/// Jobs of the bench on a small core. It has two macros of 4 x 2, a cache of 2 tiles of 2 channels, and a context of 4
/// tokens. Its bus has 4 bytes, and RMS norm is its only row unit.
#[tag(release)]
#[test]
#[ignore = "minutes: synthesis and simulation of a whole accelerator in cells"]
fn titanus_core_runs_jobs_in_cells() {
    let cells = DcimCells { inputs: 4, outputs: 2, ..DcimCells::default() };
    let tile = DcimMacro { cells, ..DcimMacro::default() };
    let block = TitanusCore {
        bus: narrow(),
        vector: bare(),
        spec: TitanusSpec {
            store: DcimLinear { tile, rows: 1, columns: 2, load: 2, drain: 2 },
            constants: 8,
            lanes: 2,
            tiles: 2,
            levels: 2,
            context: 4,
            engines: 1,
            buffer: 2,
        },
        ..TitanusCore::default()
    };
    let (design, cells) = mapped(&block);
    println!("{cells} cells");
    assert!(cells > 10_000, "{cells} cells are no accelerator");
    let report = sim::run(&*titanus_bench(&block).unwrap(), &design, &options(40)).unwrap_or_else(|e| panic!("{e}"));
    println!("{} cycles in {:.0} s", report.cycles, report.seconds);
}
