//! Waveforms of models of the native engine: changes in their memory, written as VCD or FST.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use fst_writer::{
    FstBodyWriter, FstFileType, FstHeaderWriter, FstInfo, FstScopeType, FstSignalId, FstSignalType, FstVarDirection,
    FstVarType, FstWriteError,
};
use hdl::emit::{Observed, ObservedNet, ObservedValue};

use super::options::Trace;
use crate::{Error, Result};

/// Changes that an FST keeps in memory before it compresses them.
const FST_BYTES: usize = 64 << 20;

/// The nets that a model shows, and where it keeps them.
pub(super) struct Nets {
    tree: Vec<Observed>,
    /// Bytes of each array, up to the last byte that a net shows.
    arrays: Vec<usize>,
}

impl Nets {
    pub fn new(tree: Vec<Observed>) -> Self {
        let mut arrays = Vec::new();
        for step in &tree {
            if let Observed::Net(ObservedNet { value, .. }) = step
                && let ObservedValue::Elements { array, first, stride, count, bytes, .. } = value
            {
                let last = (*first as i64 + stride.max(&0) * i64::from(count - 1)) as usize;
                let array = *array as usize;
                arrays.resize(arrays.len().max(array + 1), 0);
                arrays[array] = arrays[array].max((last + 1) * *bytes as usize);
            }
        }
        Self { tree, arrays }
    }

    /// How many arrays there are.
    pub fn arrays(&self) -> usize {
        self.arrays.len()
    }
}

/// An open waveform file.
pub(super) struct Wave {
    path: PathBuf,
    file: Format,
    /// For each array its place, and its content when it was written last.
    arrays: Vec<(*const u8, Vec<u8>)>,
    /// Values of nets of each array.
    values: Vec<Vec<Value>>,
    clock: Option<usize>,
    reset: Option<usize>,
    /// The last written values of clock and reset.
    pins: [Option<bool>; 2],
    /// Nothing has been written.
    is_first: bool,
    text: Vec<u8>,
}

/// A value that one or more nets show.
struct Value {
    id: usize,
    first: usize,
    stride: isize,
    count: usize,
    width: usize,
    bytes: usize,
}

enum Format {
    Vcd(BufWriter<File>),
    Fst(Box<FstBodyWriter<BufWriter<File>>>, Vec<FstSignalId>),
}

impl Wave {
    /// Begins a file with the names of all nets. `places` are the arrays of the instance.
    pub fn create(path: &Path, format: Trace, nets: &Nets, places: &[*mut c_void]) -> Result<Self> {
        let file = File::create(path).map_err(Error::io(path))?;
        let mut ids: BTreeMap<&ObservedValue, usize> = BTreeMap::new();
        for step in &nets.tree {
            if let Observed::Net(net) = step {
                let next = ids.len();
                ids.entry(&net.value).or_insert(next);
            }
        }
        let file = match format {
            Trace::Fst => fst(file, &nets.tree, &ids).map_err(|e| fst_error(path, e))?,
            _ => vcd(file, &nets.tree, &ids).map_err(Error::io(path))?,
        };
        let arrays = nets.arrays.iter().zip(places).map(|(bytes, place)| (place.cast_const().cast(), vec![0; *bytes]));
        let mut wave = Self {
            path: path.to_owned(),
            file,
            arrays: arrays.collect(),
            values: nets.arrays.iter().map(|_| vec![]).collect(),
            clock: ids.get(&ObservedValue::Clock).copied(),
            reset: ids.get(&ObservedValue::Reset).copied(),
            pins: [None; 2],
            is_first: true,
            text: vec![],
        };
        for (value, id) in ids {
            if let ObservedValue::Elements { array, first, stride, count, width, bytes } = *value {
                let [count, width, bytes] = [count, width, bytes].map(|n| n as usize);
                let (first, stride) = (first as usize, stride as isize);
                wave.values[array as usize].push(Value { id, first, stride, count, width, bytes });
            }
        }
        Ok(wave)
    }

    /// Writes what has changed.
    ///
    /// # Safety
    /// The instance whose arrays these are is alive and not in the middle of an evaluation.
    pub unsafe fn dump(&mut self, time: u64, clock: bool, reset: bool) -> Result<()> {
        self.file.time(time).map_err(|e| e.told(&self.path))?;
        for (k, (id, now)) in [(self.clock, clock), (self.reset, reset)].into_iter().enumerate() {
            if let Some(id) = id.filter(|_| self.pins[k] != Some(now)) {
                self.file.change(id, if now { b"1" } else { b"0" }).map_err(|e| e.told(&self.path))?;
            }
            self.pins[k] = Some(now);
        }
        for (array, (place, old)) in self.arrays.iter_mut().enumerate() {
            if old.is_empty() {
                continue;
            }
            // SAFETY: by contract; the model has at least as many bytes there.
            let now = unsafe { std::slice::from_raw_parts(*place, old.len()) };
            if now == old.as_slice() && !self.is_first {
                continue;
            }
            for value in &self.values[array] {
                if self.is_first || value.differs(now, old) {
                    value.write(now, &mut self.text);
                    self.file.change(value.id, &self.text).map_err(|e| e.told(&self.path))?;
                }
            }
            old.copy_from_slice(now);
        }
        self.is_first = false;
        Ok(())
    }

    /// Completes the file.
    pub fn finish(self) -> Result<()> {
        match self.file {
            Format::Vcd(mut file) => file.flush().map_err(Error::io(self.path)),
            Format::Fst(file, _) => {
                let mut file = file.finish().map_err(|e| fst_error(&self.path, e))?;
                file.flush().map_err(Error::io(self.path))
            }
        }
    }
}

impl Value {
    fn elements(&self) -> impl DoubleEndedIterator<Item = usize> + '_ {
        (0..self.count).map(|k| self.first.wrapping_add_signed(self.stride * k as isize) * self.bytes)
    }

    fn differs(&self, now: &[u8], old: &[u8]) -> bool {
        self.elements().any(|at| now[at..at + self.bytes] != old[at..at + self.bytes])
    }

    /// The bits, the highest first.
    fn write(&self, now: &[u8], text: &mut Vec<u8>) {
        text.clear();
        for at in self.elements().rev() {
            let bytes = &now[at..at + self.bytes];
            // Values of up to 64 bits are integers of the machine, wider ones words of 64 bits, the lowest first.
            let word = |k: usize| match *bytes {
                [a] => u64::from(a),
                [a, b] => u16::from_ne_bytes([a, b]).into(),
                [a, b, c, d] => u32::from_ne_bytes([a, b, c, d]).into(),
                _ => u64::from_ne_bytes(bytes[8 * k..8 * k + 8].try_into().unwrap_or_default()),
            };
            text.extend((0..self.width).rev().map(|bit| b'0' + (word(bit / 64) >> (bit % 64) & 1) as u8));
        }
    }
}

/// Why a value was not written.
enum Problem {
    Io(std::io::Error),
    Fst(FstWriteError),
}

impl Problem {
    fn told(self, path: &Path) -> Error {
        match self {
            Self::Io(e) => Error::io(path)(e),
            Self::Fst(e) => fst_error(path, e),
        }
    }
}

impl Format {
    fn time(&mut self, time: u64) -> Result<(), Problem> {
        match self {
            Self::Vcd(file) => writeln!(file, "#{time}").map_err(Problem::Io),
            Self::Fst(file, _) => {
                if file.size() > FST_BYTES {
                    file.flush().map_err(Problem::Fst)?;
                }
                file.time_change(time).map_err(Problem::Fst)
            }
        }
    }

    fn change(&mut self, id: usize, bits: &[u8]) -> Result<(), Problem> {
        match self {
            Self::Vcd(file) => {
                let all = match bits {
                    [_] => file.write_all(bits),
                    _ => file.write_all(b"b").and_then(|()| file.write_all(bits)).and_then(|()| file.write_all(b" ")),
                };
                all.and_then(|()| writeln!(file, "{}", code(id))).map_err(Problem::Io)
            }
            Self::Fst(file, ids) => file.signal_change(ids[id], bits).map_err(Problem::Fst),
        }
    }
}

fn fst_error(path: &Path, error: FstWriteError) -> Error {
    match error {
        FstWriteError::Io(e) => Error::io(path)(e),
        e => Error::Data { path: path.to_owned(), problem: e.to_string() },
    }
}

/// The name of a value in a VCD: printable characters but the space.
fn code(mut id: usize) -> String {
    let mut text = String::new();
    loop {
        text.push(char::from(b'!' + (id % 94) as u8));
        id /= 94;
        if id == 0 {
            return text;
        }
        id -= 1;
    }
}

/// As Verilator names nets: with the range of their bits.
fn full_name(net: &ObservedNet) -> String {
    if net.width == 1 { net.name.clone() } else { format!("{} [{}:0]", net.name, net.width - 1) }
}

/// The scope around the top module in which Verilator's waveforms have its ports.
const ROOT: &str = "TOP";

fn vcd(file: File, tree: &[Observed], ids: &BTreeMap<&ObservedValue, usize>) -> std::io::Result<Format> {
    let mut file = BufWriter::new(file);
    write!(file, "$version senbazuru $end\n$timescale 1ns $end\n$scope module {ROOT} $end\n")?;
    for step in tree {
        match step {
            Observed::Scope(name) => writeln!(file, "$scope module {name} $end")?,
            Observed::End => writeln!(file, "$upscope $end")?,
            Observed::Net(net) => {
                let kind = if net.is_register { "reg" } else { "wire" };
                writeln!(file, "$var {kind} {} {} {} $end", net.width, code(ids[&net.value]), full_name(net))?;
            }
        }
    }
    write!(file, "$upscope $end\n$enddefinitions $end\n")?;
    Ok(Format::Vcd(file))
}

fn fst(file: File, tree: &[Observed], ids: &BTreeMap<&ObservedValue, usize>) -> Result<Format, FstWriteError> {
    let info = FstInfo {
        start_time: 0,
        timescale_exponent: -9,
        version: "senbazuru".into(),
        date: String::new(),
        file_type: FstFileType::Verilog,
    };
    let mut head = FstHeaderWriter::new(BufWriter::new(file), &info)?;
    head.scope(ROOT, "", FstScopeType::Module)?;
    let mut known: Vec<Option<FstSignalId>> = vec![None; ids.len()];
    for step in tree {
        match step {
            Observed::Scope(name) => head.scope(name, "", FstScopeType::Module)?,
            Observed::End => head.up_scope()?,
            Observed::Net(net) => {
                let kind = if net.is_register { FstVarType::Reg } else { FstVarType::Wire };
                let id = ids[&net.value];
                let ty = FstSignalType::bit_vec(net.width);
                // Without a range readers take the index of an element for the index of a bit.
                let range = if net.width == 1 && net.name.ends_with(']') { " [0:0]" } else { "" };
                known[id] = Some(head.var(full_name(net) + range, ty, kind, FstVarDirection::Implicit, known[id])?);
            }
        }
    }
    head.up_scope()?;
    let body = head.finish()?;
    Ok(Format::Fst(Box::new(body), known.into_iter().flatten().collect()))
}
