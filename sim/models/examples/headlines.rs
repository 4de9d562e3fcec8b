//! The tables of docs/headlines.md.

fn main() {
    print!("{}", models::headlines::markdown());
}
