//! Boolean functions as Liberty writes them: `!A`, `A'`, `A * B`, `A & B`, `A B`, `A + B`, `A | B`, `A ^ B`.

use std::collections::BTreeSet;

/// A function of pins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Function {
    /// Always false or always true.
    Constant(bool),
    /// A pin, or the name of a state.
    Name(String),
    /// Negation.
    Not(Box<Function>),
    /// Conjunction.
    And(Box<Function>, Box<Function>),
    /// Disjunction.
    Or(Box<Function>, Box<Function>),
    /// Parity.
    Xor(Box<Function>, Box<Function>),
}

impl Function {
    /// Reads a function.
    ///
    /// # Errors
    /// The sign that is left over or missing.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut reader = Reader { rest: text, left: MOST };
        let function = reader.or()?;
        match reader.peek() {
            None => Ok(function),
            Some(other) => Err(format!("function `{text}`: unexpected `{other}`")),
        }
    }

    /// As a Verilog expression; `name` gives the text for a name.
    pub fn verilog(&self, name: &impl Fn(&str) -> String) -> String {
        let pair = |a: &Self, sign: &str, b: &Self| format!("({} {sign} {})", a.verilog(name), b.verilog(name));
        match self {
            Self::Constant(value) => format!("1'b{}", u8::from(*value)),
            Self::Name(pin) => name(pin),
            Self::Not(inner) => format!("~{}", inner.verilog(name)),
            Self::And(a, b) => pair(a, "&", b),
            Self::Or(a, b) => pair(a, "|", b),
            Self::Xor(a, b) => pair(a, "^", b),
        }
    }

    /// All names in it.
    #[must_use]
    pub fn names(&self) -> BTreeSet<&str> {
        match self {
            Self::Constant(_) => BTreeSet::new(),
            Self::Name(pin) => BTreeSet::from([pin.as_str()]),
            Self::Not(inner) => inner.names(),
            Self::And(a, b) | Self::Or(a, b) | Self::Xor(a, b) => a.names().union(&b.names()).copied().collect(),
        }
    }
}

/// Names, negations and parentheses of a function, at most: reading, printing and dropping it call themselves for each.
const MOST: usize = 300;

struct Reader<'a> {
    rest: &'a str,
    left: usize,
}

impl Reader<'_> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn take(&mut self, signs: &str) -> bool {
        let found = self.peek().is_some_and(|c| signs.contains(c));
        if found {
            self.rest = &self.rest[1..];
        }
        found
    }

    fn or(&mut self) -> Result<Function, String> {
        let mut left = self.and()?;
        while self.take("+|") {
            left = Function::Or(Box::new(left), Box::new(self.and()?));
        }
        Ok(left)
    }

    fn and(&mut self) -> Result<Function, String> {
        let mut left = self.xor()?;
        // Two functions side by side are a conjunction too.
        while self.take("&*") || self.peek().is_some_and(|c| c.is_alphanumeric() || "_!([".contains(c)) {
            left = Function::And(Box::new(left), Box::new(self.xor()?));
        }
        Ok(left)
    }

    fn xor(&mut self) -> Result<Function, String> {
        let mut left = self.one()?;
        while self.take("^") {
            left = Function::Xor(Box::new(left), Box::new(self.one()?));
        }
        Ok(left)
    }

    /// Another name, negation or parenthesis.
    fn count(&mut self) -> Result<(), String> {
        self.left = self.left.checked_sub(1).ok_or_else(|| format!("a function of more than {MOST} signs"))?;
        Ok(())
    }

    fn one(&mut self) -> Result<Function, String> {
        self.count()?;
        let mut found = if self.take("!") {
            Function::Not(Box::new(self.one()?))
        } else if self.take("(") {
            let inner = self.or()?;
            if !self.take(")") {
                return Err("`)` is missing".into());
            }
            inner
        } else {
            let end = self.rest.find(|c: char| !c.is_alphanumeric() && !"_[]".contains(c)).unwrap_or(self.rest.len());
            let (name, rest) = self.rest.split_at(end);
            self.rest = rest;
            match name {
                "" => return Err(format!("a name is missing before `{rest}`")),
                "0" | "1" => Function::Constant(name == "1"),
                name => Function::Name(name.to_owned()),
            }
        };
        while self.take("'") {
            self.count()?;
            found = Function::Not(Box::new(found));
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verilog(text: &str) -> String {
        Function::parse(text).unwrap().verilog(&str::to_owned)
    }

    #[test]
    fn all_spellings() {
        assert_eq!(verilog("(!A)"), "~A");
        assert_eq!(verilog("A' + B*C"), "(~A | (B & C))");
        assert_eq!(verilog("(((A B)+(B C))+(C A))"), "(((A & B) | (B & C)) | (C & A))");
        assert_eq!(verilog("A^B&C | 1"), "(((A ^ B) & C) | 1'b1)");
        assert_eq!(verilog("!(A1 & !B[0])"), "~(A1 & ~B[0])");
        assert_eq!(Function::parse("A*!B+A").unwrap().names(), BTreeSet::from(["A", "B"]));
    }

    #[test]
    fn mistakes() {
        assert!(Function::parse("(A").is_err());
        assert!(Function::parse("A +").is_err());
        assert!(Function::parse("A ) B").is_err());
        let nested = |depth: usize| format!("{}A{}", "(".repeat(depth), ")".repeat(depth));
        assert_eq!(verilog(&nested(250)), "A");
        let many = |sign: &str| format!("{}A", sign.repeat(5000));
        for text in [nested(5000), many("!"), many("A*"), many("A "), many("A^"), format!("A{}", "'".repeat(5000))] {
            assert_eq!(Function::parse(&text).unwrap_err(), "a function of more than 300 signs");
        }
        assert_eq!(verilog(&format!("{}A", "A*".repeat(250))).matches('A').count(), 251);
    }
}
