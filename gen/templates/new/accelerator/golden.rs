//! What the accelerator must do, byte by byte and to the cycle. It reads descriptors by itself, from their description,
//! and shares no code with the hardware.

use senbazuru::accelerator::golden::common::bus::Command;
use senbazuru::accelerator::golden::common::shell::job_controller::{Limits, code};
use senbazuru::accelerator::golden::accelerators::cycles::{
    Course, Dmas, Flow, Recurrence, Shell, Turns, latest,
};
use senbazuru::accelerator::golden::accelerators::job::{self, Codes, Executed, Fields};
use senbazuru::accelerator::golden::accelerators::memory::Memory;
use senbazuru::accelerator::golden::accelerators::operand::{check, overlap, sizes};
use senbazuru::accelerator::golden::accelerators::pieces::{Loaded, store};

/// The accelerator, and its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Golden {
    /// Elements of the longest row.
    pub max_columns: u32,
    /// Bits of a beat of the bus, and of an address.
    pub bus: [u32; 2],
}

/// An operation whose fields are valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The rows.
    pub x: Command,
    /// Where the results go.
    pub out: Command,
    /// The number.
    pub addend: i16,
    /// Whether a sum that leaves the range is an error.
    pub exact: bool,
}

impl job::Operation for Operation {
    fn out(&self) -> &Command {
        &self.out
    }
}

/// The sums of some elements, and whether one of them was clipped.
#[must_use]
pub fn sums(elements: &[u8], addend: i16) -> (Vec<u8>, bool) {
    let mut clipped = false;
    let mut sum = |pair: &[u8]| {
        let exact = i32::from(i16::from_le_bytes([pair[0], pair[1]])) + i32::from(addend);
        let sum = exact.clamp(i16::MIN.into(), i16::MAX.into());
        clipped |= sum != exact;
        (sum as i16).to_le_bytes()
    };
    let bytes = elements.chunks(2).flat_map(&mut sum).collect();
    (bytes, clipped)
}

impl job::Accelerator for Golden {
    type Operation = Operation;
    type Checked = Operation;

    fn address_width(&self) -> u32 {
        self.bus[1]
    }

    fn opcodes(&self) -> u8 {
        1
    }

    fn check(&self, _: u8, fields: Fields<'_>, limits: &Limits) -> Result<Operation, u8> {
        let (word, long) = (|at| fields.word(at), |at| fields.long(at));
        if word(40) >> 17 != 0 || word(52) != 0 || !fields.are_zero((72..128).step_by(4)) {
            return Err(code::RESERVED);
        }
        sizes(&[(word(32), 65535), (word(36), self.max_columns)])?;
        let rows = |address, stride: u32| Command {
            address,
            row_bytes: 2 * u64::from(word(36)),
            rows: word(32).into(),
            stride: stride.into(),
        };
        let (x, out) = (rows(long(56), word(44)), rows(long(64), word(48)));
        for operand in [&x, &out] {
            check(operand, limits, self.bus[1])?;
        }
        Ok(Operation { x, out, addend: word(40) as i16, exact: word(40) >> 16 == 1 })
    }

    fn execute(&self, operation: Operation, memory: &mut dyn Memory) -> Executed<Operation> {
        let (mut codes, mut overflows) = (Codes::default(), 0);
        for row in 0..operation.x.rows {
            let loaded = Loaded::row(&operation.x, row, memory, &mut codes);
            let Some(elements) = loaded.whole() else { continue };
            let beats = elements.chunks(self.bus[0] as usize / 8).map(|beat| sums(beat, operation.addend));
            let (bytes, clipped): (Vec<_>, Vec<_>) = beats.unzip();
            overflows += clipped.iter().filter(|&&clipped| clipped).count() as u64;
            store(&operation.out, row, &bytes.concat(), memory, &mut codes);
        }
        let rules = (!overlap(&operation.x, &operation.out), operation.exact);
        let mut codes = codes.all();
        // An error of the bus comes first: sums are judged at the end.
        if operation.exact && overflows > 0 && codes.is_empty() {
            codes.push(code::OVERFLOW);
        }
        Executed::new(operation, codes, rules, overflows)
    }
}

/// Its operations in time, before a memory that never pauses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// The path to memory.
    pub shell: Shell,
}

impl Recurrence<Golden> for Timing {
    fn shell(&self) -> &Shell {
        &self.shell
    }

    fn course(
        &self,
        _: &Golden,
        operation: &Operation,
        now: u64,
        (_, turns): (&mut dyn Memory, &mut Turns),
    ) -> Result<Course, u8> {
        let begin = now + self.shell.checks(2, 2);
        let mut dmas = self.shell.dmas(turns);
        dmas.readers[0].offer(&operation.x, begin + 1);
        dmas.writer.offer(&operation.out, begin + 1);
        Ok(Course::new(begin, dmas, Adds))
    }
}

/// Rows in flight.
struct Adds;

impl Flow for Adds {
    fn advance(&mut self, dmas: &mut Dmas) -> bool {
        let mut moved = false;
        let (reader, writer) = (&mut dmas.readers[0], &mut dmas.writer);
        // A beat is taken when it has come, and in the same cycle it goes.
        while let Some(time) = latest([reader.shown(reader.left.known()), writer.free(writer.came.known())]) {
            reader.left.push(time);
            writer.came.push(time);
            moved = true;
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::sums;

    /// Worked by hand.
    #[test]
    fn sums_stop_at_both_ends() {
        let bytes = |numbers: &[i16]| numbers.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>();
        assert_eq!(sums(&bytes(&[5, -7]), 2), (bytes(&[7, -5]), false));
        assert_eq!(sums(&bytes(&[32767, 0]), 1), (bytes(&[32767, 1]), true));
        assert_eq!(sums(&bytes(&[-32768]), -1), (bytes(&[-32768]), true));
    }
}
