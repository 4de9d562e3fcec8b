//! A module's name in the making.

/// A module's name in the making.
#[derive(Clone, Debug, Default)]
pub struct NameParts {
    pub(super) parts: Vec<String>,
    /// Some value is neither among the parts nor the default.
    pub(super) untold: bool,
}
