//! A figure of a paper, and what follows for it.

/// A figure of a paper, and the value that follows from printed numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The name of the figure.
    pub figure: &'static str,
    /// The paper's value as it prints it, and where.
    pub paper: &'static str,
    /// The result of the formula; [`NO_CLAIM`] if the printed numbers do not suffice for a formula.
    pub value: f64,
    /// Decimals to print.
    pub decimals: usize,
    /// Unit.
    pub unit: &'static str,
    /// Smallest and largest value that agree with the paper; none if the paper has no such figure.
    pub accept: Option<[f64; 2]>,
    /// The formula with its inputs and their sources.
    pub basis: &'static str,
}

impl Row {
    /// Whether the formula agrees with the paper, if the paper has the figure.
    #[must_use]
    pub fn agrees(&self) -> Option<bool> {
        self.accept.map(|[least, most]| (least..=most).contains(&self.value))
    }

    /// What the table says of it; `sign`: the direction alone is compared.
    pub(super) fn verdict(&self) -> &'static str {
        match self.agrees() {
            Some(true) if self.accept.is_some_and(|[_, most]| most.is_infinite()) => "sign",
            Some(true) => "yes",
            Some(false) => "no",
            None => "-",
        }
    }
}

/// The value of a figure whose conditions are not given.
pub(super) const NO_CLAIM: f64 = f64::NAN;
/// Accepts values up to this relative distance from the paper's value.
pub(super) const fn within(paper: f64, share: f64) -> Option<[f64; 2]> {
    Some([paper * (1.0 - share), paper * (1.0 + share)])
}
