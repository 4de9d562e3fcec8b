//! From text to groups.

use super::ast::{Attribute, Group, Lines};

/// Reads a file whose only group is `library`.
///
/// # Errors
/// The error, with its line and the expected form.
pub fn parse(text: &str) -> Result<Group<'_>, String> {
    let mut tokens = Tokens { rest: text, depth: 0 };
    tokens.library().map_err(|wrong| format!("line {}: {}", Lines::new(text).of(wrong.at), wrong.what))
}

/// A mistake, and where it is.
struct Wrong<'a> {
    at: &'a str,
    what: String,
}

type Read<'a, T> = Result<T, Wrong<'a>>;

fn wrong<T>(at: &str, what: impl Into<String>) -> Read<'_, T> {
    Err(Wrong { at, what: what.into() })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    /// A string without its quotes.
    Text(&'a str),
    Sign(&'a str),
}

impl<'a> Token<'a> {
    fn text(self) -> &'a str {
        match self {
            Self::Word(text) | Self::Text(text) | Self::Sign(text) => text,
        }
    }
}

/// Groups inside one another, at most. Libraries have five or six levels; the reader calls itself for each.
const DEEPEST: usize = 100;

struct Tokens<'a> {
    rest: &'a str,
    depth: usize,
}

impl<'a> Tokens<'a> {
    fn library(&mut self) -> Read<'a, Group<'a>> {
        self.skip_blank()?;
        let start = self.rest;
        match self.next("")? {
            Some(Token::Word("library")) => {}
            other => {
                let first = other.map_or("nothing".to_owned(), |token| format!("`{}`", token.text()));
                let what = format!("this is no Liberty file: it begins with {first}; `library (...)` is wanted");
                return wrong(start, what);
            }
        }
        let arguments = if self.peek()? == Some('(') { self.parenthesis()? } else { Vec::new() };
        let here = self.rest;
        if self.next("")? != Some(Token::Sign("{")) {
            return wrong(here, "`{` is missing after `library (...)`");
        }
        let library = self.body(start, "library", arguments)?;
        // A brace too many would hide all cells after it.
        match self.peek()? {
            Some(first) => {
                wrong(self.rest, format!("`{first}` stands after the end of the library; one `}}` too many?"))
            }
            None => Ok(library),
        }
    }

    /// Goes on to the next token; whether a line ended before it.
    fn skip_blank(&mut self) -> Read<'a, bool> {
        let mut line_ended = false;
        loop {
            let mut chars = self.rest.chars();
            match chars.next() {
                Some('\n') => line_ended = true,
                // Goes on in the next line.
                Some('\\') => {
                    let after = chars.as_str().trim_start_matches([' ', '\t', '\r']);
                    self.rest = after.strip_prefix('\n').unwrap_or(chars.as_str());
                    continue;
                }
                Some(c) if c.is_whitespace() => {}
                Some('/') if self.rest.starts_with("/*") => {
                    let Some((_, rest)) = self.rest[2..].split_once("*/") else {
                        return wrong(self.rest, "the comment that begins here does not end; `*/` is wanted");
                    };
                    self.rest = rest;
                    continue;
                }
                Some('/') if self.rest.starts_with("//") => {
                    self.rest = self.rest.find('\n').map_or("", |end| &self.rest[end..]);
                    continue;
                }
                _ => return Ok(line_ended),
            }
            self.rest = chars.as_str();
        }
    }

    /// A word, a string without its quotes, or one sign; words go over the signs of `through`.
    fn next(&mut self, through: &str) -> Read<'a, Option<Token<'a>>> {
        self.skip_blank()?;
        let Some(first) = self.rest.chars().next() else { return Ok(None) };
        if first == '"' {
            let Some((text, rest)) = self.rest[1..].split_once('"') else {
                return wrong(self.rest, "the string that begins here does not end; `\"` is wanted");
            };
            self.rest = rest;
            return Ok(Some(Token::Text(text)));
        }
        let is_sign = |c: char| "(){}:;,".contains(c);
        if is_sign(first) {
            let (sign, rest) = self.rest.split_at(1);
            self.rest = rest;
            return Ok(Some(Token::Sign(sign)));
        }
        let ends = |c: char| c.is_whitespace() || is_sign(c) && !through.contains(c) || c == '"';
        let (word, rest) = self.rest.split_at(self.rest.find(ends).unwrap_or(self.rest.len()));
        self.rest = rest;
        Ok(Some(Token::Word(word)))
    }

    fn peek(&mut self) -> Read<'a, Option<char>> {
        self.skip_blank()?;
        Ok(self.rest.chars().next())
    }

    /// The words between parentheses.
    fn parenthesis(&mut self) -> Read<'a, Vec<&'a str>> {
        let start = self.rest;
        let mut list = Vec::new();
        self.next("")?;
        loop {
            // `A[3:0]` is one word.
            match self.next(":")? {
                Some(Token::Sign(")")) => return Ok(list),
                Some(Token::Sign(",")) => {}
                None | Some(Token::Sign("{" | "}" | ";")) => {
                    return wrong(start, "the parenthesis that begins here does not end; `)` is wanted");
                }
                Some(token) => list.push(token.text()),
            }
        }
    }

    /// The value of a simple attribute. A unit or an expression may follow it; some libraries leave out the semicolon.
    fn simple(&mut self, name: &str) -> Read<'a, Vec<&'a str>> {
        let mut values: Vec<&'a str> = Vec::new();
        loop {
            let line_ended = self.skip_blank()?;
            let here = self.rest;
            match here.chars().next() {
                None | Some(';' | '}') => return Ok(values),
                Some(_) if line_ended && !values.is_empty() => return Ok(values),
                Some(sign @ (':' | '{')) => {
                    let before = values.last().map_or(String::new(), |last| format!(" before `{last}`"));
                    let what = format!("`{sign}` stands in the value of `{name}`; is `;` missing{before}?");
                    return wrong(here, what);
                }
                Some(_) => values.extend(self.next("")?.map(Token::text)),
            }
        }
    }

    /// A group whose `{` was read, to its end.
    fn body(&mut self, start: &'a str, kind: &'a str, arguments: Vec<&'a str>) -> Read<'a, Group<'a>> {
        let mut group = Group { kind, arguments, ..Group::default() };
        self.depth += 1;
        if self.depth > DEEPEST {
            return wrong(start, format!("groups are nested more than {DEEPEST} deep"));
        }
        loop {
            self.skip_blank()?;
            let from_here = self.rest;
            let name = match self.next("")? {
                None => {
                    let what = format!("the group `{kind}` that begins here does not end; `}}` is wanted");
                    return wrong(start, what);
                }
                Some(Token::Sign("}")) => {
                    self.depth -= 1;
                    return Ok(group);
                }
                Some(Token::Sign(";")) => continue,
                Some(Token::Word(name) | Token::Text(name)) => name,
                Some(Token::Sign(sign)) => {
                    return wrong(from_here, format!("`{sign}` stands where an attribute or a group is wanted"));
                }
            };
            match self.peek()? {
                Some(':') => {
                    self.next("")?;
                    let values = self.simple(name)?;
                    group.attributes.push(Attribute { name, values, complex: false });
                }
                Some('(') => {
                    let values = self.parenthesis()?;
                    if self.peek()? == Some('{') {
                        self.next("")?;
                        let inner = self.body(from_here, name, values)?;
                        let text = &from_here[..from_here.len() - self.rest.len()];
                        group.groups.push(Group { text, ..inner });
                    } else {
                        group.attributes.push(Attribute { name, values, complex: true });
                    }
                }
                _ => {
                    let what = format!("`{name}` is neither an attribute nor a group; `:` or `(` is wanted after it");
                    return wrong(from_here, what);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_attributes_comments_and_missing_semicolons() {
        let text = "/* x */ library (l) { a : \"1ns\"; // c\n b (1, pf);\n pin (\"A\") { c : 2 // two\n d : 3 /* three */\n \
             e : x \\\n y; f (\")\", \"a;b\") }\n bus (D[3:0]) { }\n}";
        let library = parse(text).unwrap();
        assert_eq!((library.name(), library.value("a"), library.values("b")), ("l", Some("1ns"), &["1", "pf"][..]));
        let pin = library.all("pin").next().unwrap();
        assert_eq!((pin.name(), pin.number("c"), pin.number("d")), ("A", Some(2.0), Some(3.0)));
        assert_eq!((pin.values("e"), pin.values("f")), (&["x", "y"][..], &[")", "a;b"][..]));
        assert_eq!(library.all("bus").next().unwrap().arguments, ["D[3:0]"]);
    }

    #[test]
    fn other_files_are_refused() {
        for (text, told) in [
            (
                "\nmodule x; endmodule",
                "line 2: this is no Liberty file: it begins with `module`; `library (...)` is wanted",
            ),
            ("", "line 1: this is no Liberty file: it begins with nothing; `library (...)` is wanted"),
            ("library (x)\n;", "line 1: `{` is missing after `library (...)`"),
            (
                "library (x) {\n cell (y) {\n a : 1;",
                "line 2: the group `cell` that begins here does not end; `}` is wanted",
            ),
            (
                "library (x) {\n cell }",
                "line 2: `cell` is neither an attribute nor a group; `:` or `(` is wanted after it",
            ),
            ("library (x) {\n\n , }", "line 3: `,` stands where an attribute or a group is wanted"),
            (
                "library (x) { cell (a) { } }\n}\ncell (b) { }",
                "line 2: `}` stands after the end of the library; one `}` too many?",
            ),
            ("library(x) {\n  a : \"b ;\n}", "line 2: the string that begins here does not end; `\"` is wanted"),
            ("library(x) {\n b (\"c); }", "line 2: the string that begins here does not end; `\"` is wanted"),
            ("library (x) {\n \"", "line 2: the string that begins here does not end; `\"` is wanted"),
            ("library (x) {\n a : 1; /* b\n}", "line 2: the comment that begins here does not end; `*/` is wanted"),
            (
                "library (x) {\n a (1, 2;\n b : 3; }",
                "line 2: the parenthesis that begins here does not end; `)` is wanted",
            ),
            ("library (x) {\n a (1, 2", "line 2: the parenthesis that begins here does not end; `)` is wanted"),
            (
                "library (x) {\n area : 16 capacitance : 3; }",
                "line 2: `:` stands in the value of `area`; is `;` missing before `capacitance`?",
            ),
            (
                "library (x) {\n a : 16 pin (A) { } }",
                "line 2: `{` stands in the value of `a`; is `;` missing before `)`?",
            ),
        ] {
            assert_eq!(parse(text).unwrap_err(), told, "{text}");
        }
        let nested = |depth: usize| format!("library (x) {{\n{} }}", "g () {".repeat(depth) + &"}".repeat(depth));
        assert!(parse(&nested(50)).is_ok());
        assert_eq!(parse(&nested(10_000)).unwrap_err(), "line 2: groups are nested more than 100 deep");
        // Depth, not number.
        assert!(parse(&format!("library (x) {{{}}}", "g () {}".repeat(10_000))).is_ok());
    }
}
