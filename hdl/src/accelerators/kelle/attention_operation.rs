//! The descriptor of an operation of attention.

use crate::lang::{operation, parameters};

/// Most bits that an importance is shifted by.
const SHIFT: u32 = 47;

parameters! {
    /// Elaboration parameters.
    pub struct AttentionOperation {
        /// Heads that the cache holds.
        heads: u32 = 3, in 1..=1024, tag "h";
        /// Tokens that a head keeps, at most.
        slots: u32 = 64, in 2..=4095, tag "n";
        /// Query heads of a head, at most.
        group: u32 = 3, in 1..=64, tag "g";
        /// Elements of a vector, at most.
        width: u32 = 64, in 2..=4096, tag "d";
        /// Tokens of a head that may be kept as x; 0: none.
        recompute: u32 = 0, in 0..=64, tag "x";
    }
}

operation! {
    /// Tokens enter a head, and their queries attend to it.
    pub struct AttentionOperationPorts(p: &AttentionOperation) = "kelle_attention_operation", 128 bytes {
        /// The head.
        head at 32: Size = (32, 0..=p.heads - 1);
        /// Tokens.
        tokens at 36: Size = (32, 1..=65535);
        /// Query heads of the head.
        group at 40: Size = (32, 1..=p.group);
        /// Elements of a vector: a multiple of the columns of the array.
        elements at 44: Size = (32, 1..=p.width);
        /// How it is done, and how it ends.
        options at 48, 4 bytes {
            /// Values are read after the scores have begun.
            late at 1: Flag = ();
            /// A result that is not exact is an error.
            exact at 12: Flag = ();
        }
        /// Tokens that the head keeps.
        budget at 52: Size = (16, 1..=p.slots);
        /// First tokens that stay.
        sink at 54: Bits = 16;
        /// Most recent tokens that stay beside the new one; sink and window together are below the budget.
        window at 56: Bits = 16;
        /// Bits that a product of query and key loses before it counts as importance.
        shift at 58: Size = (8, 0..=SHIFT);
        /// Slots whose tokens are recomputed. As many rows of keys and of values precede the rows of the first token;
        /// all of them together are at most 65535.
        again at 59: Size = (8, 0..=p.recompute) when (built("recompute", p.recompute > 0) & !set("late"));
        /// Factor that turns an element of a query into an integer of 16 bits, fp32.
        query_quantizer at 60: Bits = 32;
        /// Factor of an element of a key.
        key_quantizer at 64: Bits = 32;
        /// Factor of an element of a value.
        value_quantizer at 68: Bits = 32;
        /// Factor that turns a product of integers into a score, fp32.
        score_scale at 72: Bits = 32;
        /// Factor that turns a sum of values into a result, fp32. The weights of the sum are in units of 2^-15.
        result_scale at 76: Bits = 32;
        /// Bytes from row to row of the queries.
        query_stride at 80: Stride = ();
        /// Bytes from row to row of the keys.
        key_stride at 84: Stride = ();
        /// Bytes from row to row of the values.
        value_stride at 88: Stride = ();
        /// Bytes from row to row of the results.
        out_stride at 92: Stride = ();
        /// Rows of fp16: of each token the queries of all query heads.
        query_address at 96: Address = ();
        /// Rows of fp16: a key for each token.
        key_address at 104: Address = ();
        /// Rows of fp16: a value for each token.
        value_address at 112: Address = ();
        /// Where the results go, in the layout of the queries. They may overwrite the queries.
        out_address at 120: Address = ();
    }
}
