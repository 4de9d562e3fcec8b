//! Prints the C header of descriptors:
//! `cargo run -p senbazuru-host --example c_header >sim/host/include/snbz_descriptors.h`.

fn main() {
    print!("{}", host::layout::c_header());
}
