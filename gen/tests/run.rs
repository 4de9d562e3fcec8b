//! A language model that writes text on an accelerator.

mod support;

use support::senbazuru;

/// The golden model alone; that the simulation says the same is tested in `testbenches/tests/systems/tender_decoder.rs`.
#[test]
#[ignore = "needs the weights of SmolLM2-135M"]
fn large_a_text_is_written() {
    let run = senbazuru(&["run", "--on", "tender", "--golden", "--tokens", "8", "Gravity is"]).assert().code(0);
    let text = String::from_utf8(run.get_output().stdout.clone()).unwrap();
    assert!(text.starts_with("Gravity is a fundamental concept in physics that describes the\n\n"), "{text}");
    assert!(text.contains("tokens      3 read, 8 written"), "{text}");
}

#[test]
#[ignore = "needs the weights of SmolLM2-135M"]
fn large_long_prompts_are_refused() {
    let prompt = "Gravity is ".repeat(200);
    let run = senbazuru(&["run", "--on", "tender", &prompt]).assert().code(2).stdout_eq("");
    let text = String::from_utf8(run.get_output().stderr.clone()).unwrap();
    assert!(text.starts_with("error: the prompt has ") && text.ends_with("; there is room for 256 in all\n"), "{text}");
}
