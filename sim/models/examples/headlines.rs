//! The tables of docs/headlines.md. With `all` it also prints what goes into their formulas.

fn main() {
    print!("{}", models::headlines::markdown(std::env::args().any(|argument| argument == "all")));
}
