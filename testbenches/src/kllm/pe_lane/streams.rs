//! The streams of a lane under test, each with its pauses.

use hdl::blocks::kllm::pe_lane::{ActivationBeat, CodebookEntry, ColumnSums, WeightWord};
use sim::stimulus::Stall;
use sim::{Bits, Difference, Driver, Monitor, Run, Sim, Values};

/// A beat of sums that must leave.
#[derive(Clone, Debug)]
pub(super) struct Sums {
    pub sums: Vec<i128>,
    /// Sums of outliers, if there is hardware for them; none where one of the outliers has no value.
    pub outliers: Option<Vec<Option<i128>>>,
    pub error: bool,
    pub last: bool,
}

/// The streams, and the counts of compared beats.
pub(super) struct Streams {
    pub codebook: Driver<CodebookEntry<Values>>,
    pub weights: Driver<WeightWord<Values>>,
    pub activations: Driver<ActivationBeat<Values>>,
    pub sums: Monitor<ColumnSums<Values>>,
    /// Entries come without pauses: beats that are offered beside them must wait.
    pub eager: bool,
    pub seen: usize,
    pub expected: Vec<Sums>,
}

impl Streams {
    pub fn new(sim: &Sim, run: &Run, stalls: [Stall; 4]) -> sim::Result<Self> {
        let [codebook, weights, activations, sums] = stalls;
        Ok(Self {
            codebook: run.driver_of(sim, "codebook", codebook)?,
            weights: run.driver_of(sim, "weights", weights)?,
            activations: run.driver_of(sim, "activations", activations)?,
            sums: run.monitor_of(sim, "sums", sums)?,
            eager: matches!(codebook, Stall::Never),
            seen: 0,
            expected: Vec::new(),
        })
    }

    /// One cycle; sums that leave are compared. Whether anything moved.
    pub fn cycle(&mut self, sim: &mut Sim, run: &mut Run) -> sim::Result<bool> {
        let drivers = &mut [self.codebook.as_mut(), self.weights.as_mut(), self.activations.as_mut()];
        let moved = run.cycle(sim, drivers, &mut [self.sums.as_mut()])?;
        if self.sums.beats().len() == self.seen {
            return Ok(moved);
        }
        let place = format!("beat {} of sums", self.seen);
        let got = &self.sums.received()[self.seen];
        let Some(Sums { sums, outliers, error, last }) = self.expected.get(self.seen) else {
            run.expect_equal(sim, "sums_valid_o", "beats of sums", self.expected.len(), self.seen + 1)?;
            return Ok(moved);
        };
        let bit = |b: bool| Bits::truncated(1, b.into());
        run.expect_equal(sim, "sums_error_o", &place, &bit(*error), &got.error)?;
        run.expect_equal(sim, "sums_last_o", &place, &bit(*last), &got.last)?;
        if !error {
            let width = got.sum.width() / sums.len() as u32;
            run.expect_equal(sim, "sums_sum_o", &place, &packed(width, sums), &got.sum)?;
        }
        if let (false, Some(outliers)) = (error, outliers) {
            let known: Option<Vec<i128>> = outliers.iter().copied().collect();
            if let Some(special) = &got.special {
                run.expect_equal(sim, "sums_special_o", &place, &bit(known.is_none()), special)?;
            }
            if let (Some(known), Some(sums)) = (known, &got.outliers) {
                let width = sums.width() / known.len() as u32;
                run.expect_equal(sim, "sums_outliers_o", &place, &packed(width, &known), sums)?;
            }
        }
        self.seen += 1;
        Ok(moved)
    }

    pub fn is_done(&self) -> bool {
        let sent = self.codebook.is_done() && self.weights.is_done() && self.activations.is_done();
        sent && self.seen == self.expected.len()
    }

    /// Runs until `done`, and not for ever.
    pub fn until(&mut self, sim: &mut Sim, run: &mut Run, done: impl Fn(&Self) -> bool) -> sim::Result<()> {
        const PATIENCE: u64 = 2000;
        let mut idle = 0;
        while !done(self) {
            idle = if self.cycle(sim, run)? { 0 } else { idle + 1 };
            if idle > PATIENCE {
                let streams = vec![format!("output stream `sums`: {} of {} beats", self.seen, self.expected.len())];
                return Err(run.fail(sim.cycle_count(), Difference::Deadlock { cycles: idle, streams }));
            }
        }
        Ok(())
    }

    /// Everything is taken and nothing more comes.
    pub fn finish(&mut self, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
        self.until(sim, run, Self::is_done)?;
        for _ in 0..32 {
            self.cycle(sim, run)?;
        }
        Ok(())
    }
}

/// Signed numbers of `width` bits, the first one in the low bits.
fn packed(width: u32, numbers: &[i128]) -> Bits {
    let bits = numbers.iter().flat_map(|&n| (0..width).map(move |bit| (n >> bit.min(127)) as u64 & 1));
    Bits::pack(1, bits)
}
