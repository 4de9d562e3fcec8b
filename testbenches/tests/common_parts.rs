//! Streams and small arithmetic: all registered configurations.

use hdl::blocks::common::{
    BankedMemory, Crc32, DoubleBuffer, LeadingZeros, Popcount, PriorityEncoder, StreamArbiter, StreamFifo, StreamFork,
    StreamJoin, StreamRegister, StreamWidthConverter,
};
use testbenches::common::{arith, crc32, memory, stream};
use testbenches::options;
use testbenches::run_all;

macro_rules! all_configurations {
    ($($test:ident $block:ident $bench:path;)*) => {$(
        #[test]
        fn $test() {
            let options = options(2000);
            run_all::<$block>($bench, &options).unwrap_or_else(|e| panic!("{e:#}"));
        }
    )*};
}
all_configurations! {
    stream_register StreamRegister stream::stream_register::bench;
    stream_fifo StreamFifo stream::stream_fifo::bench;
    stream_fork StreamFork stream::stream_fork::bench;
    stream_join StreamJoin stream::stream_join::bench;
    stream_arbiter StreamArbiter stream::stream_arbiter::bench;
    stream_width_converter StreamWidthConverter stream::stream_width_converter::bench;
    double_buffer DoubleBuffer memory::double_buffer::bench;
    banked_memory BankedMemory memory::banked_memory::bench;
    crc Crc32 crc32::bench;
    popcount Popcount arith::popcount::bench;
    leading_zeros LeadingZeros arith::leading_zeros::bench;
    priority_encoder PriorityEncoder arith::priority_encoder::bench;
}
