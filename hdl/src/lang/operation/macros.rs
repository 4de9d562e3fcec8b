//! The macro `operation!`.

/// Describes the fields of a descriptor after its header, once.
///
/// ```
/// use hdl::lang::*;
/// parameters! {
///     /// Elaboration parameters.
///     pub struct SumOperation {
///         /// Elements of the longest row.
///         max_columns: u32 = 512, in 1..=65535, tag "c";
///     }
/// }
/// operation! {
///     /// Rows to their sums.
///     pub struct SumOperationPorts(p: &SumOperation) = "sum_operation", 128 bytes {
///         /// Rows.
///         rows at 32: Size = (32, 1..=65535);
///         /// Elements of a row.
///         columns at 36: Size = (32, 1..=p.max_columns);
///         /// What is done with each element.
///         options at 40, 4 bytes {
///             /// Only elements above the threshold count.
///             selects at 0: Flag = ();
///             /// An overflow is an error.
///             exact at 12: Flag = ();
///         }
///         /// The threshold, fp16.
///         threshold at 44: Bits = 16 when (set("selects"));
///         /// The rows.
///         x_address at 64: Address = ();
///     }
/// }
/// let layout = operation::OperationBlock::layout(&SumOperation::default());
/// assert!(layout.mistakes().is_empty());
/// assert_eq!(layout.field("threshold").unwrap().when.to_string(), "selects");
/// assert!(elaborate(&SumOperation::default()).is_ok());
/// ```
///
/// The bytes are those of the whole descriptor: a number, or an expression in parentheses, as `(32 + 4 * p.words) bytes`.
/// `at` gives the byte of the descriptor, or the bit of a member that several fields share. The kinds of fields are
/// [`Bits`](super::Bits), [`Flag`](super::Flag), [`Size`](super::Size), [`Choice`](super::Choice),
/// [`Address`](super::Address) and [`Stride`](super::Stride). A field is 0 unless its condition `when (..)` holds, and
/// bits without a field are 0.
///
/// The struct before it is the block that gives the fields their names: `let o = m.instance("u_operation", block)`, and
/// `o.rows` is a signal, as wide as the largest right value. `o.decoder` has the words that come in, and what is wrong.
#[macro_export]
macro_rules! operation {
    ($(#[doc = $doc:literal])+ $vis:vis struct $ports:ident ($p:ident : & $block:ty) = $name:literal, $bytes:tt bytes {
        $($body:tt)*
    }) => {
        $crate::operation!(@next ([$($doc)+] $vis $ports $p $block, $name $bytes) [] [] $($body)*);
    };

    (@next $head:tt [$($members:tt)*] [$($fields:tt)*]
        $(#[doc = $doc:literal])+ $name:ident at $byte:literal : $kind:ident = $value:tt $(when $when:tt)?; $($rest:tt)*
    ) => {
        $crate::operation!(@next $head
            [$($members)* {[$($doc)+] $name $byte (<$crate::lang::operation::$kind as $crate::lang::operation::OperationKind>::layout($value).0 / 8)}]
            [$($fields)* {[$($doc)+] $name $byte 0 $kind $value [$($when)?]}]
            $($rest)*);
    };

    (@next $head:tt [$($members:tt)*] [$($fields:tt)*]
        $(#[doc = $doc:literal])+ $name:ident at $byte:literal, $bytes:literal bytes {
            $($(#[doc = $field_doc:literal])+ $field:ident at $low:literal : $kind:ident = $value:tt $(when $when:tt)?;)*
        } $($rest:tt)*
    ) => {
        $crate::operation!(@next $head
            [$($members)* {[$($doc)+] $name $byte $bytes}]
            [$($fields)* $({[$($field_doc)+] $field $byte $low $kind $value [$($when)?]})*]
            $($rest)*);
    };

    (@next ([$($doc:literal)+] $vis:vis $ports:ident $p:ident $block:ty, $name:literal $bytes:tt)
        [$({[$($member_doc:literal)+] $member:ident $at:literal $size:tt})*]
        [$({[$($field_doc:literal)+] $field:ident $byte:literal $low:literal $kind:ident $value:tt [$($when:tt)?]})*]
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug)]
        $vis struct $ports {
            /// What comes in, and what is wrong.
            pub decoder: $crate::lang::operation::Decoder,
            $($(#[doc = $field_doc])+ pub $field: $crate::lang::Signal,)*
        }

        impl $crate::lang::operation::OperationBlock for $block {
            fn decoder(ports: &$ports) -> &$crate::lang::operation::Decoder {
                &ports.decoder
            }

            #[allow(unused_parens, unused_imports, reason = "of what a table may use")]
            fn layout(&self) -> $crate::lang::operation::OperationLayout {
                use $crate::lang::operation as table;
                use $crate::lang::operation::{built, is, opcode, set};
                let $p = self;
                let _ = $p;
                table::OperationLayout {
                    meaning: $crate::lang::registers::sentence(concat!($($doc, "\n"),+)),
                    bytes: $bytes,
                    members: vec![$(table::Member {
                        name: stringify!($member).into(),
                        byte: $at,
                        bytes: $size,
                        meaning: $crate::lang::registers::sentence(concat!($($member_doc, "\n"),+)),
                    }),*],
                    fields: vec![$({
                        let (width, values) = <table::$kind as table::OperationKind>::layout($value);
                        let when = table::Condition::Always;
                        $(let when = { let _ = when; $when };)?
                        table::OperationField {
                            name: stringify!($field).into(),
                            byte: $byte,
                            low: $low,
                            width,
                            values,
                            when,
                            meaning: $crate::lang::registers::sentence(concat!($($field_doc, "\n"),+)),
                        }
                    }),*],
                }
            }
        }

        impl $crate::lang::Ports<$block> for $ports {
            fn declare(builder: &mut $crate::lang::PortBuilder, block: &$block) -> Self {
                builder.here();
                let layout = $crate::lang::operation::OperationBlock::layout(block);
                let (decoder, fields) = $crate::lang::operation::Decoder::declare(builder, &layout);
                let mut fields = fields.into_iter();
                Self { decoder, $($field: fields.next().expect("a port a field"),)* }
            }
        }

        impl $crate::lang::Block for $block {
            type Ports = $ports;
            const ABOUT: $crate::lang::About = $crate::lang::About {
                name: $name,
                summary: concat!($($doc),+).trim_ascii(),
                contract: "The fields of a descriptor by name, combinational. The last three outputs tell what is wrong; the first\n\
                    of them counts.",
                reference: "",
            };

            fn build(&self, m: &mut $crate::lang::Module, io: &$ports) {
                let layout = $crate::lang::operation::OperationBlock::layout(self);
                io.decoder.build(m, &layout, &[$(io.$field),*]);
            }
        }
    };
}
