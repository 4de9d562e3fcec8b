//! Fields of descriptors: the bytes of each, and what must be 0.

use host::layout::{Condition, Field, check_reserved, header};
use host::vector::operations::vector;
use host::{Descriptor, ErrorCode};

/// Fields alone, at the places that the specification names.
#[test]
fn the_table() {
    let table: [(&str, u32, u32, u32); 12] = [
        ("magic", 0, 0, 32),
        ("opcode", 5, 0, 8),
        ("flags", 6, 0, 16),
        ("tag_address", 24, 0, 64),
        ("rows", 32, 0, 32),
        ("gain", 40, 5, 1),
        ("kind", 40, 6, 2),
        ("quantizer", 46, 0, 16),
        ("epsilon", 48, 0, 40),
        ("x_address", 64, 0, 64),
        ("out_stride", 92, 0, 32),
        ("length", 112, 0, 32),
    ];
    for (name, byte, low, width) in table {
        let found = header::FIELDS.iter().chain(vector::FIELDS).find(|field| field.name == name).unwrap();
        for background in [0u8, 0xff] {
            let mut all = [background; 128];
            let value = 0x9192_9394_9596_9798 & found.most();
            found.put(&mut all, value);
            let first = 8 * byte + low;
            for bit in 0..8 * 128u32 {
                let expected = match bit.checked_sub(first).filter(|place| *place < width) {
                    Some(place) => value >> place & 1 == 1,
                    None => background != 0,
                };
                assert_eq!(all[bit as usize / 8] >> (bit % 8) & 1 == 1, expected, "{name}, bit {bit}");
            }
            assert_eq!(found.get(&all), value);
        }
    }
    let new = Descriptor::new(7);
    assert_eq!((&new.bytes()[..6], &new.bytes()[6..]), (&b"SNBZ\x01\x07"[..], &[0; 122][..]));
}

/// In the words of the generated tables.
#[test]
fn conditions_read_as_text() {
    use Condition::{And, Built, Is, Not, Opcode, Or, Set};
    let said = |condition: Condition| condition.to_string();
    assert_eq!(said(And(&Set("norm"), &Not(&Or(&Is("kind", 1), &Opcode(2))))), "norm and not (kind = 1 or opcode = 2)");
    assert_eq!(said(And(&Set("a"), &Or(&Set("b"), &Built("part")))), "a and (b or part is built)");
    assert_eq!(said(And(&Not(&Set("a")), &Condition::Always)), "not a and always");
}

#[test]
fn what_must_be_zero_is_told_by_name() {
    const A: Field = Field::new("a", 32, 0, 1, Condition::Always);
    const B: Field = Field::new("b", 32, 1, 2, Condition::And(&Condition::Set("a"), &Condition::Built("part")));
    const C: Field = Field::new("c", 36, 0, 32, Condition::Or(&Condition::Is("b", 2), &Condition::Opcode(7)));
    let fields = [A, B, C];
    let check = |opcode, values: [u64; 3], built| {
        let mut d = Descriptor::new(opcode);
        fields.into_iter().zip(values).for_each(|(field, value)| d.set(field, value));
        check_reserved(d.bytes(), &fields, &|part| built && part == "part").map_err(|e| (e.code, e.field.into_owned()))
    };
    let wrong = |field: &str| Err((ErrorCode::Reserved, field.to_owned()));
    assert_eq!(check(1, [1, 3, 0], true), Ok(()));
    assert_eq!(check(1, [1, 2, 5], true), Ok(()));
    assert_eq!(check(7, [0, 0, 5], true), Ok(()));
    assert_eq!(check(1, [0, 3, 0], true), wrong("b"));
    assert_eq!(check(1, [1, 3, 0], false), wrong("b"));
    assert_eq!(check(1, [1, 3, 5], true), wrong("c"));
    let mut bytes = *Descriptor::new(1).bytes();
    bytes[32] = 8;
    let found = check_reserved(&bytes, &fields, &|_| true).unwrap_err();
    assert_eq!((found.code, &*found.field), (ErrorCode::Reserved, "bit 3 of byte 32"));
}

#[test]
fn codes_have_numbers_and_words() {
    for (k, code) in (1..).zip(ErrorCode::ALL) {
        assert_eq!((code.number(), ErrorCode::of(k)), (k, Some(*code)));
        assert!(!code.meaning().is_empty());
    }
    assert_eq!((ErrorCode::ALL.len(), ErrorCode::of(0), ErrorCode::of(16)), (15, None, None));
    assert_eq!(ErrorCode::Slverr.to_string(), "SLVERR (11)");
}
