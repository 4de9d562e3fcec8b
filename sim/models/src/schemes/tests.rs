//! Schemes on the small models of `transformers`.

use crate::decoder::Model;
use std::path::PathBuf;

use super::*;
use crate::decoder::perplexity::surprises;
use crate::decoder::{Decoder, Float, Precision};

const TOKENS: [u32; 14] = [5, 100, 7, 31, 250, 5, 100, 3, 60, 12, 7, 31, 250, 9];

fn model(name: &str) -> Model {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle")).join(name);
    Decoder::open(&path, Precision::Half).unwrap().model
}

fn read(chosen: &str, bench: &Bench<'_>, number: usize) -> Result<Found> {
    let registry = registry();
    let Chosen { scheme, settings } = Chosen::parse(&registry, chosen)?;
    let passage = Passage { tokens: &TOKENS, scored: TOKENS.len() - 1, prompt: 7, number };
    scheme.prepare(&settings, bench)?.read(&passage)
}

/// Every scheme reads a model of each family, the same for the same passage. With all its bits a scheme is near floats.
#[test]
fn all_schemes_read_both_families() {
    let learning = Learning { windows: vec![TOKENS.to_vec()] };
    for name in ["qwen2", "opt"] {
        let model = model(name);
        let bench = Bench::new(&model, Some(&learning));
        let float = surprises(&model, &TOKENS, &mut Float).unwrap();
        let all = registry();
        for scheme in &all {
            let found = read(scheme.name(), &bench, 3).unwrap_or_else(|e| panic!("{name} {}: {e:#}", scheme.name()));
            assert!(found.surprises.iter().all(|s| s.is_finite()), "{name} {}", scheme.name());
            assert_eq!(found, read(scheme.name(), &bench, 3).unwrap(), "{name} {}", scheme.name());
        }
        let near = |chosen: &str| -> f64 {
            let found = read(chosen, &bench, 0).unwrap().surprises;
            found.iter().zip(&float).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        };
        for chosen in ["float", "kelle:tokens=16", "flips"] {
            assert!(near(chosen) < 1e-3, "{name} {chosen}: {}", near(chosen));
        }
        for (fine, coarse) in [
            ("integers", "integers:bits=2"),
            ("tender:ranges=itself", "tender:bits=2"),
            ("kllm:weights=8,activations=8", "kllm:weights=1,activations=1"),
            ("cache", "cache:bits=2"),
            ("titanus:levels=no,pruned=0", "titanus:keys=2,values=2,pruned=0"),
            ("flips:low=0.01", "flips:high=0.5"),
            ("refreshed", "refreshed:interval=1000000"),
        ] {
            assert!(near(fine) < near(coarse), "{name} {fine}: {}, {coarse}: {}", near(fine), near(coarse));
        }
        // Random numbers of a passage are its own.
        let flips = |number| read("flips:high=0.1", &bench, number).unwrap();
        assert_ne!(flips(0), flips(1));
    }
}

#[test]
fn what_a_scheme_needs() {
    let model = model("opt");
    let bench = Bench::new(&model, None);
    for chosen in ["tender", "kllm"] {
        let error = format!("{:#}", read(chosen, &bench, 0).unwrap_err());
        assert!(error.contains("learns from a text"), "{chosen}: {error}");
    }
    let learning = Learning { windows: vec![TOKENS.to_vec()] };
    let bench = Bench::new(&model, Some(&learning));
    let error = format!("{:#}", read("kllm:counting=fisher", &bench, 0).unwrap_err());
    assert!(error.contains("family Llama"), "{error}");
    let error = format!("{:#}", read("kelly", &bench, 0).unwrap_err());
    assert!(error.contains("there is no scheme `kelly`; schemes are: float, integers, tender, "), "{error}");
    let error = format!("{:#}", read("kelle:token=4", &bench, 0).unwrap_err());
    assert!(error.contains("scheme `kelle`: there is no option `token`; options are: tokens, policy"), "{error}");
    assert!(read("integers:activations=1", &bench, 0).is_err() && read("kllm:activations=9", &bench, 0).is_err());
}

/// Weights that count by their Fisher information keep the surprises of a text better than equal ones, in few bits.
#[test]
fn fisher_information_helps() {
    let learning = Learning { windows: vec![TOKENS.to_vec()] };
    let model = model("llama-3");
    let bench = Bench::new(&model, Some(&learning));
    let float = surprises(&model, &TOKENS, &mut Float).unwrap();
    let of = |counting: &str| {
        let chosen = format!("kllm:weights=2,activations=16,counting={counting}");
        let found = read(&chosen, &bench, 0).unwrap().surprises;
        found.iter().zip(&float).map(|(a, b)| (a - b).powi(2)).sum::<f64>()
    };
    let (fisher, alike) = (of("fisher"), of("alike"));
    assert!(fisher < alike, "{fisher} {alike}");
}

/// Names, options and defaults of all schemes are in order.
#[test]
fn the_registry() {
    let all = registry();
    let mut names: Vec<&str> = all.iter().map(|scheme| scheme.name()).collect();
    for scheme in &all {
        let chosen = Chosen::parse(&all, scheme.name()).unwrap();
        assert_eq!(Chosen::parse(&all, &chosen.canonical()).unwrap().settings, chosen.settings);
        assert!(!scheme.about().ends_with('.') && scheme.choices().iter().all(|choice| !choice.about.ends_with('.')));
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all.len());
}

#[test]
fn windows_to_learn_from() {
    let tokens: Vec<u32> = (0..20).collect();
    let learning = Learning::new(&tokens, 8, 5, 3).unwrap();
    assert_eq!((learning.windows[2].clone(), learning.tokens(), learning.stride()), ((10..18).collect(), 24, 1));
    let error = Learning::new(&tokens, 8, 5, 4).unwrap_err().to_string();
    assert!(error.contains("4 windows of 8, each 5 after the one before, need 23"), "{error}");
    assert!(Learning::new(&tokens, 1, 5, 1).is_err() && Learning::new(&tokens, 8, usize::MAX, 3).is_err());
}

/// Windows as far as a text has them; a short text is one window.
#[test]
fn beginnings_of_a_text() {
    let tokens: Vec<u32> = (0..10).collect();
    let windows = |length, step, count| Learning::beginnings(&tokens, length, step, count).unwrap().windows;
    assert_eq!(windows(3, 4, 2), [vec![0, 1, 2], vec![4, 5, 6]]);
    assert_eq!(windows(3, 4, 9), [vec![0, 1, 2], vec![4, 5, 6]]);
    assert_eq!(windows(2, 4, 9), [vec![0, 1], vec![4, 5], vec![8, 9]]);
    assert_eq!(windows(64, 1, 9), std::slice::from_ref(&tokens));
    let refused = |tokens: &[u32], length, step| Learning::beginnings(tokens, length, step, 1).unwrap_err().to_string();
    assert_eq!(refused(&tokens[..1], 4, 1), "wanted is a text of 2 tokens or more, this one has 1");
    assert_eq!(refused(&tokens, 1, 1), "the length of a window is 1, allowed: 2 tokens or more");
    assert_eq!(refused(&tokens, 4, 0), "the stride is 0, allowed: 1 token or more");
}
