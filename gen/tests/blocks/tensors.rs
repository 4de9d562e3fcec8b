//! Tensors of a user: every block that takes some, by what it declares.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rand::RngExt;
use senbazuru::Catalogue;
use senbazuru::catalogue::{Known, Params};
use sim::kit::options;
use sim::kit::tensors::{Extent, Wanted};
use sim::stimulus::{StimulusRng, rng_for};

/// A file, as it is written.
#[derive(Clone)]
struct File {
    dtype: &'static str,
    shape: Vec<usize>,
    data: Vec<i64>,
    /// Bytes that are missing at the end.
    cut: usize,
}

/// NumPy's short name of a type, and its bytes.
fn short(dtype: &str) -> (&'static str, usize) {
    match dtype {
        "float16" => ("<f2", 2),
        "uint8" => ("|u1", 1),
        "int8" => ("|i1", 1),
        "int16" => ("<i2", 2),
        "int32" => ("<i4", 4),
        "float64" => ("<f8", 8),
        other => panic!("{other}"),
    }
}

impl File {
    fn write(&self, path: &Path) {
        let (descr, size) = short(self.dtype);
        let shape: String = self.shape.iter().map(|extent| format!("{extent},")).collect();
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}\n");
        let mut data: Vec<u8> = self.data.iter().flat_map(|x| x.to_le_bytes()[..size].to_vec()).collect();
        data.truncate(data.len() - self.cut);
        let length = (header.len() as u16).to_le_bytes();
        fs::write(path, [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), &data].concat()).unwrap();
    }
}

/// Extents that a bench wants by name, where 2 would not do.
const EXTENTS: [(&str, usize); 2] = [
    // The smallest store has no more.
    ("inputs", 1),
    // Divisible by the passes of a victim.
    ("passes", 12),
];

fn extent(wanted: Extent) -> usize {
    match wanted {
        Extent::Any => 3,
        Extent::Exactly(n) => n,
        Extent::UpTo(n) => n.min(5),
        Extent::Named(name) => EXTENTS.iter().find(|(other, _)| *other == name).map_or(2, |(_, n)| *n),
    }
}

/// Random numbers of the declared range. Some tensors have rules beside it.
fn legal(wanted: &Wanted, rng: &mut StimulusRng) -> File {
    let shape: Vec<usize> = wanted.shape.iter().map(|&one| extent(one)).collect();
    let range = wanted.numbers.range();
    let data = (0..shape.iter().product())
        .map(|number: usize| match wanted.name {
            "midpoints" => 0x3c00 + number as i64,
            // For all widths.
            "ranges" => rng.random_range(255..=510),
            // Scale, add, norm.
            "steps" => 0x13,
            _ => rng.random_range(range.clone()),
        })
        .collect();
    File { dtype: wanted.numbers.dtype(), shape, data, cut: 0 }
}

/// Ways to spoil a file, and what the error says.
fn spoilt(good: &File, wanted: &Wanted, all: &[Wanted]) -> Vec<(File, String)> {
    let with_shape = |shape: Vec<usize>| {
        let data = vec![*wanted.numbers.range().start(); shape.iter().product()];
        (File { shape: shape.clone(), data, ..good.clone() }, format!("has shape {shape:?}"))
    };
    let mut spoilt = vec![
        (File { dtype: "float64", ..good.clone() }, format!("not {}", wanted.numbers.dtype())),
        (File { cut: 1, ..good.clone() }, "is cut short".to_owned()),
        with_shape([&good.shape[..], &[1]].concat()),
    ];
    for (dimension, one) in wanted.shape.iter().enumerate() {
        let mut shape = good.shape.clone();
        shape[dimension] = match *one {
            Extent::Any => 0,
            Extent::Exactly(n) | Extent::UpTo(n) => n + 1,
            // One that no other tensor shares is any.
            Extent::Named(_) => {
                let uses = all.iter().flat_map(|other| &other.shape).filter(|other| *other == one).count();
                if uses > 1 { good.shape[dimension] + 1 } else { 0 }
            }
        };
        // A named extent is wrong in the first file, or in the second one.
        let (file, says) = with_shape(shape);
        spoilt.push((file, if matches!(one, Extent::Named(_)) { "has shape".to_owned() } else { says }));
    }
    let range = wanted.numbers.range();
    let top = match wanted.numbers.dtype() {
        "float16" => 0xffff,
        "uint8" => 255,
        "int8" => 127,
        "int16" => 32_767,
        _ => i64::from(i32::MAX),
    };
    if *range.end() < top {
        let mut file = good.clone();
        *file.data.last_mut().unwrap() = range.end() + 1;
        spoilt.push((file, format!("has {} at [", range.end() + 1)));
    }
    spoilt
}

/// The bench agrees on random legal tensors, and each spoilt file is refused by its name.
fn check(entry: &Known, params: &Params, wanted: &[Wanted], rng: &mut StimulusRng) {
    let name = entry.about().name;
    let files: BTreeMap<&str, File> = wanted.iter().map(|one| (one.name, legal(one, rng))).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(format!("{name}.npy"));
    files.iter().for_each(|(name, file)| file.write(&path(name)));
    let (bench, vectors) = entry.bench_of_tensors(params, folder.path()).unwrap_or_else(|e| panic!("{name}: {e}"));
    let design = sim::Design::from(&entry.elaborate(params).unwrap());
    let report = sim::run(&*bench, &design, &options(vectors)).unwrap_or_else(|e| panic!("{name} {params:?}: {e}"));
    assert!(vectors > 0 && report.compared >= vectors, "{name}: {report:?}");
    let refused = |file: &str, says: &str| {
        let Err(error) = entry.bench_of_tensors(params, folder.path()) else { panic!("{name}: {file}: {says}") };
        let text = error.to_string();
        assert!(text.contains(&format!("{file}.npy")) && text.contains(says), "{name}: {file}: {says}: {text}");
    };
    for one in wanted {
        let good = &files[one.name];
        for (file, says) in spoilt(good, one, wanted) {
            file.write(&path(one.name));
            refused(one.name, &says);
        }
        fs::remove_file(path(one.name)).unwrap();
        refused(one.name, "");
        good.write(&path(one.name));
    }
}

#[test]
fn each_block_takes_its_own() {
    let mut taken = Vec::new();
    for entry in Catalogue::standard().all() {
        // The smallest set of parameters, and the one after it.
        for (number, params) in entry.configurations().iter().enumerate().skip(1).take(2) {
            // Numbers that NumPy has no type for are no tensors.
            let Ok(wanted) = entry.tensors(params) else { continue };
            if wanted.is_empty() {
                continue;
            }
            let mut rng = rng_for(seeds::seed(number as u64), entry.about().name);
            check(entry, params, &wanted, &mut rng);
            taken.push(entry.about().name);
        }
    }
    taken.dedup();
    assert_eq!(
        taken,
        [
            "mac_mesh",
            "rotary_embedding",
            "vector_unit",
            "rms_norm",
            "layer_norm",
            "softmax",
            "orizuru",
            "clustering_unit",
            "multi_scale_array",
            "weight_stationary_array",
            "reconfigurable_array",
            "systolic_evictor",
            "eviction_controller",
            "max_min_finder",
            "non_zero_quantizer",
            "quantization_unit",
            "dequantization_unit",
            "dcim_macro",
            "dcim_linear",
            "kv_compressor",
        ]
    );
}
