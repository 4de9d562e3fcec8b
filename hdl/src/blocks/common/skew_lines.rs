//! Skew lines: lane i of a systolic array's edge is delayed by i cycles, or, to undo that, by lanes - 1 - i.
//!
//! Every lane moves in every cycle. The registers have no reset: what comes out before the first value has passed is
//! not defined. A triangle of lanes x (lanes - 1) / 2 registers, without any logic.

use serde::{Deserialize, Serialize};

use crate::lang::{
    About, Block, CatalogBlock, InArray, Module, OldParameter, OutArray, ParamError, ensure_param, old_parameters,
    ports, uint,
};

/// Which lanes wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SkewDirection {
    /// Lane i by i cycles: from a column of values to a wavefront.
    Skew,
    /// Lane i by lanes - 1 - i cycles: from a wavefront to a column.
    Deskew,
}

/// Elaboration parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SkewLines {
    /// Lanes.
    pub lanes: u32,
    /// Width of a lane in bits.
    pub width: u32,
    /// Which lanes wait.
    pub direction: SkewDirection,
}

ports! {
    /// Ports of [`SkewLines`].
    pub struct SkewLinesPorts(p: &SkewLines) {
        /// Values that enter together (`skew`), or a wavefront (`deskew`).
        data_i: InArray = uint(p.width).array(p.lanes),
        /// The same values, each lane late by its delay.
        data_o: OutArray = uint(p.width).array(p.lanes),
    }
}

impl SkewLines {
    /// Cycles by which `lane` is delayed.
    #[must_use]
    pub fn delay(&self, lane: u32) -> u32 {
        match self.direction {
            SkewDirection::Skew => lane,
            SkewDirection::Deskew => self.lanes - 1 - lane,
        }
    }
}

old_parameters!(SkewLines);

impl Block for SkewLines {
    type Ports = SkewLinesPorts;
    const ABOUT: About = About {
        name: "skew_lines",
        summary: "lanes delayed by 0, 1, 2, ... cycles: the edge of a systolic array",
        contract: "data_o[i] = data_i[i] of d cycles before; d = i (skew) or lanes - 1 - i (deskew). Nothing stalls.",
        reference: "Tender, section IV-B and figure 6(b)",
    };

    fn module_name(&self) -> String {
        let direction = match self.direction {
            SkewDirection::Skew => "",
            SkewDirection::Deskew => "_deskew",
        };
        format!("skew_lines_n{}_w{}{direction}", self.lanes, self.width)
    }

    fn old_check(&self) -> Result<(), ParamError> {
        ensure_param("lanes", self.lanes, 1..=1024)?;
        ensure_param("width", self.width, 1..=256)
    }

    fn build(&self, m: &mut Module, io: &SkewLinesPorts) {
        let ty = uint(self.width);
        // Of an array indexed from the lane that does not wait: where that is at the ports.
        let first = |stage: u32| match self.direction {
            SkewDirection::Skew => stage,
            SkewDirection::Deskew => self.lanes - 1 - stage,
        };
        let mut before = m.nets("delayed_0", ty, self.lanes);
        m.for_each("enter", self.lanes, |m, i| {
            let lane = match self.direction {
                SkewDirection::Skew => i,
                SkewDirection::Deskew => i * -1 + (self.lanes - 1),
            };
            m.connect(before.at(i), io.data_i.at(lane));
        });
        m.connect(io.data_o.at(first(0)), before.at(0));
        // Element i of `delayed_s` is the lane that waits s + i cycles, after the first s of them.
        for stage in 1..self.lanes {
            let left = self.lanes - stage;
            let after = m.nets(&format!("delayed_{stage}"), ty, left);
            m.for_each(&format!("stage_{stage}"), left, |m, i| {
                let lane = m.reg(&format!("lane_{stage}_q"), ty);
                lane.next(before.at(i + 1));
                m.connect(after.at(i), lane.q);
            });
            m.connect(io.data_o.at(first(stage)), after.at(0));
            before = after;
        }
    }

    fn old_latency(&self) -> Vec<(String, u64)> {
        vec![("longest lane".into(), u64::from(self.lanes - 1))]
    }
}

impl Default for SkewLines {
    fn default() -> Self {
        Self { lanes: 16, width: 8, direction: SkewDirection::Skew }
    }
}

impl CatalogBlock for SkewLines {
    const OLD_PARAMETERS: &'static [OldParameter] = &[
        OldParameter { name: "lanes", allowed: "1 to 1024", meaning: "lanes" },
        OldParameter { name: "width", allowed: "1 to 256", meaning: "width of a lane, bits" },
        OldParameter {
            name: "direction",
            allowed: "skew, deskew",
            meaning: "lane i waits i cycles, or lanes - 1 - i cycles",
        },
    ];

    fn configurations() -> Vec<Self> {
        let set = |lanes, width, direction| Self { lanes, width, direction };
        vec![set(1, 1, SkewDirection::Skew), set(5, 3, SkewDirection::Deskew), set(2, 70, SkewDirection::Skew)]
    }
}
