//! Units that work on rows: all registered configurations, and broken ones.

use hdl::blocks::common::{RmsNorm, RowFrame, Softmax};
use testbenches::common::row;
use testbenches::{options, run_all};

macro_rules! all_configurations {
    ($($test:ident $block:ident $bench:path;)*) => {$(
        #[test]
        fn $test() {
            let options = options(300);
            run_all::<$block>($bench, &options).unwrap_or_else(|e| panic!("{e:#}"));
        }
    )*};
}
all_configurations! {
    row_frame RowFrame row::row_frame::bench;
    rms_norm RmsNorm row::rms_norm::bench;
    softmax Softmax row::softmax::bench;
}
