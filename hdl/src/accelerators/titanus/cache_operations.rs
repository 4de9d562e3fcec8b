//! The descriptors of appends and of restores.

use super::titanus_spec::TitanusSpec;
use crate::lang::{operation, parameters};

parameters! {
    /// Elaboration parameters.
    pub struct AppendOperation {
        /// The accelerator.
        spec: TitanusSpec = TitanusSpec::default();
    }
}

parameters! {
    /// Elaboration parameters.
    pub struct RestoreOperation {
        /// The accelerator.
        spec: TitanusSpec = TitanusSpec::default();
    }
}

operation! {
    /// Appends tokens to the cache.
    pub struct AppendOperationPorts(p: &AppendOperation) = "titanus_append_operation", 128 bytes {
        /// Tokens.
        tokens at 32: Size = (32, 1..=65535);
        /// Channels of a token.
        channels at 36: Size = (32, 1..=p.spec.channels());
        /// Tokens that are in the cache already; 0 begins a new cache.
        position at 40: Size = (32, 0..=65534);
        /// What becomes of the tokens.
        options at 44, 4 bytes {
            /// The pruned tokens become the context, or follow its tokens.
            keep at 0: Flag = ();
            /// An overflow is an error.
            exact at 12: Flag = ();
        }
        /// Tokens of this and later appends that give each channel its first level.
        prefill at 48: Size = (16, 0..=p.spec.buffer) when (!set("position"));
        /// Lines of an area, 64 bytes each.
        lines at 50: Size = (16, 1..=65535);
        /// Pruning threshold of keys.
        key_threshold at 52: Bits = 8 when (!set("position"));
        /// Pruning threshold of values.
        value_threshold at 53: Bits = 8 when (!set("position"));
        /// Width of quantized keys.
        key_bits at 54: Choice = (8, 2..=8) when (!set("position"));
        /// Width of quantized values.
        value_bits at 55: Choice = (8, 2..=8) when (!set("position"));
        /// Bytes from row to row of the keys.
        key_stride at 56: Stride = ();
        /// Bytes from row to row of the values.
        value_stride at 60: Stride = ();
        /// Keys: rows of int8.
        key_address at 64: Address = ();
        /// Values: rows of int8.
        value_address at 72: Address = ();
        /// Where the stream of keys is.
        key_area at 80: Address = ();
        /// Where the stream of values is.
        value_area at 88: Address = ();
    }
}

operation! {
    /// Restores the tokens of the cache.
    pub struct RestoreOperationPorts(p: &RestoreOperation) = "titanus_restore_operation", 128 bytes {
        /// Tokens of the cache.
        tokens at 32: Size = (32, 1..=65535);
        /// Channels of a token.
        channels at 36: Size = (32, 1..=p.spec.channels());
        /// Where tokens go.
        options at 44, 4 bytes {
            /// Tokens go to memory, otherwise to the context.
            rows at 0: Flag = ();
        }
        /// Lines of an area, 64 bytes each.
        lines at 50: Size = (16, 1..=65535);
        /// Bytes from row to row of the keys.
        key_stride at 56: Stride = () when (set("rows"));
        /// Bytes from row to row of the values.
        value_stride at 60: Stride = () when (set("rows"));
        /// Where keys go: rows of int8.
        key_address at 64: Address = () when (set("rows"));
        /// Where values go: rows of int8.
        value_address at 72: Address = () when (set("rows"));
        /// Where the stream of keys is.
        key_area at 80: Address = ();
        /// Where the stream of values is.
        value_area at 88: Address = ();
    }
}
