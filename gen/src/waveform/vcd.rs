//! Value change dump (IEEE 1364-2005, section 18), with the additions of simulators.

use std::collections::BTreeMap;
use std::io::BufRead;
use std::ops::Range;
use std::rc::Rc;

use super::values::{Kind, Step, Value, Variable, bit, clean};

/// Most scopes inside one another: every variable has the names of all scopes that it is in.
const DEEPEST: usize = 500;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Whether a file that begins so may be VCD.
pub(super) fn begins(bytes: &[u8]) -> bool {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    bytes.trim_ascii_start().first() == Some(&b'$')
}

/// A file whose header has been read.
pub struct Vcd<R> {
    input: R,
    /// The line that is being read, how far, and its number.
    line: Vec<u8>,
    at: usize,
    number: usize,
    variables: Vec<Variable>,
    /// Codes of identifiers, and the kinds of their variables.
    codes: BTreeMap<Vec<u8>, usize>,
    holds: Vec<(Kind, u32)>,
    time: Option<u64>,
    /// The value that was read last.
    value: Vec<u8>,
}

impl<R: BufRead> Vcd<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// What is wrong with it, and in which line.
    pub fn open(input: R) -> Result<Self, String> {
        let (variables, codes, holds) = (Vec::new(), BTreeMap::new(), Vec::new());
        let (line, value) = (Vec::new(), Vec::new());
        let mut file = Self { input, line, at: 0, number: 0, variables, codes, holds, time: None, value };
        file.header().map_err(|e| file.here(&e))?;
        Ok(file)
    }

    /// Its variables, in the order of the file.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// The next time or change; none at the end of the file.
    ///
    /// # Errors
    /// What is wrong with it, and in which line.
    pub fn step(&mut self) -> Result<Option<Step<'_>>, String> {
        match self.find_step() {
            Ok(None) => Ok(None),
            Ok(Some(Found::Time(time))) => Ok(Some(Step::Time(time))),
            Ok(Some(Found::Change(code))) => {
                let value = match self.holds[code].0 {
                    Kind::Bits => Value::Bits(str::from_utf8(&self.value).unwrap_or_default()),
                    Kind::Text => Value::Text(str::from_utf8(&self.value).unwrap_or_default()),
                    Kind::Event => Value::Event,
                    Kind::Real => {
                        let number = str::from_utf8(&self.value).ok().and_then(|text| text.parse().ok());
                        let text = || self.here(&format!("`{}` is no number", clean(&self.value)));
                        Value::Real(number.ok_or_else(text)?)
                    }
                };
                Ok(Some(Step::Change(code, value)))
            }
            Err(e) => Err(self.here(&e)),
        }
    }

    fn here(&self, what: &str) -> String {
        format!("line {}: {what}", self.number)
    }

    /// Where the next word is in the line.
    fn word(&mut self) -> Result<Option<Range<usize>>, String> {
        loop {
            if let Some(space) = self.line[self.at..].iter().position(|b| !b.is_ascii_whitespace()) {
                let start = self.at + space;
                let length = self.line[start..].iter().position(u8::is_ascii_whitespace);
                self.at = length.map_or(self.line.len(), |n| start + n);
                return Ok(Some(start..self.at));
            }
            self.line.clear();
            self.at = 0;
            if self.input.read_until(b'\n', &mut self.line).map_err(|e| e.to_string())? == 0 {
                return Ok(None);
            }
            self.number += 1;
            if self.number == 1 && self.line.starts_with(BYTE_ORDER_MARK) {
                self.at = BYTE_ORDER_MARK.len();
            }
        }
    }

    /// The words up to `$end`; `keep` says whether anybody wants them.
    fn command(&mut self, name: &str, keep: bool) -> Result<Vec<Vec<u8>>, String> {
        let mut words = Vec::new();
        while let Some(word) = self.word()? {
            match &self.line[word] {
                b"$end" => return Ok(words),
                word if keep => words.push(word.to_vec()),
                _ => {}
            }
        }
        Err(format!("the file ends within `{name}`"))
    }

    fn header(&mut self) -> Result<(), String> {
        let mut scopes: Vec<String> = Vec::new();
        let mut path: Rc<[String]> = Rc::default();
        loop {
            let word = self.word()?.ok_or("the file ends within its header")?;
            let name = clean(&self.line[word]);
            match name.as_str() {
                "$enddefinitions" => return self.command(&name, false).map(drop),
                "$var" => {
                    let words = self.command(&name, true)?;
                    self.variable(&words, &path)?;
                }
                "$scope" | "$upscope" => {
                    let words = self.command(&name, true)?;
                    if name == "$scope" {
                        if scopes.len() == DEEPEST {
                            return Err(format!("scopes are nested more than {DEEPEST} deep"));
                        }
                        // Its kind and its name: simulators differ in the kinds, and some leave names out.
                        scopes.push(clean(&words.get(1..).unwrap_or_default().concat()));
                    } else if scopes.pop().is_none() {
                        return Err("a scope ends that did not begin".into());
                    }
                    path = scopes.iter().filter(|name| !name.is_empty()).cloned().collect();
                }
                // Dates, comments, and attributes that simulators invent.
                _ if name.starts_with('$') => drop(self.command(&name, false)?),
                _ => return Err(format!("`{name}` where a command such as `$var` must stand")),
            }
        }
    }

    /// `$var KIND WIDTH IDENTIFIER NAME [RANGE]`.
    fn variable(&mut self, words: &[Vec<u8>], path: &Rc<[String]>) -> Result<(), String> {
        let [kind, width, identifier, name @ ..] = words else {
            return Err("`$var` needs a kind, a width, an identifier and a name".into());
        };
        if name.is_empty() {
            return Err("`$var` needs a kind, a width, an identifier and a name".into());
        }
        let kind = match &kind[..] {
            b"real" | b"realtime" | b"shortreal" | b"real_parameter" => Kind::Real,
            b"string" => Kind::Text,
            b"event" => Kind::Event,
            _ => Kind::Bits,
        };
        let called = clean(&name[0]);
        let text = clean(width);
        let width = match kind {
            Kind::Bits => {
                text.parse().map_err(|_| format!("the width of `{called}` is {text}, which is no number of bits"))?
            }
            Kind::Event => 1,
            Kind::Real | Kind::Text => 0,
        };
        if kind == Kind::Bits && width == 0 {
            return Err(format!("`{called}` has a width of 0; a variable has at least one bit"));
        }
        let next = self.codes.len();
        let code = *self.codes.entry(identifier.clone()).or_insert(next);
        match self.holds.get(code) {
            Some(holds) if *holds != (kind, width) => {
                let identifier = clean(identifier);
                return Err(format!(
                    "`{called}` shares the identifier `{identifier}` with a variable of another width or kind"
                ));
            }
            Some(_) => {}
            None => self.holds.push((kind, width)),
        }
        let (name, range) = match split(name) {
            Some((name, first, last)) if first.abs_diff(last) == u64::from(width).wrapping_sub(1) => {
                (name, Some((first, last)))
            }
            _ => (clean(&name.concat()), None),
        };
        self.variables.push(Variable { path: path.clone(), name, kind, width, range, code });
        Ok(())
    }

    fn find_step(&mut self) -> Result<Option<Found>, String> {
        while let Some(word) = self.word()? {
            let text = &self.line[word.clone()];
            let inside = word.start + 1..word.end;
            match text[0] {
                b'#' => {
                    let number = str::from_utf8(&text[1..]).ok().and_then(|t| t.parse::<u64>().ok());
                    let time = number.ok_or_else(|| format!("`{}` is no time", clean(text)))?;
                    match self.time {
                        Some(before) if before == time => {}
                        Some(before) if before > time => return Err(format!("time goes back from {before} to {time}")),
                        _ => {
                            self.time = Some(time);
                            return Ok(Some(Found::Time(time)));
                        }
                    }
                }
                b'$' => match text {
                    b"$dumpvars" | b"$dumpall" | b"$dumpon" | b"$dumpoff" | b"$end" => {}
                    b"$comment" => drop(self.command("$comment", false)?),
                    _ => return Err(format!("`{}` is no command that stands among values", clean(text))),
                },
                letter @ (b'b' | b'B' | b'r' | b'R' | b's' | b'S') => {
                    self.value.clear();
                    self.value.extend_from_slice(&self.line[inside]);
                    let given = match letter.to_ascii_lowercase() {
                        b'b' => Kind::Bits,
                        b'r' => Kind::Real,
                        _ => Kind::Text,
                    };
                    let what = || "the file ends after a value, before its identifier".to_owned();
                    let identifier = self.word()?.ok_or_else(what)?;
                    return self.change(given, identifier).map(Some);
                }
                letter if bit(letter).is_some() => {
                    self.value.clear();
                    self.value.push(letter);
                    return self.change(Kind::Bits, inside).map(Some);
                }
                _ => return Err(format!("`{}` is neither a time nor a value", clean(text))),
            }
        }
        Ok(None)
    }

    /// Checks the value that was read against its variable.
    fn change(&mut self, given: Kind, identifier: Range<usize>) -> Result<Found, String> {
        let identifier = &self.line[identifier];
        let Some(&code) = self.codes.get(identifier) else {
            return Err(format!("a value for `{}`, which no `$var` declares", clean(identifier)));
        };
        let name = || self.variables.iter().find(|v| v.code == code).map_or(String::new(), Variable::full_name);
        let (kind, width) = self.holds[code];
        let written = |kind| match kind {
            Kind::Real => "a real number",
            Kind::Text => "a string",
            Kind::Bits | Kind::Event => "bits",
        };
        if written(given) != written(kind) {
            return Err(format!("{} for `{}`, which is {}", written(given), name(), written(kind)));
        }
        if given == Kind::Bits {
            let other = |letter: &mut u8| bit(*letter).map(|one| *letter = one).is_none();
            if self.value.is_empty() || self.value.iter_mut().any(other) {
                return Err(format!("`{}` for `{}` is not made of bits", clean(&self.value), name()));
            }
            if self.value.len() as u64 > u64::from(width) {
                return Err(format!("{} bits for `{}`, which has {width}", self.value.len(), name()));
            }
        }
        if given == Kind::Text {
            self.value = clean(&unescaped(&self.value)).into_bytes();
        }
        Ok(Found::Change(code))
    }
}

/// The parts of [`Vcd::step`]; the value is in the file.
enum Found {
    Time(u64),
    Change(usize),
}

/// `name[7:0]`, in one word or in several, as name and range. An escaped name has the range in a word of its own.
fn split(words: &[Vec<u8>]) -> Option<(String, i64, i64)> {
    let from = if words[0].starts_with(b"\\") { words[0].len() } else { 0 };
    let whole = words.concat();
    let open = from + whole[from..].iter().rposition(|b| *b == b'[')?;
    let (first, last) = str::from_utf8(whole[open + 1..].strip_suffix(b"]")?).ok()?.split_once(':')?;
    let range = (first.parse().ok()?, last.parse().ok()?);
    (open > 0).then(|| (clean(&whole[..open]), range.0, range.1))
}

/// Spaces in strings are written as `\x20` or as `\040`.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let (mut plain, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some(&first) = rest.first() {
        let (byte, length) = escape(rest).unwrap_or((first, 1));
        plain.push(byte);
        rest = &rest[length..];
    }
    plain
}

/// The byte that an escape at the beginning of a text stands for, and how long it is.
fn escape(text: &[u8]) -> Option<(u8, usize)> {
    let digits = |range, radix| u8::from_str_radix(str::from_utf8(text.get(range)?).ok()?, radix).ok();
    match text {
        [b'\\', b'\\', ..] => Some((b'\\', 2)),
        [b'\\', b'x', ..] => Some((digits(2..4, 16)?, 4)),
        [b'\\', ..] => Some((digits(1..4, 8)?, 4)),
        _ => None,
    }
}
