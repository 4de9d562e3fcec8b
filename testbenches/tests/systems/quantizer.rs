//! Parts of KLLM's quantizer in all configurations, and broken.

use hdl::accelerators::kllm::{OutlierMask, OutlierShare, TokenPacker};
use hdl::lang::CatalogBlock;
use sim::RunOptions;
use sim::fault::Fault;
use testbenches::faults::must_be_noticed;
use testbenches::systems::{outlier_mask, outlier_share, token_packer};
use testbenches::{MakeBench, run_all};

fn configurations<B: CatalogBlock>(bench: MakeBench<B>, vectors: u64) {
    let options = RunOptions { vectors, ..testbenches::options(vectors) };
    for report in run_all(bench, &options).unwrap() {
        assert!(report.compared >= vectors / 2, "{report:?}");
    }
}

#[test]
fn all_configurations() {
    configurations(outlier_share::bench, 400);
    configurations(outlier_mask::bench, 3000);
    configurations(token_packer::bench, 60);
}

#[test]
fn faults_of_shares_are_found() {
    let faults = [
        ("what is left over is forgotten", Fault::net("next_i", "1'b0").into("share_q")),
        ("a clear keeps what was left over", Fault::net("clear_i", "1'b0").into("rest_q")),
        ("a share is ready too early", Fault::net("ready_o", "1'b1")),
    ];
    must_be_noticed(&OutlierShare { count_width: 4, segment_width: 3 }, outlier_share::bench, 300, &faults);
}

#[test]
fn faults_of_masks_are_found() {
    let faults = [
        ("an element is fresh each time", Fault::net("fresh_o", "marked_q")),
        ("marks are put into the row in use", Fault::net("fill_last_i", "1'b0").into("fill_bank_q")),
        ("a row is used for ever", Fault::net("use_last_i", "1'b0").into("use_bank_q")),
        ("a word is not made blank", Fault::net("blank_i", "1'b0").into("writes")),
        ("a clear keeps the bank", Fault::net("clear_i", "1'b0").into("use_bank_q")),
    ];
    must_be_noticed(&OutlierMask { depth: 5, lanes: 3 }, outlier_mask::bench, 3000, &faults);
}

#[test]
fn faults_of_packing_are_found() {
    let faults = [
        ("a part ends a beat late", Fault::net("part_ends", "right & over_q")),
        ("outliers of the next token come along", Fault::net("some_due", "1'b1")),
        ("outliers are not ended", Fault::net("no_outliers_q", "1'b1")),
        ("indices of 3 bits are told as 4", Fault::net("three_bits_i", "1'b0")),
        ("a clear keeps outliers", Fault::net("clear_i", "1'b0").into("due_q")),
    ];
    must_be_noticed(&TokenPacker::configurations()[1], token_packer::bench, 300, &faults);
}
