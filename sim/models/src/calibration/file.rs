//! A calibration in a folder: a document in JSON, and a `.npy` file for each array.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value, json};
use sim::files::read_regular;
use sim::folders;

use super::{Array, Arrays, Kind};
use crate::json::{self, Keys};
use crate::schemes::{Choice, Settings};

/// Name of the document in its folder.
pub const DOCUMENT: &str = "calibration.json";

/// What the document says it is.
const FORMAT: &str = "senbazuru calibration";

/// The version that is written and read.
const VERSION: usize = 1;

/// The largest document that is read: names of arrays, not their elements.
const LARGEST: u64 = 1 << 24;

/// Bytes of the digests.
const DIGEST: usize = 64;

/// The text that a calibration was learnt from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// Name of its file.
    pub name: String,
    /// Tokens of all windows together; a token of several windows counts several times.
    pub tokens: usize,
    /// Windows, which the model read each on its own.
    pub windows: usize,
    /// Tokens of the longest window.
    pub context: usize,
    /// Tokens from the beginning of a window to the beginning of the next one.
    pub stride: usize,
    /// A name of all tokens: [`Learning::fingerprint`](crate::schemes::Learning::fingerprint).
    pub digest: String,
}

/// What a calibration belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin {
    /// Name of the accelerator.
    pub accelerator: String,
    /// Name of the model's file or folder.
    pub model: String,
    /// [`digest`](crate::decoder::digest) of the model.
    pub digest: String,
    /// Whether the model's numbers were rounded to binary16 before it read the text.
    pub half: bool,
    /// The text.
    pub text: Text,
    /// Parameters of the accelerator that the arrays depend on.
    pub parameters: Map<String, Value>,
    /// Options of the accelerator, each with its value.
    pub options: BTreeMap<String, String>,
    /// What a search read whose settings replaced what was learnt from the text, if there was one.
    pub explored: Option<Search>,
}

/// The text of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    /// Its name.
    pub text: String,
    /// Tokens that were read.
    pub tokens: usize,
    /// A name of these tokens, as in [`Text::digest`].
    pub digest: String,
}

/// A calibration, and what it belongs to.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    /// The document. Messages name it.
    pub path: PathBuf,
    /// What it belongs to.
    pub origin: Origin,
    /// What was learnt.
    pub arrays: Arrays,
}

/// What a calibration must belong to.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// Name of the accelerator.
    pub accelerator: &'a str,
    /// [`digest`](crate::decoder::digest) of the model.
    pub digest: &'a str,
}

impl File {
    /// Reads the folder of a calibration, or its document.
    ///
    /// # Errors
    /// Names file and key, and says what is wanted.
    pub fn read(path: &Path) -> Result<Self> {
        let path = if path.is_dir() { path.join(DOCUMENT) } else { path.to_owned() };
        let read = |path: &Path, most: u64| -> Result<Vec<u8>> {
            let length = fs::metadata(path).with_context(|| path.display().to_string())?.len();
            ensure!(length <= most, "{}: has {length} bytes, wanted are {most} at most", path.display());
            read_regular(path).with_context(|| path.display().to_string())
        };
        let document = json::object(&path, &read(&path, LARGEST)?, "the file")?;
        let keys = Keys::new(&path, "", &document);
        let format = keys.needed("format", keys.text("format"))?;
        ensure!(format == FORMAT, keys.bad(format_args!("`format` is {format:?}, wanted is {FORMAT:?}")));
        let version = keys.needed("version", keys.count("version"))?;
        ensure!(version == VERSION, keys.bad(format_args!("`version` is {version}, wanted is {VERSION}")));
        let origin = origin(&keys)?;
        let all = keys.needed("arrays", keys.object("arrays"))?;
        keys.finish(&[])?;
        let (folder, mut arrays) = (path.parent().unwrap_or(Path::new("")), Arrays::new());
        let of = keys.inner("arrays", all);
        for name in all.keys() {
            let entry = of.needed(name, of.object(name))?;
            let keys = of.inner(name, entry);
            let (file, kind, shape, digest) = described(&keys)?;
            let place =
                within(folder, file).map_err(|wanted| keys.bad(format_args!("`file` is {file:?}, {wanted}")))?;
            let most = Array::largest_file(kind, &shape);
            let most =
                most.ok_or_else(|| keys.bad(format_args!("`shape` is {shape:?}, whose elements nobody can count")))?;
            let bytes = read(&place, most)?;
            let found = blake3::hash(&bytes).to_hex();
            let told = place.display();
            ensure!(
                found.as_str() == digest,
                "{told}: its BLAKE3 is {found}, wanted is {digest}, as {} has it for `{name}`",
                path.display()
            );
            let array = Array::of_npy(&bytes).map_err(|e| anyhow::anyhow!("{told}: {e:#}"))?;
            ensure!(
                (array.kind(), array.shape()) == (kind, &shape[..]),
                "{told}: is {} {:?}, wanted is {kind} {shape:?}, as {} has it for `{name}`",
                array.kind(),
                array.shape(),
                path.display()
            );
            arrays.set(name.clone(), array);
        }
        Ok(Self { path, origin, arrays })
    }

    /// Refuses a calibration of something else.
    ///
    /// # Errors
    /// Names file and key, what is there and what is wanted.
    pub fn belongs_to(&self, expected: &Expected<'_>) -> Result<()> {
        let told = |key: &str, found: &str, wanted: &str| {
            format!("{}: `{key}` is {found}, wanted is {wanted}", self.path.display())
        };
        let Origin { accelerator, model, digest, .. } = &self.origin;
        ensure!(accelerator == expected.accelerator, told("accelerator", accelerator, expected.accelerator));
        let wanted = format!("{}, as this is another model", expected.digest);
        ensure!(digest == expected.digest, told("model.digest", &format!("{digest} ({model})"), &wanted));
        Ok(())
    }

    /// Its options, which must be exactly these.
    ///
    /// # Errors
    /// Names file, option, and what is allowed.
    pub fn settings(&self, choices: &[Choice]) -> Result<Settings> {
        let place = || format!("{}: `options`", self.path.display());
        let missing = choices.iter().find(|choice| !self.origin.options.contains_key(choice.name));
        if let Some(Choice { name, kind, .. }) = missing {
            bail!("{}: there is no `{name}`, allowed: {kind}", place());
        }
        let stray =
            self.origin.options.iter().find(|(name, value)| [name, value].iter().any(|x| x.contains([',', '='])));
        ensure!(stray.is_none(), "{}: {stray:?} is no option", place());
        let pairs: Vec<String> = self.origin.options.iter().map(|(name, value)| format!("{name}={value}")).collect();
        Settings::parse(choices, &pairs.join(",")).with_context(place)
    }

    /// The place of an array in messages.
    #[must_use]
    pub fn place(&self, name: &str) -> String {
        format!("{}: `arrays`: `{name}`", self.path.display())
    }

    /// A name of all contents: it differs where a number or a key does.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let document = document(&self.origin, &self.arrays).0;
        blake3::hash(document.to_string().as_bytes()).to_hex()[..16].to_owned()
    }

    /// Refuses a folder that [`write`](Self::write) would refuse.
    ///
    /// # Errors
    /// The folder has other things in it, or cannot be made.
    pub fn check_place(folder: &Path) -> Result<()> {
        folders::check(folder, FOLDER).with_context(|| folder.display().to_string())
    }

    /// Writes a calibration to a folder, in place of another calibration. The folder appears as a whole. Returns the
    /// bytes of all files.
    ///
    /// # Errors
    /// The errors of [`check_place`](Self::check_place), or the system cannot write.
    pub fn write(folder: &Path, origin: &Origin, arrays: &Arrays) -> Result<usize> {
        let (document, files) = document(origin, arrays);
        let text = serde_json::to_string_pretty(&document)? + "\n";
        let mut all: Vec<(&str, &[u8])> = files.iter().map(|(name, bytes)| (name.as_str(), &bytes[..])).collect();
        all.push((DOCUMENT, text.as_bytes()));
        folders::write(folder, FOLDER, &all).with_context(|| folder.display().to_string())
    }
}

/// What a calibration is among folders.
const FOLDER: folders::Kind = folders::Kind { name: "a calibration", is_one: is_calibration };

/// Whether a folder is a whole calibration, and nothing else is in it.
fn is_calibration(folder: &Path) -> bool {
    let Ok(found) = File::read(folder) else { return false };
    let count = fs::read_dir(folder).map_or(0, Iterator::count);
    found.path == folder.join(DOCUMENT) && count == found.arrays.iter().count() + 1
}

fn origin(keys: &Keys<'_>) -> Result<Origin> {
    let texts = |keys: &Keys<'_>, key: &str| -> Result<String> { Ok(keys.needed(key, keys.text(key))?.to_owned()) };
    let model = keys.inner("model", keys.needed("model", keys.object("model"))?);
    let text = keys.inner("text", keys.needed("text", keys.object("text"))?);
    let count = |key: &str| text.needed(key, text.count(key));
    let options = keys.needed("options", keys.object("options"))?;
    let of_options = keys.inner("options", options);
    let option = |name: &String| -> Result<(String, String)> { Ok((name.clone(), texts(&of_options, name)?)) };
    let found = Origin {
        accelerator: texts(keys, "accelerator")?,
        model: texts(&model, "name")?,
        digest: texts(&model, "digest")?,
        half: model.needed("half", model.truth("half"))?,
        text: Text {
            name: texts(&text, "name")?,
            tokens: count("tokens")?,
            windows: count("windows")?,
            context: count("context")?,
            stride: count("stride")?,
            digest: texts(&text, "digest")?,
        },
        parameters: keys.needed("parameters", keys.object("parameters"))?.clone(),
        options: options.keys().map(option).collect::<Result<_>>()?,
        explored: keys.object("explored")?.map(|all| explored(&keys.inner("explored", all))).transpose()?,
    };
    model.finish(&[])?;
    text.finish(&[])?;
    Ok(found)
}

fn explored(keys: &Keys<'_>) -> Result<Search> {
    let text = |key: &str| -> Result<String> { Ok(keys.needed(key, keys.text(key))?.to_owned()) };
    let tokens = keys.needed("tokens", keys.count("tokens"))?;
    let found = Search { text: text("text")?, tokens, digest: text("digest")? };
    keys.finish(&[])?;
    Ok(found)
}

/// File, type, shape and digest of an array.
fn described<'a>(keys: &Keys<'a>) -> Result<(&'a str, Kind, Vec<usize>, &'a str)> {
    let text = |key| keys.needed(key, keys.text(key));
    let (file, name, digest) = (text("file")?, text("type")?, text("blake3")?);
    let known = || Kind::names().join(", ");
    let kind = Kind::named(name).ok_or_else(|| keys.bad(format_args!("`type` is {name:?}, known are {}", known())))?;
    let is_digest = digest.len() == DIGEST && digest.bytes().all(|c| c.is_ascii_hexdigit());
    ensure!(is_digest, keys.bad(format_args!("`blake3` is {digest:?}, wanted are {DIGEST} digits of base 16")));
    let shape = keys.get("shape").and_then(Value::as_array);
    let extent = |value: &Value| value.as_u64().and_then(|n| usize::try_from(n).ok());
    let shape = shape.and_then(|all| all.iter().map(extent).collect::<Option<Vec<usize>>>());
    let shape = shape.ok_or_else(|| keys.bad("`shape` is no list of extents, wanted is one as in [2, 64]"))?;
    keys.finish(&[])?;
    Ok((file, kind, shape, digest))
}

/// The place of a file in a folder. The error says what is wanted.
fn within(folder: &Path, file: &str) -> std::result::Result<PathBuf, &'static str> {
    let mut parts = Path::new(file).components();
    let is_name = matches!((parts.next(), parts.next()), (Some(Component::Normal(name)), None) if name == file);
    if !is_name || file.contains(['\\', '\0']) {
        return Err("wanted is the name of a file in the same folder");
    }
    let place = folder.join(file);
    match fs::symlink_metadata(&place) {
        Ok(found) if found.is_symlink() => Err("which is a link; wanted is a file in the same folder"),
        _ => Ok(place),
    }
}

/// The document, and the bytes of each file that it names.
fn document(origin: &Origin, arrays: &Arrays) -> (Value, Vec<(String, Vec<u8>)>) {
    let Origin { accelerator, model, digest, half, text, parameters, options, explored } = origin;
    let (mut files, mut entries) = (Vec::new(), Map::new());
    for (name, array) in arrays.iter() {
        let (file, bytes) = (format!("{name}.npy"), array.npy());
        let entry = json!({
            "file": file,
            "type": array.kind().to_string(),
            "shape": array.shape(),
            "blake3": blake3::hash(&bytes).to_hex().as_str(),
        });
        entries.insert(name.to_owned(), entry);
        files.push((file, bytes));
    }
    let mut document = json!({
        "format": FORMAT,
        "version": VERSION,
        "accelerator": accelerator,
        "model": { "name": model, "digest": digest, "half": half },
        "text": {
            "name": text.name,
            "tokens": text.tokens,
            "windows": text.windows,
            "context": text.context,
            "stride": text.stride,
            "digest": text.digest,
        },
        "parameters": parameters,
        "options": options,
        "arrays": entries,
    });
    if let Some(Search { text, tokens, digest }) = explored {
        document["explored"] = json!({ "text": text, "tokens": tokens, "digest": digest });
    }
    (document, files)
}

#[cfg(test)]
mod tests;
