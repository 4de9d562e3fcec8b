//! Every way a description can be wrong: the whole message, with the line of Rust it points at.
//!
//! In the expected text a location is written as the source line itself, so that moving a test does not break it.

use std::path::Path;

use hdl::lang::*;

/// The errors of a block, each location replaced by the text of its line.
fn report<B: Block>(block: &B) -> String {
    let Err(error) = elaborate(block) else { return "no error\n".into() };
    let mut text = String::new();
    for line in error.to_string().lines() {
        let Some((path, tail)) = line.split_once(".rs:") else {
            text += &format!("{line}\n");
            continue;
        };
        let (head, path) = path.rsplit_once(' ').unwrap();
        // Paths in messages are those of the workspace.
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(format!("{path}.rs"));
        let source = std::fs::read_to_string(file).unwrap();
        let digits: String = tail.chars().take_while(char::is_ascii_digit).collect();
        let module = tail.find(',').map_or("", |c| &tail[c..]);
        let code = source.lines().nth(digits.parse::<usize>().unwrap() - 1).unwrap();
        text += &format!("{head} {}{module}\n", code.trim());
    }
    text
}

fn expect(got: &str, expected: &str) {
    let lines: Vec<&str> = expected.lines().filter(|l| !l.trim().is_empty()).collect();
    let indent = lines.iter().map(|l| l.len() - l.trim_start().len()).min().unwrap_or(0);
    let expected: String = lines.iter().map(|l| format!("{}\n", &l[indent..])).collect();
    assert_eq!(got, expected, "\n--- got\n{got}--- expected\n{expected}");
}

/// A block called `bad` that must be refused with a message.
macro_rules! refuses {
    ($test:ident { $($port:tt)* } |$m:ident, $io:ident| $body:block $expected:literal) => {
        #[test]
        #[allow(unused_variables, reason = "not every refused block looks at its ports")]
        fn $test() {
            parameters! {
                /// Nothing.
                struct Bad {}
            }
            ports! { struct BadPorts(p: &Bad) { $($port)* } }
            impl Block for Bad {
                type Ports = BadPorts;
                const ABOUT: About =
                    About { name: "bad", summary: "wrong", contract: "", reference: "" };
                fn build(&self, $m: &mut Module, $io: &BadPorts) $body
            }
            expect(&report(&Bad {}), $expected);
        }
    };
}

mod drivers;
mod memories;
mod parts;
mod places;
mod types;

parameters! {
    /// A block with a combinational output, a registered one and a parameter.
    struct Child {
        /// Width in bits.
        width: u32 = 1, in 1..=16, tag "w";
    }
}

ports! {
    struct ChildPorts(p: &Child) {
        a_i: In = uint(p.width),
        now_o: Out = uint(p.width),
        later_o: Out = uint(p.width),
    }
}

impl Block for Child {
    type Ports = ChildPorts;
    const ABOUT: About = About { name: "child", summary: "", contract: "", reference: "" };
    // A bad name, to be found out.
    fn module_name(&self) -> String {
        format!("child_w{}", self.width.min(8))
    }
    fn build(&self, m: &mut Module, io: &ChildPorts) {
        let later = m.reg("later_q", uint(self.width));
        later.next(io.a_i);
        m.connect(io.now_o, !io.a_i);
        m.connect(io.later_o, later.q);
    }
}
