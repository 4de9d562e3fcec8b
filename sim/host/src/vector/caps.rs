//! How a `vector_top` was built, as its registers say.

use super::registers;
use crate::{Bus, Device, DeviceError};

/// What the step activate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// GELU by the error function.
    Gelu,
    /// GELU by tanh.
    GeluTanh,
    /// x / (1 + e^-x).
    Silu,
    /// Hyperbolic tangent.
    Tanh,
}

/// How it was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Elements of a beat.
    pub lanes: u32,
    /// Beats of the longest row.
    pub max_beats: u32,
    /// Number of the activation.
    pub function: u32,
}

impl Caps {
    /// Reads them from a device that was identified.
    ///
    /// # Errors
    /// Those of the bus.
    pub fn read<B: Bus>(device: &mut Device<B>) -> Result<Self, DeviceError<B::Error>> {
        let caps = device.read(registers::CAPS)?;
        let field = |mask: u32| (caps & mask) >> mask.trailing_zeros();
        let function = device.read(registers::FUNCTION)? & registers::FUNCTION_FUNCTION;
        Ok(Self { lanes: field(registers::CAPS_LANES), max_beats: field(registers::CAPS_MAX_BEATS), function })
    }

    /// Elements of the longest row.
    #[must_use]
    pub fn max_columns(&self) -> u64 {
        u64::from(self.lanes) * u64::from(self.max_beats)
    }

    /// The activation, if this crate knows it.
    #[must_use]
    pub fn activation(&self) -> Option<Function> {
        [Function::Gelu, Function::GeluTanh, Function::Silu, Function::Tanh].get(self.function as usize).copied()
    }
}

/// Beats of results of the last job in which an element was saturated, infinite or no number.
///
/// # Errors
/// Those of the bus.
pub fn overflows<B: Bus>(device: &mut Device<B>) -> Result<u64, DeviceError<B::Error>> {
    device.read64(registers::OVERFLOWS)
}
