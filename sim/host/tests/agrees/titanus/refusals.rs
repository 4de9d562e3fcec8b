//! Messages of refusals.

use host::titanus::{Caps, Held, LinkJob, LoadJob, Matrix, Product, ProductJob, RestoreJob, check};
use host::vector::Operand;
use host::{Descriptor, Refusal};

use super::{AREAS, CAPS, WINDOW, good};

#[test]
fn refusals_name_field_value_and_what_is_right() {
    let end = "; the hardware would end the job with";
    let said = |built: Result<Descriptor, Refusal>| built.unwrap_err().to_string();
    let held = Held { cache: 7, context: 7, prefill: 5 };
    let restore = RestoreJob::to_context(6, 24, AREAS).build(&CAPS, &held, &WINDOW);
    assert_eq!(said(restore), format!("tokens is 6, must be 7: the tokens of the cache{end} SIZE (9)"));
    let at = Operand { address: 0x4000, stride: 64 };
    let product = |matrix| {
        let product = Product { rows: 2, inner: 9, columns: 7, matrix, x: at, out: at, constant: 3 };
        ProductJob::new(product).build(&CAPS, &held, &WINDOW)
    };
    assert_eq!(said(product(Matrix::Keys { tile: 2 })), format!("inner is 9, must be 1 to 8{end} SIZE (9)"));
    let store = Caps { rows: 0, ..CAPS };
    let load = LoadJob::weights(8, 8, at, (0, 0)).build(&store, &WINDOW);
    let expected = "must be another one: the device has no store of weights";
    assert_eq!(said(load), format!("opcode is 0x1, {expected}{end} FIELD (15)"));
    let link = LinkJob::give(1, true).build(&CAPS, &WINDOW).unwrap();
    assert_eq!(link.bytes()[44], 2);
    let link = LinkJob::wait(0, true).then_give(1, false).build(&CAPS, &WINDOW);
    assert_eq!(said(link), format!("last_awaited is 0x1, must be 0, or with awaited{end} RESERVED (5)"));
    let mut bytes = *good()[9].0.bytes();
    bytes[45] |= 0x10;
    let message = check(&Descriptor::from_bytes(bytes), &CAPS, &held, &WINDOW).unwrap_err().to_string();
    assert_eq!(message, format!("bit 4 of byte 45 is 1, must be 0{end} RESERVED (5)"));
}
