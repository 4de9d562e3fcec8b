//! What is proved of a lane (`ifdef FORMAL`).

use super::{Front, PeLane, PeLanePorts};
use crate::lang::{Module, Signal};

impl PeLane {
    pub(super) fn properties(&self, m: &mut Module, io: &PeLanePorts, front: &Front, copy: Signal) {
        m.formal(|m| {
            m.assert_always("nothing_taken_while_cleared", !(io.clear_i & front.take));
            m.cover("copies", copy);
        });
    }
}
