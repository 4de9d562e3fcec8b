//! The operations that a module offers.

use super::layout::Opcode;
use crate::lang::Module;
use crate::lang::context::with;

impl Module {
    /// Notes that a host may ask the module for these operations: the manifest and the files next to it describe them.
    /// Mistakes of their tables, and numbers and names that come twice, are errors of elaboration.
    #[track_caller]
    pub fn offers(&mut self, operations: Vec<Opcode>) {
        for (k, operation) in operations.iter().enumerate() {
            for mistake in operation.layout.mistakes() {
                self.error(&format!("operation {}: {mistake}", operation.name));
            }
            let before = &operations[..k];
            if before.iter().any(|other| other.name == operation.name || other.number == operation.number) {
                let Opcode { name, number, .. } = operation;
                self.error(&format!("operation {name} ({number}): its name or its number is given twice"));
            }
            if !(1..=255).contains(&operation.number) {
                let Opcode { name, number, .. } = operation;
                self.error(&format!("operation {name} has the number {number}, allowed: 1 to 255"));
            }
        }
        with(|e| e.top().ir.operations = operations);
    }
}
