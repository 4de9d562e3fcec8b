//! Port lists: the `ports!` macro and the kinds of port it knows.

use std::marker::PhantomData;
use std::panic::Location;

use super::array::{Array, declare};
use super::context::with;
use super::error::Loc;
use super::ir::{Direction, InstanceId, Layout, NetKind};
use super::names;
use super::signal::{Signal, build};
use super::types::{ArrayType, Type};

/// The port list of a block; made by [`ports!`](crate::ports).
pub trait Ports<P>: Sized {
    /// Declares the ports, in the module itself or as the nets of an instance.
    fn declare(builder: &mut PortBuilder, parameters: &P) -> Self;
}

/// One kind of port: what its type is described with, and the handle a block gets.
pub trait PortKind {
    /// Handle used in `build` and by a parent.
    type Handle;
    /// The expression after the `=` in [`ports!`](crate::ports).
    type Spec;
    /// Declares the port.
    fn declare(builder: &mut PortBuilder, name: &str, spec: Self::Spec) -> Self::Handle;
}

/// Declares ports, seen from inside the module or from its parent.
#[derive(Debug)]
pub struct PortBuilder {
    pub(crate) site: Site,
    pub(crate) loc: Loc,
    /// Documentation of the ports that are declared next.
    pub(crate) doc: String,
}

#[derive(Clone, Debug)]
pub(crate) enum Site {
    /// Ports of the module under construction.
    Module,
    /// Nets in the parent, at the ports of an instance.
    Instance { id: InstanceId, name: String },
}

impl PortBuilder {
    fn declare(&mut self, name: &str, direction: Direction, ty: ArrayType, array: bool) -> Array {
        let layout = Layout::Packed;
        let (net_name, kind) = match &self.site {
            Site::Module => {
                if names::port_stem(name) == name {
                    let wanted = if direction == Direction::Input { "_i" } else { "_o" };
                    with(|e| e.error(self.loc, format!("port `{name}` needs the suffix `{wanted}`")));
                }
                let kind = if direction == Direction::Input { NetKind::Input } else { NetKind::Output };
                (name.to_string(), kind)
            }
            Site::Instance { id, name: instance } => {
                let port = with(|e| e.top().ir.instances[*id as usize].nets.len()).unwrap_or(0);
                let wanted = names::instance_net(instance, name);
                let free = with(|e| names::free(&wanted, &e.top().ir.names)).unwrap_or(wanted);
                (free, NetKind::Instance { instance: *id, port, direction })
            }
        };
        let handle = if array {
            declare(&net_name, ty, kind, layout, 1, self.loc)
        } else {
            let net = with(|e| e.net(&net_name, ty.element, kind, None, self.loc)).unwrap_or(0);
            Array { net, serial: 0, ty, stride: 1 }
        };
        with(|e| {
            let ir = &mut e.top().ir;
            match &self.site {
                Site::Module => {
                    ir.nets[handle.net as usize].doc.clone_from(&self.doc);
                    ir.ports.push(handle.net);
                }
                Site::Instance { id, .. } => ir.instances[*id as usize].nets.push(handle.net),
            }
        });
        handle
    }

    /// Says what the ports that are declared next mean: one sentence each.
    pub fn document(&mut self, doc: &str) {
        if matches!(self.site, Site::Module) {
            self.doc = super::parameters::one_line(doc);
        }
    }

    /// Notes where the port list stands; used by [`ports!`](crate::ports).
    #[doc(hidden)]
    #[track_caller]
    pub fn here(&mut self) {
        if matches!(self.site, Site::Module) {
            self.loc = Location::caller();
        }
    }

    /// Declares one scalar port.
    pub fn scalar(&mut self, name: &str, direction: Direction, ty: Type) -> Signal {
        let array = self.declare(name, direction, ArrayType { element: ty, count: 1 }, false);
        build(self.loc, ty, |e| e.read(array.net, None))
    }

    /// Declares one array port: a vector with element i at bits `[width * i +: width]`.
    pub fn array(&mut self, name: &str, direction: Direction, ty: ArrayType) -> Array {
        self.declare(name, direction, ty, true)
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident ($handle:ty) from $spec:ty = |$b:ident, $name:ident, $value:ident| $body:expr;)*) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub struct $kind;
        impl PortKind for $kind {
            type Handle = $handle;
            type Spec = $spec;
            fn declare($b: &mut PortBuilder, $name: &str, $value: $spec) -> $handle {
                $body
            }
        }
    )*};
}
kinds! {
    /// Input: `enable_i: In = bit()`.
    In(Signal) from Type = |b, name, ty| b.scalar(name, Direction::Input, ty);
    /// Output: `sum_o: Out = sint(9)`.
    Out(Signal) from Type = |b, name, ty| b.scalar(name, Direction::Output, ty);
    /// Input array: `data_i: InArray = uint(8).array(p.lanes)`.
    InArray(Array) from ArrayType = |b, name, ty| b.array(name, Direction::Input, ty);
    /// Output array.
    OutArray(Array) from ArrayType = |b, name, ty| b.array(name, Direction::Output, ty);
    /// Input that some parameters leave out: `count_i: InOption = uint(8).when(p.counted)`.
    InOption(Option<Signal>) from Option<Type> = |b, name, ty| ty.map(|ty| b.scalar(name, Direction::Input, ty));
    /// Output that some parameters leave out.
    OutOption(Option<Signal>) from Option<Type> = |b, name, ty| ty.map(|ty| b.scalar(name, Direction::Output, ty));
    /// Input array that some parameters leave out: `index_i: InArrayOption = (p.width > 0).then(|| uint(p.width).array(4))`.
    InArrayOption(Option<Array>) from Option<ArrayType> = |b, name, ty| ty.map(|ty| b.array(name, Direction::Input, ty));
}

/// The ports of another list, under their own names: what several blocks have in common. `host: Group<HostPorts> = ()`; what
/// the list is described with stands right of the `=`.
#[derive(Debug)]
pub struct Group<G, S = ()>(PhantomData<(G, S)>);

impl<G: Ports<S>, S> PortKind for Group<G, S> {
    type Handle = G;
    type Spec = S;

    fn declare(builder: &mut PortBuilder, _name: &str, spec: S) -> G {
        let here = builder.loc;
        let group = G::declare(builder, &spec);
        builder.loc = here;
        group
    }
}

/// Declares the ports of a block: a struct of handles, used by the block itself and by whoever holds an instance.
///
/// ```
/// use hdl::lang::*;
/// pub struct Adder { pub width: u32 }
/// ports! {
///     /// Ports of `Adder`.
///     pub struct AdderPorts(p: &Adder) {
///         /// One summand.
///         a_i: In = uint(p.width),
///         /// The other one.
///         b_i: In = uint(p.width),
///         /// Their sum.
///         sum_o: Out = uint(p.width + 1),
///     }
/// }
/// ```
#[macro_export]
macro_rules! ports {
    ($(#[$meta:meta])* $vis:vis struct $name:ident ($p:ident : & $block:ty) {
        $($(#[doc = $doc:literal])* $port:ident : $kind:ty = $spec:expr),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Debug)]
        $vis struct $name {
            $($(#[doc = $doc])* #[allow(missing_docs, reason = "the port's name is its doc where none is given")]
            pub $port: <$kind as $crate::lang::PortKind>::Handle,)*
        }
        impl $crate::lang::Ports<$block> for $name {
            fn declare(builder: &mut $crate::lang::PortBuilder, $p: &$block) -> Self {
                let _ = $p;
                builder.here();
                $(
                    builder.document(concat!($($doc, "\n"),*));
                    let $port = <$kind as $crate::lang::PortKind>::declare(builder, stringify!($port), $spec);
                )*
                Self { $($port),* }
            }
        }
    };
}
