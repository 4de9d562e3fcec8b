//! A language model that writes text on an accelerator.

use crate::support::senbazuru;
use test_tag::tag;

/// The golden model alone; that the simulation says the same is tested in `testbenches/tests/accelerators/tender_decoder.rs`.
#[tag(full)]
#[test]
#[ignore = "needs the weights of SmolLM2-135M"]
fn a_text_is_written() {
    let run = senbazuru(&["run", "--on", "tender", "--golden", "--tokens", "8", "Gravity is"]).assert().code(0);
    let text = String::from_utf8(run.get_output().stdout.clone()).unwrap();
    assert!(text.starts_with("Gravity is a fundamental concept in physics that describes the\n\n"), "{text}");
    assert!(text.contains("tokens      3 read, 8 written"), "{text}");
    assert!(text.contains(" s a token, ") && text.contains(" tokens/s"), "{text}");
}

#[tag(full)]
#[test]
#[ignore = "needs the weights of SmolLM2-135M"]
fn long_prompts_are_refused() {
    let prompt = "Gravity is ".repeat(800);
    let run = senbazuru(&["run", "--on", "tender", &prompt]).assert().code(2).stdout_eq("");
    let text = String::from_utf8(run.get_output().stderr.clone()).unwrap();
    let parameter = "error: the model does not fit on tender_top: depth must be ";
    assert!(text.starts_with(parameter) && text.contains(", and is 1536 (tokens of a text)"), "{text}");
}

/// One layer in simulation, every byte of it compared, all others in the golden model; the same text as without a simulation.
fn on_layers(on: &str, tokens: &str, what: &str) {
    let simulated = senbazuru(&["run", "--on", on, "--tokens", tokens, "Gravity is"]).assert().code(0);
    let golden = senbazuru(&["run", "--on", on, "--tokens", tokens, "--golden", "Gravity is"]).assert().code(0);
    let [simulated, golden] =
        [simulated, golden].map(|run| String::from_utf8(run.get_output().stdout.clone()).unwrap());
    println!("{simulated}");
    assert!(simulated.contains(what), "{simulated}");
    assert!(simulated.contains("\n  layers      14 in simulation, the others in the golden model\n"), "{simulated}");
    assert!(simulated.contains(&format!("tokens      3 read, {tokens} written")), "{simulated}");
    let bytes = simulated.split("  checked     ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    assert!(bytes.replace(',', "").parse::<u64>().unwrap() > 50_000, "{simulated}");
    let written = |text: &str| text.split("\n  on  ").next().unwrap().to_owned();
    assert_eq!(written(&simulated), written(&golden));
}

#[tag(release)]
#[test]
#[ignore = "needs the weights of SmolLM2-135M, and a simulation"]
fn a_layer_on_kllm() {
    on_layers("kllm", "3", "kllm_top, 2 lanes of 32 channels, W4A4");
}

#[tag(release)]
#[test]
#[ignore = "needs the weights of SmolLM2-135M, and a simulation"]
fn a_layer_on_kelle() {
    on_layers("kelle", "3", "kelle_top, 16 x 16 PEs");
}

#[tag(release)]
#[test]
#[ignore = "needs the weights of SmolLM2-135M, and a simulation"]
fn a_layer_on_titanus() {
    on_layers("titanus", "3", "titanus_core, 2 x 13 macros");
}

#[tag(full)]
#[test]
#[ignore = "needs the weights of SmolLM2-135M"]
fn what_the_model_has_no_room_for() {
    for (args, wanted) in [
        (&["kllm", "--layers", "14,30"][..], "error: there is no layer 30: the model has 0 to 29\n"),
        (
            &["titanus", "--tokens", "200"][..],
            "error: the model does not fit on titanus_core: spec.context must be 202, and is 128 (tokens of a text)\n",
        ),
    ] {
        senbazuru(&[&["run", "Gravity is", "--on"], args].concat()).assert().code(2).stdout_eq("").stderr_eq(wanted);
    }
    let run = senbazuru(&["run", "--on", "kelle", &"Gravity is ".repeat(60)]).assert().code(2).stdout_eq("");
    let text = String::from_utf8(run.get_output().stderr.clone()).unwrap();
    let wanted = "error: the model does not fit on kelle_top: attention.slots must be ";
    assert!(text.starts_with(wanted) && text.ends_with(", and is 96 (tokens of a prompt)\n"), "{text}");
}
