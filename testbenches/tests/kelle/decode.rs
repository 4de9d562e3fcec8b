//! Decoding on real queries, keys and values.

use golden::kelle::decode::Numbers;
use hdl::blocks::kelle::EvictionController;
use models::kelle::decode::{RECORDED, Trace};
use sim::Design;
use sim::kit::options;
use test_tag::tag;
use testbenches::kelle::decode_hardware::{Text, bench};

fn text(layer: u32, head: usize) -> Text {
    let (queries, keys) = Trace::read(layer, head).unwrap_or_else(|e| panic!("{e}")).quantized();
    Text { queries, keys }
}

/// 320 steps with a full cache of 64 tokens: the hardware evicts the same tokens as the golden model.
#[test]
fn same_victims() {
    let design =
        Design::from(&hdl::lang::elaborate(&EvictionController { slots: 64 }).unwrap_or_else(|e| panic!("{e}")));
    for (layer, head, numbers) in [(14, 0, Numbers::FOUR_BITS), (28, 1, Numbers::WIDE)] {
        let bench = bench(text(layer, head), 64, numbers).unwrap_or_else(|e| panic!("{e}"));
        let report = sim::run(&*bench, &design, &options(1000)).unwrap_or_else(|e| panic!("{e}"));
        assert!(report.compared > 320 * 64, "{report:?}");
    }
}

#[tag(full)]
#[test]
#[ignore = "all heads and sizes"]
fn same_victims_everywhere() {
    for tokens in [16, 32, 64, 128] {
        let block = EvictionController { slots: tokens as u32 };
        let design = Design::from(&hdl::lang::elaborate(&block).unwrap_or_else(|e| panic!("{e}")));
        for ((layer, head), numbers) in RECORDED.into_iter().flat_map(|r| [(r, Numbers::FOUR_BITS), (r, Numbers::WIDE)])
        {
            let bench = bench(text(layer, head), tokens, numbers).unwrap_or_else(|e| panic!("{e}"));
            sim::run(&*bench, &design, &options(1000)).unwrap_or_else(|e| panic!("{e}"));
        }
    }
}
