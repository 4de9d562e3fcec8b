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
    let chosen = Chosen::parse(&registry, chosen)?;
    let passage = Passage { tokens: &TOKENS, scored: TOKENS.len() - 1, prompt: 7, number };
    chosen.prepare(bench)?.read(&passage)
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
        // Its norms subtract means.
        if name == "opt" {
            let error = format!("{:#}", read("quarot", &bench, 3).unwrap_err());
            assert!(error.contains("are for the family Llama, this model is Gpt"), "{error}");
        }
        for scheme in all.iter().filter(|scheme| name != "opt" || scheme.name() != "quarot") {
            let found = read(scheme.name(), &bench, 3).unwrap_or_else(|e| panic!("{name} {}: {e:#}", scheme.name()));
            assert!(found.surprises.iter().all(|s| s.is_finite()), "{name} {}", scheme.name());
            assert_eq!(found, read(scheme.name(), &bench, 3).unwrap(), "{name} {}", scheme.name());
        }
        let near = |chosen: &str| -> f64 {
            let found = read(chosen, &bench, 0).unwrap().surprises;
            found.iter().zip(&float).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
        };
        for chosen in ["float", "kelle:tokens=16", "flips", "h2o:tokens=14", "window:tokens=14", "kivi"] {
            assert!(near(chosen) < 1e-3, "{name} {chosen}: {}", near(chosen));
        }
        for (fine, coarse) in [
            ("integers", "integers:bits=2"),
            ("tender:ranges=itself", "tender:bits=2"),
            ("kllm:weights=8,activations=8", "kllm:weights=1,activations=1"),
            ("cache", "cache:bits=2"),
            ("rtn:form=zero-point", "rtn:weights=2,activations=2,form=zero-point"),
            ("rtn:group=16", "rtn:weights=3,activations=3"),
            ("smoothquant", "smoothquant:weights=3,activations=3"),
            ("gptq:weights=8", "gptq:weights=2"),
            ("atom:weights=8,activations=8", "atom:weights=2,activations=2"),
            ("ant:weights=8,activations=8", "ant:weights=3,activations=3"),
            ("olive:activations=exact", "olive"),
            ("mx:format=mxint8", "mx:format=mxfp4"),
            ("mx:format=smx6", "mx:format=smx4"),
            ("rotated-cache:bits=8", "rotated-cache:bits=2"),
            ("kivi:group=4,residual=4,keys=8,values=8", "kivi:group=4,residual=4"),
            ("h2o:tokens=10", "h2o:tokens=2"),
            ("window:tokens=12", "window:tokens=2,sinks=0"),
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

/// A rotated residual stream is the same model: also with many bits, whatever the signs.
#[test]
fn rotations_change_nothing() {
    let learning = Learning { windows: vec![TOKENS.to_vec()] };
    for name in ["qwen2", "llama-3", "llama-tied"] {
        let model = model(name);
        let bench = Bench::new(&model, Some(&learning));
        let float = surprises(&model, &TOKENS, &mut Float).unwrap();
        let width = model.config().width;
        let signs = (0..width).map(|i| if i % 5 < 2 { -1.0 } else { 1.0 }).collect();
        let rotation = baselines::hadamard::Rotation::new(width, Some(signs));
        let turned = baselines::quarot::rotated(&model, &rotation).unwrap();
        let found = surprises(&turned, &TOKENS, &mut Float).unwrap();
        let far = |a: &[f64]| a.iter().zip(&float).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(far(&found) < 1e-5, "{name}: {}", far(&found));
        let of = |chosen: &str| far(&read(chosen, &bench, 0).unwrap().surprises);
        let fine = of("quarot:weights=8,activations=exact,solve=nearest");
        let coarse = of("quarot:weights=2,activations=exact,solve=nearest");
        assert!(fine < 0.1 * coarse, "{name}: {fine} {coarse}");
    }
}

#[test]
fn options_that_contradict_each_other() {
    let model = model("opt");
    let bench = Bench::new(&model, None);
    for (chosen, part) in [
        ("rtn:scale=tensor,group=8", "option `scale` is tensor, wanted is token for groups of 8"),
        ("kivi:group=32,residual=48", "option `residual` is 48, wanted is a multiple of `group`, 32"),
        ("window:tokens=4,sinks=4", "option `sinks` is 4, wanted is less than `tokens`, 4"),
        ("mx:format=mxfp5", "allowed: mxfp8-e4m3, mxfp8-e5m2, "),
        ("gptq:damping=-1", "allowed: a number from 0 to 10"),
    ] {
        let error = format!("{:#}", read(chosen, &bench, 0).unwrap_err());
        assert!(error.contains(part), "{chosen}: {error}");
    }
}

#[test]
fn what_a_scheme_needs() {
    let model = model("opt");
    let bench = Bench::new(&model, None);
    for chosen in ["tender", "kllm", "smoothquant", "gptq", "atom", "ant", "olive"] {
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

/// Products of one scheme go with caches of others, in any order: as many products as there are, and all caches.
#[test]
fn products_with_caches() {
    let learning = Learning { windows: vec![TOKENS.to_vec()] };
    let model = model("qwen2");
    let bench = Bench::new(&model, Some(&learning));
    let read = |chosen: &str| read(chosen, &bench, 0).unwrap_or_else(|e| panic!("{chosen}: {e:#}"));
    let all = registry();
    let of =
        |wanted: fn(Part) -> bool| all.iter().filter(move |scheme| wanted(scheme.part())).map(|scheme| scheme.name());
    for products in of(|part| part == Part::Products) {
        let alone = read(products);
        for cache in of(|part| part.is_cache() && part != Part::Nothing) {
            let (joined, cached) = (read(&format!("{products}+{cache}")), read(cache));
            assert_eq!(joined, read(&format!("{cache}+{products}")), "{products} {cache}");
            // Figures of both, though other products may give the cache other numbers.
            let names = |found: &[&Found]| -> Vec<String> {
                found.iter().flat_map(|found| &found.tallies).map(|tally| tally.name.clone()).collect()
            };
            assert_eq!(names(&[&joined]), names(&[&alone, &cached]), "{products} {cache}");
            assert_ne!(joined.surprises, cached.surprises, "{products} {cache}");
        }
        // Caches with all tokens, or that store exactly, change nothing.
        assert_eq!(alone, read(&format!("{products}+float")));
        let room = read(&format!("{products}+kelle:tokens=16"));
        let near = |a: &f64, b: &f64| (a - b).abs() < 1e-9;
        assert!(room.surprises.iter().zip(&alone.surprises).all(|(a, b)| near(a, b)), "{products}");
    }
    // What is stored is what the tokens that stay have.
    let stored = read("cache:bits=3");
    let both = read("cache:bits=3+kelle:tokens=16");
    assert!(both.surprises.iter().zip(&stored.surprises).all(|(a, b)| (a - b).abs() < 1e-9));
    assert_ne!(read("cache:bits=3+kelle:tokens=4").surprises, read("kelle:tokens=4").surprises);
    let refused = |chosen: &str| format!("{:#}", Chosen::parse(&all, chosen).unwrap_err());
    assert!(
        refused("cache+titanus").contains("two: `cache`, which replaces how keys and values are stored; `titanus`")
    );
    assert!(refused("kelle+refreshed").contains("`refreshed`, which replaces how keys and values are stored, and"));
    assert!(refused("integers+tender").contains("`integers`, which replaces the products of projections"));
    let canonical = |chosen: &str| Chosen::parse(&all, chosen).unwrap().canonical();
    assert_eq!(canonical("kelle+float+cache+integers"), canonical("integers+cache+kelle"));
    assert_eq!((canonical("float+float"), canonical("flips:low=1e+0")), ("float".into(), canonical("flips:low=1")));
    let wrong = Chosen::parse(&all, "tender+kelle").unwrap().is_cache(&all).unwrap_err().to_string();
    assert!(
        wrong.contains("`tender` replaces the products of projections, wanted is a cache: float, cache"),
        "{wrong}"
    );
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
        assert_eq!(Chosen::parse(&all, &chosen.canonical()).unwrap().canonical(), chosen.canonical());
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
