//! The steps of a tile: channels in the order of their groups, and rescales in between.

use super::calibration::Calibration;

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A product of this channel for every sum.
    Channel(usize),
    /// All sums times 2^n.
    Rescale(u32),
}

/// All steps of a tile. With `max_shift` = 1 these are the channels, and one rescale between neighbouring groups, used
/// or empty. With more, up to `max_shift` rescales in a row are one step.
#[must_use]
pub fn steps(calibration: &Calibration, max_shift: u32) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut group = 0;
    for channel in calibration.order() {
        let mut places = (calibration.group[channel] - group) as u32;
        group = calibration.group[channel];
        while places > 0 {
            let now = places.min(max_shift.max(1));
            steps.push(Step::Rescale(now));
            places -= now;
        }
        steps.push(Step::Channel(channel));
    }
    steps
}
