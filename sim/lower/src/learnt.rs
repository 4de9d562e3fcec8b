//! What a layer has learnt.

use models::calibration::Arrays;
use models::schemes::Settings;

/// What a layer has learnt, and the options of learning.
#[derive(Clone, Copy, Debug)]
pub struct Learnt<'a> {
    /// The options.
    pub settings: &'a Settings,
    /// The arrays of the layer.
    pub arrays: &'a Arrays,
}
