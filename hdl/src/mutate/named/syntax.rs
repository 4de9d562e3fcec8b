//! The Verilog of a fault: names of nets, and expressions as far as [`value`](super::value) knows them.

use num_bigint::BigInt;
use num_traits::{Num, One};

/// A name with its place in the hierarchy, and what is selected of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Path {
    /// Generate loops around it, outermost first, each with its turn.
    pub scopes: Vec<(String, u32)>,
    pub name: String,
    pub selects: Vec<Select>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Select {
    /// An element of an array, or a bit.
    At(Expr),
    /// `[high:low]`
    Range(u32, u32),
    /// `[low +: width]`
    From(Expr, u32),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expr {
    Path(Path),
    /// Value, width, sign.
    Literal(BigInt, u32, bool),
    Unary(&'static str, Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    Choice(Box<Expr>, Box<Expr>, Box<Expr>),
    Cat(Vec<Expr>),
    Repeat(u32, Box<Expr>),
    /// `$signed` or `$unsigned`.
    Cast(bool, Box<Expr>),
}

/// Operators with two operands, the weakest first; those of one row are equally strong.
const BINARY: [&[&str]; 10] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^", "~^", "^~"],
    &["&"],
    &["==", "!=", "===", "!=="],
    &["<", "<=", ">", ">="],
    &["<<", ">>", "<<<", ">>>"],
    &["+", "-"],
    &["*", "/", "%"],
];

const UNARY: [&str; 9] = ["!", "~", "-", "+", "&", "|", "^", "~&", "~|"];

/// Signs of more than one character, the longest first.
const LONG: [&str; 18] =
    ["===", "!==", "<<<", ">>>", "~^", "^~", "~&", "~|", "||", "&&", "==", "!=", "<=", ">=", "<<", ">>", "+:", "-:"];

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    /// Value, width if it has one, sign.
    Number(BigInt, Option<u32>, bool),
    Sign(&'static str),
}

/// An expression.
pub(super) fn expression(text: &str) -> Result<Expr, String> {
    let mut parser = Parser { text, tokens: tokens(text)?, at: 0 };
    let parsed = parser.choice()?;
    parser.end()?;
    Ok(parsed)
}

/// The name of a net, with an index if it is an element of an array.
pub(super) fn path(text: &str) -> Result<Path, String> {
    match expression(text)? {
        Expr::Path(path) => Ok(path),
        _ => Err(format!("`{text}` is no name")),
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
}

impl Parser<'_> {
    fn wrong<T>(&self) -> Result<T, String> {
        Err(format!("cannot read `{}` from its part {} on", self.text, self.at + 1))
    }

    fn end(&self) -> Result<(), String> {
        if self.at == self.tokens.len() { Ok(()) } else { self.wrong() }
    }

    fn takes(&mut self, sign: &str) -> bool {
        let is = matches!(self.tokens.get(self.at), Some(Token::Sign(s)) if *s == sign);
        self.at += usize::from(is);
        is
    }

    fn expect(&mut self, sign: &str) -> Result<(), String> {
        if self.takes(sign) { Ok(()) } else { self.wrong() }
    }

    fn one_of(&mut self, signs: &[&'static str]) -> Option<&'static str> {
        let Some(Token::Sign(sign)) = self.tokens.get(self.at) else { return None };
        let found = signs.iter().copied().find(|s| s == sign)?;
        self.at += 1;
        Some(found)
    }

    fn choice(&mut self) -> Result<Expr, String> {
        let condition = self.binary(0)?;
        if !self.takes("?") {
            return Ok(condition);
        }
        let then = self.choice()?;
        self.expect(":")?;
        let other = self.choice()?;
        Ok(Expr::Choice(Box::new(condition), Box::new(then), Box::new(other)))
    }

    fn binary(&mut self, level: usize) -> Result<Expr, String> {
        let Some(signs) = BINARY.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        while let Some(sign) = self.one_of(signs) {
            let right = self.binary(level + 1)?;
            left = Expr::Binary(sign, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr, String> {
        match self.one_of(&UNARY) {
            Some(sign) => Ok(Expr::Unary(sign, Box::new(self.unary()?))),
            None => self.primary(),
        }
    }

    fn primary(&mut self) -> Result<Expr, String> {
        if self.takes("(") {
            let inner = self.choice()?;
            self.expect(")")?;
            return Ok(inner);
        }
        if self.takes("{") {
            return self.braces();
        }
        match self.tokens.get(self.at).cloned() {
            Some(Token::Number(value, width, signed)) => {
                self.at += 1;
                Ok(Expr::Literal(value, width.unwrap_or(32), signed))
            }
            Some(Token::Word(word)) if word == "$signed" || word == "$unsigned" => {
                self.at += 1;
                self.expect("(")?;
                let inner = self.choice()?;
                self.expect(")")?;
                Ok(Expr::Cast(word == "$signed", Box::new(inner)))
            }
            Some(Token::Word(word)) if !word.starts_with('$') => {
                self.at += 1;
                self.path(word)
            }
            _ => self.wrong(),
        }
    }

    /// A concatenation or a repetition, after its brace.
    fn braces(&mut self) -> Result<Expr, String> {
        let first = self.choice()?;
        if let (Some(count), true) = (constant(&first), self.takes("{")) {
            let mut parts = vec![self.choice()?];
            while self.takes(",") {
                parts.push(self.choice()?);
            }
            self.expect("}")?;
            self.expect("}")?;
            return if count > 0 { Ok(Expr::Repeat(count, Box::new(Expr::Cat(parts)))) } else { self.wrong() };
        }
        let mut parts = vec![first];
        while self.takes(",") {
            parts.push(self.choice()?);
        }
        self.expect("}")?;
        Ok(Expr::Cat(parts))
    }

    fn path(&mut self, mut name: String) -> Result<Expr, String> {
        let mut scopes = Vec::new();
        loop {
            let mut selects = Vec::new();
            while self.takes("[") {
                selects.push(self.select()?);
            }
            if !self.takes(".") {
                return Ok(Expr::Path(Path { scopes, name, selects }));
            }
            let turn = match &selects[..] {
                [Select::At(turn)] => constant(turn),
                _ => None,
            };
            let (Some(turn), Some(Token::Word(next))) = (turn, self.tokens.get(self.at).cloned()) else {
                return self.wrong();
            };
            scopes.push((std::mem::replace(&mut name, next), turn));
            self.at += 1;
        }
    }

    /// What stands in brackets, after the first of them.
    fn select(&mut self) -> Result<Select, String> {
        let first = self.choice()?;
        let colon = self.one_of(&[":", "+:", "-:"]);
        let second = match colon {
            Some(_) => Some(self.choice()?),
            None => None,
        };
        self.expect("]")?;
        match (colon, constant(&first), second.as_ref().and_then(constant)) {
            (None, ..) => Ok(Select::At(first)),
            (Some(":"), Some(high), Some(low)) if high >= low => Ok(Select::Range(high, low)),
            (Some("+:"), _, Some(width)) if width > 0 => Ok(Select::From(first, width)),
            (Some("-:"), Some(high), Some(width)) if width > 0 && high + 1 >= width => {
                Ok(Select::Range(high, high + 1 - width))
            }
            _ => self.wrong(),
        }
    }
}

/// The value of a literal that is no larger than an index.
pub(super) fn constant(expr: &Expr) -> Option<u32> {
    match expr {
        Expr::Literal(value, ..) => u32::try_from(value).ok(),
        _ => None,
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    const SHORT: [&str; 21] =
        ["(", ")", "[", "]", "{", "}", "?", ":", ",", ".", "!", "~", "&", "|", "^", "<", ">", "+", "-", "*", "/"];
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
        let length = if first.is_ascii_digit() || first == '\'' {
            let (token, length) = number(rest).ok_or_else(|| format!("cannot read the number at `{rest}`"))?;
            tokens.push(token);
            length
        } else if word(first) {
            let length = rest.find(|c| !word(c)).unwrap_or(rest.len());
            tokens.push(Token::Word(rest[..length].to_owned()));
            length
        } else {
            let sign = LONG.iter().chain(&SHORT).chain(&["%"]).find(|sign| rest.starts_with(**sign));
            let sign = sign.ok_or_else(|| format!("`{first}` is no sign of an expression"))?;
            tokens.push(Token::Sign(sign));
            sign.len()
        };
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

/// A literal at the start of a text, and its length. Digits of unknown value (`x`, `z`) are none.
fn number(text: &str) -> Option<(Token, usize)> {
    let digit = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let plain = |text: &str| text.replace('_', "");
    let size = text.find(|c: char| !c.is_ascii_digit() && c != '_').unwrap_or(text.len());
    let Some(based) = text[size..].strip_prefix('\'') else {
        let value = plain(&text[..size]).parse().ok()?;
        return Some((Token::Number(value, None, true), size));
    };
    let (sign, after) = match based.strip_prefix(['s', 'S']) {
        Some(after) => (1, after),
        None => (0, based),
    };
    let radix = match after.chars().next()?.to_ascii_lowercase() {
        'b' => 2,
        'o' => 8,
        'd' => 10,
        'h' => 16,
        _ => return None,
    };
    let end = after[1..].find(|c| !digit(c)).map_or(after.len(), |at| at + 1);
    let value = BigInt::from_str_radix(&plain(&after[1..end]), radix).ok()?;
    let width = match size {
        0 => None,
        _ => Some(plain(&text[..size]).parse().ok().filter(|w| (1..=crate::lang::MAX_WIDTH).contains(w))?),
    };
    let value = value % (BigInt::one() << width.unwrap_or(32));
    Some((Token::Number(value, width, sign == 1), size + 1 + sign + end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> Expr {
        Expr::Path(Path { scopes: vec![], name: name.to_owned(), selects: vec![] })
    }

    #[test]
    fn operators_bind_as_in_verilog() {
        let pair = |sign, a: Expr, b: Expr| Expr::Binary(sign, Box::new(a), Box::new(b));
        let [a, b, c] = ["a", "b", "c"].map(name);
        assert_eq!(expression("a | b & c"), Ok(pair("|", a.clone(), pair("&", b.clone(), c.clone()))));
        assert_eq!(expression("a - b - c"), Ok(pair("-", pair("-", a.clone(), b.clone()), c.clone())));
        assert_eq!(expression("a == b & c"), Ok(pair("&", pair("==", a.clone(), b.clone()), c.clone())));
        assert_eq!(expression("a << b + c"), Ok(pair("<<", a.clone(), pair("+", b.clone(), c.clone()))));
        let reduced = Expr::Unary("|", Box::new(b.clone()));
        assert_eq!(expression("a | |b"), Ok(pair("|", a.clone(), reduced)));
        let inner = Expr::Choice(Box::new(c.clone()), Box::new(a.clone()), Box::new(b.clone()));
        assert_eq!(expression("a ? b : c ? a : b"), Ok(Expr::Choice(Box::new(a), Box::new(b), Box::new(inner))));
    }

    #[test]
    fn names_have_places_and_parts() {
        let found = path("g_row[2].g_column[1].word[3][7:4]").unwrap();
        assert_eq!(found.scopes, [("g_row".to_owned(), 2), ("g_column".to_owned(), 1)]);
        assert_eq!(found.name, "word");
        assert_eq!(found.selects, [Select::At(Expr::Literal(3.into(), 32, true)), Select::Range(7, 4)]);
        let Ok(Expr::Path(chosen)) = expression("word[a +: 4]") else { panic!() };
        assert_eq!(chosen.selects, [Select::From(name("a"), 4)]);
    }

    #[test]
    fn literals_have_width_and_sign() {
        let of = |text: &str| match expression(text) {
            Ok(Expr::Literal(value, width, signed)) => (value.try_into().unwrap_or(-1_i64), width, signed),
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(of("5'd17"), (17, 5, false));
        assert_eq!(of("16'h3_c00"), (0x3c00, 16, false));
        assert_eq!(of("3'sd5"), (5, 3, true));
        assert_eq!(of("7"), (7, 32, true));
        assert_eq!(of("4'b1_0101"), (5, 4, false));
        assert_eq!(of("'d9"), (9, 32, false));
    }

    #[test]
    fn what_is_no_expression_is_refused() {
        for text in ["a &", "a b", "(a", "{2{a}", "a[1", "4'dx", "a ? b", "#", "$random", "a[b:0]", ""] {
            assert!(expression(text).is_err(), "{text}");
        }
    }
}
