//! Several streams of one kind side by side: each of their signals is one port, with stream `k` at its place `k`.

use std::marker::PhantomData;

use super::array::Array;
use super::bundle::{Bundle, FieldType, FieldValue, View};
use super::context::with;
use super::index::Index;
use super::ir::Direction;
use super::module::Module;
use super::ports::{PortBuilder, PortKind};
use super::stream::Stream;
use super::types::bit;

/// Fields as arrays of all streams.
#[derive(Clone, Copy, Debug)]
struct Arrays;

impl View for Arrays {
    type One = Array;
    type Many = Array;
}

/// The signals of several streams: `io.read.at(k)` is one of them.
#[derive(Clone, Debug)]
pub struct StreamArray<B> {
    valid: Array,
    ready: Array,
    /// By field; empty for a field that these parameters leave out.
    fields: Vec<FieldValue<Arrays>>,
    name: String,
    bundle: PhantomData<B>,
}

impl<B: Bundle> StreamArray<B> {
    /// Ports `<name>valid_i`, `<name>ready_o`, `<name><field>_i` (`Input`), or the other way round (`Output`); `name`
    /// ends as the names of its signals go on.
    pub(crate) fn declare(
        b: &mut PortBuilder,
        name: &str,
        (count, spec): (u32, &B::Spec),
        direction: Direction,
    ) -> Self {
        let (back, forth_end, back_end) = match direction {
            Direction::Input => (Direction::Output, "i", "o"),
            Direction::Output => (Direction::Input, "o", "i"),
        };
        let mut fields = Vec::new();
        for (field, ty) in B::FIELDS.iter().zip(B::layout(spec)) {
            b.document(&format!("Each: {}", lower_first(field.doc)));
            let port = format!("{name}{}_{forth_end}", field.name);
            fields.push(match ty {
                FieldType::One(ty) => FieldValue::One(b.array(&port, direction, ty.array(count))),
                FieldType::Many(ty) => {
                    let what =
                        format!("field `{}` of several streams is an array itself: `{port}` cannot be one", field.name);
                    with(|e| e.error(b.loc, what));
                    FieldValue::Many(b.array(&port, direction, ty))
                }
                FieldType::Absent => FieldValue::Absent,
            });
        }
        let one = bit().array(count);
        b.document("Each: a beat is offered; it stays with all it carries until it is taken.");
        let valid = b.array(&format!("{name}valid_{forth_end}"), direction, one);
        b.document("Each: the beat is taken at the coming edge, when it is valid.");
        let ready = b.array(&format!("{name}ready_{back_end}"), back, one);
        Self { valid, ready, fields, name: name.trim_end_matches('_').into(), bundle: PhantomData }
    }

    /// Connects streams that are sent to streams that are taken, one by one.
    #[track_caller]
    pub fn connect(&self, m: &mut Module, from: &Self) {
        let name = &self.name;
        m.connect_each(&format!("{name}_valid"), self.valid, from.valid);
        m.connect_each(&format!("{name}_ready"), from.ready, self.ready);
        for (i, (to, from)) in self.fields.iter().zip(&from.fields).enumerate() {
            if let (FieldValue::One(to), FieldValue::One(from)) = (to, from) {
                m.connect_each(&format!("{name}_{}", B::FIELDS[i].name), *to, *from);
            }
        }
    }

    /// How many streams there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.valid.count()
    }

    /// Stream `k`.
    #[track_caller]
    #[must_use]
    pub fn at(&self, k: impl Into<Index>) -> Stream<B> {
        let k = k.into();
        let of = |field: &FieldValue<Arrays>| match field {
            FieldValue::One(field) => FieldValue::One(field.at(k)),
            // Refused where it was declared.
            FieldValue::Many(field) => FieldValue::Many(*field),
            FieldValue::Absent => FieldValue::Absent,
        };
        let values = self.fields.iter().map(of).collect();
        let name = k.constant().map_or_else(|| self.name.clone(), |k| format!("{}_{k}", self.name));
        Stream::new(&name, self.valid.at(k), self.ready.at(k), B::from_values(values))
    }
}

fn lower_first(text: &str) -> String {
    let text = text.trim();
    // Words in capitals are names.
    let capitals = text.chars().nth(1).is_some_and(char::is_uppercase);
    let mut letters = text.chars();
    match letters.next() {
        Some(first) if !capitals => first.to_lowercase().chain(letters).collect(),
        _ => text.to_owned(),
    }
}

macro_rules! stream_arrays {
    ($($(#[$doc:meta])* $kind:ident $direction:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $kind<B>(PhantomData<B>);
        impl<B: Bundle> PortKind for $kind<B> {
            type Handle = StreamArray<B>;
            type Spec = (u32, B::Spec);
            fn declare(b: &mut PortBuilder, name: &str, (count, spec): (u32, B::Spec)) -> StreamArray<B> {
                StreamArray::declare(b, &format!("{name}_"), (count, &spec), Direction::$direction)
            }
        }
    )*};
}
stream_arrays! {
    /// Several streams into the block: `read: InStreams<DmaCommand> = (p.readers, spec)`. Bundles without arrays.
    InStreams Input;
    /// Several streams out of the block.
    OutStreams Output;
}
