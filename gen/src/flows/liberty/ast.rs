//! Liberty's syntax tree: groups of attributes and groups.

/// `name : value;` or `name (values);`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its values, strings without their quotes.
    pub values: Vec<&'a str>,
    /// Whether the values stand between parentheses.
    pub complex: bool,
}

/// A group: `kind (arguments) { ... }`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Group<'a> {
    /// The word before the parentheses.
    pub kind: &'a str,
    /// The words between them.
    pub arguments: Vec<&'a str>,
    /// Attributes in the order of the file.
    pub attributes: Vec<Attribute<'a>>,
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

    /// An attribute; the first one of its name.
    #[must_use]
    pub fn attribute(&self, name: &str) -> Option<&Attribute<'a>> {
        self.attributes.iter().find(|attribute| attribute.name == name)
    }

    /// The values of an attribute; none when it is not there.
    #[must_use]
    pub fn values(&self, name: &str) -> &[&'a str] {
        self.attribute(name).map_or(&[], |attribute| &attribute.values)
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

    /// The pins of a cell with their names: one group may describe several.
    pub fn pins(&self) -> impl Iterator<Item = (&'a str, &Group<'a>)> {
        let pins = self.groups.iter().filter(|group| group.kind == "pin");
        pins.flat_map(|pin| pin.arguments.iter().map(move |name| (*name, pin)))
    }

    /// The capacitance of a pin of this library, in the library's unit: its own, the mean of its edges, or the library's default for
    /// pins of its direction. None where the library says nothing.
    #[must_use]
    pub fn pin_capacitance(&self, pin: &Group<'_>) -> Option<f64> {
        let edges = || Some(f64::midpoint(pin.number("rise_capacitance")?, pin.number("fall_capacitance")?));
        let default = || match pin.value("direction")? {
            "input" => self.number("default_input_pin_cap"),
            "output" => self.number("default_output_pin_cap"),
            "inout" => self.number("default_inout_pin_cap"),
            _ => None,
        };
        pin.number("capacitance").or_else(edges).or_else(default)
    }
}

/// The lines of a text, for messages.
pub(super) struct Lines<'a> {
    text: &'a str,
    /// Where lines end.
    ends: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, ends: text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect() }
    }

    /// Line of a part of the text, from 1 on.
    pub(super) fn of(&self, part: &str) -> usize {
        let offset = (part.as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize).min(self.text.len());
        self.ends.partition_point(|end| *end < offset) + 1
    }
}
