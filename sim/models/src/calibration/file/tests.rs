use serde_json::Value;
use tempfile::TempDir;

use super::*;

fn origin() -> Origin {
    Origin {
        accelerator: "a_top".to_owned(),
        model: "m.gguf".to_owned(),
        digest: "1".repeat(64),
        half: false,
        text: Text {
            name: "t.txt".to_owned(),
            tokens: 64,
            windows: 2,
            context: 32,
            stride: 40,
            digest: "abc".to_owned(),
        },
        parameters: [("spec.lanes".to_owned(), 16.into())].into_iter().collect(),
        options: [("bits".to_owned(), "8".to_owned())].into_iter().collect(),
        explored: None,
    }
}

fn arrays() -> Arrays {
    let mut all = Arrays::new();
    all.add("a.scale", &[2, 3], [0.5, 1.5, 2.5, -1.0, 0.0, 1e300]).unwrap();
    all.add("b", &[4], [1_u8, 2, 3, 255]).unwrap();
    all
}

/// A folder with a calibration.
fn written() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("cal");
    File::write(&folder, &origin(), &arrays()).unwrap();
    (dir, folder)
}

fn names(folder: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut all: Vec<String> = fs::read_dir(folder).unwrap().map(name).collect();
    all.sort();
    all
}

/// A document says what a search read, and only then.
#[test]
fn searches_are_told() {
    let (_dir, folder) = written();
    let text = |folder: &Path| fs::read_to_string(folder.join(DOCUMENT)).unwrap();
    assert!(!text(&folder).contains("explored"));
    let explored = Search { text: "book.txt".to_owned(), tokens: 24, digest: "def".to_owned() };
    let origin = Origin { explored: Some(explored), ..origin() };
    let before = File::read(&folder).unwrap().fingerprint();
    File::write(&folder, &origin, &arrays()).unwrap();
    let found = File::read(&folder).unwrap();
    assert!(found.origin == origin && found.fingerprint() != before);
    fs::write(folder.join(DOCUMENT), text(&folder).replace("\"book.txt\"", "7")).unwrap();
    let error = format!("{:#}", File::read(&folder).unwrap_err());
    assert!(error.contains("`explored`: `text` is 7, wanted is a text"), "{error}");
}

#[test]
fn there_and_back() {
    let (dir, folder) = written();
    let read = File::read(&folder).unwrap();
    assert_eq!((&read.origin, &read.arrays), (&origin(), &arrays()));
    assert_eq!(read, File::read(&folder.join(DOCUMENT)).unwrap());
    assert_eq!(names(&folder), ["a.scale.npy", "b.npy", DOCUMENT]);
    // Nothing else is left behind.
    assert_eq!(names(dir.path()), ["cal"]);
    let mut other = arrays();
    other.add("c", &[], [1.0]).unwrap();
    File::write(&folder, &origin(), &other).unwrap();
    let again = File::read(&folder).unwrap();
    assert_eq!(again.arrays, other);
    assert_ne!(again.fingerprint(), read.fingerprint());
    assert_eq!((names(&folder).len(), names(dir.path())), (4, vec!["cal".to_owned()]));
}

#[test]
fn folders_of_something_else_stay() {
    let dir = tempfile::tempdir().unwrap();
    let told = |folder: &Path| format!("{:#}", File::write(folder, &origin(), &arrays()).unwrap_err());
    let refused = |folder: &Path| {
        let told = told(folder);
        assert!(told.ends_with("has something else than a calibration in it; name another folder"), "{told}");
    };
    fs::write(dir.path().join("notes"), "mine").unwrap();
    refused(dir.path());
    let file = told(&dir.path().join("notes"));
    assert!(file.ends_with("notes: is no folder; name another one"), "{file}");
    assert_eq!(names(dir.path()), ["notes"]);
    let (_kept, folder) = written();
    fs::write(folder.join("notes"), "mine").unwrap();
    refused(&folder);
    let empty = dir.path().join("empty");
    fs::create_dir(&empty).unwrap();
    File::write(&empty, &origin(), &arrays()).unwrap();
    File::read(&empty).unwrap();
}

/// The error of a calibration whose document is changed so.
fn changed(change: impl Fn(&mut Value)) -> String {
    let (_dir, folder) = written();
    let place = folder.join(DOCUMENT);
    let mut document: Value = serde_json::from_slice(&fs::read(&place).unwrap()).unwrap();
    change(&mut document);
    fs::write(&place, document.to_string()).unwrap();
    let told = format!("{:#}", File::read(&folder).unwrap_err());
    assert!(told.contains(DOCUMENT), "{told}");
    told
}

#[test]
fn documents_that_are_wrong() {
    for (key, value, part) in
        [("format", "other", "`format` is \"other\", wanted is \"senbazuru calibration\""), ("accelerator", "", "")]
    {
        if !part.is_empty() {
            let told = changed(|document| document[key] = value.into());
            assert!(told.contains(part), "{told}");
        }
        let told = changed(|document| drop(document.as_object_mut().unwrap().remove(key)));
        assert!(told.contains(&format!("there is no `{key}`")), "{told}");
    }
    let told = changed(|document| document["version"] = 2.into());
    assert!(told.contains("`version` is 2, wanted is 1"), "{told}");
    let told = changed(|document| document["more"] = 1.into());
    assert!(told.contains("`more` is 1, and this key is not supported"), "{told}");
    let told = changed(|document| document["text"]["tokens"] = (-1).into());
    assert!(told.contains("`text`: `tokens` is -1, wanted is a number of things"), "{told}");
    let told = changed(|document| document["options"]["bits"] = 8.into());
    assert!(told.contains("`options`: `bits` is 8, wanted is a text"), "{told}");
    let told = changed(|document| document["arrays"]["b"] = 1.into());
    assert!(told.contains("`arrays`: `b` is 1, wanted is an object"), "{told}");
    let told = changed(|document| document["arrays"]["b"]["type"] = "int7".into());
    assert!(told.contains("`arrays`: `b`: `type` is \"int7\", known are float64"), "{told}");
    let told = changed(|document| document["arrays"]["b"]["shape"] = "4".into());
    assert!(told.contains("`shape` is no list of extents"), "{told}");
    let most = Value::from(u64::MAX);
    let told = changed(|document| document["arrays"]["b"]["shape"] = vec![most.clone(), most.clone()].into());
    assert!(told.contains("whose elements nobody can count"), "{told}");
    let told = changed(|document| document["arrays"]["b"]["shape"] = serde_json::json!([5]));
    assert!(told.contains("b.npy: is uint8 [4], wanted is uint8 [5]"), "{told}");
    let told = changed(|document| document["arrays"]["b"]["type"] = "uint16".into());
    assert!(told.contains("b.npy: is uint8 [4], wanted is uint16 [4]"), "{told}");
    let told = changed(|document| document["arrays"]["b"]["blake3"] = "12".into());
    assert!(told.contains("`blake3` is \"12\", wanted are 64 digits of base 16"), "{told}");
    let told = changed(|document| document["arrays"]["b"]["blake3"] = "0".repeat(64).into());
    assert!(told.contains("b.npy: its BLAKE3 is "), "{told}");
}

#[test]
fn no_file_outside_of_the_folder() {
    for name in ["../b.npy", "/etc/passwd", "sub/b.npy", "..", ".", "", "a\\b.npy", "./b.npy"] {
        let told = changed(|document| document["arrays"]["b"]["file"] = name.into());
        assert!(told.contains("wanted is the name of a file in the same folder"), "{name}: {told}");
    }
    let (dir, folder) = written();
    fs::rename(folder.join("b.npy"), dir.path().join("b.npy")).unwrap();
    std::os::unix::fs::symlink("../b.npy", folder.join("b.npy")).unwrap();
    let told = File::read(&folder).unwrap_err().to_string();
    assert!(told.contains("`b`: `file` is \"b.npy\", which is a link; wanted is a file in the same folder"), "{told}");
}

#[test]
fn files_that_are_missing_or_damaged() {
    let (_dir, folder) = written();
    let told = |path: &Path| format!("{:#}", File::read(path).unwrap_err());
    assert!(told(&folder.join("none")).contains("none: No such file"), "{}", told(&folder.join("none")));
    let place = folder.join("b.npy");
    let bytes = fs::read(&place).unwrap();
    fs::remove_file(&place).unwrap();
    assert!(told(&folder).contains("b.npy: No such file"), "{}", told(&folder));
    fs::create_dir(&place).unwrap();
    assert!(told(&folder).contains("b.npy: no regular file"), "{}", told(&folder));
    fs::remove_dir(&place).unwrap();
    fs::write(&place, vec![0; 1 << 20]).unwrap();
    assert!(told(&folder).contains("b.npy: has 1048576 bytes, wanted are 65549 at most"), "{}", told(&folder));
    // Whatever is cut off: never a panic, and always the name of the file.
    let damaged = |bytes: &[u8]| {
        fs::write(&place, bytes).unwrap();
        let document = folder.join(DOCUMENT);
        let whole = fs::read_to_string(&document).unwrap();
        let mut changed: Value = serde_json::from_str(&whole).unwrap();
        changed["arrays"]["b"]["blake3"] = blake3::hash(bytes).to_hex().as_str().into();
        fs::write(&document, changed.to_string()).unwrap();
        let told = told(&folder);
        fs::write(&document, whole).unwrap();
        assert!(told.contains("b.npy: is "), "{told}");
    };
    (0..bytes.len()).for_each(|end| damaged(&bytes[..end]));
    damaged(&Array::new(&[4], [0_u16; 4]).unwrap().npy());
    damaged(&Array::new(&[2, 2], [0_u8; 4]).unwrap().npy());
    let document = folder.join(DOCUMENT);
    let whole = fs::read(&document).unwrap();
    for end in 0..whole.len() - 2 {
        fs::write(&document, &whole[..end]).unwrap();
        assert!(told(&folder).contains("calibration.json: the file is no JSON"), "{}", told(&folder));
    }
}

#[test]
fn what_it_belongs_to() {
    let (_dir, folder) = written();
    let read = File::read(&folder).unwrap();
    let digest = "1".repeat(64);
    let refused =
        |accelerator: &str, digest: &str| read.belongs_to(&Expected { accelerator, digest }).map_err(|e| e.to_string());
    assert_eq!(refused("a_top", &digest), Ok(()));
    let told = refused("b_top", &digest).unwrap_err();
    assert!(told.ends_with("calibration.json: `accelerator` is a_top, wanted is b_top"), "{told}");
    let told = refused("a_top", "2").unwrap_err();
    assert!(told.contains("`model.digest` is 1111") && told.contains("(m.gguf), wanted is 2, as this is"), "{told}");
}

#[test]
fn options_are_exactly_the_accelerators() {
    let (_dir, folder) = written();
    let choice = |name, default, most| {
        let kind = crate::schemes::Kind::Count(1..=most);
        Choice { name, default, kind, about: "" }
    };
    let read = File::read(&folder).unwrap();
    assert_eq!(read.settings(&[choice("bits", "1", 8)]).unwrap().count::<u32>("bits").unwrap(), 8);
    let refused = |choices: &[Choice]| format!("{:#}", read.settings(choices).unwrap_err());
    let told = refused(&[choice("bits", "1", 8), choice("more", "1", 2)]);
    assert!(told.ends_with("`options`: there is no `more`, allowed: 1 to 2"), "{told}");
    assert!(refused(&[]).contains("there is no option `bits`"), "{}", refused(&[]));
    let told = refused(&[choice("bits", "1", 7)]);
    assert!(told.ends_with("calibration.json: `options`: `bits` is \"8\", allowed: 1 to 7"), "{told}");
    let mut odd = read.clone();
    odd.origin.options.insert("bits".to_owned(), "8,bits=8".to_owned());
    assert!(odd.settings(&[choice("bits", "1", 8)]).unwrap_err().to_string().contains("is no option"));
}

/// The digest of a model is of the files that the decoder reads.
#[test]
fn digests_of_models() {
    let dir = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
    let digest = || crate::decoder::digest(dir.path()).unwrap();
    put("config.json", "{}");
    put("tokenizer.json", "{}");
    put("model.safetensors", "weights");
    let first = digest();
    put("generation_config.json", "{}");
    assert_eq!(digest(), first);
    for name in ["config.json", "tokenizer.json", "model.safetensors", "model.safetensors.index.json"] {
        put(name, "other");
        let changed = digest();
        assert_ne!(changed, first, "{name}");
        put(name, "");
        assert_ne!(digest(), changed, "{name}");
    }
    let file = dir.path().join("model.gguf");
    fs::write(&file, "GGUF").unwrap();
    assert_eq!(crate::decoder::digest(&file).unwrap(), blake3::hash(b"GGUF").to_hex().to_string());
    let none = crate::decoder::digest(&dir.path().join("none")).unwrap_err();
    assert!(format!("{none:#}").contains("none: No such file"), "{none:#}");
}
