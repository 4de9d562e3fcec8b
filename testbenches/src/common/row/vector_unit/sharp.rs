//! Rows whose norm is near to where it changes: low bits of its sums, roots and products show.

use golden::common::row::layer_norm;
use golden::common::row::rms_norm::Factor;
use golden::common::row::vector_unit::Norm;
use rand::RngExt;
use sim::Sim;

use super::super::{sharp, softmax};
use super::player::Player;

impl Player {
    /// Offers such a row. The `first` one of some rows with the same steps chooses their epsilon; nothing is inside
    /// then.
    pub(super) fn sharp_row(&mut self, sim: &mut Sim, elements: usize, first: bool) {
        let mut row = self.operands(elements, false);
        let (steps, scalars) = self.now;
        if steps.kind == Norm::Softmax {
            let x = softmax::sharp_scores(&mut self.rng, row.streams[0].len(), |x| {
                let mut drawn = row.clone();
                drawn.streams[0] = x.to_vec();
                let before = self.golden.before_norm(steps, scalars, drawn.elements());
                self.golden.unrounded(steps.kind, 0, &before, row.length)
            });
            row.streams[0] = x;
            self.offer(&row, false);
            return;
        }
        let before = self.golden.before_norm(steps, scalars, row.elements());
        let unrounded = |epsilon| self.golden.unrounded(steps.kind, epsilon, &before, row.length);
        let factor = match steps.kind {
            Norm::LayerNorm => layer_norm::factor(&before),
            _ => Factor::rms(&before),
        };
        let epsilon = match factor.filter(|_| first) {
            Some(factor) => match sharp::exact(&mut self.rng, &factor, unrounded).filter(|_| self.rng.random()) {
                Some((epsilon, _)) => epsilon,
                None => sharp::epsilon(&mut self.rng, &factor, unrounded),
            },
            None => scalars.epsilon,
        };
        if let Some(normed) = unrounded(epsilon) {
            let exact = sharp::exact_gains(&mut self.rng, &normed);
            row.streams[3] = exact.unwrap_or_else(|| sharp::gains(&mut self.rng, &normed));
            // A sum with a larger bias rounds again.
            row.biases.fill(0);
        }
        self.now.1.epsilon = epsilon;
        if first {
            self.drive_steps(sim);
        }
        self.offer(&row, false);
    }
}
