//! Scratch.
use hdl::blocks::kelle::*;
use hdl::lang::*;
fn go<B: CatalogBlock>(dir: &str, file: &str, block: &B) {
    let d = elaborate(block).unwrap_or_else(|e| panic!("{e}"));
    let text: String = d.verilog().into_iter().map(|f| f.text).collect();
    std::fs::write(format!("{dir}/{file}.v"), text).unwrap();
    std::fs::write(format!("{dir}/{file}.top"), d.top_name()).unwrap();
}
fn all<B: CatalogBlock>(dir: &str) {
    go(dir, &format!("{}_default", B::ABOUT.name), &B::default());
    for (i, b) in B::configurations().iter().enumerate() {
        go(dir, &format!("{}_{i}", B::ABOUT.name), b);
    }
    for (i, b) in B::proofs().iter().enumerate() {
        go(dir, &format!("{}_proof{i}", B::ABOUT.name), &b.block);
    }
}
fn main() {
    let dir = std::env::args().nth(1).unwrap();
    std::fs::create_dir_all(&dir).unwrap();
    go(&dir, "edram_bank_x", &EdramBank { rows: 3, width: 3, retention_model: true, ..EdramBank::default() });
    let refresh =
        RefreshController { rows: 2, interval_width: 5, interval: 4, patience: 0, tick_log2: 0, ..Default::default() };
    let small = KvBankGroup { banks: 3, lanes: 2, refresh, score_width: 2, amount_width: 3, ..Default::default() };
    go(&dir, "kv_bank_group_x", &small);
    let retention = KvBankGroup { banks: 2, lanes: 1, retention_model: true, ..small };
    go(&dir, "kv_bank_group_y", &retention);
    let bb = hdl::blocks::common::RamImplementation::BlackBox;
    go(&dir, "kv_bank_group_bb", &KvBankGroup { implementation: bb, ..Default::default() });
    all::<EdramBank>(&dir);
    all::<ScoreRegisterFile>(&dir);
    all::<RefreshController>(&dir);
    all::<KvBankGroup>(&dir);
    all::<SystolicEvictor>(&dir);
    all::<EvictionController>(&dir);
}
