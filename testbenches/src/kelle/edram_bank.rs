//! [`EdramBank`] under random operations, with refreshes whose halves lie apart, and cells that forget.

use golden::kelle::retention::{Bank, Distribution};
use hdl::blocks::kelle::EdramBank;
use rand::RngExt;
use sim::{Bits, Run, Sim};

/// The bench of a bank; a vector is one cycle.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &EdramBank) -> anyhow::Result<Box<dyn sim::Bench>> {
    let block = p.clone();
    crate::bench(p, move |sim, run| operations(&block, sim, run))
}

/// Sets the times of all cells of a bank; the ports are those of the bank, or of the group around it.
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

fn operations(p: &EdramBank, sim: &mut Sim, run: &mut Run) -> sim::Result<()> {
    let mut rng = run.rng("operations");
    let (rows, width) = (p.rows, p.width);
    // Without the model cells hold their bits longer than any run.
    let (first, last) = if p.retention_model { (20, 400) } else { (1 << 31, 1 << 32) };
    let curve = Distribution::new(&[(0, first), (u32::MAX, last)]).map_err(sim::Error::Unsupported)?;
    let mut golden = Bank::sample(run.seed(), rows as usize, width as usize, &curve);
    let (read_i, write_i) = (sim.input("read_i")?, sim.input("write_i")?);
    let (row_i, data_i, data_o) = (sim.input("row_i")?, sim.input("data_i")?, sim.output("data_o")?);
    let (refresh_read_i, refresh_write_i) = (sim.input("refresh_read_i")?, sim.input("refresh_write_i")?);
    let refresh_row_i = sim.input("refresh_row_i")?;
    sim.reset(2)?;
    if p.retention_model {
        load_times(sim, &golden, rows, width)?;
    }
    let mut buffer: Option<Vec<bool>> = None;
    for vector in 0..run.vectors() + u64::from(rows) {
        let now = sim.cycle_count();
        // All rows are written first. Then bursts on few rows, and pauses in which they grow old.
        let fill = vector < u64::from(rows);
        let row = if fill { vector as usize } else { rng.random_range(0..rows as usize) };
        let kind = if fill { 1 } else { rng.random_range(0..12u8) };
        let data = Bits::random(width, &mut rng);
        let mut expected = None;
        match kind {
            1 => golden.write(row, now, &to_bools(&data)),
            2 | 3 => expected = Some(golden.read(row, now)),
            4 => buffer = Some(golden.read(row, now)),
            5 | 6 => {
                if let Some(buffer) = &buffer {
                    golden.write(row, now, buffer);
                }
            }
            _ => {}
        }
        let is = |on: bool| u64::from(on);
        sim.poke_u64(write_i, is(kind == 1));
        sim.poke_u64(read_i, is(kind == 2 || kind == 3));
        sim.poke_u64(refresh_read_i, is(kind == 4));
        sim.poke_u64(refresh_write_i, is((kind == 5 || kind == 6) && buffer.is_some()));
        // The other port's row must not matter.
        let (other, is_refresh) = (rng.random_range(0..u64::from(rows)), (4..=6).contains(&kind));
        sim.poke_u64(row_i, if is_refresh { other } else { row as u64 });
        sim.poke_u64(refresh_row_i, if is_refresh { row as u64 } else { other });
        sim.poke(data_i, &data);
        sim.tick()?;
        if let Some(word) = expected {
            run.expect(sim, data_o, &from_bools(&word))?;
        }
    }
    if p.retention_model && run.vectors() >= 1000 {
        run.expect_equal(sim, "data_o", "some bits were flipped", true, golden.flips() > 0)?;
    }
    Ok(())
}
