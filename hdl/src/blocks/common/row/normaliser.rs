//! A shifter that removes leading zeros and counts them.

use super::pipe::later;
use crate::lang::{About, Block, In, Module, Out, Signal, Timing, bit, cat, index_width, mux, parameters, ports, uint};

/// Levels of one rank, about.
const LEVELS: u32 = 18;

/// `value` shifted left until its top bit is set, and by how many places; zero stays zero.
#[track_caller]
pub fn normalise(m: &mut Module, name: &str, value: Signal) -> (Signal, Signal) {
    let width = value.width();
    if width == 1 {
        return (later(m, name, value, normalise_latency(width)), bit().lit(0));
    }
    let u = m.instance(&format!("u_{name}"), RowNormaliser { width });
    m.connect(u.value_i, value);
    (u.value_o, u.count_o)
}

/// Cycles of [`normalise`].
#[must_use]
pub fn normalise_latency(width: u32) -> u32 {
    if width == 1 { 1 } else { RowNormaliser { width }.ranks().len() as u32 }
}

parameters! {
    /// Elaboration parameters.
    pub struct RowNormaliser {
        /// Bits of the value.
        width: u32 = 40, in 2..=256, tag "w";
    }
}

ports! {
    /// Ports of [`RowNormaliser`].
    pub struct RowNormaliserPorts(p: &RowNormaliser) {
        /// The value.
        value_i: In = uint(p.width),
        /// The value without leading zeros; zero stays zero.
        value_o: Out = uint(p.width),
        /// Number of leading zeros; undefined for the value zero.
        count_o: Out = uint(index_width(p.width.into())),
    }
}

impl RowNormaliser {
    /// Steps, rank by rank: a step of 2^k looks at as many bits and then chooses.
    fn ranks(&self) -> Vec<Vec<u32>> {
        let (mut ranks, mut used) = (vec![], LEVELS);
        for k in (0..index_width(self.width.into())).rev() {
            let cost = k + 2;
            if used + cost > LEVELS {
                ranks.push(vec![]);
                used = 0;
            }
            used += cost;
            if let Some(rank) = ranks.last_mut() {
                rank.push(1 << k);
            }
        }
        ranks
    }
}

impl Block for RowNormaliser {
    type Ports = RowNormaliserPorts;
    const ABOUT: About = About {
        name: "row_normaliser",
        summary: "shifts an integer left until its top bit is set",
        contract: "value_o = value_i * 2^count_o of `latency` cycles ago, with its top bit set unless it is zero.",
        reference: "",
    };

    fn build(&self, m: &mut Module, io: &RowNormaliserPorts) {
        let (width, mut value, mut count) = (self.width, io.value_i, None);
        for (rank, steps) in self.ranks().into_iter().enumerate() {
            for step in steps {
                let take = m.wire(&format!("take_{step}"), !value.slice(width - step..width).any());
                let moved = cat(&[value.slice(0..width - step), uint(step).lit(0)]);
                value = m.wire(&format!("by_{step}"), mux(take, moved, value));
                count = Some(count.map_or(take, |count| cat(&[count, take])));
            }
            value = later(m, &format!("value_{rank}"), value, 1);
            count = count.map(|count| later(m, &format!("count_{rank}"), count, 1));
        }
        m.connect(io.value_o, value);
        m.connect(io.count_o, count.unwrap_or(value.bit(0)));
    }

    fn timing(&self) -> Timing {
        Timing::pipeline(normalise_latency(self.width))
    }
}
