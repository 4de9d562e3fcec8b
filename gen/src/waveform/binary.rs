//! FST and GHW, as the crate `wellen` reads them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufReader, Read, Seek, Write};
use std::ops::ControlFlow;
use std::panic::{self, AssertUnwindSafe};
use std::rc::Rc;

use wellen::stream::{Filter, StreamError, StreamingWaveform};
use wellen::viewers::{self, HeaderResult};
use wellen::{FileFormat, ItemRef, LoadOptions, SignalEncoding, SignalRef, SignalValueRef, WellenError};

use super::values::{Kind, Step, Value, Variable, bit, clean};

type Input = BufReader<fs::File>;
/// Names of values, by code: states of an enumeration.
type States = BTreeMap<usize, Vec<(String, String)>>;

/// Bits of a variable, at most: a damaged file must not ask for all memory.
const WIDEST: u32 = 1 << 24;

/// A file whose header has been read.
pub struct Binary {
    name: &'static str,
    header: HeaderResult<Input>,
    variables: Vec<Variable>,
    states: States,
}

impl Binary {
    /// Reads the header.
    ///
    /// # Errors
    /// The error, as `is no ..`.
    pub fn open(mut input: Input) -> Result<Self, String> {
        let name = match guarded(|| Ok(viewers::detect_file_format(&mut input))) {
            Ok(FileFormat::Fst) => "FST",
            Ok(FileFormat::Ghw) => "GHW",
            _ => return Err("is no VCD, FST or GHW file".into()),
        };
        let wrong = |e: String| format!("is no {name} file that can be read: {e}");
        let options = LoadOptions { multi_thread: false, remove_scopes_with_empty_name: true };
        let header = guarded(|| viewers::read_header(input, &options).map_err(reason)).map_err(wrong)?;
        let (mut variables, mut states) = (Vec::new(), States::new());
        let mut items: Vec<(ItemRef, Rc<[String]>)> = Vec::new();
        push(&mut items, header.hierarchy.items(), &Rc::default());
        while let Some((item, path)) = items.pop() {
            let variable = match item {
                ItemRef::Scope(scope) => {
                    let scope = &header.hierarchy[scope];
                    let name = clean(scope.name(&header.hierarchy).as_bytes());
                    let inner = path.iter().cloned().chain(Some(name).filter(|n| !n.is_empty())).collect();
                    push(&mut items, scope.items(&header.hierarchy), &inner);
                    continue;
                }
                ItemRef::Var(variable) => &header.hierarchy[variable],
            };
            let code = variable.signal_ref().index();
            if let Some((_, names)) = variable.enum_type(&header.hierarchy) {
                let names = names.into_iter().map(|(bits, name)| (bits.to_owned(), clean(name.as_bytes())));
                states.insert(code, names.collect());
            }
            let (kind, width) = match variable.signal_encoding(&header.hierarchy) {
                _ if states.contains_key(&code) => (Kind::Text, 0),
                SignalEncoding::BitVector(0) => (Kind::Event, 1),
                SignalEncoding::BitVector(width) => (Kind::Bits, width),
                SignalEncoding::Real => (Kind::Real, 0),
                SignalEncoding::String => (Kind::Text, 0),
            };
            let (path, name) = joined(&path, clean(variable.name(&header.hierarchy).as_bytes()));
            if width > WIDEST {
                return Err(wrong(format!("`{name}` has {width} bits, more than {WIDEST}")));
            }
            let range = variable.index().map(|i| (i.msb(), i.lsb())).filter(|_| width > 1);
            variables.push(Variable { path, name, kind, width, range, code });
        }
        Ok(Self { name, header, variables, states })
    }

    /// Its variables, in the order of the file.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// See [`super::Waveform::read`].
    ///
    /// # Errors
    /// A damaged file.
    pub fn read(
        self,
        codes: Option<&[usize]>,
        each: &mut dyn FnMut(Step<'_>) -> ControlFlow<()>,
    ) -> Result<(), String> {
        let mut signals: Option<Vec<_>> = codes.map(|c| c.iter().filter_map(|c| SignalRef::from_index(*c)).collect());
        if let Some(signals) = &mut signals {
            signals.sort_unstable();
            signals.dedup();
        }
        let Self { name, header, states, .. } = self;
        guarded(|| match header.file_format {
            FileFormat::Ghw => stored(header, signals, &states, each),
            _ => streamed(header, signals.as_deref(), &states, each),
        })
        .map_err(|e| format!("damaged {name}: {e}"))
    }
}

/// Changes as they stand in the file.
fn streamed(
    header: HeaderResult<Input>,
    signals: Option<&[SignalRef]>,
    states: &States,
    each: &mut dyn FnMut(Step<'_>) -> ControlFlow<()>,
) -> Result<(), String> {
    let mut now = None;
    let filter = signals.map_or(Filter::all(), Filter::include_signals);
    // A callback that breaks off does so with an error, or with none.
    let outcome = StreamingWaveform::from(header).stream_changes(filter, |time, signal, value| {
        if now.is_some_and(|now| now > time) {
            return Err(Some(format!("time goes back to {time}")));
        }
        let flow = match now.replace(time) {
            Some(before) if before == time => ControlFlow::Continue(()),
            _ => each(Step::Time(time)),
        };
        let flow = if flow.is_break() { flow } else { change(signal, value, states, each) };
        if flow.is_break() { Err(None) } else { Ok(()) }
    });
    match outcome {
        Ok(()) | Err(StreamError::Callback(None)) => Ok(()),
        Err(StreamError::Callback(Some(what))) => Err(what),
        Err(StreamError::Wellen(e)) => Err(reason(e)),
    }
}

/// Changes of a format that is read as a whole.
fn stored(
    header: HeaderResult<Input>,
    signals: Option<Vec<SignalRef>>,
    states: &States,
    each: &mut dyn FnMut(Step<'_>) -> ControlFlow<()>,
) -> Result<(), String> {
    let mut body = viewers::read_body(header.body, &header.hierarchy, None).map_err(reason)?;
    let signals = signals.unwrap_or_else(|| header.hierarchy.signals().collect());
    let loaded = body.source.load_signals(&signals, &header.hierarchy, false);
    let mut changes: Vec<_> = loaded.iter().map(|s| (s.signal_ref(), s.iter_changes().peekable())).collect();
    for (index, time) in body.time_table.iter().enumerate() {
        if each(Step::Time(*time)).is_break() {
            return Ok(());
        }
        for (signal, changes) in &mut changes {
            while let Some((_, value)) = changes.next_if(|(at, _)| *at as usize == index) {
                if change(*signal, value, states, each).is_break() {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

fn change(
    signal: SignalRef,
    value: SignalValueRef<'_>,
    states: &States,
    each: &mut dyn FnMut(Step<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let code = signal.index();
    match value {
        SignalValueRef::Event => each(Step::Change(code, Value::Event)),
        SignalValueRef::Real(number) => each(Step::Change(code, Value::Real(number))),
        SignalValueRef::String(text) => {
            let text = clean(text.as_bytes());
            let name = states.get(&code).and_then(|names| names.iter().find(|(value, _)| *value == text));
            each(Step::Change(code, Value::Text(name.map_or(&text, |(_, name)| name))))
        }
        SignalValueRef::BitVec(bits) => {
            let bits: String = bits.bit_string().bytes().map(|b| char::from(bit(b).unwrap_or(b'x'))).collect();
            match states.get(&code) {
                Some(names) => {
                    let name = names.iter().find(|(value, _)| *value == bits);
                    each(Step::Change(code, Value::Text(name.map_or(&bits, |(_, name)| name))))
                }
                None => each(Step::Change(code, Value::Bits(&bits))),
            }
        }
    }
}

/// The error of the reader, on one line.
fn reason(error: WellenError) -> String {
    match error {
        WellenError::FailedToLoad(_, text) => text.replace('\n', " "),
        other => other.to_string(),
    }
}

/// Items on a stack, so that the first comes off first.
fn push(items: &mut Vec<(ItemRef, Rc<[String]>)>, more: impl Iterator<Item = ItemRef>, path: &Rc<[String]>) {
    let from = items.len();
    items.extend(more.map(|item| (item, path.clone())));
    items[from..].reverse();
}

/// Elements of an array `a` come as `[0]` within a scope `a`.
fn joined(path: &Rc<[String]>, name: String) -> (Rc<[String]>, String) {
    if !name.starts_with('[') {
        return (path.clone(), name);
    }
    let array = path.iter().rposition(|scope| !scope.starts_with('[')).unwrap_or(0);
    (path[..array].into(), path[array..].concat() + &name)
}

/// Runs a reader that panics on a damaged file, and prints warnings on standard output. Nothing else may print
/// meanwhile.
fn guarded<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let cannot = |e: io::Error| format!("cannot divert standard output: {e}");
    let mut said = tempfile::tempfile().map_err(cannot)?;
    io::stdout().flush().map_err(cannot)?;
    let stdout = rustix::io::dup(io::stdout()).map_err(|e| cannot(e.into()))?;
    rustix::stdio::dup2_stdout(&said).map_err(|e| cannot(e.into()))?;
    let hook = panic::take_hook();
    panic::set_hook(Box::new(|_| {}));
    let outcome = panic::catch_unwind(AssertUnwindSafe(work));
    panic::set_hook(hook);
    let flushed = io::stdout().flush();
    rustix::stdio::dup2_stdout(&stdout).map_err(|e| cannot(e.into()))?;
    flushed.map_err(cannot)?;
    let value = outcome.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        Err(format!("the reader gives up: {}", text.unwrap_or("it does not say why")))
    })?;
    let mut text = String::new();
    said.rewind().and_then(|()| said.read_to_string(&mut text)).map_err(cannot)?;
    // Its other messages are about kinds of variables that it does not know.
    text.lines().find_map(|line| line.strip_prefix("WARN: ")).map_or(Ok(value), |what| Err(what.to_owned()))
}
