//! Faults by name of the elaborated design are the faults of the netlist that Yosys edits.

use hdl::blocks::common::MacMesh;
use hdl::blocks::kelle::RefreshController;
use hdl::blocks::kllm::{ClusteringUnit, Search};
use hdl::blocks::tender::{Drain, Multiplier, TenderPe};
use hdl::blocks::titanus::{ChannelMonitor, KvPacker};
use hdl::lang::{CatalogBlock, elaborate};
use sim::fault::{Fault, Models};
use sim::{BuildOptions, Engine};
use test_tag::tag;

const CYCLES: u64 = 1000;

/// Holds each fault that the elaborated design can have in lockstep with its netlist.
fn are_the_same<B: CatalogBlock>(block: &B, faults: &[Fault]) {
    let design = sim::Design::from(&elaborate(block).unwrap());
    let options = BuildOptions { engine: Some(Engine::Native), ..BuildOptions::default() };
    let models = Models::new(&design, faults, &options).unwrap();
    assert!(models.apart().is_empty(), "{:?}", models.apart());
    for (at, fault) in faults.iter().enumerate() {
        let mut pair = models.in_lockstep(at).unwrap().unwrap();
        if let Some(difference) = pair.run(seeds::seed(1), CYCLES).unwrap() {
            panic!("{fault}: {difference}");
        }
    }
}

/// Nets in all instances of a module, registers, and an input.
#[test]
fn in_instances() {
    let mesh = MacMesh { rows: 3, columns: 4, operand_width: 4, accumulator_width: 9 };
    are_the_same(&mesh, &[Fault::net("act_q", "weight_q").module("mac_pe")]);
}

/// A name that does not exist goes to Yosys, whose error has similar names.
#[test]
fn what_the_design_cannot_have_is_explained() {
    let mesh = MacMesh { rows: 3, columns: 4, operand_width: 4, accumulator_width: 9 };
    let design = sim::Design::from(&elaborate(&mesh).unwrap());
    let pe = |net: &str, value: &str| Fault::net(net, value).module("mac_pe");
    let faults = [
        pe("act_q", "right % 3"),
        pe("rst_ni", "1'b1"),
        pe("acts_q", "4'd0"),
        pe("act_q", "right + nothing"),
        pe("act_q", "4'd0").into("weight_q"),
        pe("act_q", "right + 4'd1"),
    ];
    let options = BuildOptions { engine: Some(Engine::Native), ..BuildOptions::default() };
    let models = Models::new(&design, &faults, &options).unwrap();
    let reasons: Vec<&str> = models.apart().values().map(String::as_str).collect();
    assert_eq!(models.apart().keys().copied().collect::<Vec<_>>(), [0, 1, 2, 3, 4], "{reasons:?}");
    for (reason, part) in reasons.iter().zip(["no `%`", "`rst_ni`", "`acts_q`", "`nothing`", "does not read `act_q`"]) {
        assert!(reason.contains(part), "{reason}");
    }
    let error = sim::fault::design(&design, &faults[2]).unwrap_err().to_string();
    assert!(error.contains("no net `acts_q`") && error.contains("similar ones are `act_q`"), "{error}");
    // Verilator gets all of them where it is wanted.
    let verilator = BuildOptions { engine: Some(Engine::Verilator), ..options };
    let models = Models::new(&design, &faults, &verilator).unwrap();
    assert!(models.together().is_none() && models.apart().len() == faults.len());
}

/// Elements of arrays, turns of loops, `into` registers, memories and nets, operators.
#[tag(full)]
#[test]
#[ignore = "minutes"]
fn of_all_kinds() {
    let mesh = MacMesh { rows: 3, columns: 4, operand_width: 4, accumulator_width: 9 };
    are_the_same(
        &mesh,
        &[
            Fault::net("clear_q", "right | (act_q == 4'd5)").module("mac_pe"),
            Fault::net("act_i", "act_q").into("act_q").module("mac_pe"),
        ],
    );
    are_the_same(
        &ClusteringUnit { bits: 3, lanes: 2, search: Search::Binary, pipelined: false },
        &[
            Fault::net("write_index_i", "3'd6").into("g_midpoints[6].midpoint_q"),
            Fault::net("g_lanes[0].midpoint_2", "right - 16'd1"),
            Fault::net("g_lanes[0].midpoint_2", "midpoint[{g_lanes[0].found_1, 1'b1}]"),
            Fault::net("clear_i", "1'b0"),
        ],
    );
    let refresh =
        RefreshController { rows: 7, interval_width: 8, interval: 20, patience: 9, tick_log2: 0, counter_width: 8 };
    are_the_same(
        &refresh,
        &[
            Fault::net("fresh_q", "1'b0").into("due"),
            Fault::net("written", "access_write").into("stamps"),
            Fault::net("age", "right + 9'd2"),
            Fault::operator("due", "<=", "<"),
            Fault::net("refresh_write_o", "(state_q == StateWrite) & (touched | go)"),
            Fault::net("walk_next", "last ? 3'd1 : right"),
            Fault::net("access_valid_i", "right & access_write_i").into("stalls_q"),
        ],
    );
    let rows = TenderPe { multiplier: Multiplier::Tree, drain: Drain::Single, ..TenderPe::default() };
    are_the_same(
        &rows,
        &[
            Fault::net("rows_2_upper", "$signed({row_2[4], row_2[4:1]}) + $signed({row_3[4], row_3})"),
            Fault::net("shift", "1'b0").into("base"),
            Fault::net("addend", "{1'b0, right[30:0]}").into("acc_q"),
        ],
    );
    are_the_same(
        &ChannelMonitor { lanes: 2, tiles: 2, levels: 3, tag_width: 1 },
        &[Fault::operator("g_lanes[0].out_of_tolerance", "<", "<="), Fault::net("tile", "tile_q")],
    );
    are_the_same(
        &KvPacker { lanes: 2, block_bytes: 3, checksum: true },
        &[
            Fault::net("spill", "24'd0"),
            Fault::net("state_q", "StateHeader").into("bits_q"),
            Fault::net("next_last", "1'b0").into("crc_q"),
        ],
    );
}
