//! The descriptor of a token that is put into panels.

use crate::lang::{operation, parameters};

parameters! {
    /// Elaboration parameters.
    pub struct AppendOperation {
        /// Positions of the longest channel, and elements of the longest token.
        inner: u32 = 4096, in 2..=65_536, tag "k";
        /// Channels of a panel.
        panel: u32 = 64, in 1..=131_072, tag "c";
    }
}

impl AppendOperation {
    /// Channels of a panel, or positions of a channel: the larger number.
    fn most(&self) -> u32 {
        self.inner.max(self.panel)
    }
}

operation! {
    /// Puts a token into panels of weights.
    pub struct AppendOperationPorts(p: &AppendOperation) = "kllm_append_operation", 128 bytes {
        /// The channel of its panel, or the position of each channel, that the token becomes.
        number at 32: Size = (32, 0..=p.most() - 1);
        /// Elements of the token.
        elements at 36: Size = (32, 1..=p.inner);
        /// What the token becomes.
        options at 40, 4 bytes {
            /// It becomes a position of each channel, otherwise a channel.
            position at 0: Flag = ();
        }
        /// Bytes from panel to panel. A channel has one panel.
        panel_stride at 48: Stride = () when (set("position"));
        /// Factor that turns the token's scale into the first constant of a channel, fp32.
        dense_factor at 56: Bits = 32 when (!set("position"));
        /// Factor that turns the token's scale into the second constant of a channel, fp32.
        outlier_factor at 60: Bits = 32 when (!set("position"));
        /// The token.
        token_address at 64: Address = ();
        /// The panels; of a channel its own panel.
        panel_address at 72: Address = ();
        /// Constants of the channel's panel, or the row of scales.
        scales_address at 80: Address = ();
    }
}
