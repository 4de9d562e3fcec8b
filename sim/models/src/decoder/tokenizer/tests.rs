mod forms;

use serde_json::json;

use super::*;
use crate::gguf::tests::{Made, open, text};

/// A file with bytes on their own, a few words, and a control token.
struct Small {
    pre: &'static str,
    tokens: Vec<String>,
    types: Vec<i32>,
    merges: Vec<String>,
    end: u32,
}

fn small() -> Small {
    let mut tokens = vec!["<|end|>".to_owned()];
    tokens.extend(alphabet().iter().map(char::to_string));
    let merges = ["h e", "l l", "he ll", "hell o", "Ġ hello", "o o"].map(str::to_owned).to_vec();
    tokens.extend(merges.iter().map(|m| m.replace(' ', "")));
    let mut types = vec![1; tokens.len()];
    types[0] = 3;
    Small { pre: "smollm", tokens, types, merges, end: 0 }
}

impl Small {
    fn made(&self) -> Made {
        let texts = |all: &[String]| all.iter().flat_map(|t| text(t)).collect::<Vec<u8>>();
        let types: Vec<u8> = self.types.iter().flat_map(|t| t.to_le_bytes()).collect();
        Made::default()
            .key("tokenizer.ggml.model", 8, &text("gpt2"))
            .key("tokenizer.ggml.pre", 8, &text(self.pre))
            .key("tokenizer.ggml.bos_token_id", 4, &[0; 4])
            .key("tokenizer.ggml.eos_token_id", 4, &self.end.to_le_bytes())
            .array("tokenizer.ggml.tokens", 8, self.tokens.len() as u64, &texts(&self.tokens))
            .array("tokenizer.ggml.token_type", 5, self.types.len() as u64, &types)
            .array("tokenizer.ggml.merges", 8, self.merges.len() as u64, &texts(&self.merges))
    }

    fn read(&self) -> Result<Tokenizer> {
        read(&self.made())
    }
}

fn read(made: &Made) -> Result<Tokenizer> {
    Tokenizer::read(&open(&made.bytes()).unwrap())
}

/// Words are told apart by merges that would cross them: every pair of neighbours can be joined here.
fn words(pre: &'static str, text: &str) -> Vec<String> {
    let mut small = Small { pre, ..small() };
    small.tokens.truncate(257);
    small.types.truncate(257);
    small.merges.clear();
    let spelt: Vec<char> = text.bytes().map(|b| alphabet()[usize::from(b)]).collect();
    // Prefixes of all parts of the text.
    for from in 0..spelt.len() {
        for to in from + 2..=spelt.len() {
            let (token, left) =
                (spelt[from..to].iter().collect::<String>(), spelt[from..to - 1].iter().collect::<String>());
            let merge = format!("{left} {}", spelt[to - 1]);
            if !small.tokens.contains(&token) {
                small.tokens.push(token);
                small.types.push(1);
                small.merges.push(merge);
            }
        }
    }
    let t = small.read().unwrap();
    let ids = t.encode(text).unwrap();
    ids.iter().map(|&id| String::from_utf8(t.bytes(id).unwrap()).unwrap()).collect()
}

#[test]
fn words_as_in_gpt_2() {
    let cases: [(&str, &[&str]); 7] = [
        ("It's we'll do", &["It", "'s", " we", "'ll", " do"]),
        ("a  b", &["a", " ", " b"]),
        ("a\n\n b  ", &["a", "\n\n", " b", "  "]),
        ("a\n\nb", &["a", "\n", "\n", "b"]),
        ("in 1813, \"x\"", &["in", " ", "1", "8", "1", "3", ",", " \"", "x", "\""]),
        ("Ünïc Ⅷ²漢字", &["Ünïc", " ", "Ⅷ", "²", "漢字"]),
        (" \u{a0}x", &[" ", "\u{a0}", "x"]),
    ];
    for (text, wanted) in cases {
        assert_eq!(words("smollm", text), wanted, "{text:?}");
    }
    assert_eq!(words("gpt-2", "in 1813"), ["in", " 1813"]);
    assert_eq!(words("llama-bpe", "in 1813\n\nIT'S"), ["in", " ", "181", "3", "\n\n", "IT", "'S"]);
    assert_eq!(words("qwen2", "x 18\n y"), ["x", " ", "1", "8", "\n", " y"]);
}

#[test]
fn merges_by_rank_and_back() {
    let t = small().read().unwrap();
    let text = |ids: &[u32]| ids.iter().map(|&id| t.tokens[id as usize].clone()).collect::<Vec<_>>();
    assert_eq!(text(&t.encode("hello hello").unwrap()), ["hello", "Ġhello"]);
    // Three equal letters: the first two are joined.
    assert_eq!(text(&t.encode("ooo").unwrap()), ["oo", "o"]);
    assert_eq!(text(&t.encode("hel").unwrap()), ["he", "l"]);
    // What a text spells is never a control token.
    assert_eq!(t.encode("<|end|>").unwrap().len(), 7);
    for sample in ["hello hello", "ß漢\u{7f}\0\r\n", "a\u{a0}b", ""] {
        assert_eq!(t.decode(&t.encode(sample).unwrap()).unwrap(), sample);
    }
    assert_eq!(t.decode(&[0]).unwrap(), "<|end|>");
    assert_eq!((t.special("<|end|>").unwrap(), t.is_end(0), t.is_end(1)), (0, true, false));
    assert!(t.special("hello").is_err() && t.special("none").is_err());
    assert!(t.decode(&[9999]).unwrap_err().to_string().contains("token 9999; the vocabulary has"));
    assert_eq!(t.prompt("hel").unwrap(), t.encode("hel").unwrap());
    let with = read(&small().made().key("tokenizer.ggml.add_bos_token", 7, &[1])).unwrap();
    assert_eq!(with.prompt("hel").unwrap(), [&[0], &t.encode("hel").unwrap()[..]].concat());
}

fn refused(error: &anyhow::Error, part: &str) {
    let error = format!("{error:#}");
    assert!(error.contains(part) && error.contains("x.gguf"), "wanted: {part}\nfound: {error}");
}

#[test]
fn what_is_refused() {
    let change = |change: &dyn Fn(&mut Small), part: &str| {
        let mut small = small();
        change(&mut small);
        refused(&small.read().unwrap_err(), part);
    };
    change(&|s| s.pre = "tekken", "`tokenizer.ggml.pre` is `tekken`, wanted is gpt-2, smollm");
    change(&|s| _ = s.types.pop(), "types of");
    change(&|s| s.end = 9999, "token 9999; the vocabulary has");
    change(&|s| s.merges = vec!["he".into()], "merge 0, `he`: wanted are two tokens");
    change(&|s| s.merges = vec!["h x".into()], "merge 0, `h x`: `hx` is not in the vocabulary");
    change(&|s| s.merges = vec!["h e".into(); 2], "merge 1, `h e`, is there twice");
    change(&|s| s.tokens.push("<|end|>".into()), "types of");
    change(
        &|s| {
            s.tokens.push("<|end|>".into());
            s.types.push(1);
        },
        "`<|end|>`, is there twice",
    );
    let with = |name: &str, kind, value: &[u8]| small().made().key(&format!("tokenizer.ggml.{name}"), kind, value);
    refused(&read(&with("precompiled_charsmap", 7, &[1])).unwrap_err(), "`tokenizer.ggml.precompiled_charsmap` is not");
    refused(&read(&with("add_eos_token", 7, &[1])).unwrap_err(), "add_eos_token` is true, wanted is false");
    refused(&read(&with("add_space_prefix", 7, &[1])).unwrap_err(), "add_space_prefix` is true");
    let none = Made::default().key("tokenizer.ggml.model", 8, &text("bert"));
    let none = none.array("tokenizer.ggml.tokens", 8, 1, &text("a"));
    let none = none.array("tokenizer.ggml.token_type", 5, 1, &1_i32.to_le_bytes());
    refused(&read(&none).unwrap_err(), "`tokenizer.ggml.model` is `bert`, wanted is `gpt2` or `llama`");
    let mut few = small();
    few.tokens.truncate(9);
    few.types.truncate(9);
    few.merges.clear();
    let error = few.read().unwrap().encode("\u{3} z").unwrap_err().to_string();
    assert!(error.contains("the vocabulary has no token for byte 0x20"), "{error}");
}

/// Characters on their own, a few pieces, and all bytes.
fn of_pieces(change: impl Fn(&mut Vec<(String, f32, i32)>)) -> Made {
    let mut all = vec![("<unk>".to_owned(), 0.0, 2), ("<s>".into(), 0.0, 3), ("</s>".into(), 0.0, 3)];
    all.extend((0..=255).map(|byte| (format!("<0x{byte:02X}>"), 0.0, 6)));
    let pieces = ["▁", "a", "b", "ab", "▁a", "▁ab", "漢", "ba"];
    all.extend(pieces.iter().zip(1_u8..).map(|(piece, rank)| ((*piece).to_owned(), -f32::from(rank), 1)));
    change(&mut all);
    let tokens: Vec<u8> = all.iter().flat_map(|(token, ..)| text(token)).collect();
    let scores: Vec<u8> = all.iter().flat_map(|(_, score, _)| score.to_le_bytes()).collect();
    let types: Vec<u8> = all.iter().flat_map(|(.., kind)| kind.to_le_bytes()).collect();
    let count = all.len() as u64;
    Made::default()
        .key("tokenizer.ggml.model", 8, &text("llama"))
        .key("tokenizer.ggml.bos_token_id", 4, &1_u32.to_le_bytes())
        .key("tokenizer.ggml.eos_token_id", 4, &2_u32.to_le_bytes())
        .array("tokenizer.ggml.tokens", 8, count, &tokens)
        .array("tokenizer.ggml.scores", 6, count, &scores)
        .array("tokenizer.ggml.token_type", 5, count, &types)
}

#[test]
fn pieces_by_score_and_back() {
    let t = read(&of_pieces(|_| ())).unwrap();
    let text = |ids: &[u32]| ids.iter().map(|&id| t.tokens[id as usize].clone()).collect::<Vec<_>>();
    // `ab` has a better score than `▁a`, and `▁ab` is then made of the two.
    assert_eq!(text(&t.encode("ab aba").unwrap()), ["▁ab", "▁ab", "a"]);
    assert_eq!(text(&t.encode("漢é").unwrap()), ["▁", "漢", "<0xC3>", "<0xA9>"]);
    for sample in ["ab aba", " a  b", "漢é\n<s>", ""] {
        assert_eq!(t.decode(&t.encode(sample).unwrap()).unwrap(), sample);
        assert!(t.encode(sample).unwrap().iter().all(|&id| id > 2), "{sample:?}");
    }
    assert_eq!(text(&t.prompt("a").unwrap()), ["<s>", "▁a"]);
    let a = t.encode("a").unwrap();
    assert_eq!((t.decode(&a).unwrap(), t.decode_part(&a).unwrap()), ("a".into(), " a".into()));
    assert!(t.is_end(2));
    let nan = of_pieces(|all| all[260].1 = f32::NAN);
    refused(&read(&nan).unwrap_err(), "the score of token 260, `a`, is NaN");
    let hole = of_pieces(|all| all[13].0 = "x".into());
    refused(&read(&hole).unwrap_err(), "the vocabulary has no token for byte 0x0a, `<0x0A>`");
}

fn of_json(change: impl Fn(&mut serde_json::Value)) -> Result<Tokenizer> {
    let mut json = small_json();
    change(&mut json);
    of_text(&json.to_string())
}

/// A folder with this `tokenizer.json`.
fn of_text(json: &str) -> Result<Tokenizer> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tokenizer.json"), json).unwrap();
    std::fs::write(folder.path().join("config.json"), r#"{"eos_token_id": [257, 3]}"#).unwrap();
    Tokenizer::read_folder(folder.path())
}

/// Bytes on their own, a word, and a control token.
fn small_json() -> serde_json::Value {
    let mut vocabulary: serde_json::Map<_, _> =
        alphabet().iter().zip(0..).map(|(c, id)| (c.to_string(), json!(id))).collect();
    vocabulary.insert("he".into(), json!(256));
    let special = json!({"id": 257, "content": "<s>", "single_word": false, "lstrip": false, "rstrip": false,
        "normalized": false, "special": true});
    let level = json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true});
    let template = json!({"type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [], "special_tokens": {"<s>": {"id": "<s>", "ids": [257], "tokens": ["<s>"]}}});
    json!({"version": "1.0", "truncation": {"max_length": 3}, "padding": null, "added_tokens": [special],
        "normalizer": null, "pre_tokenizer": level, "decoder": level,
        "post_processor": {"type": "Sequence", "processors": [level, template]},
        "model": {"type": "BPE", "vocab": vocabulary, "merges": ["h e"]}})
}

#[test]
fn tokenizers_of_folders() {
    let t = of_json(|_| ()).unwrap();
    assert_eq!(t.encode("he").unwrap(), [256]);
    assert_eq!(t.prompt("he").unwrap(), [257, 256]);
    assert_eq!(t.encode("hehehehe").unwrap().len(), 4, "truncation is not of the model");
    assert!(t.is_end(3) && t.is_end(257) && !t.is_end(256) && t.special("<s>").unwrap() == 257);
    type Change = fn(&mut serde_json::Value);
    let cases: [(Change, &str); 14] = [
        (|j| j["model"]["vocab"]["he"] = json!(300), "has no token 256: the next one is 257"),
        (|j| j["model"]["vocab"]["he"] = json!(17), "have both the id 17"),
        (|j| j["model"]["vocab"]["he"] = json!(-1), "the id of token `he` is -1, wanted is a whole number"),
        (|j| j["added_tokens"][0]["id"] = json!(258), "has no token 257: the next one is 258, `<s>`"),
        (|j| j["added_tokens"][0]["content"] = json!("he"), "token `he` has the ids"),
        (|j| j["model"]["merges"] = json!([["h", "h"]]), "`hh` is not in the vocabulary"),
        (|j| j["model"]["merges"] = json!(["h e", "h e"]), "merge 1, \"h e\", is there twice"),
        (|j| j["model"]["type"] = json!("Unigram"), "model is `Unigram`, wanted is BPE"),
        (|j| j["model"]["dropout"] = json!(0.1), "has `dropout` 0.1, which is not supported"),
        (|j| j["model"]["continuing_subword_prefix"] = json!("##"), "`continuing_subword_prefix` \"##\""),
        (|j| j["decoder"] = json!({"type": "WordPiece"}), "the decoder `WordPiece` is not supported"),
        (
            |j| j["pre_tokenizer"] = json!({"type": "Odd"}),
            "`pre_tokenizer`: `Odd` is not supported, wanted is ByteLevel",
        ),
        (|j| j["post_processor"]["processors"][1]["special_tokens"] = json!({}), "wanted is a token with its ids"),
        (|j| j["odd"] = json!(1), "the key `odd` is not supported"),
    ];
    for (change, part) in cases {
        let error = format!("{:#}", of_json(change).unwrap_err());
        assert!(error.contains(part) && error.contains("tokenizer.json"), "wanted: {part}\nfound: {error}");
    }
}

/// A vocabulary with holes, with names or ids that are there twice, and with ids that no token can have; merges of
/// tokens that are not there. Each message says where, and what would be right.
#[test]
fn vocabularies_of_folders_that_are_broken() {
    type Change = fn(&mut serde_json::Value);
    let cases: [(Change, &str); 22] = [
        (
            |j| j["model"]["vocab"]["he"] = json!(1_u32 << 31),
            "no token 256: the next one is 257, `<s>`; wanted are all ids",
        ),
        (|j| j["model"]["vocab"]["he"] = json!(u32::MAX), "no token 256: the next one is 257"),
        (|j| j["model"]["vocab"]["a"] = json!(1000), "no token 97: the next one is 98, `b`; wanted are all ids from 0"),
        (|j| j["model"]["vocab"]["\u{100}"] = json!(1000), "no token 0: the next one is 1"),
        (|j| j["model"]["vocab"]["he"] = json!(1_u64 << 40), "token `he` is 1099511627776, wanted is a whole number"),
        (|j| j["model"]["vocab"]["he"] = json!(u64::MAX), "token `he` is 18446744073709551615, wanted"),
        (|j| j["model"]["vocab"]["he"] = json!(256.5), "token `he` is 256.5, wanted is a whole number from 0 to"),
        (|j| j["model"]["vocab"]["he"] = json!("256"), "token `he` is \"256\", wanted is a whole number"),
        (|j| j["model"]["vocab"]["he"] = json!(null), "token `he` is null, wanted is a whole number"),
        (|j| j["model"]["vocab"]["he"] = json!(257), "tokens `he` and `<s>` have both the id 257, wanted is an id for"),
        (|j| j["model"]["vocab"]["b"] = json!(97), "tokens `a` and `b` have both the id 97, wanted is an id for each"),
        (|j| j["model"]["vocab"] = json!([["a", 0]]), "the tokenizer's model has no `vocab`"),
        (|j| j["added_tokens"][0]["content"] = json!("a"), "token `a` has the ids 97 and 257, wanted is one"),
        (
            |j| j["added_tokens"][0]["id"] = json!(1_u64 << 32),
            "wanted are `content`, `special` and `id`, which is a whole",
        ),
        (
            |j| j["added_tokens"][0]["id"] = json!(256),
            "tokens `he` and `<s>` have both the id 256, wanted is an id for",
        ),
        (
            |j| {
                let mut again = j["added_tokens"][0].clone();
                again["id"] = json!(258);
                j["added_tokens"].as_array_mut().unwrap().push(again);
            },
            "token `<s>` has two ids, wanted is one",
        ),
        (
            |j| j["model"]["merges"] = json!(["h e", "x漢 y"]),
            "merge 1, \"x漢 y\": `x漢` is not in the vocabulary, wanted are",
        ),
        (
            |j| j["model"]["merges"] = json!([["h", "漢"]]),
            "merge 0, [\"h\",\"漢\"]: `漢` is not in the vocabulary, wanted",
        ),
        (|j| j["model"]["merges"] = json!([["h", "e", "h"]]), "merge 0, [\"h\",\"e\",\"h\"]: wanted are two tokens"),
        (|j| j["model"]["merges"] = json!(["h e", 7]), "merge 1, 7: wanted are two tokens with a space between"),
        (|j| j["model"]["merges"] = json!({"h": "e"}), "the tokenizer's model has no `merges`"),
        (
            |j| j["post_processor"]["processors"][1]["special_tokens"]["<s>"]["ids"] = json!([999]),
            "a text begins with token 999; the vocabulary has 258 tokens, from 0 on",
        ),
    ];
    for (change, part) in cases {
        let error = format!("{:#}", of_json(change).unwrap_err());
        assert!(error.contains(part) && error.contains("tokenizer.json"), "wanted: {part}\nfound: {error}");
    }
    // A name that is there twice, of which a reader of JSON would keep one.
    let text = small_json().to_string().replace("\"he\":256", "\"he\":256,\"he\":256");
    let error = format!("{:#}", of_text(&text).unwrap_err());
    assert!(error.contains("tokenizer.json") && error.contains("`he` is there twice at line 1 column"), "{error}");
    // A token that ends texts.
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tokenizer.json"), small_json().to_string()).unwrap();
    let with = |ends: &str| {
        std::fs::write(folder.path().join("config.json"), format!("{{\"eos_token_id\": {ends}}}")).unwrap();
        format!("{:#}", Tokenizer::read_folder(folder.path()).unwrap_err())
    };
    let error = with("258");
    assert!(error.contains("tokenizer.json: a text ends with token 258; the vocabulary has 258 tokens"), "{error}");
    std::fs::write(folder.path().join("generation_config.json"), "").unwrap();
    let error = with("3");
    assert!(error.contains("generation_config.json: the file is no JSON: "), "{error}");
    assert!(!error.contains("tokenizer.json"), "{error}");
    std::fs::remove_file(folder.path().join("generation_config.json")).unwrap();
    for wrong in ["-1", "\"</s>\"", "[257, 4294967296]"] {
        let error = with(wrong);
        assert!(error.contains("config.json: `eos_token_id` is ") && error.contains(", wanted are ids"), "{error}");
    }
}

proptest::proptest! {
    #![proptest_config(seeds::proptest(300))]

    /// Whatever ids and merges are, there is a tokenizer with this vocabulary or an error, and no panic.
    #[test]
    fn vocabularies_of_any_numbers(
        ids in proptest::collection::vec((0..257_usize, -2..300_i64), 0..4),
        added in -2..300_i64,
        merges in proptest::collection::vec("[aehx]{0,2} ?[aehx]{0,2}", 0..4),
        text in "[ -~é漢]{0,12}",
    ) {
        let made = of_json(|json| {
            for (place, id) in &ids {
                *json["model"]["vocab"].as_object_mut().unwrap().values_mut().nth(*place).unwrap() = json!(id);
            }
            json["added_tokens"][0]["id"] = json!(added);
            json["model"]["merges"] = json!(merges);
        });
        match made {
            Ok(made) => {
                let tokens = made.encode(&text).unwrap();
                proptest::prop_assert_eq!(made.decode(&tokens).unwrap(), text);
            }
            Err(error) => {
                let located = format!("{error:#}").contains("tokenizer.json");
                proptest::prop_assert!(located, "{error:#}");
            }
        }
    }
}
