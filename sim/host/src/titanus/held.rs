//! What a core holds between operations.

use super::layout::{self as l, append, restore};
use super::registers as r;
use crate::layout::header;
use crate::{Bus, Descriptor, Device, DeviceError};

/// Tokens of cache and context, which a core checks operations by. Whoever builds a chain lets each descriptor change it;
/// after an error or a soft reset it is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Tokens of the cache; 0: there is none.
    pub cache: u32,
    /// Tokens of the context; 0: there is none.
    pub context: u32,
    /// Tokens of the cache's prefill: as long as the cache has fewer, it cannot come back.
    pub prefill: u32,
}

impl Held {
    /// Behind a good end of an operation.
    #[must_use]
    pub fn after(self, descriptor: &Descriptor) -> Self {
        let word = |field| descriptor.get(field) as u32;
        let tokens = word(append::TOKENS);
        match descriptor.get(header::OPCODE) as u8 {
            l::APPEND_VALUE => {
                let keep = word(append::OPTIONS) >> l::KEEP_BIT & 1 == 1;
                let position = word(append::POSITION);
                let cache = position.saturating_add(tokens);
                Self {
                    cache,
                    context: match (keep, position) {
                        (true, _) => cache,
                        (false, 0) => 0,
                        (false, _) => self.context,
                    },
                    prefill: if position == 0 { word(append::PREFILL) } else { self.prefill },
                }
            }
            l::RESTORE_VALUE if word(restore::OPTIONS) >> l::ROWS_BIT & 1 == 0 => Self { context: tokens, ..self },
            _ => self,
        }
    }

    /// What a device says, while no job runs: its cache. A context is not known there, nor whether a prefill lacks tokens.
    ///
    /// # Errors
    /// Those of the bus.
    pub fn read<B: Bus>(device: &mut Device<B>) -> Result<Self, DeviceError<B::Error>> {
        Ok(Self { cache: device.read(r::CACHE)? & r::CACHE_CACHED, ..Self::default() })
    }
}
