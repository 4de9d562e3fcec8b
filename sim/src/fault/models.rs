//! Models of faults by name: one native model has all of a list, as far as the construction language can say them.

use crate::Native;
use std::collections::BTreeMap;

use hdl::mutate::{Change, NamedFault};

use super::{Fault, Kind, design};
use crate::broken::Judge;
use crate::mutate::SELECT;
use crate::{Bench, BuildOptions, Design, Engine, Kill, Lockstep, Model, Result, RunOptions};

/// A design, and how each fault of a list gets into it.
#[derive(Debug)]
pub struct Models<'a> {
    right: &'a Design,
    faults: &'a [Fault],
    /// The design with faults that an added input chooses, by their position in the list, from 1.
    together: Option<Design>,
    /// Faults that get a model of their own, with the reason.
    apart: BTreeMap<usize, String>,
}

impl<'a> Models<'a> {
    /// With the native engine, and if the design has C, all faults that the construction language can say are in one
    /// design. Each other fault is in a design of its own, whose netlist Yosys edits and Verilator compiles: that takes
    /// seconds.
    ///
    /// # Errors
    /// `SENBAZURU_ENGINE` names no engine.
    pub fn new(right: &'a Design, faults: &'a [Fault], options: &BuildOptions) -> Result<Self> {
        let is_native = Engine::chosen(options)? == Engine::Native && !options.coverage;
        let ir = right.unchanged().filter(|_| is_native).and_then(Native::elaborated);
        let Some(ir) = ir else {
            let apart = (0..faults.len()).map(|at| (at, "there is no native model of the design".to_owned()));
            return Ok(Self { right, faults, together: None, apart: apart.collect() });
        };
        let named: Vec<NamedFault> = faults.iter().map(NamedFault::from).collect();
        let hdl::mutate::NamedFaults { design, refused } = ir.with_named_faults(SELECT, &named);
        let together = (refused.len() < faults.len()).then(|| Design::from(&design));
        Ok(Self { right, faults, together, apart: refused })
    }

    /// The faults with a model of their own, by their position in the list, each with the reason.
    #[must_use]
    pub fn apart(&self) -> &BTreeMap<usize, String> {
        &self.apart
    }

    /// The design with all other faults. Its input [`SELECT`](crate::mutate::SELECT) chooses one by its position in the
    /// list, from 1.
    #[must_use]
    pub fn together(&self) -> Option<&Design> {
        self.together.as_ref()
    }

    /// A fault of the design that has many, beside the netlist with this fault that Yosys wrote: both in one lockstep
    /// are the same hardware. `None`: the fault has a model of its own.
    ///
    /// # Errors
    /// The errors of [`super::design`] and of [`Model::build`].
    pub fn in_lockstep(&self, at: usize) -> Result<Option<Lockstep>> {
        let Some(together) = self.together.as_ref().filter(|_| !self.apart.contains_key(&at)) else { return Ok(None) };
        let mut first = Model::build(together, &BuildOptions::default())?.instance()?;
        let select = first.input(SELECT)?;
        first.poke_u64(select, at as u64 + 1);
        let netlist = BuildOptions { plain: true, engine: Some(Engine::Verilator), ..BuildOptions::default() };
        let second = Model::build(&design(self.right, &self.faults[at])?, &netlist)?.instance()?;
        Ok(Some(Lockstep::new(self.right, first, second)))
    }

    /// Runs `bench` on the design without faults, where it must pass, and with each of these faults until it notices.
    /// Returns how it notices, in the order of `which`; `None` if it does not.
    ///
    /// # Errors
    /// The errors of [`super::design`] and of [`Model::build`]; or the bench fails on the design without faults, or
    /// compares nothing.
    pub fn run(&self, bench: &dyn Bench, which: &[usize], options: &RunOptions) -> Result<Vec<Option<Kill>>> {
        // With 0 at the added input it is the design without faults.
        let model = Model::build(self.together.as_ref().unwrap_or(self.right), &options.build)?;
        let judge = Judge::new(bench, &model, options)?;
        let one = |&at: &usize| match self.apart.contains_key(&at) {
            true => judge.run(&Model::build(&design(self.right, &self.faults[at])?, &options.build)?, |_| Ok(())),
            false => judge.run(&model, |sim| {
                let select = sim.input(SELECT)?;
                sim.poke_u64(select, at as u64 + 1);
                Ok(())
            }),
        };
        which.iter().map(one).collect()
    }
}

/// Runs `bench` on `right`, where it must pass, and on the design with each of the faults until it notices. Returns
/// how it notices, in the order of the faults; `None` if it does not.
///
/// # Errors
/// As [`Models::run`].
pub fn run(bench: &dyn Bench, right: &Design, faults: &[Fault], options: &RunOptions) -> Result<Vec<Option<Kill>>> {
    let all: Vec<usize> = (0..faults.len()).collect();
    Models::new(right, faults, &options.build)?.run(bench, &all, options)
}

impl From<&Fault> for NamedFault {
    fn from(fault: &Fault) -> Self {
        let change = match fault.kind.clone() {
            Kind::Net { expression, into } => Change::Value { expression, into },
            Kind::Operator { from, to } => Change::Operator { from, to },
        };
        Self { net: fault.net.clone(), module: fault.module.clone(), change }
    }
}
