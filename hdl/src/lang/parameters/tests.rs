use super::names::fnv;
use super::*;
use crate::{choices, parameters};

choices! {
    /// A choice.
    enum Style {
        /// One.
        Single,
        /// Two.
        DoubleBuffered,
    }
}

parameters! {
    /// An inner struct.
    struct Inner {
        /// Rows
        /// of it.
        rows: u32 = 4, in power_of_two(2..=64), tag "m";
        /// Not in the name.
        slack: u32 = 0, in 0..=100;
        /// Came later.
        late: u32 = 3, in 1..=9, named "when set";
    }
    rules = |p, rules| rules.demand(p.slack < 10 * p.rows, "slack", p.slack, format!("below {}", 10 * p.rows));
}

parameters! {
    /// An outer one.
    struct Outer {
        /// Width in bits.
        width: u32 = 8, in 1..=64, tag "w";
        /// Whether.
        signed: bool = false, tag "signed";
        /// How.
        style: Style = Style::Single, tag "";
        /// The inner one.
        inner: Inner = Inner::default();
    }
}

#[test]
fn what_a_user_sees() {
    let list = Outer::default().list();
    let names: Vec<_> = list.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(names, ["width", "signed", "style", "inner.rows", "inner.slack", "inner.late"]);
    assert_eq!(list[2].allowed, "single, double_buffered");
    assert_eq!(list[3].allowed, "a power of two from 2 to 64");
    assert_eq!((list[3].meaning.as_str(), &list[3].default), ("Rows of it", &Value::from(4)));
}

#[test]
fn all_violations_at_once() {
    let mut p = Outer { width: 65, ..Outer::default() };
    p.inner.rows = 6;
    p.inner.slack = 101;
    let errors = p.check().unwrap_err();
    let named: Vec<_> = errors.0.iter().map(|e| e.parameter.as_str()).collect();
    assert_eq!(named, ["width", "inner.rows", "inner.slack"]);
    p.inner.rows = 4;
    p.inner.slack = 40;
    p.width = 1;
    assert_eq!(p.check().unwrap_err().to_string(), "parameter `inner.slack` is 40, allowed: below 40");
}

#[test]
fn dotted_names_and_back() {
    let values = Outer::default().values();
    let flat = flatten(&values);
    assert_eq!(flat[3], ("inner.rows".to_string(), Value::from(4)));
    assert_eq!(nest(flat.iter().map(|(n, v)| (n, v))), values);
}

#[test]
fn names_of_modules() {
    let name = |p: &Outer| module_name("outer", p);
    let mut p = Outer::default();
    assert_eq!(name(&p), "outer_w8_single_m4");
    p.signed = true;
    assert_eq!(name(&p), "outer_w8_signed_single_m4");
    p.inner.slack = 1;
    let told = name(&p);
    assert!(told.starts_with("outer_w8_signed_single_m4_x"), "{told}");
    p.inner.slack = 2;
    assert_ne!(name(&p), told);
}

/// A parameter that came later changes neither the name nor the hash in it, unless it is set.
#[test]
fn what_came_later_renames_nothing() {
    let mut p = Outer { inner: Inner { slack: 1, ..Inner::default() }, ..Outer::default() };
    let before = r#"{"width":8,"signed":false,"style":"single","inner":{"rows":4,"slack":1}}"#;
    assert_eq!(module_name("outer", &p), format!("outer_w8_single_m4_x{:08x}", fnv(before)));
    p.inner.late = 4;
    let set = module_name("outer", &p);
    assert!(set.starts_with("outer_w8_single_m4_x") && set != module_name("outer", &Outer::default()), "{set}");
    p.inner.slack = 0;
    assert_ne!(module_name("outer", &p), set);
    assert_eq!(module_name("outer", &Outer::default()), "outer_w8_single_m4");
}

parameters! {
    /// A block with a part.
    struct Whole {
        /// Not in the name.
        slack: u32 = 0, in 0..=100;
    }
    rules = |p, rules| rules.same(&Inner { slack: p.slack, ..Inner::default() });
}

#[test]
fn rules_of_a_part_keep_their_names() {
    let error = Whole { slack: 40 }.check().unwrap_err().to_string();
    assert_eq!(error, "parameter `slack` is 40, allowed: below 40");
}

parameters! {
    /// A part whose parameters the whole has under other names, or computes.
    struct Part {
        /// Taken over.
        width: u32 = 8, in 1..=16;
        /// Computed.
        depth: u32 = 8, in 4..=64;
    }
}

parameters! {
    /// A field of the block below.
    struct Shape {
        /// Of the part.
        width: u32 = 8, in 1..=1000;
    }
}

parameters! {
    /// A block around a part.
    struct Around {
        /// Rows.
        rows: u32 = 4, in 1..=1000;
        /// Shape.
        shape: Shape = Shape::default();
    }
    rules = |p, rules| rules.part("rows", &Part { width: p.shape.width, depth: 2 * p.rows });
}

#[test]
fn rules_of_a_part_are_told_in_names_of_the_whole() {
    let error = |rows, width| Around { rows, shape: Shape { width } }.check().unwrap_err().to_string();
    assert_eq!(error(4, 40), "parameter `shape.width` is 40, allowed: 1 to 16");
    assert_eq!(error(1, 8), "parameter `rows` is 1, allowed: what makes depth 4 to 64 (it is 2)");
}

parameters! {
    /// What two blocks share.
    struct Shared {
        /// In the name.
        width: u32 = 8, in 1..=16, tag "w";
        /// In the name when it is set.
        late: u32 = 0, in 0..=9, tag "l", named "when set";
    }
}

parameters! {
    /// A block with it.
    struct Sharer {
        /// Before.
        rows: u32 = 2, in 1..=9, tag "r";
        /// Of both.
        shared: Shared = Shared { width: 4, ..Shared::default() }, named "inline";
        /// After.
        depth: u32 = 3, in 1..=9, tag "d";
    }
}

#[test]
fn fields_of_an_inline_struct_have_no_prefix() {
    let p = Sharer::default();
    assert_eq!(p.values().to_string(), r#"{"rows":2,"width":4,"late":0,"depth":3}"#);
    assert_eq!(Sharer::from_values(&p.values()), Ok(p.clone()));
    let names: Vec<String> = p.list().into_iter().map(|p| p.name).collect();
    assert_eq!(names, ["rows", "width", "late", "depth"]);
    assert_eq!(module_name("sharer", &p), "sharer_r2_w4_d3");
    let set = Sharer { shared: Shared { width: 40, late: 1 }, ..p };
    assert_eq!(module_name("sharer", &set), "sharer_r2_w40_l1_d3");
    assert_eq!(set.check().unwrap_err().to_string(), "parameter `width` is 40, allowed: 1 to 16");
    let missing = serde_json::json!({ "rows": 1, "width": 2, "depth": 3 });
    assert!(Sharer::from_values(&missing).unwrap_err().to_string().contains("`late` is missing"));
    let unknown = serde_json::json!({ "rows": 1, "width": 2, "late": 0, "depth": 3, "more": 1 });
    assert!(Sharer::from_values(&unknown).unwrap_err().to_string().contains("`more` is 1"));
}
