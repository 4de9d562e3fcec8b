//! A product, from its commands to their ends.

use super::super::{Matrix, Product, Shape};
use super::context::Context;
use super::results::Results;
use super::store::Store;
use super::timing::Timing;
use crate::accelerators::cycles::{Dmas, Flow};

/// The source of sums.
#[derive(Clone, Debug)]
enum Sums {
    Store(Store),
    Context(Context),
}

/// A product in flight.
#[derive(Clone, Debug)]
pub(super) struct Multiplied {
    sums: Sums,
    results: Results,
}

impl Multiplied {
    /// A product whose commands are offered in the cycle after `begin`.
    pub fn new((timing, shape): (&Timing, &Shape), product: &Product, (begin, dmas): (u64, &mut Dmas)) -> Self {
        dmas.readers[0].offer(&product.x, begin + 1);
        dmas.writer.offer(&product.out, begin + 1);
        let (sums, of_row) = match product.matrix {
            Matrix::Store { .. } => {
                let store = Store::new((timing, shape), product, begin);
                let of_row = store.of_row();
                (Sums::Store(store), of_row)
            }
            Matrix::Keys { .. } | Matrix::Values { .. } => {
                let context = Context::new((timing, shape), product);
                let of_row = context.of_row();
                (Sums::Context(context), of_row)
            }
        };
        Self { sums, results: Results::new(timing, product, of_row) }
    }
}

impl Flow for Multiplied {
    fn advance(&mut self, dmas: &mut Dmas) -> bool {
        let mut moved = false;
        let (reader, results) = (&mut dmas.readers[0], &mut self.results);
        moved |= match &mut self.sums {
            Sums::Store(store) => {
                store.advance(reader, &results.summed) | results.advance(|n, out| store.shown(n, out), &mut dmas.writer)
            }
            Sums::Context(context) => {
                context.advance(reader, &results.summed)
                    | results.advance(|n, out| context.shown(n, out), &mut dmas.writer)
            }
        };
        moved
    }
}
