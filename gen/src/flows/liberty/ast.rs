//! Liberty's syntax: groups of attributes and groups.

/// A group: `kind (arguments) { ... }`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group<'a> {
    /// What stands before the parentheses.
    pub kind: &'a str,
    /// What stands between them.
    pub arguments: Vec<&'a str>,
    /// Simple (`name : value;`) and complex (`name (values);`) attributes.
    pub attributes: Vec<(&'a str, Vec<&'a str>)>,
    /// Groups inside.
    pub groups: Vec<Group<'a>>,
    /// All of it as it stands in the file; of the outermost group nothing.
    pub text: &'a str,
}

impl<'a> Group<'a> {
    /// The first argument: the name of a cell or pin.
    #[must_use]
    pub fn name(&self) -> &'a str {
        self.arguments.first().copied().unwrap_or_default()
    }

    /// The values of an attribute; none when it is not there.
    #[must_use]
    pub fn values(&self, name: &str) -> &[&'a str] {
        self.attributes.iter().find(|(n, _)| *n == name).map_or(&[], |(_, values)| values)
    }

    /// The first value of an attribute.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&'a str> {
        self.values(name).first().copied()
    }

    /// A number.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<f64> {
        self.value(name)?.trim().parse().ok()
    }

    /// The groups of a kind.
    pub fn all<'g>(&'g self, kind: &'g str) -> impl Iterator<Item = &'g Group<'a>> {
        self.groups.iter().filter(move |g| g.kind == kind)
    }
}

/// Reads a file whose only group is `library`.
///
/// # Errors
/// What is wrong, without a place: Yosys names the line when it reads the same file.
pub fn parse(text: &str) -> Result<Group<'_>, String> {
    let mut tokens = Tokens { all: text, rest: text, depth: 0, open: None };
    if tokens.next() != Some("library") {
        return Err("this is no Liberty file: it does not begin with `library (...)`".into());
    }
    let arguments = tokens.parenthesis();
    if tokens.next() != Some("{") {
        return Err("`{` is missing after `library (...)`".into());
    }
    let library = tokens.body("library", arguments);
    match tokens.open {
        Some(line) => Err(format!("line {line}: the string that begins here does not end; `\"` is wanted")),
        None => {
            let library = library?;
            // A brace too many would hide all cells after it.
            tokens.skip_blank();
            let rest = tokens.rest;
            let line = text[..text.len() - rest.len()].matches('\n').count() + 1;
            match rest.chars().next() {
                Some(first) => {
                    Err(format!("line {line}: `{first}` stands after the end of the library; one `}}` too many?"))
                }
                None => Ok(library),
            }
        }
    }
}

/// Groups inside one another, at most. Libraries have five or six levels; the reader calls itself for each.
const DEEPEST: usize = 100;

struct Tokens<'a> {
    all: &'a str,
    rest: &'a str,
    depth: usize,
    /// Line of a string that does not end.
    open: Option<usize>,
}

impl<'a> Tokens<'a> {
    fn skip_blank(&mut self) {
        loop {
            self.rest = self.rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\\');
            if let Some(comment) = self.rest.strip_prefix("/*") {
                self.rest = comment.split_once("*/").map_or("", |(_, rest)| rest);
            } else if self.rest.starts_with("//") {
                self.rest = self.rest.split_once('\n').map_or("", |(_, rest)| rest);
            } else {
                return;
            }
        }
    }

    /// A word, a string without its quotes, or one sign.
    fn next(&mut self) -> Option<&'a str> {
        self.skip_blank();
        let first = self.rest.chars().next()?;
        if first == '"' {
            let Some((text, rest)) = self.rest[1..].split_once('"') else {
                let before = self.all.len() - self.rest.len();
                self.open = Some(self.all[..before].matches('\n').count() + 1);
                self.rest = "";
                return None;
            };
            self.rest = rest;
            return Some(text);
        }
        let is_sign = |c: char| "(){}:;,".contains(c);
        let end = if is_sign(first) {
            1
        } else {
            self.rest.find(|c: char| c.is_whitespace() || is_sign(c) || c == '"').unwrap_or(self.rest.len())
        };
        let (token, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(token)
    }

    fn peek(&mut self) -> Option<char> {
        self.skip_blank();
        self.rest.chars().next()
    }

    /// What stands between parentheses.
    fn parenthesis(&mut self) -> Vec<&'a str> {
        let mut list = Vec::new();
        if self.peek() == Some('(') {
            self.next();
            while let Some(token) = self.next().filter(|t| *t != ")") {
                if token != "," {
                    list.push(token);
                }
            }
        }
        list
    }

    /// The value of a simple attribute. A unit or an expression may follow it; some libraries leave out the semicolon.
    fn simple(&mut self) -> Vec<&'a str> {
        let mut values = Vec::new();
        loop {
            let ends_line = self.rest.trim_start_matches([' ', '\t', '\r']).starts_with('\n');
            if !values.is_empty() && ends_line || matches!(self.peek(), Some(';' | '}') | None) {
                return values;
            }
            values.extend(self.next());
        }
    }

    /// A group whose `{` was read, to its end.
    fn body(&mut self, kind: &'a str, arguments: Vec<&'a str>) -> Result<Group<'a>, String> {
        let mut group = Group { kind, arguments, ..Group::default() };
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("groups are nested more than {DEEPEST} deep"));
        }
        loop {
            self.skip_blank();
            let from_here = self.rest;
            let word = self.next().ok_or("the file ends inside of a group")?;
            match (word, self.peek()) {
                ("}", _) => {
                    self.depth -= 1;
                    return Ok(group);
                }
                (";", _) => {}
                (name, Some(':')) => {
                    self.next();
                    group.attributes.push((name, self.simple()));
                }
                (name, Some('(')) => {
                    let list = self.parenthesis();
                    if self.peek() == Some('{') {
                        self.next();
                        let inner = self.body(name, list)?;
                        let text = &from_here[..from_here.len() - self.rest.len()];
                        group.groups.push(Group { text, ..inner });
                    } else {
                        group.attributes.push((name, list));
                    }
                }
                (word, _) => return Err(format!("`{word}` is neither an attribute nor a group")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_attributes_comments_and_missing_semicolons() {
        let text = "/* x */ library (l) { a : \"1ns\"; // c\n b (1, pf);\n pin (\"A\") { c : 2\n d : 3 }\n}";
        let library = parse(text).unwrap();
        assert_eq!((library.name(), library.value("a"), library.values("b")), ("l", Some("1ns"), &["1", "pf"][..]));
        let pin = library.all("pin").next().unwrap();
        assert_eq!((pin.name(), pin.number("c"), pin.number("d")), ("A", Some(2.0), Some(3.0)));
    }

    #[test]
    fn other_files_are_refused() {
        assert!(parse("module x; endmodule").unwrap_err().contains("no Liberty file"));
        assert!(parse("library (x) { cell (y) {").unwrap_err().contains("ends inside"));
        assert!(parse("library (x) { cell }").unwrap_err().contains("neither"));
        let hidden = parse("library (x) { cell (a) { } }\n}\ncell (b) { }").unwrap_err();
        assert!(hidden.starts_with("line 2: `}` stands after the end of the library"), "{hidden}");
        for text in ["library(x) {\n  a : \"b ;\n}", "library(x) {\n b (\"c); }", "library (x) {\n \""] {
            let error = parse(text).unwrap_err();
            assert_eq!(error, "line 2: the string that begins here does not end; `\"` is wanted", "{text}");
        }
        let nested = |depth: usize| format!("library (x) {{{} }}", "g () {".repeat(depth) + &"}".repeat(depth));
        assert!(parse(&nested(50)).is_ok());
        assert!(parse(&nested(10_000)).unwrap_err().contains("nested more than 100 deep"));
        // Depth, not number.
        assert!(parse(&format!("library (x) {{{}}}", "g () {}".repeat(10_000))).is_ok());
    }
}
