//! Registers as constants, made by the project's generator.

/// Registers that all accelerators have. The file is generated, and a test of the generator compares it with the
/// hardware.
#[path = "generated/shell_registers.rs"]
pub mod shell;
