//! The registers in all their configurations.

use hdl::blocks::common::ShellRegisters;
use sim::fault::Fault;
use sim::kit::faults::must_be_noticed;
use sim::kit::options;
use testbenches::common::shell::shell_registers::bench;

#[test]
fn all_configurations() {
    sim::kit::run_all(bench, &options(20_000)).unwrap_or_else(|e| panic!("{e:#}"));
}

/// Numbers of two words whose low word is read first.
#[test]
fn faults_of_high_words_are_found() {
    let faults = [
        ("a high word is not kept", Fault::net("read_kept", "1'b0")),
        ("a high word is kept after its read", Fault::net("read_kept", "|kept_word_q")),
        (
            "a high word is kept for another place",
            Fault::net("kept_word_q", "read & reads_low ? read_word + 7'd17 : 7'd0"),
        ),
    ];
    must_be_noticed(&ShellRegisters::default(), bench, 2000, &faults);
}
