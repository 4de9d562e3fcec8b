//! A product, from its commands to their ends.

use super::super::{Matrix, Product, Shape};
use super::Timing;
use super::context::Context;
use super::results::Results;
use super::store::Store;
use crate::accelerators::cycles::{Flow, Ports, Reader, Turns, Writer};

/// The source of sums.
#[derive(Clone, Debug)]
enum Sums {
    Store(Store),
    Context(Context),
}

/// A product in flight.
#[derive(Clone, Debug)]
pub(super) struct Multiplied {
    readers: Vec<Reader>,
    ports: Ports,
    writer: Writer,
    sums: Sums,
    results: Results,
}

impl Multiplied {
    /// A product whose commands are offered in the cycle after `begin`.
    pub fn new((timing, shape): (&Timing, &Shape), product: &Product, (begin, turns): (u64, &Turns)) -> Self {
        let (mut readers, ports) = timing.shell.readers(turns);
        let mut writer = timing.shell.writer();
        readers[0].offer(&product.x, begin + 1);
        writer.offer(&product.out, begin + 1);
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
        Self { readers, ports, writer, sums, results: Results::new(timing, product, of_row) }
    }
}

impl Flow for Multiplied {
    fn advance(&mut self) -> bool {
        let mut moved = self.writer.advance();
        for reader in &mut self.readers {
            moved |= reader.advance();
        }
        let (reader, results) = (&mut self.readers[0], &mut self.results);
        moved |= match &mut self.sums {
            Sums::Store(store) => {
                store.advance(reader, &results.summed) | results.advance(|n, out| store.shown(n, out), &mut self.writer)
            }
            Sums::Context(context) => {
                context.advance(reader, &results.summed)
                    | results.advance(|n, out| context.shown(n, out), &mut self.writer)
            }
        };
        moved
    }

    fn ports(&mut self) -> (&mut Ports, &mut [Reader]) {
        (&mut self.ports, &mut self.readers)
    }

    fn writer(&mut self) -> Option<&mut Writer> {
        Some(&mut self.writer)
    }

    fn end(&self) -> Option<u64> {
        Some(self.readers[0].end()?.max(self.writer.end()?))
    }
}
