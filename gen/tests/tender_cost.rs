//! What Tender's processing element, its rescale path and its registers may cost, and a plain cell beside one that was
//! written by hand.

use hdl::blocks::common::MacMesh;
use hdl::blocks::tender::{Drain, MultiScaleArray, Multiplier, Rescale, TenderPe};
use hdl::lang::Block;
use senbazuru::flows::lint::Sources;
use senbazuru::flows::synth::{Aig, Options, synthesise};

fn graph<B: Block>(p: &B) -> Aig {
    graph_of(p, |text| text)
}

/// The graph of the block with its Verilog changed.
fn graph_of<B: Block>(p: &B, change: impl Fn(String) -> String) -> Aig {
    let design = hdl::lang::elaborate(p).unwrap();
    let mut sources = Sources::from(&design);
    for file in &mut sources.files {
        file.text = change(std::mem::take(&mut file.text));
    }
    synthesise(&sources, &design.manifest(), &Options::default()).unwrap().aig.unwrap()
}

/// Less than 10 % of the AND nodes before optimisation, less than 5 % after it, and one level; with it, fewer nodes than
/// a public 4 x 4 + 32 bit PE has without it (780).
#[test]
fn rescaling_is_nearly_free() {
    for accumulator_width in [24, 32] {
        let with = graph(&TenderPe { accumulator_width, ..TenderPe::default() });
        let without = graph(&TenderPe { accumulator_width, rescale: Rescale::None, ..TenderPe::default() });
        for (with, without, percent) in [(&with.strash, &without.strash, 10), (&with.dc2, &without.dc2, 5)] {
            assert!(with.and_nodes * 100 < without.and_nodes * (100 + percent), "{with:?} {without:?}");
            assert!(with.levels <= without.levels + 1, "{with:?} {without:?}");
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

/// 20 levels between registers, 32 where an accumulator of 32 bits feeds back on itself.
#[test]
fn pipelined_paths_are_short() {
    let pe = TenderPe { pipelined: true, ..TenderPe::default() };
    let array = MultiScaleArray { rows: 2, columns: 2, pe: pe.clone(), int8: true };
    for p in [pe.clone(), TenderPe { drain: Drain::Single, ..pe }] {
        let levels = graph(&p).strash.levels;
        assert!(levels <= 32, "{levels} {p:?}");
    }
    let whole = graph(&array).strash.levels;
    assert!(whole <= 32, "{whole}");
    // Without the carries of the accumulators: all other paths.
    let others =
        graph_of(&array, |text| text.replace("wire signed [31:0] sum = base + ", "wire signed [31:0] sum = base ^ "));
    assert!(others.strash.levels <= 20 && others.strash.levels < whole, "{others:?}");
}

const BY_HAND: &str = "
module top(input wire clk_i, input wire rst_ni, input wire clear_i, input wire signed [7:0] act_i,
  input wire signed [7:0] weight_i, output reg clear_o, output reg signed [7:0] act_o, output reg signed [7:0] weight_o,
  output reg signed [31:0] acc_o);
  always @(posedge clk_i or negedge rst_ni) if (!rst_ni) clear_o <= 1'b0; else clear_o <= clear_i;
  always @(posedge clk_i) begin
    act_o <= act_i;
    weight_o <= weight_i;
    if (clear_i) acc_o <= act_i * weight_i; else acc_o <= acc_o + act_i * weight_i;
  end
endmodule
";

/// A plain cell is no larger than one written by hand, nor than 796 nodes.
#[test]
fn a_plain_cell_is_as_small_as_by_hand() {
    let cell = MacMesh { rows: 1, columns: 1, ..MacMesh::default() };
    let ours = graph(&cell);
    // The same ports but for what a mesh of one does not use.
    let design = hdl::lang::elaborate(&cell).unwrap();
    let mut sources = Sources::from(&design);
    sources.files.truncate(1);
    sources.files[0].text = BY_HAND.into();
    sources.top = "top".into();
    let mut manifest = design.manifest();
    manifest.modules.last_mut().unwrap().name = "top".into();
    let hand = synthesise(&sources, &manifest, &Options::default()).unwrap().aig.unwrap();
    assert!(ours.strash.and_nodes <= hand.strash.and_nodes, "{ours:?} {hand:?}");
    assert!(ours.dc2.and_nodes <= hand.dc2.and_nodes.min(796), "{ours:?} {hand:?}");
}
