//! The macros `parameters!` and `choices!`.

/// Declares the parameters of a block.
///
/// ```
/// use hdl::lang::*;
/// choices! {
///     /// What a sum does that does not fit.
///     pub enum Overflow {
///         /// Keeps the low bits.
///         Wrap,
///         /// Keeps the nearest value.
///         Saturate,
///     }
/// }
/// parameters! {
///     /// Elaboration parameters.
///     pub struct Adder {
///         /// Width of an operand in bits.
///         width: u32 = 8, in 1..=64, tag "w";
///         /// What a sum does that does not fit.
///         overflow: Overflow = Overflow::Wrap;
///         /// Bits that are kept, from the top.
///         kept: u32 = 8, in 1..=64, note "at most width", tag "k";
///     }
///     rules = |p, rules| rules.demand(p.kept <= p.width, "kept", p.kept, format!("1 to width = {}", p.width));
/// }
/// assert_eq!(Adder::default().check(), Ok(()));
/// let bad = Adder { width: 4, ..Adder::default() };
/// assert_eq!(bad.check().unwrap_err().to_string(), "parameter `kept` is 8, allowed: 1 to width = 4");
/// ```
///
/// A field's type is an integer, `bool`, an enumeration made by [`choices!`](crate::choices), or another struct made
/// here: nested parameters are set as `outer.inner` and checked and named with the rest. `in` takes a range,
/// [`power_of_two`] or [`multiple_of`]; `note` says in words what `rules` demand; `tag` puts the value into the names of
/// modules; `named "when set"` keeps a default out of these names, so that a new parameter renames no module. The
/// fields of a nested struct that is `named "inline"` have no prefix: several blocks share them.
/// `struct Array<P: Pe>` takes any parameters `P` of which the trait `Pe` is known: a part that plugs in. The trait demands
/// what nested parameters need: `Parameters + Default + Debug + Eq`.
/// Ports, contract and hardware follow in [`Block`](super::Block).
#[macro_export]
macro_rules! parameters {
    ($(#[$meta:meta])* $vis:vis struct $name:ident $(<$part:ident : $bound:path>)? {
        $($(#[doc = $doc:literal])+ $field:ident : $ty:ty = $default:expr
            $(, in $allowed:expr)? $(, note $note:literal)? $(, tag $tag:literal)? $(, named $named:literal)? ;)*
    }
    $(rules = $rules:expr;)?) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        $vis struct $name $(<$part: $bound>)? {
            $($(#[doc = $doc])+ pub $field: $ty,)*
        }

        impl $(<$part: $bound>)? Default for $name $(<$part>)? {
            fn default() -> Self {
                Self { $($field: $default,)* }
            }
        }

        impl $(<$part: $bound>)? $crate::lang::Parameters for $name $(<$part>)? {
            const SOURCE: &'static str = file!();

            fn values(&self) -> $crate::lang::private::Value {
                $crate::lang::private::object([$((
                    stringify!($field),
                    $crate::lang::ParameterValue::json(&self.$field),
                    false $(|| $named == "inline")?,
                )),*])
            }

            fn from_values(values: &$crate::lang::private::Value) -> Result<Self, $crate::lang::ParamError> {
                #[allow(unused_mut, reason = "there may be no field")]
                let mut fields = $crate::lang::private::Fields::of(values)?;
                let read = Self { $($field: if false $(|| $named == "inline")? {
                    let like: $ty = $default;
                    fields.take_inline(&like)?
                } else {
                    fields.take(stringify!($field))?
                },)* };
                fields.end()?;
                Ok(read)
            }

            fn defaults() -> $crate::lang::private::Value {
                $crate::lang::Parameters::values(&Self::default())
            }

            fn visit(&self, visitor: &mut dyn FnMut(&$crate::lang::ParameterField, &dyn $crate::lang::ParameterValue)) {
                let _ = &visitor;
                $({
                    #[allow(unused_mut, unused_assignments, reason = "most fields state not all of these")]
                    let mut field = $crate::lang::ParameterField {
                        name: stringify!($field),
                        doc: concat!($($doc, "\n"),+),
                        allowed: None,
                        note: None,
                        tag: None,
                        when_set: false,
                        inline: false,
                    };
                    $(field.allowed = Some($crate::lang::Allowed::from($allowed));)?
                    $(field.note = Some($note);)?
                    $(field.tag = Some($tag);)?
                    $(field.when_set = $named == "when set"; field.inline = $named == "inline";)?
                    visitor(&field, &self.$field);
                })*
            }

            $(fn apply_rules(&self, rules: &mut $crate::lang::Rules) {
                let apply: fn(&Self, &mut $crate::lang::Rules) = $rules;
                apply(self, rules);
            })?
        }
    };
}

/// Declares an enumeration that can be the type of a parameter; its values are written in snake case.
///
/// ```
/// use hdl::lang::*;
/// choices! {
///     /// How a sum leaves.
///     pub enum Drain {
///         /// At once.
///         Single,
///         /// Through a second register.
///         Double,
///     }
/// }
/// assert_eq!(Drain::Single.choices(), "single, double");
/// ```
#[macro_export]
macro_rules! choices {
    ($(#[$meta:meta])* $vis:vis enum $name:ident {
        $($(#[$variant_meta:meta])* $variant:ident),* $(,)?
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        $vis enum $name {
            $($(#[$variant_meta])* $variant,)*
        }

        impl $name {
            /// All choices, in order.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            const NAMES: &'static [&'static str] = &[$(stringify!($variant)),*];
        }

        impl $crate::lang::ParameterValue for $name {
            fn json(&self) -> $crate::lang::private::Value {
                $crate::lang::private::snake_case(Self::NAMES[*self as usize]).into()
            }

            fn from_json(value: &$crate::lang::private::Value) -> Result<Self, $crate::lang::ParamError> {
                Ok(Self::ALL[$crate::lang::private::position(Self::NAMES, value)?])
            }

            fn choices(&self) -> String {
                $crate::lang::private::names(Self::NAMES)
            }
        }
    };
}
