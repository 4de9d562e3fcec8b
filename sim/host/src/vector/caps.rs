//! How a `vector_top` was built, as its registers say.

use super::registers;
use crate::device::field;
use crate::{Bus, Device, DeviceError};

/// The function of the step activate.
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
    /// The larger one of x and 0.
    Relu,
}

/// Steps that a build may lack. All builds have the other steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Units {
    /// Softmax.
    pub softmax: bool,
    /// Layer norm.
    pub layer_norm: bool,
    /// Rotation of pairs.
    pub rotary: bool,
}

impl Units {
    /// The steps that register FUNCTION names, in `vector_top` or in an accelerator with a vector unit.
    pub(crate) fn of(function: u32) -> Self {
        let has = |bit: u32| function & bit != 0;
        Self {
            softmax: has(registers::FUNCTION_SOFTMAX),
            layer_norm: has(registers::FUNCTION_LAYER_NORM),
            rotary: has(registers::FUNCTION_ROTARY),
        }
    }
}

/// Parameters of the build.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Opcode of the operation: [`OPCODE`](super::operations::vector::OPCODE) in `vector_top`, another one in other
    /// accelerators.
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
    /// Identifies a device, and reads its capabilities.
    ///
    /// # Errors
    /// The bus fails, or another device is there.
    pub fn read<B: Bus>(device: &mut Device<B>) -> Result<Self, DeviceError<B::Error>> {
        device.identify_as(registers::VERSION_ACCELERATOR_VALUE)?;
        let words = [device.read(registers::VECTOR_CAPS)?, device.read(registers::FUNCTION)?];
        Ok(Self::of(super::operations::vector::OPCODE, words))
    }

    /// What the registers VECTOR_CAPS and FUNCTION say, in `vector_top` or in an accelerator with a vector unit.
    pub(crate) fn of(opcode: u8, [caps, function]: [u32; 2]) -> Self {
        Self {
            opcode,
            lanes: field(caps, registers::VECTOR_CAPS_LANES),
            max_beats: field(caps, registers::VECTOR_CAPS_MAX_BEATS),
            function: field(function, registers::FUNCTION_FUNCTION),
            units: Units::of(function),
        }
    }

    /// Elements of the longest row.
    #[must_use]
    pub fn max_columns(&self) -> u64 {
        u64::from(self.lanes) * u64::from(self.max_beats)
    }

    /// The activation, if this crate knows it.
    #[must_use]
    pub fn activation(&self) -> Option<Function> {
        use Function::{Gelu, GeluTanh, Relu, Silu, Tanh};
        [Gelu, GeluTanh, Silu, Tanh, Relu].get(self.function as usize).copied()
    }
}

/// Beats of results of the last job in which an element is saturated, infinite or NaN.
///
/// # Errors
/// The bus fails.
pub fn overflows<B: Bus>(device: &mut Device<B>) -> Result<u64, DeviceError<B::Error>> {
    device.read64(registers::OVERFLOWS)
}
