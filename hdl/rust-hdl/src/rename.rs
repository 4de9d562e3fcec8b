//! Renaming of modules and macros inside Verilog text that came from elsewhere.

use std::collections::BTreeMap;

/// Puts `prefix` and `$` in front of the name of every module that `text` declares, in declarations and instances.
/// Modules that have the prefix already keep their names. So do modules marked `(* blackbox *)`: their names belong to
/// a vendor. Macros that the text defines get the prefix too: an include guard must not hide the renamed copy of
/// another text. Returns the new text and the modules' new names by old name.
pub(super) fn prefix_modules(text: &str, prefix: &str) -> (String, BTreeMap<String, String>) {
    let tokens = tokens(text);
    let solid: Vec<usize> = (0..tokens.len()).filter(|&i| tokens[i].0 != Kind::Blank).collect();
    let word = |at: Option<usize>| at.and_then(|at| solid.get(at)).map_or("", |&i| tokens[i].1);
    let mut modules = BTreeMap::new();
    let mut macros = BTreeMap::new();
    let mut vendor = false;
    for (at, &i) in solid.iter().enumerate() {
        let (kind, token) = tokens[i];
        let before = word(at.checked_sub(1));
        if kind != Kind::Word {
            continue;
        }
        if matches!(token, "blackbox" | "black_box") && before == "*" && word(at.checked_sub(2)) == "(" {
            vendor = true;
        } else if before == "module" {
            let ours = token == prefix || token.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('$'));
            if !ours && !vendor {
                modules.insert(token.to_string(), format!("{prefix}${token}"));
            }
            vendor = false;
        } else if before == "`define" {
            macros.insert(token.to_string(), format!("{}_{token}", prefix.replace('$', "_")));
        }
    }
    let mut renamed: Vec<String> = tokens.iter().map(|t| t.1.to_string()).collect();
    for (at, &i) in solid.iter().enumerate() {
        let (kind, token) = tokens[i];
        let (before, after) = (word(at.checked_sub(1)), solid.get(at + 1).map(|&n| tokens[n]));
        // A name means a module in its declaration, and in front of an instance's name or parameters.
        let placed = after.is_some_and(|(k, t)| t == "#" || (k == Kind::Word && t != "or"));
        if kind == Kind::Word
            && (before == "module" || placed)
            && let Some(new) = modules.get(token)
        {
            renamed[i].clone_from(new);
        }
        if matches!(before, "`define" | "`undef" | "`ifdef" | "`ifndef" | "`elsif")
            && let Some(new) = macros.get(token)
        {
            renamed[i].clone_from(new);
        }
        if let Some(new) = token.strip_prefix('`').and_then(|name| macros.get(name)) {
            renamed[i] = format!("`{new}");
        }
    }
    (renamed.concat(), modules)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// White space or comment.
    Blank,
    Word,
    /// Directive, number, string, escaped name, or one punctuation character.
    Other,
}

/// Splits `text` into tokens that cover it completely.
fn tokens(text: &str) -> Vec<(Kind, &str)> {
    let mut list = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let run = |from: usize, test: fn(char) -> bool| {
            rest[from..].find(|c| !test(c)).map_or(rest.len(), |length| from + length)
        };
        let until = |from: usize, end: &str| rest[from..].find(end).map_or(rest.len(), |at| from + at + end.len());
        let (kind, length) = match first {
            c if c.is_whitespace() => (Kind::Blank, run(0, char::is_whitespace)),
            '/' if rest.starts_with("//") => (Kind::Blank, until(0, "\n")),
            '/' if rest.starts_with("/*") => (Kind::Blank, until(2, "*/")),
            '"' => (Kind::Other, string_end(rest)),
            '\\' => (Kind::Other, run(1, |c| !c.is_whitespace())),
            '`' => (Kind::Other, run(1, is_word)),
            // 8'hff and 'd0: the letters of a number are no name.
            '0'..='9' => (Kind::Other, run(0, is_word)),
            '\'' => (Kind::Other, run(1, is_word)),
            c if is_word(c) => (Kind::Word, run(0, is_word)),
            c => (Kind::Other, c.len_utf8()),
        };
        let (token, tail) = rest.split_at(length);
        list.push((kind, token));
        rest = tail;
    }
    list
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

fn string_end(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '"' if !escaped => return at + 1,
            _ => escaped = c == '\\' && !escaped,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_and_macros_get_the_prefix() {
        let text = "`ifndef ONCE\n`define ONCE\nmodule dff(input wire d, output reg q); // module dff\n\
            initial q = 8'hdff;\nendmodule\n`endif\nmodule x$core(input wire dff);\n\
            dff #(.W(1)) a(.d(dff));\ndff b(.d(dff), .q());\nalways @(posedge dff or negedge c) $display(\"dff u\");\nendmodule\n";
        let (new, names) = prefix_modules(text, "x$core");
        assert_eq!(
            new,
            "`ifndef x_core_ONCE\n`define x_core_ONCE\nmodule x$core$dff(input wire d, output reg q); // module dff\n\
            initial q = 8'hdff;\nendmodule\n`endif\nmodule x$core(input wire dff);\n\
            x$core$dff #(.W(1)) a(.d(dff));\nx$core$dff b(.d(dff), .q());\n\
            always @(posedge dff or negedge c) $display(\"dff u\");\nendmodule\n"
        );
        assert_eq!(names, BTreeMap::from([("dff".into(), "x$core$dff".into())]));
    }

    #[test]
    fn vendor_black_boxes_keep_their_names() {
        let text = "(* blackbox *)\nmodule IBUF(I, O);\nendmodule\nmodule top(a);\nalways @(*) a = 1;\nIBUF u(.I(a));\nendmodule\n";
        let (new, names) = prefix_modules(text, "p");
        assert_eq!(new, text.replace("module top", "module p$top"));
        assert_eq!(names.len(), 1);
    }

    #[test]
    fn tokens_cover_any_text() {
        for text in ["", "\"open", "/* open", "\\esc aped", "a`b'c\"d\\\"e\"f", "é // ü", "1'b", "`"] {
            assert_eq!(tokens(text).iter().map(|t| t.1).collect::<String>(), text);
        }
    }
}
