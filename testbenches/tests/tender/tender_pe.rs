//! The processing element in all its configurations, and broken ones.

use hdl::blocks::tender::{Drain, Multiplier, Rescale, TenderPe};
use hdl::lang::CatalogBlock;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::options;
use testbenches::tender::tender_pe::bench;

#[test]
fn configurations() {
    for block in std::iter::once(TenderPe::default()).chain(TenderPe::configurations()) {
        let options = options(20_000);
        sim::kit::run(&block, bench, &options).unwrap_or_else(|e| panic!("{e}"));
    }
}

#[test]
fn broken_elements_are_noticed() {
    let faults = [
        ("no rescale", Fault::net("rescale_i", "1'b0").into("acc_q")),
        ("overflow of the upper half only", Fault::net("leaves", "right & !base[31]")),
        ("the flag forgets", Fault::net("overflow", "leaves")),
        ("a waiting sum moves", Fault::net("moves", "1'b1")),
    ];
    must_be_noticed(&TenderPe::default(), bench, 20_000, &faults);
    let single = TenderPe { drain: Drain::Single, ..TenderPe::default() };
    let faults = [("the row shifts into a new tile", Fault::net("shift", "draining_q | drain_i"))];
    must_be_noticed(&single, bench, 20_000, &faults);
    let faults = [
        (
            "a negation without its 1",
            Fault::net("rows_2_upper", "$signed({row_2[4], row_2[4:1]}) + $signed({row_3[4], row_3})"),
        ),
        ("the highest row is added always", Fault::net("row_3", "act_i[3] ? weight_i : 5'sd0")),
    ];
    let rows = TenderPe { multiplier: Multiplier::Tree, ..TenderPe::default() };
    must_be_noticed(&rows, bench, 20_000, &faults);
    let faults = [
        ("the accumulator joins the neighbour's sum", Fault::net("shift", "1'b0").into("base")),
        ("a neighbour's sum without its sign", Fault::net("addend", "{1'b0, right[30:0]}").into("acc_q")),
    ];
    must_be_noticed(&TenderPe { drain: Drain::Single, ..rows.clone() }, bench, 20_000, &faults);
    let pipelined = TenderPe { pipelined: true, ..TenderPe::default() };
    let faults = [
        ("the product does not wait", Fault::net("product_q", "product").into("acc_q")),
        ("the tile begins a cycle early", Fault::net("first_q", "first_i").into("acc_q")),
        ("the rescale comes a cycle early", Fault::net("rescale_q", "rescale_i").into("acc_q")),
        ("the sum is taken before its last product", Fault::net("complete_q", "last_q")),
    ];
    must_be_noticed(&pipelined, bench, 20_000, &faults);
    let pipelined = TenderPe { drain: Drain::Single, pipelined: true, ..rows };
    let faults = [
        ("a product joins the neighbour's sum", Fault::net("arriving", "product_q")),
        ("the row stops for a tile a cycle early", Fault::net("first_q", "first_i").into("draining_q")),
    ];
    must_be_noticed(&pipelined, bench, 20_000, &faults);
    let factor = TenderPe { rescale: Rescale::Factor, ..TenderPe::default() };
    must_be_noticed(&factor, bench, 20_000, &[("digits without a carry", Fault::net("carry_q", "4'd0"))]);
}
