//! The state that a core keeps between operations.

use super::operations::{append, restore};
use super::registers as r;
use crate::layout::header;
use crate::{Bus, Descriptor, Device, DeviceError};

/// Numbers of tokens in cache and context. A core checks operations against them. Software that builds a chain updates
/// them after each descriptor. After an error or a soft reset they are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Tokens of the cache; 0: there is none.
    pub cache: u32,
    /// Tokens of the context; 0: there is none.
    pub context: u32,
    /// Tokens of the cache's prefill. A cache with fewer tokens cannot be restored.
    pub prefill: u32,
}

impl Held {
    /// The state after an operation that ended without error.
    #[must_use]
    pub fn after(self, descriptor: &Descriptor) -> Self {
        let word = |field| descriptor.get(field) as u32;
        match descriptor.get(header::OPCODE) as u8 {
            append::OPCODE => {
                let position = word(append::POSITION);
                let cache = position.saturating_add(word(append::TOKENS));
                Self {
                    cache,
                    context: match (descriptor.has(append::KEEP), position) {
                        (true, _) => cache,
                        (false, 0) => 0,
                        (false, _) => self.context,
                    },
                    prefill: if position == 0 { word(append::PREFILL) } else { self.prefill },
                }
            }
            restore::OPCODE if !descriptor.has(restore::ROWS) => Self { context: word(restore::TOKENS), ..self },
            _ => self,
        }
    }

    /// Reads the tokens of the cache from a device on which no job runs. Registers do not show the context, nor whether
    /// a prefill lacks tokens.
    ///
    /// # Errors
    /// The bus fails.
    pub fn read<B: Bus>(device: &mut Device<B>) -> Result<Self, DeviceError<B::Error>> {
        Ok(Self { cache: device.read(r::CACHE)? & r::CACHE_CACHED, ..Self::default() })
    }
}
