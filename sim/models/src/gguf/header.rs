//! The part before the tensors: magic number, metadata, names and places of tensors.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use sim::{Error, Result};

use super::bytes::Bytes;
use super::elements::ElementType;
use super::shape::by;
use super::tensor::Place;
use super::value::Value;

/// The only version that is read. Files of earlier versions are years old.
const VERSION: u32 = 3;

/// Dimensions of a tensor, as many as the format allows.
const DIMENSIONS: u32 = 4;

/// An open file, and all of it except the elements of its tensors.
pub(super) struct Header {
    pub(super) file: fs::File,
    pub(super) metadata: BTreeMap<String, Value>,
    pub(super) tensors: BTreeMap<String, Place>,
}

pub(super) fn read(path: &Path) -> Result<Header> {
    let io = |source| Error::Io { path: path.to_owned(), source };
    // Check before opening: to open a FIFO may block for ever.
    if !fs::metadata(path).map_err(io)?.is_file() {
        return Err(Error::Data { path: path.to_owned(), problem: "is not a regular file".into() });
    }
    let file = fs::File::open(path).map_err(io)?;
    let length = file.metadata().map_err(io)?.len();
    let mut bytes = Bytes::new(path, &file, length);
    let magic: [u8; 4] = bytes.array("the magic number")?;
    if &magic != b"GGUF" {
        return Err(bytes.bad(&format!("is not a GGUF file: it begins with {magic:02x?}, wanted is \"GGUF\"")));
    }
    match bytes.u32("the version")? {
        VERSION => {}
        other if other.swap_bytes() == VERSION => {
            return Err(bytes.bad("is a big-endian GGUF file, wanted is little-endian"));
        }
        other => return Err(bytes.bad(&format!("is GGUF of version {other}, wanted is {VERSION}"))),
    }
    // A tensor has at least the length of its name, a number of dimensions, a type and an offset. A key has at least a
    // length, a type and a byte.
    let tensors = bytes.count("tensors", 8 + 4 + 4 + 8)?;
    let keys = bytes.count("keys", 8 + 4 + 1)?;
    let mut metadata = BTreeMap::new();
    for number in 0..keys {
        let key = bytes.text(&format!("the name of key {number}"))?;
        let value = value(&mut bytes, &key)?;
        if metadata.insert(key.clone(), value).is_some() {
            return Err(bytes.bad(&format!("key `{key}` is there twice")));
        }
    }
    let mut infos = BTreeMap::new();
    for number in 0..tensors {
        let name = bytes.text(&format!("the name of tensor {number}"))?;
        let place = place(&mut bytes, &name)?;
        if infos.insert(name.clone(), place).is_some() {
            return Err(bytes.bad(&format!("tensor `{name}` is there twice")));
        }
    }
    let alignment = alignment(&bytes, &metadata)?;
    let begin = bytes.at().next_multiple_of(alignment);
    // In the order of the file: of a truncated file the first tensor that is cut off is named.
    let mut order: Vec<(&String, &mut Place)> = infos.iter_mut().collect();
    order.sort_by_key(|(_, place)| place.offset);
    for (name, place) in order {
        if !place.offset.is_multiple_of(alignment) {
            let at = place.offset;
            return Err(
                bytes.bad(&format!("tensor `{name}` is at {at} of the data, wanted is a multiple of {alignment}"))
            );
        }
        let end = begin.checked_add(place.offset).and_then(|at| at.checked_add(place.bytes));
        if end.is_none_or(|end| end > length) {
            let what = format!("tensor `{name}` ({} of {:?})", by(&place.shape), place.element);
            return Err(bytes.bad(&format!(
                "{what} takes {} bytes from {} of the data, but the file has {} of these: truncated or damaged",
                place.bytes,
                place.offset,
                length.saturating_sub(begin)
            )));
        }
        place.offset += begin;
    }
    drop(bytes);
    Ok(Header { file, metadata, tensors: infos })
}

/// The data and each tensor in it begin at a multiple of this.
fn alignment(bytes: &Bytes, metadata: &BTreeMap<String, Value>) -> Result<u64> {
    let found = match metadata.get("general.alignment") {
        None => return Ok(32),
        Some(Value::Integer(n)) => match u32::try_from(*n) {
            Ok(n) if n.is_power_of_two() => return Ok(n.into()),
            _ => n.to_string(),
        },
        Some(other) => other.kind().into(),
    };
    Err(bytes.bad(&format!("`general.alignment` is {found}, wanted is a power of two up to 2^31")))
}

fn value(bytes: &mut Bytes, key: &str) -> Result<Value> {
    let what = format!("the value of `{key}`");
    let kind = bytes.u32(&format!("the type of `{key}`"))?;
    if kind == 9 {
        return array(bytes, key);
    }
    Ok(match scalar(bytes, kind, &what)? {
        Some(value) => value,
        None if kind == 8 => Value::Text(bytes.text(&what)?),
        None => return Err(bytes.bad(&format!("`{key}` has type {kind}, wanted is 0 to 12"))),
    })
}

/// A value that is neither a text nor an array; `None` if no such type has the number `kind`.
fn scalar(bytes: &mut Bytes, kind: u32, what: &str) -> Result<Option<Value>> {
    let integer = |x: i128| Value::Integer(x);
    Ok(Some(match kind {
        0 => integer(u8::from_le_bytes(bytes.array(what)?).into()),
        1 => integer(i8::from_le_bytes(bytes.array(what)?).into()),
        2 => integer(u16::from_le_bytes(bytes.array(what)?).into()),
        3 => integer(i16::from_le_bytes(bytes.array(what)?).into()),
        4 => integer(u32::from_le_bytes(bytes.array(what)?).into()),
        5 => integer(i32::from_le_bytes(bytes.array(what)?).into()),
        6 => Value::Float(f32::from_le_bytes(bytes.array(what)?).into()),
        7 => match bytes.array::<1>(what)? {
            [bit @ 0..=1] => Value::Bool(bit == 1),
            [other] => return Err(bytes.bad(&format!("{what} is {other}, wanted is a truth value, 0 or 1"))),
        },
        10 => integer(u64::from_le_bytes(bytes.array(what)?).into()),
        11 => integer(i64::from_le_bytes(bytes.array(what)?).into()),
        12 => Value::Float(f64::from_le_bytes(bytes.array(what)?)),
        _ => return Ok(None),
    }))
}

/// Bytes of an array's element, by the number of its type; `None` if such arrays are not read.
fn element_bytes(kind: u32) -> Option<u64> {
    match kind {
        0 | 1 | 7 => Some(1),
        2 | 3 => Some(2),
        4..=6 => Some(4),
        // The length of a text.
        8 => Some(8),
        _ => None,
    }
}

fn array(bytes: &mut Bytes, key: &str) -> Result<Value> {
    let kind = bytes.u32(&format!("the element type of `{key}`"))?;
    let Some(least) = element_bytes(kind) else {
        let what = match kind {
            9 => "arrays".into(),
            10..=12 => "numbers of 64 bits".into(),
            other => format!("type {other}"),
        };
        return Err(bytes.bad(&format!("`{key}` is an array of {what}; read are texts and numbers of up to 32 bits")));
    };
    let count = bytes.count(&format!("elements of `{key}`"), least)?;
    let what = |i: usize| format!("element {i} of `{key}`");
    match kind {
        8 => (0..count).map(|i| bytes.text(&what(i))).collect::<Result<_>>().map(Value::Texts),
        6 => {
            (0..count).map(|i| bytes.array(&what(i)).map(f32::from_le_bytes)).collect::<Result<_>>().map(Value::Floats)
        }
        _ => {
            let mut integers = Vec::new();
            for i in 0..count {
                match scalar(bytes, kind, &what(i))? {
                    Some(Value::Integer(n)) => integers.push(n as i64),
                    Some(Value::Bool(bit)) => integers.push(bit.into()),
                    _ => return Err(bytes.bad(&format!("{} has type {kind}", what(i)))),
                }
            }
            Ok(Value::Integers(integers))
        }
    }
}

fn place(bytes: &mut Bytes, name: &str) -> Result<Place> {
    let dimensions = bytes.u32(&format!("the dimensions of `{name}`"))?;
    if !(1..=DIMENSIONS).contains(&dimensions) {
        return Err(bytes.bad(&format!("tensor `{name}` has {dimensions} dimensions, wanted are 1 to {DIMENSIONS}")));
    }
    let mut shape = Vec::new();
    for _ in 0..dimensions {
        let size = bytes.u64(&format!("the shape of `{name}`"))?;
        shape
            .push(usize::try_from(size).map_err(|_| bytes.bad(&format!("tensor `{name}` has a dimension of {size}")))?);
    }
    // In the file the dimension whose elements are neighbours comes first.
    shape.reverse();
    let number = bytes.u32(&format!("the type of `{name}`"))?;
    let element = ElementType::of(number).ok_or_else(|| {
        let read = ElementType::ALL.map(|t| format!("{} ({t:?})", t.number())).join(", ");
        bytes.bad(&format!("tensor `{name}` has elements of type {number}; read are {read}"))
    })?;
    let offset = bytes.u64(&format!("the place of `{name}`"))?;
    Place::new(shape, element, offset).map_err(|problem| bytes.bad(&format!("tensor `{name}` {problem}")))
}
