//! Events of steps on rows.

use super::Operation;
use crate::accelerators::events::{Event, Events, kind};
use crate::common::row::vector_unit::{Norm, Output};

/// Bits of an element.
const ELEMENT: u64 = 16;

impl Operation {
    /// Elements of each step that is done, and beats of the rows that a norm keeps until it has seen all of them, on a
    /// bus of so many bits. The accesses to memory are events of the DMAs.
    #[must_use]
    pub fn events(&self, bus: u64) -> Events {
        let (rows, steps) = (self.x.rows, &self.steps);
        let elements = rows * self.columns;
        let norm = match steps.kind {
            Norm::RmsNorm => "rms norm",
            Norm::Softmax => "softmax",
            Norm::LayerNorm => "layer norm",
        };
        let mut all = Events::default();
        for (step, name) in [
            (steps.scale, "scale"),
            (steps.add, "sum of rows"),
            (steps.activate, "activation"),
            (steps.multiply, "product of rows"),
            (steps.rotate, "rotation"),
            (steps.norm, norm),
            (steps.norm && steps.gain, "gain"),
            (steps.output != Output::Fp16, "row to integers"),
        ] {
            all.add(Event::new(name, kind::ELEMENT, ELEMENT), if step { elements } else { 0 });
        }
        if steps.norm {
            let beats = rows * (ELEMENT * self.columns).div_ceil(bus);
            for (name, kind) in [
                ("norm buffer write", kind::SRAM_WRITE),
                ("norm buffer read", kind::SRAM_READ),
                ("norm output write", kind::SRAM_WRITE),
                ("norm output read", kind::SRAM_READ),
            ] {
                all.add(Event::new(name, kind, bus), beats);
            }
        }
        all
    }
}
