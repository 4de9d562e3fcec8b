//! Registers on a bus, access by access.

/// Kind of a field: how the bus and the hardware access it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Reads as a value.
    Constant(u64),
    /// Written and read by the bus; its value after reset.
    ReadWrite(u64),
    /// Shown by the hardware.
    ReadOnly,
    /// Bits that the hardware sets and the bus clears by writing 1.
    Sticky,
    /// Bits that are pulses when 1 is written; they read as 0.
    Pulse,
    /// Like a pulse, but reads as the value that the hardware shows.
    Command,
}

/// A field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Byte address of its register.
    pub offset: u32,
    /// Its lowest bit there.
    pub low: u32,
    /// Bits.
    pub width: u32,
    /// Its kind.
    pub kind: Kind,
}

impl Field {
    /// Bytes of its register from `offset` on.
    fn bytes(&self) -> u32 {
        4 * (self.low + self.width).div_ceil(32)
    }
}

/// The bus refused the access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused;

/// The state of the registers.
#[derive(Clone, Debug)]
pub struct Registers {
    fields: Vec<Field>,
    values: Vec<u64>,
    /// High word that the read of a low word has kept, and its address.
    kept: Option<(u32, u32)>,
}

impl Registers {
    /// Registers after reset.
    #[must_use]
    pub fn new(fields: Vec<Field>) -> Self {
        let reset = |f: &Field| match f.kind {
            Kind::Constant(value) | Kind::ReadWrite(value) => value,
            _ => 0,
        };
        Self { values: fields.iter().map(reset).collect(), fields, kept: None }
    }

    /// The fields.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The stored value of a constant field, a written field or a sticky field.
    #[must_use]
    pub fn value(&self, field: usize) -> u64 {
        self.values[field]
    }

    /// Reads the word at a byte address. `shown` has the value that the hardware shows for each field.
    ///
    /// # Errors
    /// The address has no register.
    pub fn read(&mut self, address: u32, shown: &[u64]) -> Result<u32, Refused> {
        let word = address & !3;
        let here = |f: &Field| (f.offset..f.offset + f.bytes()).contains(&word);
        if !self.fields.iter().any(here) {
            return Err(Refused);
        }
        let kept = self.kept.take_if(|(at, _)| *at == word);
        if let Some((_, high)) = kept {
            return Ok(high);
        }
        let mut bits = 0u128;
        for (i, field) in self.fields.iter().enumerate().filter(|(_, f)| here(f)) {
            let value = match field.kind {
                Kind::ReadOnly | Kind::Command => shown[i],
                Kind::Pulse => 0,
                _ => self.values[i],
            };
            if field.kind == Kind::ReadOnly && field.width > 32 && word == field.offset {
                self.kept = Some((word + 4, (value >> 32) as u32));
            }
            bits |= u128::from(value) << (field.low + 8 * (field.offset - self.first(word)));
        }
        Ok((bits >> (8 * (word - self.first(word)))) as u32)
    }

    /// The first byte of the register that `word` belongs to.
    fn first(&self, word: u32) -> u32 {
        self.fields.iter().map(|f| f.offset).filter(|&offset| offset <= word).max().unwrap_or(word)
    }

    /// Writes the bytes of a word that have a strobe. Returns the pulses, by field.
    ///
    /// # Errors
    /// The address has no field that can be written. Nothing changes.
    pub fn write(&mut self, address: u32, data: u32, strobes: u8) -> Result<Vec<u64>, Refused> {
        let word = address & !3;
        let mut pulses = vec![0; self.fields.len()];
        let mut known = false;
        for (i, field) in self.fields.iter().enumerate() {
            if !(field.offset..field.offset + field.bytes()).contains(&word) {
                continue;
            }
            known |= !matches!(field.kind, Kind::Constant(_) | Kind::ReadOnly);
            for bit in (0..32).filter(|bit| strobes >> (bit / 8) & 1 == 1) {
                let at = bit + 8 * (word - field.offset);
                if !(field.low..field.low + field.width).contains(&at) {
                    continue;
                }
                let (place, one) = (at - field.low, u64::from(data >> bit & 1));
                match field.kind {
                    Kind::ReadWrite(_) => self.values[i] = self.values[i] & !(1 << place) | one << place,
                    Kind::Sticky => self.values[i] &= !(one << place),
                    Kind::Pulse | Kind::Command => pulses[i] |= one << place,
                    Kind::Constant(_) | Kind::ReadOnly => {}
                }
            }
        }
        if known { Ok(pulses) } else { Err(Refused) }
    }

    /// The hardware sets sticky bits. It does so after a write in the same cycle.
    pub fn set(&mut self, field: usize, bits: u64) {
        self.values[field] |= bits;
    }
}

/// The fields of `axi_lite_registers`, as its contract lists them.
#[must_use]
pub fn words(controls: u32, statuses: u32, events: u32, counters: u32) -> Vec<Field> {
    let mut fields = Vec::new();
    let mut offset = 0;
    let mut add = |width, kind| {
        fields.push(Field { offset, low: 0, width, kind });
        offset += if width > 32 { 8 } else { 4 };
    };
    if events > 0 {
        add(events, Kind::Sticky);
        add(events, Kind::ReadWrite(0));
    }
    (0..controls).for_each(|_| add(32, Kind::ReadWrite(0)));
    (0..statuses).for_each(|_| add(32, Kind::ReadOnly));
    (0..counters).for_each(|_| add(64, Kind::ReadOnly));
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_does_what_it_says() {
        let field = |offset, low, width, kind| Field { offset, low, width, kind };
        let mut r = Registers::new(vec![
            field(0, 0, 8, Kind::Constant(0x5a)),
            field(0, 8, 12, Kind::ReadWrite(0xabc)),
            field(4, 3, 2, Kind::Sticky),
            field(4, 0, 1, Kind::Pulse),
            field(4, 1, 1, Kind::Command),
            field(8, 0, 64, Kind::ReadOnly),
        ]);
        let shown = [0, 0, 0, 0, 1, 0x1111_2222_3333_4444];
        assert_eq!(r.read(2, &shown), Ok(0xa_bc5a));
        // The strobe covers the low eight of the twelve bits.
        assert_eq!(r.write(0, 0xffff_1234, 0b0010), Ok(vec![0; 6]));
        assert_eq!(r.read(0, &shown), Ok(0xa_125a));
        r.set(2, 3);
        assert_eq!(r.read(4, &shown), Ok(0b1_1010));
        assert_eq!(r.write(4, 0b0_1011, 0xf), Ok(vec![0, 0, 0, 1, 1, 0]));
        assert_eq!((r.read(4, &shown), r.value(2)), (Ok(0b1_0010), 2));
        assert_eq!(r.read(8, &shown), Ok(0x3333_4444));
        // The high word belongs to the read of the low word, once.
        assert_eq!(r.read(12, &[0; 6]), Ok(0x1111_2222));
        assert_eq!(r.read(12, &[0; 6]), Ok(0));
        assert_eq!(
            (r.read(16, &shown), r.write(8, 1, 0xf), r.write(16, 1, 0xf)),
            (Err(Refused), Err(Refused), Err(Refused))
        );
    }
}
