//! Upper bounds on the cost of Tender's processing element and its rescale path, and a plain cell beside a hand-written
//! one.

use hdl::blocks::common::MacMesh;
use hdl::blocks::tender::{Drain, Multiplier, Rescale, TenderPe};
use hdl::lang::Block;
use senbazuru::flows::lint::Sources;
use senbazuru::flows::synth::{Aig, Options, synthesise};

fn graph<B: Block>(p: &B) -> Aig {
    let design = hdl::lang::elaborate(p).unwrap();
    synthesise(&Sources::from(&design), &design.manifest(), &Options::default()).unwrap().aig.unwrap()
}

/// With `*` less than 6 % of the AND nodes and no level, before and after optimisation. Of rows the whole unit is smaller
/// and so the share larger. With it, fewer nodes than a public 4 x 4 + 32 bit PE has without it (780).
#[test]
fn rescaling_is_nearly_free() {
    for (multiplier, accumulator_width) in
        [(Multiplier::Operator, 24), (Multiplier::Operator, 32), (Multiplier::Tree, 24), (Multiplier::Tree, 32)]
    {
        let block = TenderPe { accumulator_width, multiplier, ..TenderPe::default() };
        let with = graph(&block);
        let without = graph(&TenderPe { rescale: Rescale::None, ..block });
        let (percent, levels) = if multiplier == Multiplier::Operator { ([6, 6], 0) } else { ([10, 6], 1) };
        for (with, without, percent) in
            [(&with.strash, &without.strash, percent[0]), (&with.dc2, &without.dc2, percent[1])]
        {
            assert!(with.and_nodes * 100 < without.and_nodes * (100 + percent), "{multiplier:?} {with:?} {without:?}");
            assert!(with.levels <= without.levels + levels, "{multiplier:?} {with:?} {without:?}");
        }
        assert!(with.dc2.and_nodes <= 650, "{with:?}");
    }
}

#[test]
fn smallest_element() {
    let small = TenderPe { drain: Drain::Single, multiplier: Multiplier::Array, ..TenderPe::default() };
    let graph = graph(&small);
    assert!(graph.dc2.and_nodes <= 500, "{graph:?}");
}

/// `NEXT` is the next value of the accumulator.
const BY_HAND: &str = "
module top(input wire clk_i, input wire rst_ni, input wire clear_i, input wire signed [7:0] act_i,
  input wire signed [7:0] weight_i, output reg clear_o, output reg signed [7:0] act_o, output reg signed [7:0] weight_o,
  output reg signed [31:0] acc_o);
  wire signed [15:0] p = act_i * weight_i;
  always @(posedge clk_i or negedge rst_ni) if (!rst_ni) clear_o <= 1'b0; else clear_o <= clear_i;
  always @(posedge clk_i) begin
    act_o <= act_i;
    weight_o <= weight_i;
    acc_o <= NEXT;
  end
endmodule
";

/// A plain cell is no larger than a hand-written one.
#[test]
fn a_plain_cell_is_as_small_as_by_hand() {
    let design = hdl::lang::elaborate(&MacMesh { rows: 1, columns: 1, ..MacMesh::default() }).unwrap();
    let (mut sources, mut manifest) = (Sources::from(&design), design.manifest());
    // The cell comes before the mesh.
    sources.files.truncate(1);
    manifest.modules.truncate(1);
    sources.top = manifest.modules[0].name.clone();
    let ours = synthesise(&sources, &manifest, &Options::default()).unwrap().aig.unwrap();
    sources.top = "top".into();
    manifest.modules[0].name = "top".into();
    for next in [
        "clear_i ? act_i * weight_i : acc_o + act_i * weight_i",
        "clear_i ? p : acc_o + p",
        "(clear_i ? 32'sd0 : acc_o) + p",
        "(clear_i ? 32'd0 : acc_o) + {{16{p[15]}}, p}",
    ] {
        sources.files[0].text = BY_HAND.replace("NEXT", next);
        let hand = synthesise(&sources, &manifest, &Options::default()).unwrap().aig.unwrap();
        assert!(ours.strash.and_nodes <= hand.strash.and_nodes, "{next}: {ours:?} {hand:?}");
        assert!(ours.dc2.and_nodes <= hand.dc2.and_nodes, "{next}: {ours:?} {hand:?}");
    }
}
