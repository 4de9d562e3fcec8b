//! How results meet a person: text and tables in a terminal, pages, drawings, documents.
//!
//! Nothing here starts a tool or computes a result. [`page`] makes the HTML page of a sweep, [`wave`] timing diagrams,
//! [`render`] fills documents.

pub(crate) mod numbers;
pub mod page;
pub(crate) mod palette;
pub(crate) mod progress;
pub mod render;
pub(crate) mod report;
pub(crate) mod table;
#[cfg(feature = "standard")]
pub(crate) mod timeline;
pub mod wave;
