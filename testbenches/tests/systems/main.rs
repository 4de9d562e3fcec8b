//! Complete accelerators against their golden models.

mod vector_top;
