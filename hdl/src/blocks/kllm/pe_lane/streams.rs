//! The streams into a lane and out of it, and its ports.

use super::PeLane;
use crate::lang::{
    Field, FieldArray, FieldArrayOption, FieldOption, In, InStream, OutStream, bit, bundle, ports, sint, uint,
};

bundle! {
    /// An entry of a codebook.
    pub struct CodebookEntry(p: PeLane) {
        /// It is an activation's entry; otherwise a weight's.
        activation: Field = bit(),
        /// Its index.
        index: Field = uint(p.a_bits.max(p.w_bits)),
        /// Its value; the most negative number counts as the one above it.
        value: Field = sint(p.centroid_bits),
    }
}

bundle! {
    /// Weight indices for a beat of activations.
    pub struct WeightWord(p: PeLane) {
        /// Indices of column c start at c * inputs.
        index: FieldArray = uint(p.w_bits).array(p.columns * p.inputs),
        /// The bank ends here; it does so after `buffer` words anyway.
        last: Field = bit(),
    }
}

bundle! {
    /// Activation indices, or nibbles of integers.
    pub struct ActivationBeat(p: PeLane) {
        /// Indices.
        index: FieldArray = uint(p.a_bits).array(p.inputs),
        /// The position counts: it is there, and no outlier.
        present: FieldArray = bit().array(p.inputs),
        /// Products count 16 times.
        high: Field = bit(),
        /// The bank ends with this beat; it does so after `buffer` beats and with last anyway.
        end: Field = bit(),
        /// Where a bank ends: the next beat begins it again.
        keep: Field = bit(),
        /// The columns end with this beat.
        last: Field = bit(),
        /// There is an outlier; it does not count 16 times.
        outlier: FieldOption = bit().when(p.outliers > 0),
        /// Its position in the beat; present leaves it out.
        position: FieldOption = uint(p.position_width()).when(p.outliers > 0),
        /// Its value, fp16.
        value: FieldOption = uint(16).when(p.outliers > 0),
        /// The next beat meets the same word, whatever end and last say.
        again: FieldOption = bit().when(p.outliers > 0),
    }
}

bundle! {
    /// Sums of columns.
    pub struct ColumnSums(p: PeLane) {
        /// Sums of the next columns in order.
        sum: FieldArray = sint(p.sum_width()).array(p.outputs),
        /// The sums are wrong: too many pairs or outliers, or banks that did not end where the activations said. The
        /// same for all columns.
        error: Field = bit(),
        /// These are the last columns.
        last: Field = bit(),
        /// Sums of their outliers, in units of 2^-24.
        outliers: FieldArrayOption = (p.outliers > 0).then(|| sint(p.outlier_width()).array(p.outputs)),
        /// An outlier was infinite or no number: sums of outliers mean nothing. The same for all columns.
        special: FieldOption = bit().when(p.outliers > 0),
    }
}

ports! {
    /// Ports of [`PeLane`].
    pub struct PeLanePorts(p: &PeLane) {
        /// Drops all weights, beats and sums at the coming edge; nothing is taken in this cycle, and what leaves in it
        /// has left.
        clear_i: In = bit(),
        /// Codebooks.
        codebook: InStream<CodebookEntry> = p.clone(),
        /// Weights.
        weights: InStream<WeightWord> = p.clone(),
        /// Activations.
        activations: InStream<ActivationBeat> = p.clone(),
        /// Sums.
        sums: OutStream<ColumnSums> = p.clone(),
    }
}
