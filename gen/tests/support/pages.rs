//! Follows a page as its reader does: makes the files that it shows, edits them, runs its commands in a folder, and
//! compares their answers with the page. `SNAPSHOTS=overwrite` puts the answers into the page instead.
//!
//! | on the page | what is done |
//! | --- | --- |
//! | a block `console`: lines `$ command`, each with its answer below it | a shell runs the command; the answers must be equal |
//! | `<!-- write FILE -->` in front of a block | the block becomes this file |
//! | `<!-- edit FILE -->` in front of a block `diff` | the file is changed so; the lines that go are in it once |
//! | `<!-- part of FILE -->` in front of a block | the file has these lines, in this order; `...` stands for any lines between |
//! | `<!-- same as FILE -->` in front of an image | the image is this file |
//!
//! Files are taken from the folder, or else from the repository. The folder is `/home/you/guide` in answers. Times and
//! speeds may be any.

use std::fs;
use std::path::{Path, PathBuf};

use sim::process::Tool;
use snapbox::cmd::cargo_bin;

use super::is_sign_of_life;

const ORDERS: [&str; 4] = ["write ", "edit ", "part of ", "same as "];

/// A page and the folder in which its reader works.
pub struct Reader {
    page: String,
    root: PathBuf,
    folder: PathBuf,
    env: Vec<(String, String)>,
    skipped: Vec<&'static str>,
    overwrite: bool,
    /// Commands that ran.
    pub commands: usize,
    /// Files that were written, changed or compared.
    pub files: usize,
}

/// A file of the repository.
pub fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

impl Reader {
    /// A reader of this page of the repository.
    pub fn of(page: &str, folder: &Path) -> Self {
        let overwrite = std::env::var("SNAPSHOTS").is_ok_and(|value| value == "overwrite");
        let (root, folder) = (folder.to_owned(), folder.to_owned());
        let (env, skipped) = (Vec::new(), Vec::new());
        Self { page: page.to_owned(), root, folder, env, skipped, overwrite, commands: 0, files: 0 }
    }

    /// With these in the environment of all commands.
    pub fn env<'a>(mut self, variables: impl IntoIterator<Item = (&'a str, String)>) -> Self {
        self.env.extend(variables.into_iter().map(|(name, value)| (name.to_owned(), value)));
        self
    }

    /// Without commands that begin so.
    pub fn without(mut self, words: &[&'static str]) -> Self {
        self.skipped.extend(words);
        self
    }

    /// Does all that the page says.
    pub fn follow(mut self) -> Self {
        let path = in_repository(&self.page);
        let before = fs::read_to_string(&path).unwrap();
        let (mut after, mut order, mut lines) = (String::new(), None, before.lines());
        while let Some(line) = lines.next() {
            after += &format!("{line}\n");
            if let Some(comment) = line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->")) {
                order = ORDERS.iter().find_map(|order| Some((*order, comment.strip_prefix(order)?))).or(order);
            } else if let Some(language) = line.strip_prefix("```") {
                let mut block = lines.by_ref().take_while(|line| *line != "```").collect::<Vec<_>>().join("\n");
                match order.take() {
                    Some((order, file)) => self.file(order, file, &block),
                    None if language == "console" => block = self.console(&block),
                    None => {}
                }
                after += &format!("{block}\n```\n");
            } else if let Some((order, file)) = order.take_if(|_| line.starts_with("![")) {
                assert_eq!(order, "same as ", "{}: {line}", self.page);
                self.image(line, file);
            }
        }
        assert_eq!(order, None, "{}: no block follows", self.page);
        if self.overwrite && after != before {
            fs::write(&path, after).unwrap();
        }
        self
    }

    fn file(&mut self, order: &str, file: &str, block: &str) {
        let (path, told) = (self.folder.join(file), format!("{}: {order}{file}", self.page));
        let path = if order == "part of " && !path.exists() { in_repository(file) } else { path };
        let read = || fs::read_to_string(&path).unwrap_or_else(|e| panic!("{told}: {e}"));
        match order {
            "write " => fs::write(&path, format!("{block}\n")).unwrap(),
            "edit " => fs::write(&path, edited(&read(), block).unwrap_or_else(|e| panic!("{told}: {e}"))).unwrap(),
            "part of " => has(&read(), block).unwrap_or_else(|e| panic!("{told}: {e}")),
            _ => panic!("{told}: an image must follow"),
        }
        self.files += 1;
    }

    fn image(&mut self, line: &str, file: &str) {
        let target = line.split_once("](").unwrap().1.split_once(')').unwrap().0;
        let image = in_repository(&self.page).with_file_name(target);
        let drawn = fs::read_to_string(self.folder.join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        if self.overwrite {
            fs::write(&image, &drawn).unwrap();
        }
        let shown = fs::read_to_string(&image).unwrap_or_else(|e| panic!("{}: {e}", image.display()));
        assert!(shown == drawn, "{}: {target} is not {file}; SNAPSHOTS=overwrite renews it", self.page);
        self.files += 1;
    }

    /// The block with the answers that its commands give.
    fn console(&mut self, block: &str) -> String {
        let mut after = Vec::new();
        for shown in format!("\n{block}").split("\n$ ").skip(1) {
            let (command, answer) = command_and_answer(shown);
            let words = command.replace("\\\n", " ");
            let got = if self.skipped.iter().any(|skipped| words.starts_with(skipped)) {
                answer.to_owned()
            } else if let Some(folder) = words.strip_prefix("cd ") {
                self.enter(folder);
                String::new()
            } else {
                self.commands += 1;
                self.run(&words)
            };
            let got = without_ends(&got);
            let got = if known(&got) == known(answer) { answer } else { &got };
            assert!(self.overwrite || got == answer, "{}: {words}\nanswers\n{got}\nand not\n{answer}", self.page);
            let space = &answer[answer.trim_end().len()..];
            after.push(format!("$ {command}\n{}", got.trim_end()).trim_end().to_owned() + space);
        }
        after.join("\n")
    }

    /// A new crate takes the versions of all crates that are tested here.
    fn enter(&mut self, folder: &str) {
        self.folder.push(folder);
        let lock = self.folder.join("Cargo.lock");
        if self.folder.join("Cargo.toml").is_file() && !lock.exists() {
            fs::copy(in_repository("Cargo.lock"), lock).unwrap();
        }
        assert!(self.folder.is_dir(), "{}: cd {folder}", self.page);
    }

    /// The output of a command, results and messages.
    fn run(&self, command: &str) -> String {
        let programs = [cargo_bin!("senbazuru").parent().unwrap().to_owned()];
        let others = std::env::var_os("PATH").unwrap();
        let path = std::env::join_paths(programs.into_iter().chain(std::env::split_paths(&others))).unwrap();
        let mut tool =
            Tool::new("sh").args(["-c", &format!("{{ {command}\n}} 2>&1")]).dir(&self.folder).env("PATH", path);
        for (name, value) in &self.env {
            tool = tool.env(name, value);
        }
        let output = tool.run().unwrap_or_else(|e| panic!("{}: {e}", self.page));
        output.stdout.replace(&self.root.display().to_string(), "/home/you/guide")
    }
}

/// A command may go on after a `\` at the end of a line.
fn command_and_answer(shown: &str) -> (&str, &str) {
    let mut end = 0;
    for line in shown.split_inclusive('\n') {
        end += line.len();
        if !line.ends_with("\\\n") {
            break;
        }
    }
    (shown[..end].trim_end_matches('\n'), &shown[end..])
}

/// Without spaces at the ends of lines.
fn without_ends(text: &str) -> String {
    text.trim_end().lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// An answer without times and speeds: `1234 a second`, `0.2 s` and `5.1 tokens/s` as `# a second`, `# s` and `# tokens/s`.
fn known(answer: &str) -> String {
    let lines = answer.trim_end().lines().filter(|line| !is_sign_of_life(line)).map(|line| {
        let mut words: Vec<&str> = line.split(' ').collect();
        for n in 1..words.len() {
            let unit = ["s", "tokens/s"].contains(&words[n].trim_end_matches([',', '.']))
                || words[n..].starts_with(&["a", "second"])
                || words[n..].starts_with(&["cycles", "a", "second"]);
            if unit && words[n - 1].starts_with(|c: char| c.is_ascii_digit()) {
                words[n - 1] = "#";
            }
        }
        for word in &mut words {
            if word.strip_suffix('s').is_some_and(|number| number.parse::<f64>().is_ok()) {
                *word = "#s";
            }
        }
        words.join(" ")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The text with the lines of a difference in it.
fn edited(text: &str, difference: &str) -> Result<String, String> {
    let side = |gone: char| {
        let lines = difference.lines().filter(|line| !line.starts_with(gone));
        lines.map(|line| format!("{}\n", line.get(1..).unwrap_or(""))).collect::<String>()
    };
    let (before, after) = (side('+'), side('-'));
    match text.matches(&before).count() {
        1 => Ok(text.replace(&before, &after)),
        n => Err(format!("{n} times in the file:\n{before}")),
    }
}

/// Whether a text has all lines; `...` stands for any lines.
fn has(text: &str, lines: &str) -> Result<(), String> {
    let (text, lines) = (format!("\n{text}\n"), format!("\n{lines}\n").replace("\n...\n", "\n\u{0}\n"));
    let mut rest = text.as_str();
    for part in lines.split('\u{0}') {
        let Some(at) = rest.find(part) else { return Err(format!("not in the file, or not there:\n{part}")) };
        rest = &rest[at + part.len() - 1..];
    }
    Ok(())
}

#[test]
fn times_are_any() {
    let (one, other) = ("2000 values, 12 s\n3 cycles, 2345 a second\n", "2000 values, 9.5 s\n3 cycles, 11 a second\n");
    assert_eq!(known(one), "2000 values, # s\n3 cycles, # a second");
    assert_eq!(known(one), known(other));
    assert_eq!(known("3 passed in 0.15s"), known("3 passed in 12.1s"));
    let (one, other) =
        ("0.1 s a token, 8.2 tokens/s\n1,234 cycles a second", "12 s a token, 0.8 tokens/s\n9 cycles a second");
    assert_eq!(known(one), "# s a token, # tokens/s\n# cycles a second");
    assert_eq!(known(one), known(other));
    assert_eq!(known("1:00 min: mutants of x\n3 signals\n"), "3 signals");
}

#[test]
fn commands_of_several_lines() {
    assert_eq!(command_and_answer("a \\\n  b\nc\nd"), ("a \\\n  b", "c\nd"));
    assert_eq!(command_and_answer("a"), ("a", ""));
}

#[test]
fn edits_are_for_one_place() {
    let text = "a\nb\na\nc\n";
    assert_eq!(edited(text, " a\n-c\n+d\n+e").unwrap(), "a\nb\na\nd\ne\n");
    assert!(edited(text, "-a\n+b").unwrap_err().starts_with("2 times"));
    assert!(edited(text, "-x").unwrap_err().starts_with("0 times"));
}

#[test]
fn parts_are_in_order() {
    let text = "a\nb\nc\nd\n";
    assert!(has(text, "b\nc").is_ok() && has(text, "a\n...\nd").is_ok());
    assert!(has(text, "d\n...\na").is_err() && has(text, "b\nd").is_err());
}
