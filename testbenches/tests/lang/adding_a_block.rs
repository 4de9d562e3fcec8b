//! The block of docs/adding-a-block.md, built and run as it stands there.

#![allow(missing_docs, unused_imports, reason = "files of a page, each of which would stand in a crate of its own")]

mod model {
    include!(concat!(env!("OUT_DIR"), "/adding-a-block/sim-golden-src-common-sat_accumulator.rs"));
}

mod hardware {
    include!(concat!(env!("OUT_DIR"), "/adding-a-block/hdl-src-blocks-common-sat_accumulator.rs"));
}

mod testbench {
    include!(concat!(env!("OUT_DIR"), "/adding-a-block/testbenches-src-common-sat_accumulator.rs"));
}

mod test {
    include!(concat!(env!("OUT_DIR"), "/adding-a-block/testbenches-tests-common-sat_accumulator.rs"));
}

#[test]
fn the_page_names_the_verilog_as_it_is() {
    let design = hdl::lang::elaborate(&hardware::SatAccumulator::default()).unwrap();
    assert_eq!(design.top_name(), "sat_accumulator_d8_s12");
}
