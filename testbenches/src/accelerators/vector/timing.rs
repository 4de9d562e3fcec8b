//! Cycles of a job with a memory that never pauses.

use hdl::accelerators::vector::VectorTop;

/// A job of one operation without gains, whose operands and results begin at multiples of a burst and have the least stride.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// Rows.
    pub rows: u32,
    /// Elements of a row.
    pub columns: u32,
    /// Addends are read, by reader 1 beside reader 0 of the elements.
    pub add: bool,
    /// Factors are read, by reader 2.
    pub multiply: bool,
    /// Rows are normalised.
    pub norm: bool,
    /// Bits of a result.
    pub bits: u32,
}

/// A row of `bytes` as bursts of up to `most` beats of `width` bytes, which end at multiples of `most` beats.
fn bursts(row: u32, bytes: u32, width: u32, most: u32) -> Vec<u32> {
    let (mut at, mut left) = (row * bytes.next_multiple_of(64) / width % most, bytes.div_ceil(width));
    let mut bursts = Vec::new();
    while left > 0 {
        let now = left.min(most - at);
        bursts.push(now);
        left -= now;
        at = 0;
    }
    bursts
}

impl Job {
    /// Operands that are read: 1 to 3.
    #[must_use]
    pub fn operands(&self) -> u32 {
        1 + u32::from(self.add) + u32::from(self.multiply)
    }

    /// Most operands on one port: reader n is on port n modulo `ports`.
    fn crowd(&self, ports: u32) -> u32 {
        let readers = [Some(0), self.add.then_some(1), self.multiply.then_some(2)];
        let on = |port: u32| readers.iter().flatten().filter(|&reader| reader % ports == port).count() as u32;
        (0..ports).map(on).max().unwrap_or(1)
    }

    /// Cycles from start to done, as `CYCLES` says, when memory answers `latency` cycles after a request. They are the
    /// descriptor, the checks, the first operand, the way through the lanes, and then the rest of reading and writing.
    /// Operands on one port share it burst by burst, and all wait for the port with most operands. A burst of results
    /// begins when all of its data is there and the burst before has left. The formula holds as long as the data that a
    /// reader can hold covers the latency.
    #[must_use]
    pub fn cycles(&self, block: &VectorTop, latency: u32) -> u32 {
        let (width, most) = (block.bus.axi.data_width / 8, block.bus.dma.burst_beats);
        let beats = (2 * self.columns).div_ceil(width);
        let norm = block.engine().unit().stage().rms_norm().cycles(self.columns) + 1 - 2 * beats;
        let out_bytes = (self.columns * self.bits).div_ceil(8);
        // Beats of a row that make one of results.
        let share = 16 / self.bits;
        let crowd = self.crowd(block.bus.ports);
        let (mut read, mut left, mut end) = (0, 0, 0);
        for row in 0..self.rows {
            // When each beat of the row has come, of all operands.
            let mut come = Vec::new();
            for burst in bursts(row, 2 * self.columns, width, most) {
                come.extend((1..=burst).map(|beat| read + (crowd - 1) * burst + beat));
                read += crowd * burst;
            }
            if self.norm {
                let first = come[come.len() - 1] + norm;
                for (beat, come) in (0..).zip(&mut come) {
                    *come = (first + beat).max(left + 1);
                    left = *come;
                }
            }
            let mut packed = come.chunks(share as usize).map(|parts| parts[parts.len() - 1]);
            for burst in bursts(row, out_bytes, width, most) {
                let last = packed.by_ref().take(burst as usize).last().unwrap_or(0);
                end = last.max(end) + burst;
            }
        }
        let descriptor = 128 / width;
        let lanes = block.engine().unit().lanes_latency();
        76 + descriptor + lanes + 18 * (self.operands() - 1) + end + 3 * (latency - 1)
    }
}
