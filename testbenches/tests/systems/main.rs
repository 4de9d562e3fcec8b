//! Complete accelerators against their golden models, and the programs that drive them.

mod c_program;
mod soc;
mod vector_errors;
mod vector_top;
