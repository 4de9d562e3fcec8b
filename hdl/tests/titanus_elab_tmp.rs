use hdl::blocks::common::*;
use hdl::blocks::titanus::*;
use hdl::lang::{CatalogBlock, elaborate};
fn all<B: CatalogBlock>() {
    for b in std::iter::once(B::default()).chain(B::configurations()).chain(B::proofs().into_iter().map(|p| p.block)) {
        if let Err(e) = elaborate(&b) {
            panic!("{}: {e}", B::ABOUT.name);
        }
    }
}
#[test]
fn elab() {
    all::<Compactor>();
    all::<Expander>();
    all::<PruningUnit>();
    all::<MaxMinFinder>();
    all::<NonZeroQuantizer>();
    all::<ChannelMonitor>();
    all::<ScaleZeroBuffer>();
    all::<QuantizationUnit>();
    all::<KvPacker>();
    all::<KvUnpacker>();
    all::<DequantizationUnit>();
    all::<KvCompressor>();
    all::<KvDecompressor>();
}
