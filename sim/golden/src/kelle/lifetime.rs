//! Data lifetimes of one self-attention step (equations 4 to 8): how long activations wait in eDRAM.
//!
//! All times are in cycles, as exact fractions.

/// A fraction of cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cycles {
    /// Numerator.
    pub num: u64,
    /// Denominator, not zero.
    pub den: u64,
}

/// Equations 4 to 6: work over throughput. MACs over MACs a cycle, bytes over bytes a cycle.
///
/// # Errors
/// The throughput is zero.
pub fn time(work: u64, per_cycle: u64) -> Result<Cycles, String> {
    if per_cycle == 0 {
        return Err("a throughput is 0 per cycle, allowed: at least 1".into());
    }
    Ok(Cycles { num: work, den: per_cycle })
}

/// A data lifetime as multiples of the two access times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lifetime {
    /// Multiples of the time to read one weight matrix from SRAM.
    pub sram: u64,
    /// Multiples of the time to read the keys or the values from eDRAM.
    pub edram: u64,
}

impl Lifetime {
    /// The lifetime for given access times, in cycles.
    #[must_use]
    pub fn cycles(self, sram: Cycles, edram: Cycles) -> f64 {
        let of = |n: u64, t: Cycles| n as f64 * t.num as f64 / t.den as f64;
        of(self.sram, sram) + of(self.edram, edram)
    }
}

/// An access that a schedule makes, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
    Sram,
    Edram,
}

/// When a datum is produced and last used, as positions between the accesses of a schedule.
struct Span {
    from: usize,
    to: usize,
}

/// Sums the accesses during the wait of each datum.
fn total(schedule: &[&[Access]], spans: &[Span]) -> Lifetime {
    let mut sum = Lifetime::default();
    for step in spans.iter().flat_map(|s| &schedule[s.from..s.to]) {
        // Accesses of one step run side by side.
        sum.sram += u64::from(step.contains(&Access::Sram));
        sum.edram += u64::from(step.contains(&Access::Edram));
    }
    sum
}

/// Equation 7: one matrix product after the other. W_Q, W_K, W_V, then the keys, then the values.
#[must_use]
pub fn baseline() -> Lifetime {
    use Access::{Edram, Sram};
    let schedule: [&[Access]; 5] = [&[Sram], &[Sram], &[Sram], &[Edram], &[Edram]];
    // X waits for all weights. Q waits from W_Q's product to the product with K, and K waits from its own product to
    // the product with Q. V waits for the keys and the values.
    let spans = [Span { from: 0, to: 3 }, Span { from: 1, to: 4 }, Span { from: 2, to: 4 }, Span { from: 3, to: 5 }];
    total(&schedule, &spans)
}

/// Equation 8: weights and cached vectors are read in parallel. New keys and values are used as they are made.
///
/// The paper counts an overlapped step of Q's wait as both accesses, T_SRAM + T_eDRAM, and so does this model.
#[must_use]
pub fn kelle() -> Lifetime {
    use Access::{Edram, Sram};
    let schedule: [&[Access]; 3] = [&[Sram], &[Sram, Edram], &[Sram]];
    let x = total(&schedule.map(|s| if s.contains(&Sram) { &[Sram][..] } else { s }), &[Span { from: 0, to: 3 }]);
    let q = total(&schedule, &[Span { from: 1, to: 2 }]);
    Lifetime { sram: x.sram + q.sram, edram: x.edram + q.edram }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equations_7_and_8() {
        assert_eq!(baseline(), Lifetime { sram: 6, edram: 4 });
        assert_eq!(kelle(), Lifetime { sram: 4, edram: 1 });
    }

    #[test]
    fn llama2_7b() {
        // One head group of Llama2-7B's layer: 4096 x 4096 weights of 8 bits at 128 GB/s, 2048 keys of 4096 x 16 bits at
        // 256 GB/s, 1 GHz.
        let sram = time(4096 * 4096, 128).unwrap();
        let edram = time(2048 * 4096 * 2, 256).unwrap();
        assert_eq!(baseline().cycles(sram, edram), 6.0 * 131_072.0 + 4.0 * 65_536.0);
        assert_eq!(kelle().cycles(sram, edram), 4.0 * 131_072.0 + 65_536.0);
        assert!(time(1, 0).is_err());
    }
}
