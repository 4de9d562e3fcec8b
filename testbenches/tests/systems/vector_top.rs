//! The vector accelerator in all configurations, and broken.

use hdl::accelerators::vector::VectorTop;
use hdl::blocks::common::{AxiSpec, DmaSpec};
use sim::fault::Fault;
use testbenches::faults::must_be_noticed;
use testbenches::systems::vector_top::bench;
use testbenches::{options, run, run_all};

/// As small as can be: two lanes, rows of up to 8 elements.
fn small() -> VectorTop {
    VectorTop {
        axi: AxiSpec { address_width: 32, data_width: 32, id_width: 1 },
        dma: DmaSpec { burst_beats: 4, ..DmaSpec::default() },
        max_beats: 4,
        ..VectorTop::default()
    }
}

#[test]
fn all_configurations() {
    run_all(bench, &options(300)).unwrap_or_else(|e| panic!("{e:#}"));
}

/// Right and wrong descriptors, soft resets, silence: it never hangs and never writes elsewhere.
#[test]
#[ignore = "minutes"]
fn large_a_hundred_thousand_jobs() {
    run(&small(), bench, &options(100_000)).unwrap_or_else(|e| panic!("{e:#}"));
}

#[test]
fn faults_are_found() {
    let faults = [
        ("sizes are not checked", Fault::net("no_rows", "1'b0").module("vector_controller")),
        ("columns are not checked", Fault::net("no_columns", "1'b0").module("vector_controller")),
        ("what must be 0 is not checked", Fault::net("reserved", "1'b0").module("vector_controller")),
        ("the window is not checked", Fault::net("outside", "1'b0").module("operand_check")),
        ("an error of the bus is forgotten", Fault::net("failed", "1'b0").module("vector_controller")),
        ("an overflow is forgotten", Fault::net("overflow", "1'b0").module("vector_engine")),
        ("an operation ends with its reads", Fault::net("everything_ended", "!ends_0_q").module("vector_controller")),
        ("the lanes keep work behind an abort", Fault::net("clear_i", "1'b0").module("row_packer")),
        ("nobody watches the bus", Fault::net("waiting_o", "1'b0").module("axi_watch")),
        ("the bus is idle at once", Fault::net("idle_o", "1'b1").module("dma_bank")),
        ("nibbles are packed behind each other's row", Fault::net("ends", "full").module("row_packer")),
    ];
    must_be_noticed(&small(), bench, 400, &faults);
}
