//! Evaluations with readers that need no model.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::journal::Problem;

/// Is as surprised as the number of a token says, times a factor.
struct Counting<'a>(f64, &'a AtomicUsize);

impl Reader for Counting<'_> {
    fn read(&self, passage: &Passage<'_>) -> Result<Found> {
        self.1.fetch_add(1, Ordering::Relaxed);
        ensure!(!passage.tokens.contains(&99), "token 99");
        let scored = &passage.tokens[passage.tokens.len() - passage.scored..];
        let surprises = scored.iter().map(|&token| f64::from(token) * self.0).collect();
        let tallies = vec![
            Tally::most("most", passage.tokens.len() as f64),
            Tally::ratio("prompt", [passage.prompt as u64, passage.tokens.len() as u64], 1.0),
            Tally::count("passages", 1),
        ];
        Ok(Found { surprises, tallies })
    }
}

fn material(tokens: &[u32]) -> Material {
    let mut material = Material::default();
    material.add_text(tokens, Windows::new(4, 2).unwrap(), None).unwrap();
    let text = |tokens: &[u32]| ChoiceText { tokens: tokens.to_vec(), scored: 1, bytes: 1 };
    for (choices, answer) in [([text(&[1, 2]), text(&[1, 1])], 1), ([text(&[1, 3]), text(&[1, 4])], 1)] {
        let of = |text: &ChoiceText| Owned { tokens: text.tokens.clone(), scored: 1, prompt: 1 };
        material.passages.extend(choices.iter().map(of));
        material.questions.push((choices.to_vec(), answer));
    }
    material
}

fn run(material: &Material, reads: &AtomicUsize, store: Option<&mut Store>) -> Result<(Vec<Outcome>, usize, usize)> {
    let task = |factor: f64| Task {
        key: format!("x{factor}"),
        prepare: Box::new(move || Ok(Box::new(Counting(factor, reads)) as Box<dyn Reader>)),
    };
    let (mut left, mut done) = (0, 0);
    let threads = NonZeroUsize::new(3).unwrap();
    let outcomes =
        evaluate(material, &[task(1.0), task(0.5)], store, threads, &mut |tokens| left = tokens, &mut |passage| {
            done += passage.tokens
        })?;
    Ok((outcomes, left, done))
}

fn problem(of: &str) -> Problem {
    [("of".to_owned(), of.to_owned())].into()
}

#[test]
fn figures_of_all_passages() {
    let reads = AtomicUsize::new(0);
    let (found, left, done) = run(&material(&[5, 1, 2, 3, 4, 5]), &reads, None).unwrap();
    // Windows 5 1 2 3 and 2 3 4 5; then four choices of two tokens.
    assert_eq!((left, done, reads.into_inner()), (2 * 16, 2 * 16, 12));
    assert_eq!(found[0].surprises, [1.0, 2.0, 3.0, 4.0, 5.0]);
    assert!((found[1].perplexity().unwrap() - 1.5_f64.exp()).abs() < 1e-12);
    assert_eq!((found[0].right, found[0].questions), ([1, 1], 2));
    let values: Vec<f64> = found[0].tallies.iter().map(Tally::value).collect();
    assert_eq!(values, [4.0, 8.0 / 16.0, 6.0]);
    // Five surprises with a variance of 2.5.
    assert!((found[0].uncertainty() - ((1.96 * 0.5_f64.sqrt()).exp() - 1.0)).abs() < 1e-12);
}

/// A stopped evaluation goes on with what it has, even after a torn line.
#[test]
fn goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    let (good, bad) = (material(&[5, 1, 2, 3, 4, 5]), material(&[5, 1, 2, 3, 4, 99]));
    let whole = run(&good, &AtomicUsize::new(0), None).unwrap().0;
    let mut store = Store::open(&path, &problem("p")).unwrap();
    let error = format!("{:#}", run(&bad, &AtomicUsize::new(0), Some(&mut store)).unwrap_err());
    // Of two schemes at once either may be first.
    let of = |scheme: &str| error.contains(&format!("scheme `{scheme}`, passage 1: token 99"));
    assert!(of("x1") || of("x0.5"), "{error}");
    drop(store);
    std::fs::remove_file(&path).unwrap();
    let mut store = Store::open(&path, &problem("p")).unwrap();
    run(&good, &AtomicUsize::new(0), Some(&mut store)).unwrap();
    assert_eq!(store.len(), 12);
    drop(store);
    let text = std::fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    std::fs::write(&path, lines[..8].concat() + &lines[8][..9]).unwrap();
    let mut store = Store::open(&path, &problem("p")).unwrap();
    let reads = AtomicUsize::new(0);
    let (found, left, done) = run(&good, &reads, Some(&mut store)).unwrap();
    assert_eq!((found, reads.into_inner(), left), (whole, 12 - 7, done));
    drop(store);
    assert!(Store::open(&path, &problem("q")).unwrap_err().to_string().contains("`of` is p, here it is q"));
    std::fs::write(&path, "{\"problem\": {\"of\": \"p\"}}\n{\"scheme\": \"x\", \"passage\": 0}\n").unwrap();
    let error = format!("{:#}", Store::open(&path, &problem("p")).unwrap_err());
    assert!(error.contains("line 2: wanted are `scheme`"), "{error}");
}

/// Results in a store that no model has found: one too few, and numbers that are no surprise.
#[test]
fn stored_results_are_checked() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("store");
    let material = material(&[5, 1, 2, 3, 4, 5]);
    let mut store = Store::open(&path, &problem("p")).unwrap();
    run(&material, &AtomicUsize::new(0), Some(&mut store)).unwrap();
    drop(store);
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains(r#""surprises":["1","2","3"]"#), "{text}");
    for (surprises, part) in [
        (r#"["1","2"]"#, "2 surprises of a passage of which 3 tokens count; name another file"),
        (r#"["1","-5","3"]"#, "scheme `x1`, passage 0: surprise 1 is -5, wanted is a number from 0 on"),
        (r#"["1","NaN","3"]"#, "surprise 1 is NaN, wanted"),
        (r#"["1","1e400","3"]"#, "wanted are `scheme`"),
        (r#"["1","2.50","3"]"#, "wanted are `scheme`"),
    ] {
        std::fs::write(&path, text.replace(r#"["1","2","3"]"#, surprises)).unwrap();
        let found = Store::open(&path, &problem("p"))
            .and_then(|mut store| run(&material, &AtomicUsize::new(0), Some(&mut store)));
        let error = format!("{:#}", found.map(drop).unwrap_err());
        assert!(error.contains(part), "{surprises}: {error}");
    }
}

/// A surprise that is no number is an error, and is not stored.
#[test]
fn no_number_is_no_result() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(&dir.path().join("store"), &problem("p")).unwrap();
    let reads = AtomicUsize::new(0);
    let prepare = || Ok(Box::new(Counting(f64::NAN, &reads)) as Box<dyn Reader>);
    let task = Task { key: "nan".into(), prepare: Box::new(prepare) };
    let material = material(&[5, 1, 2, 3]);
    let (one, none) = (NonZeroUsize::MIN, &mut |_| ());
    let error = evaluate(&material, &[task], Some(&mut store), one, none, &mut |_| ()).unwrap_err();
    let error = format!("{error:#}");
    assert!(error.contains("scheme `nan`, passage 0: surprise 0 is NaN"), "{error}");
    assert!(store.is_empty());
}

#[test]
fn fingerprints_differ_where_a_token_does() {
    let [a, b] = [[5, 1, 2, 3, 4, 5], [5, 1, 2, 3, 4, 6]].map(|tokens| material(&tokens).fingerprint());
    assert!(a != b && a == material(&[5, 1, 2, 3, 4, 5]).fingerprint());
}
