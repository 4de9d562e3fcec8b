//! Random damage to a text, as a fault of a disk, an editor or a script does to a file.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// A change to a text.
#[derive(Clone, Debug)]
pub(crate) enum Damage {
    Delete(Part),
    Repeat(Part),
    Swap(Part, Part),
    Replace(Part, String),
}

/// Some bytes, or a word, a string or a sign.
#[derive(Clone, Debug)]
pub(crate) enum Part {
    Bytes(Index, usize),
    Token(Index),
}

impl Part {
    fn range(&self, text: &[u8]) -> std::ops::Range<usize> {
        match self {
            Self::Bytes(at, count) => {
                let at = at.index(text.len());
                at..(at + count).min(text.len())
            }
            Self::Token(at) => token(text, at.index(text.len())),
        }
    }
}

/// The token at a place.
fn token(text: &[u8], at: usize) -> std::ops::Range<usize> {
    let of_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-+".contains(&byte);
    if !of_word(text[at]) {
        return at..at + 1;
    }
    let start = text[..at].iter().rposition(|byte| !of_word(*byte)).map_or(0, |before| before + 1);
    let end = text[at..].iter().position(|byte| !of_word(*byte)).map_or(text.len(), |length| at + length);
    start..end
}

/// One change or two. New text comes from `odd`, or is a random character.
pub(crate) fn damages(odd: &'static [&'static str]) -> impl Strategy<Value = Vec<Damage>> {
    let part = || {
        prop_oneof![
            (any::<Index>(), 1..60_usize).prop_map(|(at, count)| Part::Bytes(at, count)),
            any::<Index>().prop_map(Part::Token)
        ]
    };
    let text = prop_oneof![3 => select(odd).prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)];
    let damage = prop_oneof![
        part().prop_map(Damage::Delete),
        part().prop_map(Damage::Repeat),
        (part(), part()).prop_map(|(one, other)| Damage::Swap(one, other)),
        (part(), text).prop_map(|(part, text)| Damage::Replace(part, text)),
    ];
    vec(damage, 1..=2)
}

/// The text after them.
pub(crate) fn damaged(text: &str, damages: &[Damage]) -> Vec<u8> {
    let mut text = text.as_bytes().to_vec();
    for damage in damages {
        if text.is_empty() {
            break;
        }
        match damage {
            Damage::Delete(part) => drop(text.drain(part.range(&text))),
            Damage::Repeat(part) => {
                let range = part.range(&text);
                let again = text[range.clone()].to_vec();
                text.splice(range.end..range.end, again);
            }
            Damage::Swap(one, other) => {
                let (one, other) = (one.range(&text), other.range(&text));
                let (first, last) = if one.start < other.start { (one, other) } else { (other, one) };
                if first.end <= last.start {
                    let (start, end) = (text[first.clone()].to_vec(), text[last.clone()].to_vec());
                    text.splice(last, start);
                    text.splice(first, end);
                }
            }
            Damage::Replace(part, new) => drop(text.splice(part.range(&text), new.bytes())),
        }
    }
    text
}
