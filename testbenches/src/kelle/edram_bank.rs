//! [`EdramBank`] under random operations, with refreshes whose halves lie apart, and cells that forget.
//!
//! Several operations at once, rows that do not exist, write-backs of nothing and resets are among them. Data that was
//! read must stay in between.

use golden::kelle::edram_bank::{Bank, Distribution};
use hdl::blocks::kelle::EdramBank;
use rand::RngExt;
use sim::stimulus::StimulusRng;
use sim::{Bits, Run, Sim};

/// The bench of a bank; a vector is one cycle.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &EdramBank) -> anyhow::Result<Box<dyn sim::Bench>> {
    let block = p.clone();
    sim::kit::bench(p, move |sim, run| operations(&block, sim, run))
}

/// Sets the times of all cells of a bank. The ports belong to the bank, or to the group around it.
///
/// # Errors
/// A port that is not there.
pub fn load_times(sim: &mut Sim, bank: &Bank, rows: u32, width: u32) -> sim::Result<()> {
    let (write, row_i) = (sim.input("cell_write_i")?, sim.input("cell_row_i")?);
    let (bit_i, time_i) = (sim.input("cell_bit_i")?, sim.input("cell_time_i")?);
    sim.poke_u64(write, 1);
    for row in 0..rows {
        for bit in 0..width {
            sim.poke_u64(row_i, row.into());
            sim.poke_u64(bit_i, bit.into());
            sim.poke_u64(time_i, bank.time(row as usize, bit as usize).into());
            sim.tick()?;
        }
    }
    sim.poke_u64(write, 0);
    Ok(())
}

/// A word as the golden bank has it.
#[must_use]
pub fn to_bools(word: &Bits) -> Vec<bool> {
    (0..word.width()).map(|i| word.bit(i)).collect()
}

/// And back.
#[must_use]
pub fn from_bools(word: &[bool]) -> Bits {
    Bits::pack(1, word.iter().map(|&b| b.into()))
}

/// Operations of the bank in a cycle.
#[derive(Clone, Copy, Default)]
struct Strobes {
    read: bool,
    write: bool,
    refresh_read: bool,
    refresh_write: bool,
}

impl Strobes {
    /// Mostly one operation, or none, so that rows grow old; now and then several at once.
    fn random(rng: &mut StimulusRng) -> Self {
        let none = Self::default();
        match rng.random_range(0..24u8) {
            0 | 1 => Self { write: true, ..none },
            2..=5 => Self { read: true, ..none },
            6 | 7 => Self { refresh_read: true, ..none },
            8..=11 => Self { refresh_write: true, ..none },
            12 => Self {
                read: rng.random(),
                write: rng.random(),
                refresh_read: rng.random(),
                refresh_write: rng.random(),
            },
            _ => none,
        }
    }
}

/// A word that was read; `None` where the contract does not tell it.
type Word = Option<Vec<bool>>;

/// The golden bank, and which of its outputs are known.
struct Memory {
    bank: Bank,
    known: Vec<bool>,
    /// The refresh buffer, since it was filled.
    buffer: Option<Word>,
    /// Outputs of the bank.
    shown: Word,
}

impl Memory {
    fn read(&mut self, row: usize, now: u64) -> Word {
        let known = self.known.get(row).is_some_and(|&k| k);
        known.then(|| self.bank.read(row, now))
    }

    fn write(&mut self, row: usize, now: u64, word: &Word) {
        if let Some(known) = self.known.get_mut(row) {
            *known = word.is_some();
            if let Some(word) = word {
                self.bank.write(row, now, word);
            }
        }
    }

    fn cycle(&mut self, now: u64, is: Strobes, row: usize, refresh_row: usize, data: &Bits) {
        if is.refresh_read {
            self.shown = self.read(refresh_row, now);
            self.buffer = Some(self.shown.clone());
        } else if is.refresh_write {
            if let Some(word) = self.buffer.clone() {
                self.write(refresh_row, now, &word);
            }
        } else {
            if is.read {
                self.shown = self.read(row, now);
            }
            if is.write {
                self.write(row, now, &Some(to_bools(data)));
            }
        }
    }
}

fn operations(p: &EdramBank, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
    let mut rng = run.rng("operations");
    let (rows, width) = (p.rows as usize, p.width);
    // Without the model cells hold their bits longer than any run.
    let (first, last) = if p.retention_model { (20, 400) } else { (1 << 31, 1 << 32) };
    let curve = Distribution::new(&[(0, first), (u32::MAX, last)]).map_err(sim::Error::Unsupported)?;
    let bank = Bank::sample(run.seed(), rows, width as usize, &curve);
    let ports = Ports::find(sim)?;
    run.reset(sim, 2)?;
    ports.poke(sim, Strobes::default(), 0, 0, &Bits::zero(width));
    if p.retention_model {
        load_times(sim, &bank, p.rows, width)?;
    }
    let mut memory = Memory { bank, known: vec![false; rows], buffer: None, shown: None };
    let mut filled = 0;
    for _ in 0..run.vectors() + rows as u64 {
        if rng.random_range(0..(8 * p.rows).max(800)) == 0 {
            ports.poke(sim, Strobes::default(), 0, 0, &Bits::zero(width));
            sim.reset(1)?;
            (memory.buffer, memory.shown) = (None, None);
            memory.known.fill(false);
            filled = 0;
        }
        // All rows are written first. Each port's row must not matter to the other.
        let fill = filled < rows;
        let mut place = || rng.random_range(0..rows.next_power_of_two());
        let (row, refresh_row) = (if fill { filled } else { place() }, place());
        filled += usize::from(fill);
        let is = if fill { Strobes { write: true, ..Strobes::default() } } else { Strobes::random(&mut rng) };
        let data = Bits::random(width, &mut rng);
        ports.poke(sim, is, row, refresh_row, &data);
        memory.cycle(sim.cycle_count(), is, row, refresh_row, &data);
        sim.tick()?;
        if let Some(word) = &memory.shown {
            run.expect(sim, ports.shown, &from_bools(word))?;
        }
    }
    if p.retention_model && run.vectors() >= 1000 {
        run.expect_equal(sim, "data_o", "some bits were flipped", true, memory.bank.flips() > 0)?;
    }
    Ok(())
}

sim::handles! {
    struct Ports {
        read: In = "read_i",
        write: In = "write_i",
        row: In = "row_i",
        data: In = "data_i",
        shown: Out = "data_o",
        refresh_read: In = "refresh_read_i",
        refresh_write: In = "refresh_write_i",
        refresh_row: In = "refresh_row_i",
    }
}

impl Ports {
    fn poke(&self, sim: &mut Sim, is: Strobes, row: usize, refresh_row: usize, data: &Bits) {
        sim.poke_u64(self.read, is.read.into());
        sim.poke_u64(self.write, is.write.into());
        sim.poke_u64(self.refresh_read, is.refresh_read.into());
        sim.poke_u64(self.refresh_write, is.refresh_write.into());
        sim.poke_u64(self.row, row as u64);
        sim.poke_u64(self.refresh_row, refresh_row as u64);
        sim.poke(self.data, data);
    }
}
