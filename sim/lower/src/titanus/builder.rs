//! Parts of programs for the Titanus core: weights that find their place in the store, constants, products.

use anyhow::{Context, ensure};
use golden::accelerators::titanus::TitanusCore;
use host::layout::header;
use host::titanus::{Caps, Constant, Held, LoadJob, Matrix, Product, ProductJob, constants, operations};
use host::vector::{self, Integer, Operand, VectorJob};
use host::{ALIGNMENT, Descriptor, Format, Refusal, Rows, Window};

use crate::chain::{ChainBuilder, Floats};
use crate::layer::Linear;
use crate::order::Cost;

/// Rows of integers.
#[derive(Clone, Copy, Debug)]
pub struct Integers {
    /// Where.
    pub at: Operand,
    /// Rows.
    pub rows: usize,
    /// Integers of a row.
    pub columns: usize,
}

impl Integers {
    /// Some rows.
    #[must_use]
    pub fn some_rows(&self, first: usize, rows: usize) -> Self {
        let address = self.at.address + first as u64 * u64::from(self.at.stride);
        Self { at: Operand { address, ..self.at }, rows, ..*self }
    }

    /// Some columns of all rows; the first one is aligned.
    #[must_use]
    pub fn from(&self, first: usize) -> Operand {
        Operand { address: self.at.address + first as u64, ..self.at }
    }
}

/// A matrix of weights in the store, with a scale for each output.
#[derive(Clone, Debug)]
pub struct Weights {
    /// Where.
    pub place: Matrix,
    /// Of each output.
    pub scales: Vec<f64>,
    /// Inputs.
    pub inner: usize,
}

impl Weights {
    /// Constants whose results are worth `to(output)`, where an integer of x is worth `x`; biases are of the results.
    #[must_use]
    pub fn constants(&self, x: f64, to: impl Fn(usize) -> f64, biases: &[f64]) -> Vec<Constant> {
        let one = |(j, scale): (usize, &f64)| {
            let unit = scale * x;
            let bias = biases.get(j).map_or(0, |bias| (bias / unit).round_ties_even() as i32);
            Constant { scale: (unit / to(j)) as f32, bias }
        };
        self.scales.iter().enumerate().map(one).collect()
    }
}

/// Chains of the core.
#[derive(Debug)]
pub struct Builder<'a> {
    /// The capabilities that a driver reads.
    pub caps: &'a Caps,
    held: Held,
    /// The chain.
    pub b: ChainBuilder<TitanusCore>,
    constants: u32,
    /// First column of macros that is free, of each row of macros.
    free: Vec<u32>,
}

/// The largest magnitude.
#[must_use]
pub fn largest(rows: &[Vec<f64>]) -> f64 {
    rows.iter().flatten().fold(0.0, |most, x| f64::max(most, x.abs()))
}

/// What inputs with large numbers lend to their weights, as SmoothQuant has it: rows are divided by it, weights multiplied.
#[must_use]
pub fn lent(rows: &[Vec<f64>], matrices: &[&Linear]) -> Vec<f64> {
    let most = |numbers: &mut dyn Iterator<Item = f64>| numbers.fold(0.0, |most: f64, x| most.max(x.abs()));
    let mut largest = vec![0.0; rows.first().map_or(0, Vec::len)];
    for matrix in matrices {
        for (largest, weights) in largest.iter_mut().zip(&*matrix.weights()) {
            *largest = f64::max(*largest, most(&mut weights.iter().copied()));
        }
    }
    let one = |(i, &w): (usize, &f64)| {
        let x = most(&mut rows.iter().map(|row| row[i]));
        if x > 0.0 && w > 0.0 { (x / w).sqrt() } else { 1.0 }
    };
    largest.iter().enumerate().map(one).collect()
}

/// Row i times factor i.
#[must_use]
pub fn times(mut rows: Vec<Vec<f64>>, factors: &[f64]) -> Vec<Vec<f64>> {
    for (row, factor) in rows.iter_mut().zip(factors) {
        row.iter_mut().for_each(|x| *x *= factor);
    }
    rows
}

/// The smallest threshold that leaves a share of rows 0, and the share.
#[must_use]
pub fn threshold(rows: &[Vec<i8>], share: f64) -> (u8, f64) {
    let of = |threshold: u8| {
        let (all, zeros) = (rows.iter().flatten(), |x: &&i8| **x == 0 || x.unsigned_abs() < threshold);
        all.clone().filter(zeros).count() as f64 / all.count() as f64
    };
    let least = if share > 0.0 { (0..=u8::MAX).find(|&t| of(t) >= share).unwrap_or(u8::MAX) } else { 0 };
    (least, of(least))
}

/// Columns over divisors.
#[must_use]
pub fn over(rows: &[Vec<f64>], divisors: &[f64]) -> Vec<Vec<f64>> {
    rows.iter().map(|row| row.iter().zip(divisors).map(|(x, by)| x / by).collect()).collect()
}

/// Columns of macros that matrices of so many inputs and outputs take, one after the other, in a store of so many rows
/// of macros; `None`: a matrix is higher than the store.
#[must_use]
pub fn columns_of_store(rows: u32, each: [u32; 2], sizes: &[(u32, u32)]) -> Option<u32> {
    let mut free = vec![0; rows as usize];
    for &(inputs, outputs) in sizes {
        let (height, width) = (inputs.div_ceil(each[0]), outputs.div_ceil(each[1]));
        place(&mut free, height as usize, width)?;
    }
    free.into_iter().max()
}

/// Row and column of a matrix of so many macros: as far left as possible, then as high as possible.
fn place(free: &mut [u32], height: usize, width: u32) -> Option<(usize, u32)> {
    let column = |row: usize| free[row..row + height].iter().copied().max().unwrap_or(0);
    let row = (0..(free.len() + 1).saturating_sub(height)).min_by_key(|&row| column(row))?;
    let column = column(row);
    free[row..row + height].fill(column + width);
    Some((row, column))
}

/// The order in which matrices of so many inputs and outputs fill the store: the lowest first, and of equal heights the
/// widest first. Lower matrices stand side by side, and high ones close the rows that these have filled.
#[must_use]
pub fn order_of(sizes: &[(usize, usize)]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|&n| (sizes[n].0, std::cmp::Reverse(sizes[n].1)));
    order
}

/// About how many cycles an operation takes.
fn cycles(descriptor: &Descriptor, caps: &Caps) -> u64 {
    use operations::{append, load, multiply as m, restore, vector as rows};
    let get = |field| descriptor.get(field);
    let beats = |bytes: u64| bytes.div_ceil(2 * u64::from(caps.vector.lanes));
    let (lanes, tiles) = (u64::from(caps.lanes.max(1)), u64::from(caps.tiles));
    match get(header::OPCODE) as u8 {
        load::OPCODE if descriptor.has(load::CONSTANTS) => beats(8 * get(load::COLUMNS)),
        load::OPCODE => {
            get(load::ROWS) * beats(get(load::COLUMNS)).max(get(load::COLUMNS) / u64::from(caps.outputs.max(1)))
        }
        m::OPCODE => {
            let (inner, columns) = (get(m::INNER), get(m::COLUMNS));
            let row = match get(m::MATRIX) {
                // A vector comes, and its sums leave.
                0 => beats(inner).max(8) + beats(2 * columns),
                // A tile of keys, or as many values, a cycle.
                _ => inner.div_ceil(lanes) * columns,
            };
            get(m::ROWS) * row
        }
        append::OPCODE => get(append::TOKENS) * tiles,
        restore::OPCODE => 2 * get(restore::TOKENS) * tiles,
        rows::OPCODE => 2 * get(rows::ROWS) * beats(2 * get(rows::COLUMNS)),
        _ => 1,
    }
}

impl<'a> Builder<'a> {
    /// An empty chain.
    ///
    /// # Errors
    /// The window has no room.
    pub fn new(caps: &'a Caps, window: &Window, golden: TitanusCore) -> anyhow::Result<Self> {
        let unit = vector::Caps { opcode: operations::vector::OPCODE, ..caps.vector };
        let mut b = ChainBuilder::new(unit, window, golden)?;
        let of_cost = *caps;
        b.order_by(Cost(Box::new(move |descriptor| cycles(descriptor, &of_cost))));
        Ok(Self { caps, held: Held::default(), b, constants: 0, free: vec![0; caps.rows as usize] })
    }

    /// Adds a descriptor, and does it in the model.
    ///
    /// # Errors
    /// The hardware would refuse it.
    pub fn then(
        &mut self,
        job: impl FnOnce(&Caps, &Held, &Window) -> Result<Descriptor, Refusal>,
    ) -> anyhow::Result<()> {
        let descriptor = job(self.caps, &self.held, &self.b.window)?;
        self.held = self.held.after(&descriptor);
        self.b.then(descriptor)
    }

    /// Constants of results; returns the number of the first one.
    ///
    /// # Errors
    /// No room in memory or in the core.
    pub fn constants(&mut self, all: &[Constant]) -> anyhow::Result<u32> {
        let (first, address) = (self.constants, self.b.store(constants(all))?);
        self.constants += all.len() as u32;
        self.then(|caps, _, window| LoadJob::constants(all.len() as u32, address, first).build(caps, window))?;
        Ok(first)
    }

    /// Weights, a row for each input, where the store has room.
    ///
    /// # Errors
    /// No room in memory or in the store.
    pub fn weights(&mut self, rows: &[Vec<f64>]) -> anyhow::Result<Weights> {
        let outputs = rows.first().context("a matrix has rows")?.len();
        let of_output = |j: usize| rows.iter().fold(0.0, |most, row| f64::max(most, row[j].abs())) / 127.0;
        let scales: Vec<f64> = (0..outputs).map(of_output).collect();
        let layout = Rows::dense(Format::Int8, rows.len(), outputs)?;
        let integer = |(x, s): (&f64, &f64)| if *s > 0.0 { (x / s).round_ties_even() as i8 } else { 0 };
        let integers: Vec<i8> = rows.iter().flat_map(|row| row.iter().zip(&scales).map(integer)).collect();
        let packed = layout.pack_integers(&integers)?;
        let bytes = packed.len();
        let at = Operand { address: self.b.store(packed)?, stride: layout.stride() as u32 };
        let place = self.place(rows.len() as u32, outputs as u32)?;
        let sizes = (rows.len() as u32, outputs as u32);
        self.then(|caps, _, window| LoadJob::weights(sizes.0, sizes.1, at, place).build(caps, window))?;
        // From here on they are in the store.
        self.b.spent(at.address, bytes);
        Ok(Weights { place: Matrix::Store { row: place.0, column: place.1 }, scales, inner: rows.len() })
    }

    /// Row and column of the macros of the next matrix.
    fn place(&mut self, inputs: u32, outputs: u32) -> anyhow::Result<(u16, u16)> {
        let (height, width) = (inputs.div_ceil(self.caps.inputs), outputs.div_ceil(self.caps.outputs));
        let found = place(&mut self.free, height as usize, width);
        let (row, column) =
            found.with_context(|| format!("a matrix takes {height} rows of macros, there are {}", self.caps.rows))?;
        let end = column + width;
        ensure!(end <= self.caps.columns, "weights take {end} columns of macros, there are {}", self.caps.columns);
        Ok((u16::try_from(row)?, u16::try_from(column)?))
    }

    /// Room for integers that the job writes.
    ///
    /// # Errors
    /// No room.
    pub fn integers(&mut self, name: &'static str, rows: usize, columns: usize) -> anyhow::Result<Integers> {
        let layout = Rows::dense(Format::Int8, rows, columns)?;
        let at = Operand { address: self.b.room(name, layout.bytes())?, stride: layout.stride() as u32 };
        Ok(Integers { at, rows, columns })
    }

    /// The values of integers after all descriptors up to now.
    #[must_use]
    pub fn values(&self, of: &Integers) -> Vec<Vec<i8>> {
        let row = |r| self.b.memory.bytes(of.at.address + r * u64::from(of.at.stride), of.columns);
        (0..of.rows as u64).map(|r| row(r).into_iter().map(|byte| byte as i8).collect()).collect()
    }

    /// Steps whose results are integers worth `scale`, saturated. A scale fits the float layer's numbers, and pruning
    /// may move numbers beyond that range.
    ///
    /// # Errors
    /// No room; the hardware would refuse it.
    pub fn quantized(
        &mut self,
        name: &'static str,
        x: &Floats,
        scale: f64,
        steps: impl FnOnce(VectorJob) -> VectorJob,
    ) -> anyhow::Result<Integers> {
        let out = self.integers(name, x.rows, x.columns)?;
        self.quantize_to(x, out.at, scale, steps)?;
        Ok(out)
    }

    /// The same to a place.
    ///
    /// # Errors
    /// The hardware would refuse it.
    pub fn quantize_to(
        &mut self,
        x: &Floats,
        out: Operand,
        scale: f64,
        steps: impl FnOnce(VectorJob) -> VectorJob,
    ) -> anyhow::Result<()> {
        let job = VectorJob::new(x.rows as u32, x.columns as u32, x.at, out);
        let job = steps(job).quantize(Integer::Int8, golden::kllm::fp16::half(1.0 / scale));
        self.then(|caps, _, window| job.build(&caps.vector, window))
    }

    /// Heads, turned by `angles`, to integers worth `scale`.
    ///
    /// # Errors
    /// The hardware would refuse it.
    pub fn turn(&mut self, x: &Floats, angles: &Floats, (out, scale): (&Integers, f64)) -> anyhow::Result<()> {
        for first in (0..x.columns).step_by(angles.columns) {
            let part = x.slice(first, angles.columns.min(x.columns - first))?;
            self.quantize_to(&part, out.from(first), scale, |job| job.rotate(angles.at))?;
        }
        Ok(())
    }

    /// The activation of rows, times other rows, as integers worth `scale`: as many columns at a time as the vector unit takes.
    ///
    /// # Errors
    /// No room; the hardware would refuse it.
    pub fn activated(
        &mut self,
        name: &'static str,
        x: &Floats,
        factors: Option<&Floats>,
        scale: f64,
    ) -> anyhow::Result<Integers> {
        let out = self.integers(name, x.rows, x.columns)?;
        for (first, columns) in self.b.parts(x.columns, ALIGNMENT as usize) {
            let factors = factors.map(|rows| rows.slice(first, columns)).transpose()?;
            self.quantize_to(&x.slice(first, columns)?, out.from(first), scale, |job| match factors {
                Some(factors) => job.activate().multiply_rows(factors.at),
                None => job.activate(),
            })?;
        }
        Ok(out)
    }

    /// A product: rows, elements, results; `more` adds further settings.
    ///
    /// # Errors
    /// The hardware would refuse it.
    pub fn product(
        &mut self,
        [rows, inner, columns]: [usize; 3],
        matrix: Matrix,
        [x, out]: [Operand; 2],
        constant: u32,
        more: impl FnOnce(ProductJob) -> ProductJob,
    ) -> anyhow::Result<()> {
        let [rows, inner, columns] = [rows, inner, columns].map(|size| size as u32);
        let product = Product { rows, inner, columns, matrix, x, out, constant };
        self.then(|caps, held, window| more(ProductJob::new(product)).build(caps, held, window))
    }
}
