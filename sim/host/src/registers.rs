//! Registers as constants, made by the project's generator.

/// Registers that all accelerators have. The file is the generated one itself, which a test of the generator keeps equal to
/// the hardware.
#[path = "generated/shell_registers.rs"]
pub mod shell;
