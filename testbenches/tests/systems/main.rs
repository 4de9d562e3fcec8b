//! Complete accelerators and the programs that drive them.

mod c_program;
