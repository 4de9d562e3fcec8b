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

/// Steps that are built in or not; all others always are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Units {
    /// Softmax.
    pub softmax: bool,
    /// Layer norm.
    pub layer_norm: bool,
    /// Pairs that turn.
    pub rotary: bool,
}

impl Units {
    /// Those that register FUNCTION names, here and in an accelerator that has the unit among others.
    pub(crate) fn of(function: u32) -> Self {
        let has = |bit: u32| function & bit != 0;
        Self {
            softmax: has(registers::FUNCTION_SOFTMAX),
            layer_norm: has(registers::FUNCTION_LAYER_NORM),
            rotary: has(registers::FUNCTION_ROTARY),
        }
    }
}

/// How it was built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Number of the operation: [`OPCODE_VALUE`](super::layout::OPCODE_VALUE) in `vector_top`, another one where it is one of
    /// several.
    pub opcode: u8,
    /// Elements of a beat.
    pub lanes: u32,
    /// Beats of the longest row.
    pub max_beats: u32,
    /// Number of the activation.
    pub function: u32,
    /// Steps that not every build has.
    pub units: Units,
}

impl Caps {
    /// Identifies a device, and reads them.
    ///
    /// # Errors
    /// Something else is there; those of the bus.
    pub fn read<B: Bus>(device: &mut Device<B>) -> Result<Self, DeviceError<B::Error>> {
        device.identify_as(registers::VERSION_ACCELERATOR_VALUE)?;
        let caps = device.read(registers::CAPS)?;
        let field = |mask: u32| (caps & mask) >> mask.trailing_zeros();
        let function = device.read(registers::FUNCTION)?;
        Ok(Self {
            opcode: super::layout::OPCODE_VALUE,
            lanes: field(registers::CAPS_LANES),
            max_beats: field(registers::CAPS_MAX_BEATS),
            function: function & registers::FUNCTION_FUNCTION,
            units: Units::of(function),
        })
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
