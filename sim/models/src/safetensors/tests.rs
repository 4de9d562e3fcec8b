use super::*;

pub(crate) fn file(header: &str, elements: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), elements].concat()
}

fn entry(name: &str, kind: &str, shape: &str, from: u64, to: u64) -> String {
    format!(r#""{name}": {{"dtype": "{kind}", "shape": {shape}, "data_offsets": [{from}, {to}]}}"#)
}

fn opened(bytes: Vec<u8>) -> Result<File> {
    File::of_bytes(Path::new("x"), bytes)
}

fn sample() -> Vec<u8> {
    let parts = [
        r#""__metadata__": {"format": "pt"}"#.into(),
        entry("b", "I64", "[1]", 0, 8),
        entry("a", "F32", "[2, 1]", 8, 16),
        entry("h", "F16", "[2]", 16, 20),
        entry("g", "BF16", "[]", 20, 22),
    ];
    let elements = [
        &7_u64.to_le_bytes()[..],
        &2.5_f32.to_le_bytes(),
        &(-3_f32).to_le_bytes(),
        &half::f16::from_f32(0.5).to_le_bytes(),
        &half::f16::from_f32(-65504.0).to_le_bytes(),
        &half::bf16::from_f32(3.0).to_le_bytes(),
    ];
    file(&format!("{{{}}}", parts.join(", ")), &elements.concat())
}

#[test]
fn elements_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.safetensors");
    fs::write(&path, sample()).unwrap();
    for file in [opened(sample()).unwrap(), File::open(&path).unwrap()] {
        assert_eq!(file.tensors().collect::<Vec<_>>(), ["a", "b", "g", "h"]);
        assert_eq!((file.shape("a"), file.shape("z")), (Some(&[2, 1][..]), None));
        assert_eq!(file.tensor_of("a", &[2, 1]).unwrap(), [2.5, -3.0]);
        assert_eq!(file.tensor_of("h", &[2]).unwrap(), [0.5, -65504.0]);
        assert_eq!(file.tensor_of("g", &[]).unwrap(), [3.0]);
    }
}

#[test]
fn tensors_that_are_refused() {
    let file = opened(sample()).unwrap();
    let refused = |name, shape: &[usize]| file.tensor_of(name, shape).unwrap_err().to_string();
    assert!(refused("a", &[2]).contains("tensor `a` is 2 x 1, wanted is 2 (byte"));
    assert!(refused("b", &[1]).contains("tensor `b` has elements I64; read are F32, F16, BF16"));
    assert!(refused("c", &[1]).contains("no tensor `c`"));
    let mut bytes = sample();
    let at = bytes.len() - 10;
    bytes[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
    let error = opened(bytes).unwrap().tensor_of("a", &[2, 1]).unwrap_err().to_string();
    assert!(error.contains("element 1 of tensor `a` is NaN") && error.contains(&format!("(byte {at})")), "{error}");
    assert!(File::open(Path::new("/dev/null")).unwrap_err().to_string().contains("is not a regular file"));
}

#[test]
fn damage_is_refused() {
    let header = |text: &str| file(text, &[0; 16]);
    let of = |parts: &[String]| header(&format!("{{{}}}", parts.join(", ")));
    let a = || entry("a", "F32", "[2]", 0, 8);
    let cases = [
        (vec![0; 7], "has 7 bytes, wanted are 8"),
        (u64::MAX.to_le_bytes().to_vec(), "header has 18446744073709551615 bytes, but 0 follow"),
        ((1_u64 << 40).to_le_bytes().to_vec(), "header has 1099511627776 bytes"),
        (header("{"), "the header is no JSON"),
        (header("[]"), "no JSON object"),
        (of(&[a(), a()]), "`a` is there twice"),
        (of(&[a()]), "has 85 bytes, wanted are 77: its last tensor ends there"),
        (of(&[a(), entry("b", "F32", "[2]", 4, 12)]), "tensor `b` overlaps the one before it"),
        (of(&[a(), entry("b", "F32", "[1]", 12, 16)]), "tensor `b` leaves a hole before it"),
        (
            of(&[a(), entry("b", "F32", "[3]", 8, 20)]),
            "tensor `b` takes 12 bytes from 8 of the data, but 16 follow byte",
        ),
        (
            of(&[a(), entry("b", "F32", "[3]", 8, 16)]),
            "tensor `b` (3 of F32) takes 12 bytes, but its offsets are 8 and",
        ),
        (of(&[entry("b", "F32", "[3]", 8, 0)]), "ends at 0 of the data, ahead of its begin at 8"),
        (of(&[entry("b", "F4", "[3]", 0, 8)]), "tensor `b` has elements F4"),
        (of(&[entry("b", "F32", "[4294967296, 4294967296]", 0, 8)]), "is 4294967296 x 4294967296: more elements"),
        (of(&[entry("b", "F32", "[-1]", 0, 8)]), "has no `shape`"),
        (of(&[entry("b", "F32", "[18446744073709551615]", 0, 18_446_744_073_709_551_615)]), "more elements"),
        (header(r#"{"a": 3}"#), "tensor `a` has no `dtype`"),
        (header(r#"{"a": {"dtype": "F32", "odd": 1}}"#), "tensor `a` has `odd`"),
        (header(r#"{"a": {"dtype": "F32", "shape": [1], "data_offsets": [0]}}"#), "not two numbers"),
    ];
    for (bytes, part) in cases {
        let error = opened(bytes).unwrap_err().to_string();
        assert!(error.contains(part), "wanted: {part}\nfound: {error}");
    }
}

#[test]
fn truncated_files_and_damaged_bytes() {
    let whole = sample();
    for length in 0..whole.len() {
        assert!(opened(whole[..length].to_vec()).is_err(), "{length}");
    }
    for at in 0..whole.len() {
        for value in [0, 0x22, 0x30, 0x39, 0x7f, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            if let Ok(file) = opened(bytes) {
                for name in file.tensors().map(str::to_owned).collect::<Vec<_>>() {
                    let shape = file.shape(&name).unwrap_or_default().to_vec();
                    drop(file.tensor_of(&name, &shape));
                }
            }
        }
    }
}
