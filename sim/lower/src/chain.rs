//! Chains of descriptors and all that they read and write. The golden model does each descriptor as soon as it is
//! added. So the next descriptors can be fitted to the numbers that they will meet.

mod before;
mod floats;
mod job;

use std::ops::RangeInclusive;

use anyhow::ensure;
use golden::accelerators::job::{Accelerator, merged, run};
use golden::accelerators::memory::SparseMemory;
use golden::common::shell::job_controller::Limits;
use golden::kllm::fp16;
use half::f16;
use host::layout::header;
use host::vector::{Caps, Epsilon, Operand, VectorJob};
use host::{ALIGNMENT, Allocator, Chain, Descriptor, Format, Image, Rows, Window};

use crate::layer::{Norm, Turns};
use crate::order::{Cost, Step, ordered};
use before::{Before, Watched};
pub use floats::{Floats, Seen};
pub use job::{Job, Measured, Results};

/// Puts a chain together from operations that all accelerators have.
#[derive(Debug)]
pub struct ChainBuilder<A> {
    /// What the chain may touch.
    pub window: Window,
    vector: Caps,
    golden: A,
    free: Allocator,
    before: Before,
    /// What was free when the golden model was left alone, if it was.
    alone: Option<Allocator>,
    /// Areas, as address and bytes, that no later descriptor reads.
    spent: Vec<(u64, u64)>,
    /// Memory after all descriptors up to now. Other bytes that come here lie outside of what the job is given.
    pub memory: SparseMemory,
    descriptors: Vec<Descriptor>,
    /// Where operations overlap, and somebody says how long they take.
    cost: Option<Cost>,
    /// A place for one descriptor, for the model alone.
    trial: u64,
    results: Vec<(&'static str, u64, usize)>,
    /// Where the descriptors of the job write.
    written: Vec<RangeInclusive<u64>>,
    /// Numbers beyond a range are saturated.
    saturates: bool,
    overflows: u64,
}

impl<A: Accelerator> ChainBuilder<A> {
    /// An empty chain.
    ///
    /// # Errors
    /// The window has no room.
    pub fn new(vector: Caps, window: &Window, golden: A) -> anyhow::Result<Self> {
        let mut free = Allocator::new(window);
        let trial = free.take(Descriptor::BYTES as u64)?;
        Ok(Self {
            window: *window,
            vector,
            golden,
            free,
            before: Before::default(),
            alone: None,
            spent: Vec::new(),
            memory: SparseMemory::new(),
            descriptors: Vec::new(),
            cost: None,
            trial,
            results: Vec::new(),
            written: Vec::new(),
            saturates: false,
            overflows: 0,
        })
    }

    /// From here on, numbers beyond the range of integers are saturated and [counted](Self::overflows). Otherwise they
    /// would end the job. Later numbers are not known when scales are chosen.
    pub fn saturate(&mut self) {
        self.saturates = true;
    }

    /// Whether a number beyond the range of integers is an error.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        !self.saturates
    }

    /// Words of results, of all jobs up to now, with a number that was saturated, or is infinite or none.
    #[must_use]
    pub fn overflows(&self) -> u64 {
        self.overflows
    }

    /// From here on jobs are for the golden model alone, and have no images. What is in memory now stays; each job takes
    /// the room of the job before, so that memory does not grow.
    pub fn without_images(&mut self) {
        self.before.stop();
        self.alone = Some(self.free.clone());
        for (address, bytes) in std::mem::take(&mut self.spent) {
            self.memory.forget(address, bytes);
        }
    }

    /// No later descriptor reads these bytes.
    pub fn spent(&mut self, address: u64, bytes: usize) {
        self.spent.push((address, bytes as u64));
    }

    /// The job.
    ///
    /// # Errors
    /// There is no room for the descriptors, or there is none of them.
    pub fn finish(mut self) -> anyhow::Result<Job> {
        self.job()
    }

    /// The job up to now. Later descriptors make another job, which finds the results of this one in memory.
    ///
    /// # Errors
    /// There is no room for the descriptors, or there is none of them.
    pub fn job(&mut self) -> anyhow::Result<Job> {
        let (descriptors, chain) = (self.descriptors(), self.chain());
        let address = self.free.take(chain.bytes())?;
        let chain = chain.place(address, &self.window, descriptors)?;
        let results = std::mem::take(&mut self.results).into_iter().map(|(name, address, count)| Results {
            name,
            address,
            bytes: self.memory.bytes(address, count),
        });
        let results = results.collect();
        let bytes = |range: RangeInclusive<u64>| {
            let count = range.end() - range.start() + 1;
            Image { address: *range.start(), bytes: self.memory.bytes(*range.start(), count as usize) }
        };
        let written = merged(std::mem::take(&mut self.written)).into_iter().map(bytes).collect();
        let mut images = self.before.take(&self.memory);
        images.push(chain);
        if let Some(free) = &self.alone {
            self.free.clone_from(free);
        }
        Ok(Job { address, descriptors, results, written, images })
    }

    /// The model after all descriptors up to now.
    #[must_use]
    pub fn model(&self) -> &A {
        &self.golden
    }

    /// Descriptors of the job up to now.
    #[must_use]
    pub fn descriptors(&self) -> u32 {
        self.descriptors.len() as u32
    }

    /// From here on the descriptors of a job are [ordered] where the accelerator's operations overlap. Without that, they
    /// overlap in the order in which they come.
    pub fn order_by(&mut self, cost: Cost) {
        self.cost = Some(cost);
    }

    /// The chain of the job up to now. Afterwards there is none.
    fn chain(&mut self) -> Chain {
        let descriptors = std::mem::take(&mut self.descriptors);
        let engine = |descriptor: &Descriptor| self.golden.engine(descriptor.get(header::OPCODE) as u8);
        let overlaps = descriptors.first().is_some_and(|first| engine(first).is_some());
        let chain = |descriptors: Vec<Descriptor>| descriptors.into_iter().fold(Chain::new(), Chain::then);
        let cycles = match &self.cost {
            _ if !overlaps => return chain(descriptors),
            None => return chain(descriptors).overlapping(),
            Some(Cost(cycles)) => cycles,
        };
        let step = |descriptor| Step {
            engine: engine(&descriptor).unwrap_or_default() as usize,
            cycles: cycles(&descriptor),
            descriptor,
        };
        ordered(descriptors.into_iter().map(step).collect())
    }

    /// Rows of numbers, rounded to fp16, that the job finds in memory.
    ///
    /// # Errors
    /// Rows of different lengths; no room.
    pub fn given(&mut self, values: &[Vec<f64>]) -> anyhow::Result<Floats> {
        let layout = Rows::dense(Format::Fp16, values.len(), values.first().map_or(0, Vec::len))?;
        let halves: Vec<f16> = values.iter().flatten().map(|&x| fp16::half(x)).collect();
        let address = self.store(layout.pack_floats(&halves)?)?;
        let at = Operand { address, stride: layout.stride().try_into()? };
        Ok(Floats { at, rows: values.len(), columns: values[0].len() })
    }

    /// Room for rows that the job writes.
    ///
    /// # Errors
    /// No room.
    pub fn floats(&mut self, name: &'static str, rows: usize, columns: usize) -> anyhow::Result<Floats> {
        let layout = Rows::dense(Format::Fp16, rows, columns)?;
        let address = self.room(name, layout.bytes())?;
        Ok(Floats { at: Operand { address, stride: layout.stride().try_into()? }, rows, columns })
    }

    /// The job writes rows that it was [`given`](Self::given), or a slice of them.
    pub fn writes(&mut self, name: &'static str, rows: &Floats) {
        let bytes = rows.rows.saturating_sub(1) * rows.at.stride as usize + 2 * rows.columns;
        self.results.push((name, rows.at.address, bytes));
    }

    /// The values of rows after all descriptors up to now.
    #[must_use]
    pub fn values(&self, rows: &Floats) -> Vec<Vec<f64>> {
        let number = |pair: &[u8]| f16::from_le_bytes([pair[0], pair[1]]).to_f64();
        let row = |r| self.memory.bytes(rows.at.address + r * u64::from(rows.at.stride), 2 * rows.columns);
        (0..rows.rows as u64).map(|r| row(r).chunks(2).map(number).collect()).collect()
    }

    /// Steps on rows: `steps` adds them to a job that copies `x` to `out`.
    ///
    /// # Errors
    /// The sizes differ; the hardware would refuse it.
    pub fn rows(&mut self, x: &Floats, out: &Floats, steps: impl FnOnce(VectorJob) -> VectorJob) -> anyhow::Result<()> {
        let (from, to) = ((x.rows, x.columns), (out.rows, out.columns));
        ensure!(from == to, "operands are {from:?}, results {to:?}");
        self.steps(x, out.at, steps)
    }

    /// The same, with results of any format at `out`.
    ///
    /// # Errors
    /// The hardware would refuse it.
    pub fn steps(
        &mut self,
        x: &Floats,
        out: Operand,
        steps: impl FnOnce(VectorJob) -> VectorJob,
    ) -> anyhow::Result<()> {
        let job = steps(VectorJob::new(x.rows as u32, x.columns as u32, x.at, out));
        let job = if self.is_exact() { job.exact() } else { job };
        self.then(job.build(&self.vector, &self.window)?)
    }

    /// A norm of rows: by the root mean square with gains, or a layer norm where it has biases.
    ///
    /// # Errors
    /// No room; the hardware would refuse it.
    pub fn norm(&mut self, name: &'static str, x: &Floats, (norm, epsilon): (&Norm, f64)) -> anyhow::Result<Floats> {
        let (affine, epsilon) = (self.affine(norm)?, Epsilon::new(epsilon)?);
        let out = self.floats(name, x.rows, x.columns)?;
        self.rows(x, &out, |job| match norm.biases.is_empty() {
            true => job.norm_with_gains(epsilon, affine),
            false => job.layer_norm_with_gains(epsilon, affine),
        })?;
        Ok(out)
    }

    /// Gains of a norm in memory, or pairs of gain and bias.
    ///
    /// # Errors
    /// No room.
    pub fn affine(&mut self, norm: &Norm) -> anyhow::Result<u64> {
        let row = match norm.biases.is_empty() {
            true => norm.gains.clone(),
            false => norm.gains.iter().zip(&norm.biases).flat_map(|(&gain, &bias)| [gain, bias]).collect(),
        };
        Ok(self.given(&[row])?.at.address)
    }

    /// The norm after a layer's attention or feed-forward network: rows are added to others, and the sums get a layer
    /// norm with gains and biases.
    ///
    /// # Errors
    /// No room; the hardware would refuse it.
    pub fn add_and_norm(
        &mut self,
        name: &'static str,
        [x, to]: [&Floats; 2],
        (norm, epsilon): (&Norm, f64),
    ) -> anyhow::Result<Floats> {
        let pairs = self.affine(norm)?;
        let (epsilon, out) = (Epsilon::new(epsilon)?, self.floats(name, x.rows, x.columns)?);
        self.rows(x, &out, |job| job.add_rows(to.at).layer_norm_with_gains(epsilon, pairs))?;
        Ok(out)
    }

    /// The activation that the accelerator has, of so many columns at a time as its unit takes.
    ///
    /// # Errors
    /// No room; the hardware would refuse it.
    pub fn activate(&mut self, name: &'static str, x: &Floats) -> anyhow::Result<Floats> {
        let out = self.floats(name, x.rows, x.columns)?;
        for (first, columns) in self.parts(x.columns, 1) {
            self.rows(&x.slice(first, columns)?, &out.slice(first, columns)?, |job| job.activate())?;
        }
        Ok(out)
    }

    /// The activation of a gate, times `up`.
    ///
    /// # Errors
    /// No room; the hardware would refuse it.
    pub fn gate(&mut self, gate: &Floats, up: &Floats) -> anyhow::Result<Floats> {
        let out = self.floats("gated", gate.rows, gate.columns)?;
        for (first, columns) in self.parts(gate.columns, 1) {
            let up = up.slice(first, columns)?;
            let (from, to) = (gate.slice(first, columns)?, out.slice(first, columns)?);
            self.rows(&from, &to, |job| job.activate().multiply_rows(up.at))?;
        }
        Ok(out)
    }

    /// The angles of heads at positions, for as many of `heads` as the vector unit takes at once.
    ///
    /// # Errors
    /// No room for the angles, or a head is longer than the rows of the vector unit.
    pub fn angles(&mut self, turns: &Turns, heads: usize, positions: &[usize]) -> anyhow::Result<Floats> {
        let (width, most) = (2 * turns.frequencies.len(), self.vector.max_columns() as usize);
        ensure!(width <= most, "heads of {width} elements, rows of the vector unit have up to {most}");
        let heads = heads.min(most / width.max(1));
        let rows: Vec<Vec<f64>> = positions.iter().map(|&at| turns.angles(at).repeat(heads)).collect();
        self.given(&rows)
    }

    /// Turns the heads of rows by `angles`, a row for each.
    ///
    /// # Errors
    /// The sizes differ; the hardware would refuse it.
    pub fn rotate(&mut self, x: &Floats, angles: &Floats) -> anyhow::Result<()> {
        ensure!(x.rows == angles.rows, "{} rows and {} rows of angles", x.rows, angles.rows);
        for first in (0..x.columns).step_by(angles.columns) {
            let part = x.slice(first, angles.columns.min(x.columns - first))?;
            self.rows(&part, &part, |job| job.rotate(angles.at))?;
        }
        Ok(())
    }

    /// As many columns at a time as the vector unit takes: each part's first one, which is aligned, and their number.
    #[must_use]
    pub fn parts(&self, columns: usize, unit: usize) -> Vec<(usize, usize)> {
        let unit = unit.next_multiple_of(ALIGNMENT as usize / 2);
        let most = (self.vector.max_columns() as usize / unit * unit).max(unit);
        (0..columns).step_by(most).map(|first| (first, most.min(columns - first))).collect()
    }

    /// Adds a descriptor, and does it in the model.
    ///
    /// # Errors
    /// The descriptor ends with an error, or its results overlap with its operands.
    pub fn then(&mut self, descriptor: Descriptor) -> anyhow::Result<()> {
        let image = Chain::new().then(descriptor.clone()).place(self.trial, &self.window, 1)?;
        self.memory.store(image.address, &image.bytes);
        let limits = Limits { base: self.window.base, limit: self.window.limit, max_descriptors: 1 };
        let mut memory = Watched { memory: &mut self.memory, before: &mut self.before };
        let report = run(&self.golden, limits, self.trial, &mut memory);
        let code = report.end.code;
        let number = self.descriptors.len();
        ensure!(code == 0, "descriptor {number} ends with error {code}");
        ensure!(report.undefined().is_empty(), "results of descriptor {number} are not defined");
        self.written.extend(report.written());
        self.overflows += report.overflows();
        self.descriptors.push(descriptor);
        Ok(())
    }

    /// Room for bytes that the job writes.
    ///
    /// # Errors
    /// No room.
    pub fn room(&mut self, name: &'static str, bytes: usize) -> anyhow::Result<u64> {
        // No number that a job leaves there by chance.
        self.changed(name, vec![0xa5; bytes])
    }

    /// Bytes that the job finds in memory, and changes.
    ///
    /// # Errors
    /// No room.
    pub fn changed(&mut self, name: &'static str, bytes: Vec<u8>) -> anyhow::Result<u64> {
        let count = bytes.len();
        let address = self.store(bytes)?;
        self.results.push((name, address, count));
        Ok(address)
    }

    /// Bytes that the job finds in memory.
    ///
    /// # Errors
    /// No room.
    pub fn store(&mut self, bytes: Vec<u8>) -> anyhow::Result<u64> {
        let address = self.free.take(bytes.len() as u64)?;
        self.memory.store(address, &bytes);
        self.before.add(address, bytes.len());
        Ok(address)
    }
}
