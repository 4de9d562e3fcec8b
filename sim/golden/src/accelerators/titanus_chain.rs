//! Titanus cores in a chain: when all of their jobs end. Each core has its own [`TitanusCore`], to which the core
//! before gives tokens.

use crate::accelerators::cycles::{Spent, Turns};
use crate::accelerators::memory::Memory;
use crate::accelerators::titanus::cycles::Timing;
use crate::accelerators::titanus::{Operation, TitanusCore};
use crate::common::shell::job_controller::Limits;

/// Earlier than any job.
const EARLY: i64 = i64::MIN / 2;

/// A job of one of the cores.
pub struct ChainedJob<'a> {
    /// The core before the job, with all tokens that come during it.
    pub core: &'a TitanusCore,
    /// Where the job may read and write, and how long its chain may be.
    pub limits: Limits,
    /// Its first descriptor.
    pub job: u64,
    /// The cycle in which the job starts, on a clock that all cores share.
    pub start: i64,
}

/// Cycles of the jobs, first core first. A core that waits for tokens waits until the core before has given them.
/// Tokens that no job gives were there from the beginning, such as all tokens of the first core. Each core has its own
/// memory and turns, as in [`Timing::linked_job`].
///
/// # Errors
/// The number of the first core whose job ends with an error, and its code.
///
/// # Panics
/// The bus is wider than 64 bytes, or the numbers of jobs, memories and turns differ.
pub fn cycles<M: Memory>(
    timing: &Timing,
    jobs: &[ChainedJob<'_>],
    memories: &mut [M],
    turns: &mut [Turns],
) -> Result<Vec<Vec<Spent<Operation>>>, (usize, u8)> {
    assert!(jobs.len() == memories.len() && jobs.len() == turns.len(), "a memory and turns for each job");
    let mut all = Vec::new();
    // The cycles in which the core before handed its tokens over.
    let mut given: Vec<i64> = Vec::new();
    for (number, (job, (memory, turns))) in jobs.iter().zip(memories.iter_mut().zip(turns)).enumerate() {
        let there = job.core.waiting().0 - given.len();
        let arrivals = std::iter::repeat_n(EARLY, there).chain(given.iter().map(|at| at - job.start)).collect();
        let chain = (job.limits, job.job);
        let (spent, handed) =
            timing.linked_job(job.core, chain, (memory, turns), arrivals).map_err(|code| (number, code))?;
        given = handed.iter().map(|at| at + job.start).collect();
        all.push(spent);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accelerators::descriptor::Descriptor;
    use crate::accelerators::memory::SparseMemory;
    use crate::accelerators::titanus::cycles::tests::{linked_core, timing};

    const LIMITS: Limits = Limits { base: 0x1000, limit: 0xffff, max_descriptors: 8 };

    /// A job of one link: tokens to take, tokens to give.
    fn link(awaited: u32, given: u32) -> SparseMemory {
        let mut memory = SparseMemory::new();
        let descriptor = Descriptor::of(6).words(&[(32, awaited), (36, given)]);
        memory.store(LIMITS.base, &descriptor.0);
        memory
    }

    fn all(tokens: [usize; 2], starts: [i64; 2], links: [(u32, u32); 2]) -> Result<[u64; 2], (usize, u8)> {
        let cores = tokens.map(|count| {
            let core = linked_core();
            (0..count).for_each(|_| core.offer(false));
            core
        });
        let job = |at: usize| ChainedJob { core: &cores[at], limits: LIMITS, job: LIMITS.base, start: starts[at] };
        let mut memories = links.map(|(awaited, given)| link(awaited, given));
        let spent = cycles(&timing(16), &[job(0), job(1)], &mut memories, &mut [Turns::default(), Turns::default()])?;
        Ok([0, 1].map(|at| spent[at].iter().map(|one| one.cycles).sum()))
    }

    /// A core that begins after the core before does not wait. A core that begins earlier waits for as long as it is
    /// early.
    #[test]
    fn a_core_waits_for_the_one_before() {
        let free = all([0, 3], [0, 10_000], [(0, 3), (3, 0)]).unwrap();
        // A token a cycle on both sides, none given: the runs are alike except for the wait of the first core.
        assert_eq!(free[0], free[1]);
        let ahead = all([0, 3], [5000, 0], [(0, 3), (3, 0)]).unwrap();
        assert_eq!(ahead[0], free[0]);
        let later = all([0, 3], [6000, 0], [(0, 3), (3, 0)]).unwrap();
        assert_eq!(later[1], ahead[1] + 1000);
        // Tokens that were there from the beginning do not wait for the core before.
        assert_eq!(all([0, 6], [6000, 0], [(0, 3), (3, 0)]).unwrap()[1], free[1]);
    }

    #[test]
    fn the_core_that_fails_is_named() {
        let missing = all([0, 3], [0, 0], [(0, 3), (3, 65_536)]);
        assert_eq!(missing, Err((1, crate::common::shell::job_controller::code::SIZE)));
    }
}
