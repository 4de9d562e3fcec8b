//! Weights and constants that come into the store.

use crate::accelerators::job::Codes;
use crate::accelerators::memory::Memory;
use crate::accelerators::pieces::Loaded;

use super::{Counts, Executed, Load, Operation, TitanusCore, Work};

impl TitanusCore {
    /// Loads weights or constants. It goes on after an error, to find all errors.
    pub(super) fn load(&self, load: Load, memory: &mut dyn Memory) -> Executed {
        let mut codes = Codes::default();
        let rows: Vec<Loaded> =
            (0..load.rows.rows).map(|row| Loaded::row(&load.rows, row, memory, &mut codes)).collect();
        self.state.borrow_mut().store(&load, &rows);
        let codes = codes.all();
        let defined = codes.is_empty();
        let operation = Work::new(Operation::Load(load), Counts::default(), None);
        Executed { operation, codes, defined, certain: true, overflows: 0, sum_overflows: 0 }
    }
}
