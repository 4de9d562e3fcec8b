//! The table of a descriptor's fields.

use serde::{Deserialize, Serialize};

use super::HEADER_BYTES;
use super::condition::Condition;

/// Right values of a field that means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Values {
    /// Any.
    Any,
    /// From the first number to the second; another one is `ERROR_SIZE`.
    Size(u32, u32),
    /// From the first number to the second; another one is `ERROR_FIELD`.
    Choice(u32, u32),
}

impl Values {
    /// The range, where not every value is right.
    #[must_use]
    pub fn range(self) -> Option<(u32, u32)> {
        match self {
            Self::Any => None,
            Self::Size(least, most) | Self::Choice(least, most) => Some((least, most)),
        }
    }
}

/// A field of a descriptor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationField {
    /// Snake-case name, unique in the operation.
    pub name: String,
    /// The byte of the descriptor at which its member begins.
    pub byte: u32,
    /// Its lowest bit in the member.
    pub low: u32,
    /// Bits.
    pub width: u32,
    /// Right values.
    pub values: Values,
    /// When it means something; otherwise it must be 0, and another value is `ERROR_RESERVED`.
    pub when: Condition,
    /// Its meaning, in a sentence or two.
    pub meaning: String,
}

impl OperationField {
    /// Its first bit and the bit after its last one, counted from the end of the header.
    #[must_use]
    pub fn bits(&self) -> std::ops::Range<u32> {
        let low = 8 * self.byte.saturating_sub(HEADER_BYTES) + self.low;
        low..low + self.width
    }

    /// Bits that right values take: what the hardware hands on.
    #[must_use]
    pub fn used_width(&self) -> u32 {
        self.values.range().map_or(self.width, |(_, most)| crate::lang::bits_for(most.into()).min(self.width))
    }

    /// Its value in the bytes of a descriptor, which is long enough.
    #[must_use]
    pub fn get(&self, descriptor: &[u8]) -> u64 {
        let bit = |at: u32| u64::from(descriptor[(HEADER_BYTES + at / 8) as usize] >> (at % 8) & 1);
        self.bits().rev().fold(0, |value, at| value << 1 | bit(at))
    }
}

/// A member of the descriptor's structure in C: one field, or several that share an integer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Snake-case name, unique in the operation.
    pub name: String,
    /// Bytes from the descriptor's begin.
    pub byte: u32,
    /// Its bytes: 1, 2, 4 or 8.
    pub bytes: u32,
    /// What it is for.
    pub meaning: String,
}

/// All fields of an operation's descriptor after the header.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationLayout {
    /// What the operation does.
    pub meaning: String,
    /// Bytes of the descriptor, with its header.
    pub bytes: u32,
    /// The members of the structure, in order.
    pub members: Vec<Member>,
    /// The fields, in order.
    pub fields: Vec<OperationField>,
}

/// An operation of an accelerator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Opcode {
    /// Snake-case name.
    pub name: String,
    /// Its number in descriptors, from 1 on.
    pub number: u32,
    /// Its descriptor.
    pub layout: OperationLayout,
}

impl OperationLayout {
    /// A field by name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&OperationField> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Runs of bits after the header that no field has: they must be 0.
    #[must_use]
    pub fn gaps(&self) -> Vec<std::ops::Range<u32>> {
        let mut taken: Vec<_> = self.fields.iter().map(OperationField::bits).collect();
        taken.sort_by_key(|bits| bits.start);
        let (mut gaps, mut at) = (Vec::new(), 0);
        for bits in taken {
            if bits.start > at {
                gaps.push(at..bits.start);
            }
            at = at.max(bits.end);
        }
        let end = 8 * self.bytes.saturating_sub(HEADER_BYTES);
        if at < end {
            gaps.push(at..end);
        }
        gaps
    }

    /// The mistakes of the table, in sentences; none for a good one.
    #[must_use]
    pub fn mistakes(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut end = HEADER_BYTES;
        for Member { name, byte, bytes, .. } in &self.members {
            if !matches!(bytes, 1 | 2 | 4 | 8) || byte % bytes != 0 {
                wrong.push(format!(
                    "member {name} has {bytes} bytes at {byte}, allowed: 1, 2, 4 or 8 at a multiple of them"
                ));
            } else if *byte < end || byte + bytes > self.bytes {
                let last = self.bytes;
                wrong.push(format!(
                    "member {name} lies at {byte}, allowed: after the member before, from {end} to {last}"
                ));
            }
            end = end.max(byte.saturating_add(*bytes));
        }
        let mut names: Vec<&str> = self.fields.iter().map(|field| field.name.as_str()).collect();
        names.sort_unstable();
        wrong.extend(names.windows(2).filter(|w| w[0] == w[1]).map(|w| format!("the name {} is given twice", w[0])));
        let mut free = 0;
        for field in &self.fields {
            let (name, low, width) = (&field.name, field.low, field.width);
            let room =
                self.members.iter().find(|member| member.byte == field.byte).map_or(0, |member| 8 * member.bytes);
            if width == 0 || low.saturating_add(width) > room {
                wrong.push(format!("field {name} has {width} bits from {low} on, and its member has {room} bits"));
            } else if field.bits().start < free {
                wrong.push(format!("field {name} overlaps the field before it"));
            }
            free = free.max(field.bits().end);
            if let Some((least, most)) = field.values.range()
                && (least > most || (width < 32 && most >> width != 0))
            {
                wrong.push(format!("the values {least} to {most} of field {name} do not fit its {width} bits"));
            }
            let unknown = field.when.fields().into_iter().filter(|other| self.field(other).is_none());
            wrong
                .extend(unknown.map(|other| format!("the condition of field {name} reads {other}, which is no field")));
        }
        wrong
    }
}

#[cfg(test)]
mod tests {
    use super::super::set;
    use super::*;

    fn table(members: &[(&str, u32, u32)], fields: &[(&str, u32, u32, u32, Values)]) -> OperationLayout {
        OperationLayout {
            meaning: String::new(),
            bytes: 64,
            members: members
                .iter()
                .map(|&(name, byte, bytes)| Member { name: name.into(), byte, bytes, meaning: String::new() })
                .collect(),
            fields: fields
                .iter()
                .map(|&(name, byte, low, width, values)| OperationField {
                    name: name.into(),
                    byte,
                    low,
                    width,
                    values,
                    when: Condition::Always,
                    meaning: String::new(),
                })
                .collect(),
        }
    }

    #[test]
    fn mistakes_are_found() {
        let any = Values::Any;
        let good = table(&[("a", 32, 4), ("b", 40, 8)], &[("a", 32, 3, 2, any), ("b", 40, 0, 64, any)]);
        assert_eq!(good.mistakes(), [""; 0]);
        assert_eq!(good.gaps(), [0..3, 5..64, 128..256]);
        let mut unknown = good.clone();
        unknown.fields[0].when = set("nobody");
        assert!(unknown.mistakes()[0].contains("reads nobody, which is no field"));
        for (wrong, said) in [
            (table(&[("a", 32, 3)], &[]), "has 3 bytes at 32"),
            (table(&[("a", 34, 4)], &[]), "has 4 bytes at 34"),
            (table(&[("a", 28, 4)], &[]), "allowed: after the member before, from 32 to 64"),
            (table(&[("a", 32, 4), ("b", 34, 2)], &[]), "member b lies at 34"),
            (table(&[("a", 64, 4)], &[]), "member a lies at 64"),
            (table(&[("a", 32, 4)], &[("a", 32, 0, 8, any), ("a", 32, 8, 8, any)]), "the name a is given twice"),
            (table(&[("a", 32, 4)], &[("a", 32, 0, 8, any), ("b", 32, 7, 8, any)]), "field b overlaps"),
            (table(&[("a", 32, 1)], &[("a", 32, 7, 2, any)]), "2 bits from 7 on, and its member has 8 bits"),
            (table(&[("a", 32, 1)], &[("a", 36, 0, 2, any)]), "its member has 0 bits"),
            (table(&[("a", 32, 1)], &[("a", 32, 0, 2, Values::Size(1, 4))]), "the values 1 to 4 of field a"),
            (table(&[("a", 32, 1)], &[("a", 32, 0, 2, Values::Choice(2, 1))]), "the values 2 to 1 of field a"),
        ] {
            let found = wrong.mistakes();
            assert!(found.len() == 1 && found[0].contains(said), "{said}: {found:?}");
        }
    }

    #[test]
    fn fields_are_read_from_bytes() {
        let layout =
            table(&[("a", 32, 4), ("b", 40, 8)], &[("a", 32, 3, 6, Values::Size(1, 9)), ("b", 40, 0, 64, Values::Any)]);
        let mut bytes = [0; 64];
        (bytes[32], bytes[33]) = (0b1010_1000, 0xff);
        bytes[40..48].copy_from_slice(&0x0123_4567_89ab_cdef_u64.to_le_bytes());
        assert_eq!(layout.fields[0].get(&bytes), 0b11_0101);
        assert_eq!(layout.fields[1].get(&bytes), 0x0123_4567_89ab_cdef);
        assert_eq!((layout.fields[0].used_width(), layout.fields[1].used_width()), (4, 64));
    }
}
