use std::path::PathBuf;

use tempfile::TempDir;

use super::*;

/// A file made by hand, part by part. Its data is aligned to 32 bytes, if nothing else is said.
#[derive(Clone, Default)]
pub(crate) struct Made {
    alignment: Option<usize>,
    keys: Vec<Vec<u8>>,
    tensors: Vec<Vec<u8>>,
    data: Vec<u8>,
}

pub(crate) fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes(), text.as_bytes()].concat()
}

impl Made {
    pub(crate) fn key(mut self, name: &str, kind: u32, value: &[u8]) -> Self {
        self.keys.push([&text(name), &kind.to_le_bytes()[..], value].concat());
        self
    }

    pub(crate) fn array(self, name: &str, kind: u32, count: u64, elements: &[u8]) -> Self {
        self.key(name, 9, &[&kind.to_le_bytes()[..], &count.to_le_bytes(), elements].concat())
    }

    fn aligned(mut self, alignment: u32) -> Self {
        self.alignment = Some(alignment as usize);
        self.key("general.alignment", 4, &alignment.to_le_bytes())
    }

    /// A tensor of a shape as the file has it: neighbours first.
    pub(crate) fn tensor(mut self, name: &str, shape: &[u64], kind: u32, offset: u64) -> Self {
        let mut entry = [&text(name)[..], &(shape.len() as u32).to_le_bytes()].concat();
        shape.iter().for_each(|size| entry.extend(size.to_le_bytes()));
        entry.extend(kind.to_le_bytes());
        entry.extend(offset.to_le_bytes());
        self.tensors.push(entry);
        self
    }

    pub(crate) fn data(mut self, data: &[u8]) -> Self {
        self.data.extend(data);
        self.data.resize(self.data.len().next_multiple_of(self.alignment.unwrap_or(32)), 0);
        self
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = b"GGUF\x03\0\0\0".to_vec();
        bytes.extend((self.tensors.len() as u64).to_le_bytes());
        bytes.extend((self.keys.len() as u64).to_le_bytes());
        bytes.extend(self.keys.concat());
        bytes.extend(self.tensors.concat());
        bytes.resize(bytes.len().next_multiple_of(self.alignment.unwrap_or(32)), 0);
        bytes.extend(&self.data);
        bytes
    }
}

fn saved(bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.gguf");
    fs::write(&path, bytes).unwrap();
    (folder, path)
}

pub(crate) fn open(bytes: &[u8]) -> Result<File> {
    // An open file stays after its folder.
    let (_folder, path) = saved(bytes);
    File::open(&path)
}

fn half(x: f32) -> [u8; 2] {
    half::f16::from_f32(x).to_le_bytes()
}

/// A file with a value of every kind that is read.
fn sample() -> Made {
    let codes: Vec<u8> = (0..16).map(|i| i | (15 - i) << 4).collect();
    let bytes: Vec<u8> = (0..32).map(|i| (i - 16) as i8 as u8).collect();
    Made::default()
        .key("general.architecture", 8, &text("llama"))
        .key("count", 4, &30_u32.to_le_bytes())
        .key("minus", 11, &(-3_i64).to_le_bytes())
        .key("base", 6, &100_000_f32.to_le_bytes())
        .key("yes", 7, &[1])
        .array("tokens", 8, 2, &[text("a"), text("Ġb")].concat())
        .array("types", 5, 3, &[1_i32, -2, 3].map(i32::to_le_bytes).concat())
        .array("bytes", 0, 2, &[7, 255])
        .array("scores", 6, 1, &0.5_f32.to_le_bytes())
        .tensor("plain", &[3, 2], 0, 0)
        .tensor("four", &[32], 3, 32)
        .tensor("eight", &[32, 1], 8, 64)
        .data(&[1_f32, 2.0, 3.0, -4.0, 0.5, 1e-20].map(f32::to_le_bytes).concat())
        .data(&[&half(0.5)[..], &half(-1.0), &codes].concat())
        .data(&[&half(0.25)[..], &bytes].concat())
}

#[test]
fn metadata_and_tensors_of_every_kind() {
    let file = open(&sample().bytes()).unwrap();
    assert_eq!(file.text("general.architecture").unwrap(), "llama");
    assert_eq!((file.count("count").unwrap(), file.float("base").unwrap()), (30, 1e5));
    assert_eq!(file.get("minus"), Some(&Value::Integer(-3)));
    assert!(file.truth("yes").unwrap());
    assert_eq!(file.texts("tokens").unwrap(), ["a", "Ġb"]);
    assert_eq!(file.integers("types").unwrap(), [1, -2, 3]);
    assert_eq!(file.integers("bytes").unwrap(), [7, 255]);
    assert_eq!(file.get("scores"), Some(&Value::Floats(vec![0.5])));
    assert_eq!(file.tensors().collect::<Vec<_>>(), ["eight", "four", "plain"]);
    let plain = file.tensor_of("plain", &[2, 3]).unwrap();
    assert_eq!(plain.values, [1.0, 2.0, 3.0, -4.0, 0.5, 1e-20]);
    // Low halves of the bytes first: codes 0 to 15, then 15 to 0.
    let codes = (0..16).chain((0..16).rev());
    assert_eq!(file.tensor("four").unwrap().values, codes.map(|c| 0.5 * c as f32 - 1.0).collect::<Vec<_>>());
    let eight = file.tensor_of("eight", &[1, 32]).unwrap();
    assert_eq!(eight.values, (0..32).map(|i| 0.25 * (i - 16) as f32).collect::<Vec<_>>());
}

#[test]
fn any_power_of_two_aligns() {
    for alignment in [1, 2, 4, 64, 4096] {
        let made = Made::default().aligned(alignment).tensor("a", &[1], 0, 0);
        let made = made.tensor("b", &[1], 0, 4.max(alignment).into());
        let file = open(&made.data(&2_f32.to_le_bytes()).data(&3_f32.to_le_bytes()).bytes()).unwrap();
        assert_eq!((file.tensor("a").unwrap().values, file.tensor("b").unwrap().values), (vec![2.0], vec![3.0]));
        assert!(file.bytes("b").unwrap().start.is_multiple_of(alignment.into()), "{alignment}");
    }
}

#[test]
fn what_is_asked_for_and_is_not_there() {
    let file = open(&sample().bytes()).unwrap();
    let refused = [
        (file.text("nothing").err(), "the metadata has no `nothing`"),
        (file.text("count").err(), "`count` is an integer, wanted is a text"),
        (file.count("minus").err(), "`minus` is -3, wanted is a number of things"),
        (file.count("base").err(), "`base` is a float, wanted is an integer"),
        (file.float("tokens").err(), "`tokens` is an array of texts, wanted is a float"),
        (file.truth("count").err(), "`count` is an integer, wanted is a truth value"),
        (file.integers("scores").err(), "`scores` is an array of floats, wanted is an array of integers"),
        (file.texts("types").err(), "`types` is an array of integers, wanted is an array of texts"),
        (file.tensor("nothing").err(), "there is no tensor `nothing`"),
        (file.tensor_of("plain", &[3, 2]).err(), "tensor `plain` is 2 x 3, wanted is 3 x 2"),
    ];
    for (error, part) in refused {
        let error = error.expect(part).to_string();
        assert!(error.contains(part) && error.contains("x.gguf"), "{error}");
    }
}

#[test]
fn hostile_files_are_refused() {
    let small = Made::default;
    let with_head = |from: usize, bytes: &[u8]| {
        let mut file = sample().bytes();
        file[from..from + bytes.len()].copy_from_slice(bytes);
        file
    };
    let twice = |key: &str| small().key(key, 7, &[1]).key(key, 7, &[0]).bytes();
    let alignment = |n: u32| small().key("general.alignment", 4, &n.to_le_bytes()).bytes();
    let tensor = |shape: &[u64], kind, offset| small().tensor("w", shape, kind, offset).data(&[0; 64]).bytes();
    let infinite = small().tensor("w", &[1], 0, 0).data(&f32::INFINITY.to_le_bytes()).bytes();
    let scale = small().tensor("w", &[32], 8, 0).data(&[&[0, 0x7c, 1][..], &[0; 31]].concat()).bytes();
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (vec![], "the magic number should follow, but the file ends after 0 more bytes"),
        (b"PK\x03\x04 a wheel".to_vec(), "is not a GGUF file"),
        (with_head(4, &[2]), "version 2, wanted is 3"),
        (with_head(4, &[0, 0, 0, 3]), "big-endian"),
        (with_head(8, &[255; 8]), "says 18446744073709551615 tensors, but only"),
        (with_head(16, &[255; 7]), "keys, but only"),
        (with_head(24, &[255; 8]), "bytes of the name of key 0, but only"),
        (with_head(32, &[0xff]), "the name of key 0 is not UTF-8"),
        (small().key("k", 13, &[0; 8]).bytes(), "`k` has type 13, wanted is 0 to 12"),
        (small().key("k", 7, &[2]).bytes(), "the value of `k` is 2, wanted is a truth value"),
        (small().array("k", 9, 1, &[0; 64]).bytes(), "`k` is an array of arrays"),
        (small().array("k", 10, 1, &[0; 64]).bytes(), "`k` is an array of numbers of 64 bits"),
        (small().array("k", 99, 1, &[0; 64]).bytes(), "`k` is an array of type 99"),
        (small().array("k", 0, u64::MAX, &[0; 64]).bytes(), "elements of `k`, but only"),
        (small().array("k", 4, u64::MAX / 2, &[0; 64]).bytes(), "elements of `k`, but only"),
        (small().array("k", 8, 1, &u64::MAX.to_le_bytes()).bytes(), "bytes of element 0 of `k`, but only"),
        (small().array("k", 8, 1, &(1_u64 << 40).to_le_bytes()).bytes(), "says 1099511627776 bytes of element 0"),
        (small().array("k", 7, 1, &[9]).bytes(), "element 0 of `k` is 9"),
        (twice("k"), "key `k` is there twice"),
        (small().tensor("w", &[8], 0, 0).tensor("w", &[8], 0, 0).data(&[0; 64]).bytes(), "tensor `w` is there twice"),
        (alignment(0), "`general.alignment` is 0, wanted is a power of two"),
        (alignment(24), "`general.alignment` is 24"),
        (small().key("general.alignment", 8, &text("x")).bytes(), "`general.alignment` is a text"),
        (tensor(&[], 0, 0), "tensor `w` has 0 dimensions, wanted are 1 to 4"),
        (tensor(&[1; 5], 0, 0), "tensor `w` has 5 dimensions"),
        (tensor(&[0, 8], 0, 0), "tensor `w` is 8 x 0: no elements, or more than there can be"),
        (tensor(&[1 << 32, 1 << 32], 0, 0), "or more than there can be"),
        (tensor(&[1 << 62], 0, 0), "or more than there can be"),
        (tensor(&[16], 3, 0), "has rows of 16 elements, wanted is a multiple of 32 (Q4_1)"),
        (tensor(&[16, 2], 8, 0), "has rows of 16 elements, wanted is a multiple of 32 (Q8_0)"),
        (tensor(&[8], 9, 0), "elements of type 9; read are 0 (F32), 1 (F16), 30 (BF16), 2 (Q4_0)"),
        (tensor(&[8], 0, 4), "tensor `w` is at 4 of the data, wanted is a multiple of 32"),
        (tensor(&[8], 0, 64), "takes 32 bytes from 64 of the data, but the file has 64 of these"),
        (tensor(&[8], 0, u64::MAX - 31), "but the file has 64 of these"),
    ];
    for (bytes, part) in cases {
        let error = open(&bytes).err().unwrap_or_else(|| panic!("accepted, wanted: {part}")).to_string();
        assert!(error.contains(part) && error.contains("x.gguf"), "wanted: {part}\nfound: {error}");
    }
    for bytes in [infinite, scale] {
        let error = open(&bytes).unwrap().tensor("w").unwrap_err().to_string();
        assert!(error.contains("element 0 of tensor `w` is inf, wanted is a finite number"), "{error}");
    }
}

/// Each truncated file is refused, unless it only lacks padding after the last tensor.
#[test]
fn truncated_files_are_refused() {
    let whole = sample().bytes();
    let used = whole.len() - 64 + 34;
    for length in 0..used {
        let error = open(&whole[..length]).err().unwrap_or_else(|| panic!("{length} of {} bytes", whole.len()));
        assert!(error.to_string().contains("truncated"), "{length}: {error}");
    }
    open(&whole[..used]).unwrap();
}

/// Whatever the value of one byte, opening and reading end with a file or an error.
#[test]
fn damaged_bytes_never_panic() {
    let whole = sample().bytes();
    let (_folder, path) = saved(&whole);
    for at in 0..whole.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff, whole[at] ^ 1, whole[at] ^ 0x10] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            fs::write(&path, bytes).unwrap();
            if let Ok(file) = File::open(&path) {
                file.tensors().for_each(|name| drop(file.tensor(name)));
            }
        }
    }
}

#[test]
fn only_regular_files_are_opened() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = folder.path().join("fifo");
    assert!(sim::process::Tool::new("mkfifo").arg(fifo.display().to_string()).run().unwrap().success());
    for path in [folder.path(), &fifo] {
        assert!(File::open(path).unwrap_err().to_string().contains("is not a regular file"));
    }
    let missing = File::open(&folder.path().join("none")).unwrap_err();
    assert!(matches!(missing, Error::Io { .. }) && missing.to_string().contains("none"));
}
