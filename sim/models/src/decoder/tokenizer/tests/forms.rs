//! Normalisers and pre-tokenizers of folders: those that are supported do not panic, and the others are refused.

use serde_json::json;

use super::{of_json, small_json};

/// Normalisers and pre-tokenizers that the crate panics on, alone and in a sequence.
#[test]
fn forms_that_would_panic() {
    let empty = "wanted is a text that is not empty";
    let changes = [
        (
            json!({"type": "Precompiled", "precompiled_charsmap": "AAAA"}),
            "`Precompiled` is not supported, wanted is NFC",
        ),
        (json!({"type": "Precompiled", "precompiled_charsmap": ""}), "`Precompiled` is not supported"),
        (json!({"type": "Precompiled", "precompiled_charsmap": null}), "`Precompiled` is not supported"),
        (json!({"type": "Replace", "pattern": {"String": ""}, "content": "x"}), empty),
        (json!({"type": "Replace", "pattern": {"Regex": ""}, "content": "x"}), empty),
        (json!({"type": "Replace", "pattern": {"Regex": "x*"}, "content": "x"}), "`pattern.String` of Replace is null"),
        (json!({"type": "Prepend", "prepend": ""}), empty),
        (json!({"prepend": ""}), "wanted is an object with `type`"),
    ];
    let pre_tokenizers = [
        (json!({"type": "FixedLength", "length": 0}), "`FixedLength` is not supported"),
        (json!({"type": "Split", "pattern": {"String": ""}, "behavior": "Isolated", "invert": false}), empty),
        (json!("x"), "is \"x\", wanted is an object with `type`"),
    ];
    let of = |key: &str, value: &serde_json::Value| format!("{:#}", of_json(|j| j[key] = value.clone()).unwrap_err());
    for (key, parts, cases) in
        [("normalizer", "normalizers", &changes[..]), ("pre_tokenizer", "pretokenizers", &pre_tokenizers)]
    {
        for (form, part) in cases {
            for value in [form.clone(), json!({"type": "Sequence", parts: [form]})] {
                let error = of(key, &value);
                let place = format!("tokenizer.json: `{key}`: ");
                assert!(error.contains(&place) && error.contains(part), "wanted: {part}\nfound: {error}");
            }
        }
        assert!(of(key, &json!({"type": "Sequence"})).contains("a Sequence without"));
    }
}

proptest::proptest! {
    #![proptest_config(seeds::proptest(300))]

    /// Whatever the values of forms are that are not refused, texts have tokens.
    #[test]
    fn forms_of_any_values(
        form in 0..10_usize,
        pattern in "[ax *?+|()=!é\\\\bs^$]{0,5}",
        content in "[xé ]{0,2}",
        behavior in 0..5_usize,
        truth in proptest::bool::ANY,
        text in "[ axé\\n漢]{0,8}",
    ) {
        let behavior = ["Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"][behavior];
        let (key, value) = match form {
            0 => ("normalizer", json!({"type": "Replace", "pattern": {"String": pattern}, "content": content})),
            1 => ("normalizer", json!({"type": "Prepend", "prepend": pattern})),
            2 => ("normalizer", json!({"type": "NFKD"})),
            3 => ("normalizer", json!({"type": "Lowercase"})),
            4 => ("pre_tokenizer", json!({"type": "Digits", "individual_digits": truth})),
            5 => ("pre_tokenizer", json!({"type": "Metaspace", "replacement": content, "split": truth})),
            6 => ("pre_tokenizer", json!({"type": "Punctuation", "behavior": behavior})),
            7 => ("pre_tokenizer", json!({"type": "WhitespaceSplit"})),
            _ => {
                let pattern = if truth { json!({"Regex": pattern}) } else { json!({"String": pattern}) };
                ("pre_tokenizer", json!({"type": "Split", "pattern": pattern, "behavior": behavior, "invert": truth}))
            }
        };
        let both = json!({"type": "Sequence", "pretokenizers": [value, small_json()["pre_tokenizer"]]});
        let value = if key == "normalizer" { value } else { both };
        if let Ok(made) = of_json(|json| json[key] = value.clone()) {
            let _ = made.encode(&text);
        }
    }
}
