//! The processing elements of a Tender accelerator: what its panels and tables of indices ask of a PE.

use crate::blocks::tender::{MeshPe, Rescale, TenderPe};
use crate::lang::Rules;

/// A PE that an accelerator can be built with.
///
/// Panels hold integers of 4 bits, and in INT8 mode 2 x 2 PEs share an operand. So an operand is an integer of 4 bits and
/// nothing else. A table of indices asks for rescales, so the PE has them. Results leave as what they are: the lanes scale
/// them, so a PE may compute products and rescales as it likes.
pub trait EnginePe: MeshPe {
    /// Name of the accelerator of such PEs. No other block may have this name.
    const TOP: &'static str;

    /// Name of its engine for products, likewise.
    const ENGINE: &'static str;

    /// Demands of the accelerator; the names of parameters begin with `array.pe`.
    fn demand_in_engine(&self, rules: &mut Rules) {
        let (bits, integers, most) = (self.operand_bits(), self.has_integers_only(), self.max_rescale());
        let mut demand = |right: bool, value: String, allowed: &str| rules.demand(right, "array.pe", value, allowed);
        demand(bits == 4, format!("a PE with operand_bits() = {bits}"), "4, as panels have them");
        demand(integers, "a PE whose operands are more than integers".into(), "integer_bits() = operand_bits()");
        demand(most >= 1, format!("a PE with max_rescale() = {most}"), "at least 1: tables of indices name rescales");
    }
}

impl EnginePe for TenderPe {
    const TOP: &'static str = "tender_top";
    const ENGINE: &'static str = "tender_engine";

    fn demand_in_engine(&self, rules: &mut Rules) {
        // Panels hold nibbles, and index tables name rescales.
        rules.demand(self.operand_width == 4, "array.pe.operand_width", self.operand_width, "4");
        let rescales = matches!(self.rescale, Rescale::Adder | Rescale::Shifter);
        rules.demand(rescales, "array.pe.rescale", format!("{:?}", self.rescale).to_lowercase(), "adder or shifter");
    }
}
