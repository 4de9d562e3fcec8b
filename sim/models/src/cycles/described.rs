//! A machine that a few numbers describe: products a cycle, cycles of fixed work, bits of numbers.
//!
//! A layer is products and steps on rows, one after the other. A product takes its multiply-accumulates divided by those
//! of a cycle. An array of so many rows takes that many rows at a time, and some rows may be empty.

use anyhow::{Result, ensure};
use serde::{Deserialize, Serialize};

use super::costs::Costs;
use super::shapes::Model;
use super::{Cost, Event, Events, Work, kind};

/// Most products or elements a cycle, and most cycles of fixed work: times fit into their numbers.
const MOST: f64 = 1e12;
const MOST_CYCLES: u64 = 1 << 32;

/// A machine in numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Described {
    /// Multiply-accumulates a cycle, if no multiplier ever waits.
    pub products: f64,
    /// Elements of norms, sums, rotations, activations and softmax a cycle.
    pub elements: f64,
    /// Bits of a weight in memory.
    pub weight_bits: f64,
    /// Bits of an element of a row in memory.
    pub activation_bits: f64,
    /// Bits of an element of keys and values in memory.
    pub cache_bits: f64,
    /// Rows that multiply at a time; a product of fewer rows takes as long.
    #[serde(default = "one")]
    pub rows: u64,
    /// Rows for which weights are read once. Without it they are read once for all rows.
    #[serde(default)]
    pub weight_rows: Option<u64>,
    /// Weights are read from memory. Otherwise they stay on the chip.
    #[serde(default = "yes")]
    pub weights_in_memory: bool,
    /// Keys and values are read from memory. Otherwise they stay on the chip.
    #[serde(default = "yes")]
    pub cache_in_memory: bool,
    /// Bytes on the chip that are refreshed while a layer is computed.
    #[serde(default)]
    pub refreshed: u64,
    /// Cycles from one refresh of such a byte to the next one.
    #[serde(default = "one")]
    pub interval: u64,
    /// Cycles of an operation besides its products or elements.
    #[serde(default)]
    pub fixed: u64,
    /// Tokens that a sequence may have.
    #[serde(default)]
    pub tokens: Option<u64>,
    /// Tokens whose keys and values are kept, at most; others are evicted.
    #[serde(default)]
    pub kept: Option<u64>,
}

fn one() -> u64 {
    1
}

fn yes() -> bool {
    true
}

/// Operands, by the names of their events in memory and on the bus.
#[derive(Clone, Copy, Debug)]
enum Operands {
    Weights,
    Rows,
    KeysAndValues,
}

impl Operands {
    /// Bytes on the bus, which memory reads or writes.
    fn moved(self, bytes: u64) -> Events {
        let [memory, bus] = match self {
            Self::Weights => ["byte of weights", "byte of weights on the bus"],
            Self::Rows => ["byte of rows", "byte of rows on the bus"],
            Self::KeysAndValues => ["byte of keys and values", "byte of keys and values on the bus"],
        };
        let events = Events::default().with(Event::new(memory, kind::DRAM_READ, 8), bytes);
        events.with(Event::new(bus, kind::BUS, 8), bytes)
    }
}

impl Described {
    /// Refuses numbers that no machine has.
    ///
    /// # Errors
    /// Names the key, and what is allowed.
    pub fn check(&self) -> Result<()> {
        for (key, value) in [("products", self.products), ("elements", self.elements)] {
            ensure!(value > 0.0 && value <= MOST, "`{key}` is {value}, allowed: a number above 0, up to {MOST}");
        }
        for (key, bits) in [
            ("weight_bits", self.weight_bits),
            ("activation_bits", self.activation_bits),
            ("cache_bits", self.cache_bits),
        ] {
            ensure!(bits > 0.0 && bits <= 64.0, "`{key}` is {bits}, allowed: a number above 0, up to 64");
        }
        for (key, count) in [
            ("rows", Some(self.rows)),
            ("weight_rows", self.weight_rows),
            ("interval", Some(self.interval)),
            ("tokens", self.tokens),
            ("kept", self.kept),
        ] {
            let right = count.is_none_or(|count| (1..=MOST_CYCLES).contains(&count));
            ensure!(right, "`{key}` is {}, allowed: 1 to {MOST_CYCLES}", count.unwrap_or_default());
        }
        ensure!(self.fixed <= MOST_CYCLES, "`fixed` is {}, allowed: 0 to {MOST_CYCLES}", self.fixed);
        let told = || format!("`refreshed` is {}, allowed: 0 to {MOST_CYCLES}", self.refreshed);
        ensure!(self.refreshed <= MOST_CYCLES, told());
        Ok(())
    }

    /// A product whose right matrix is read once for so many rows.
    fn product(&self, [rows, inner, columns]: [u64; 3], matrix: Operands) -> Cost {
        let (bits, in_memory, together) = match matrix {
            Operands::Weights => (self.weight_bits, self.weights_in_memory, self.weight_rows),
            _ => (self.cache_bits, self.cache_in_memory, None),
        };
        let products = rows as f64 * inner as f64 * columns as f64;
        let full = rows.next_multiple_of(self.rows) as f64 * inner as f64 * columns as f64;
        let reads = together.map_or(1, |together| rows.div_ceil(together));
        let of_matrix = reads as f64 * inner as f64 * columns as f64 * if in_memory { bits } else { 0.0 };
        let of_rows = rows as f64 * (inner + columns) as f64 * self.activation_bits;
        let [of_matrix, of_rows] = [of_matrix, of_rows].map(|bits| (bits / 8.0).ceil() as u64);
        let mut events = Operands::Rows.moved(of_rows);
        events += matrix.moved(of_matrix);
        let of_both = (self.weight_bits + self.activation_bits).ceil() as u64;
        let event = Event::new("product", kind::PRODUCT, of_both);
        Cost {
            cycles: self.fixed + (full / self.products).ceil() as u64,
            bytes: of_matrix + of_rows,
            products: products as u64,
            events: events.with(event, products as u64),
        }
    }

    /// A step on rows that reads so many operands.
    fn step(&self, [rows, columns]: [u64; 2], reads: u64) -> Cost {
        let elements = rows as f64 * columns as f64;
        let bytes = (elements * (reads + 1) as f64 * self.activation_bits / 8.0).ceil() as u64;
        let event = Event::new("element of rows", kind::ELEMENT, self.activation_bits.ceil() as u64);
        Cost {
            cycles: self.fixed + (elements / self.elements).ceil() as u64,
            bytes,
            products: 0,
            events: Operands::Rows.moved(bytes).with(event, elements as u64),
        }
    }
}

impl Costs for Described {
    fn about(&self) -> String {
        format!("{} products a cycle, {} x {} bits, in numbers", self.products, self.weight_bits, self.activation_bits)
    }

    fn peak(&self) -> f64 {
        self.products
    }

    fn most(&self) -> Option<u64> {
        self.tokens
    }

    fn layer(&self, model: &Model, work: Work) -> Result<Cost> {
        let tokens = work.sequences * work.tokens;
        let mut all = Cost::default();
        for [inputs, outputs, count] in model.projections() {
            all += self.product([tokens, inputs, outputs], Operands::Weights).times(count);
        }
        // Heads that share keys are rows of one product.
        let [heads, shared] = model.heads;
        let (group, pairs) = (heads / shared * work.tokens, work.sequences * shared);
        let seen = self.kept.map_or(work.context, |kept| kept.min(work.context));
        for size in [[group, model.head, seen], [group, seen, model.head]] {
            all += self.product(size, Operands::KeysAndValues).times(pairs);
        }
        all += self.step([group, seen], 1).times(pairs);
        all += self.step([tokens, model.width], 1).times(2);
        all += self.step([tokens, model.width], 2).times(2);
        if model.gated {
            all += self.step([tokens, model.queries() + model.keys()], 2);
        }
        all += self.step([tokens, model.between], model.inner());
        Ok(all)
    }

    fn head(&self, model: &Model, sequences: u64) -> Result<Cost> {
        let mut all = self.step([sequences, model.width], 1);
        all += self.product([sequences, model.width, model.vocabulary], Operands::Weights);
        Ok(all)
    }

    fn steady(&self, _: &Model, _: Work) -> Vec<(Event, f64)> {
        let refresh = Event::new("byte refreshed", kind::EDRAM_REFRESH, 8);
        let rate = self.refreshed as f64 / self.interval as f64;
        if self.refreshed == 0 { Vec::new() } else { vec![(refresh, rate)] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Described {
        Described {
            products: 4.0,
            elements: 2.0,
            weight_bits: 4.0,
            activation_bits: 8.0,
            cache_bits: 8.0,
            rows: 2,
            weight_rows: Some(2),
            weights_in_memory: true,
            cache_in_memory: true,
            refreshed: 0,
            interval: 1,
            fixed: 10,
            tokens: None,
            kept: None,
        }
    }

    /// Three rows take the cycles of four, and weights come twice.
    #[test]
    fn costs_by_hand() {
        let cost = machine().product([3, 8, 6], Operands::Weights);
        let (of_weights, of_rows) = (2 * 8 * 6 / 2, 3 * (8 + 6));
        let mut events = Operands::Weights.moved(of_weights).with(Event::new("product", kind::PRODUCT, 12), 3 * 8 * 6);
        events += Operands::Rows.moved(of_rows);
        let bytes = of_weights + of_rows;
        assert_eq!(cost, Cost { cycles: 10 + 4 * 8 * 6 / 4, bytes, products: 3 * 8 * 6, events });
        let stay = Described { weights_in_memory: false, ..machine() }.product([3, 8, 6], Operands::Weights);
        assert_eq!((stay.cycles, stay.bytes, stay.events.count("byte of weights")), (cost.cycles, of_rows, 0));
        let events = Operands::Rows.moved(45).with(Event::new("element of rows", kind::ELEMENT, 8), 15);
        assert_eq!(machine().step([3, 5], 2), Cost { cycles: 10 + 8, bytes: 45, products: 0, events });
        let model = Model { layers: 2, width: 8, between: 16, gated: false, heads: [2, 1], head: 4, vocabulary: 32 };
        let work = Work { sequences: 2, tokens: 1, context: 5 };
        let cost = machine().layer(&model, work).unwrap();
        assert_eq!(cost.products, 2 * (8 * 8 + 8 * 8 + 2 * 8 * 4 + 2 * 8 * 16) + 2 * 2 * 2 * 4 * 5);
        let kept = Described { cache_in_memory: false, ..machine() };
        let kept = kept.layer(&model, work).unwrap();
        assert_eq!(cost.bytes - kept.bytes, 2 * 2 * 4 * 5);
        let count = |cost: &Cost| cost.events.count("byte of keys and values");
        assert_eq!([count(&cost), count(&kept)], [2 * 2 * 4 * 5, 0]);
        let refreshed = Described { refreshed: 300, interval: 100, ..machine() }.steady(&model, work);
        assert_eq!(refreshed, [(Event::new("byte refreshed", kind::EDRAM_REFRESH, 8), 3.0)]);
        assert_eq!(machine().steady(&model, work), []);
        // A machine that evicts never sees more than it keeps.
        let layer = |kept: Option<u64>, context: u64| {
            Described { kept, ..machine() }.layer(&model, Work { context, ..work }).unwrap()
        };
        assert_eq!((layer(Some(3), 5), layer(Some(8), 5)), (layer(None, 3), layer(None, 5)));
        assert_eq!(machine().head(&model, 3).unwrap().products, 3 * 8 * 32);
    }

    #[test]
    fn numbers_that_no_machine_has() {
        machine().check().unwrap();
        let told = |machine: Described| machine.check().unwrap_err().to_string();
        let wrong = Described { products: 0.0, ..machine() };
        assert_eq!(told(wrong), "`products` is 0, allowed: a number above 0, up to 1000000000000");
        assert!(told(Described { elements: f64::NAN, ..machine() }).contains("`elements` is NaN"));
        assert!(
            told(Described { cache_bits: 65.0, ..machine() }).contains("`cache_bits` is 65, allowed: a number above")
        );
        assert!(told(Described { rows: 0, ..machine() }).contains("`rows` is 0, allowed: 1 to "));
        assert!(told(Described { tokens: Some(0), ..machine() }).contains("`tokens` is 0"));
        assert!(told(Described { interval: 0, ..machine() }).contains("`interval` is 0, allowed: 1 to "));
        assert!(told(Described { refreshed: u64::MAX, ..machine() }).contains("`refreshed` is 18446744073709551615"));
    }
}
