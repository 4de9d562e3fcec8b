//! Verilator without its Perl script. The script takes longer to start than a small model takes to verilate.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

/// Settings with which the script looks for its program elsewhere.
const ELSEWHERE: [&str; 2] = ["VERILATOR_BIN", "VERILATOR_ROOT"];

/// As the script does: deep designs need more stack than a shell gives.
pub(super) const START: [&str; 2] = ["-c", "ulimit -s unlimited 2>/dev/null; exec \"$0\" \"$@\""];

/// The program next to the first `verilator` on PATH, if there is one and no variable says that the program is
/// elsewhere. `given` are variables that the call sets itself.
pub(super) fn verilator(given: &[(String, OsString)]) -> Option<PathBuf> {
    let var = |name: &str| {
        let given = given.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone());
        given.or_else(|| env::var_os(name)).filter(|value| !value.is_empty())
    };
    if ELSEWHERE.iter().any(|name| var(name).is_some()) {
        return None;
    }
    let folder = env::split_paths(&var("PATH")?).find(|folder| folder.join("verilator").is_file())?;
    Some(folder.join("verilator_bin")).filter(|program| program.is_file())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use crate::process::Tool;

    #[test]
    fn the_program_beside_the_script_is_started() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        };
        // Variables of this machine about Verilator must not matter here.
        let [first, second] = super::ELSEWHERE;
        let call = |first_is: &str, second_is: &str| {
            let tool = Tool::new("verilator").args(["--cc", "a b"]).env("PATH", folder.path());
            tool.env(first, first_is).env(second, second_is)
        };
        let printed = |tool: Tool| tool.run().unwrap().stdout;
        assert!(call("", "").run().is_err(), "there is no such program");
        write("verilator", "echo script \"$@\"");
        assert_eq!(printed(call("", "")), "script --cc a b\n");
        write("verilator_bin", "echo program \"$2\"; ulimit -s; exit 3");
        let output = call("", "").run().unwrap();
        assert_eq!((output.code, output.stdout.lines().next()), (Some(3), Some("program a b")));
        for (first_is, second_is) in [("somewhere", ""), ("", "somewhere")] {
            assert_eq!(printed(call(first_is, second_is)), "script --cc a b\n");
        }
    }
}
