//! The table of descriptors: its bytes, and the C header that is made of it.

use std::collections::BTreeSet;

use host::kelle::layout as kelle;
use host::kllm::layout as kllm;
use host::layout::{c_header, header};
use host::tender::layout as tender;
use host::titanus::layout as titanus;
use host::vector::layout as vector;
use host::{Descriptor, ErrorCode};

#[test]
fn the_c_header_is_the_committed_one() {
    let committed = include_str!("../include/snbz_descriptors.h");
    let remedy = "run `cargo run -p senbazuru-host --example c_header >sim/host/include/snbz_descriptors.h`";
    assert!(committed == c_header(), "the header does not say what the table does: {remedy}");
}

#[test]
fn fields_are_side_by_side() {
    let accelerators = [tender::OPERATIONS, kllm::OPERATIONS, kelle::OPERATIONS, titanus::OPERATIONS];
    let operations = accelerators.iter().flat_map(|operations| operations.iter());
    for fields in operations.map(|operation| operation.fields).chain([vector::FIELDS]) {
        let mut at = 0;
        let mut names = BTreeSet::new();
        for field in header::FIELDS.iter().chain(fields) {
            assert_eq!(field.offset, at, "{}", field.name);
            assert!(field.offset.is_multiple_of(field.bytes), "a C compiler would leave a gap before {}", field.name);
            assert!(names.insert(field.name) && !field.meaning.is_empty(), "{}", field.name);
            at += field.bytes;
            if field.name == header::TAG_ADDRESS.name {
                assert_eq!(at, header::BYTES);
            }
        }
        assert_eq!((at, Descriptor::BYTES), (vector::BYTES, vector::BYTES));
    }
}

/// Every field alone, at the bytes of the specification's table.
#[test]
fn the_table() {
    let table: [(&str, usize, usize); 27] = [
        ("magic", 0, 4),
        ("version", 4, 1),
        ("opcode", 5, 1),
        ("flags", 6, 2),
        ("next", 8, 8),
        ("tag", 16, 4),
        ("reserved", 20, 4),
        ("tag_address", 24, 8),
        ("rows", 32, 4),
        ("columns", 36, 4),
        ("steps", 40, 4),
        ("scale", 44, 2),
        ("quantizer", 46, 2),
        ("epsilon", 48, 8),
        ("x_stride", 56, 4),
        ("addend_stride", 60, 4),
        ("x_address", 64, 8),
        ("addend_address", 72, 8),
        ("factor_address", 80, 8),
        ("factor_stride", 88, 4),
        ("out_stride", 92, 4),
        ("gain_address", 96, 8),
        ("out_address", 104, 8),
        ("length", 112, 4),
        ("zero_0", 116, 4),
        ("zero_1", 120, 8),
        ("", 128, 0),
    ];
    let fields: Vec<_> = header::FIELDS.iter().chain(vector::FIELDS).collect();
    assert_eq!(fields.len() + 1, table.len());
    for (field, (name, from, bytes)) in fields.into_iter().zip(table) {
        let mut all = [0xaa; 128];
        let value = 0x0102_0304_0506_0708 & field.most();
        field.put(&mut all, value);
        let mut expected = [0xaa; 128];
        expected[from..from + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
        assert_eq!((field.name, all), (name, expected));
        assert_eq!(field.get(&all), value);
    }
    let new = Descriptor::new(7);
    assert_eq!((&new.bytes()[..6], &new.bytes()[6..]), (&b"SNBZ\x01\x07"[..], &[0; 122][..]));
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
