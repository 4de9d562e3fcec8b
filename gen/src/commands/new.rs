//! `new`: a crate for a block or an accelerator of one's own.

use std::fs;
use std::path::{Path, PathBuf};

use minijinja::context;

use crate::error::{Failure, Result};
use crate::output::{bug, environment};
use crate::present::report;
use crate::shell;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Name of the block or of the accelerator, in snake case
    name: String,
    /// Write an accelerator: registers, one operation from memory to memory, golden model, bench, host side
    #[arg(long)]
    accelerator: bool,
    /// Folder to make, which must not exist [default: the name with `-` for `_`]
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Family of the block: it groups blocks in lists and folders
    #[arg(long, value_name = "NAME", default_value = "mine")]
    family: String,
    /// Folder of the toolkit's sources, for a toolkit that is not published [default: the sources of this program]
    #[arg(long, value_name = "DIR")]
    toolkit: Option<PathBuf>,
}

/// What can be written. None of the templates is called `Cargo.toml`: a folder with such a file is no part of a package.
struct Kind {
    /// What the crate has.
    name: &'static str,
    /// Files by name, and their templates; `block.rs` takes the name of the block.
    files: &'static [(&'static str, &'static str)],
    /// Words that its files use, besides [`RESERVED`].
    words: &'static str,
}

const BLOCK: Kind = Kind {
    name: "block",
    files: &[
        ("Cargo.toml", include_str!("../../templates/new/block/manifest.toml")),
        ("README.md", include_str!("../../templates/new/block/README.md")),
        (".gitignore", include_str!("../../templates/new/gitignore")),
        (".github/workflows/test.yml", include_str!("../../templates/new/ci.yml")),
        ("src/main.rs", include_str!("../../templates/new/block/main.rs")),
        ("src/block.rs", include_str!("../../templates/new/block/block.rs")),
    ],
    words: "",
};

const ACCELERATOR: Kind = Kind {
    name: "accelerator",
    files: &[
        ("Cargo.toml", include_str!("../../templates/new/accelerator/manifest.toml")),
        ("README.md", include_str!("../../templates/new/accelerator/README.md")),
        (".gitignore", include_str!("../../templates/new/gitignore")),
        (".github/workflows/test.yml", include_str!("../../templates/new/ci.yml")),
        ("src/main.rs", include_str!("../../templates/new/accelerator/main.rs")),
        ("src/lib.rs", include_str!("../../templates/new/accelerator/lib.rs")),
        ("src/operation.rs", include_str!("../../templates/new/accelerator/operation.rs")),
        ("src/top.rs", include_str!("../../templates/new/accelerator/top.rs")),
        ("src/golden.rs", include_str!("../../templates/new/accelerator/golden.rs")),
        ("src/bench.rs", include_str!("../../templates/new/accelerator/bench.rs")),
        ("src/host.rs", include_str!("../../templates/new/accelerator/host.rs")),
        ("src/registers.rs", include_str!("../../templates/new/accelerator/registers.rs")),
    ],
    words: "accelerator allocator axi_config bus catalog chain counter device draft dma_spec engine facts fields hardware host \
job link module opcode operand operation operation_controller own own_registers place player ports program registers report \
row_beat settings stimulus_rng top top_parameters window",
};

/// Words that cannot be the name of a block: keywords of Rust, and names that the files of the crates use.
const RESERVED: &str = "about abstract anyhow as async await become bench block box break catalog_block catalogue const \
continue core crate do dyn else enum err exit_code extern false fault final fn for gen golden if impl in let loop macro main \
match mod move mut none ok override priv proc_macro proof pub ref return self senbazuru sim some static std struct super test \
timing trait true try type typeof unsafe unsized use vec virtual where while yield";

pub(super) fn run(args: &Args) -> Result<()> {
    let name = &args.name;
    let refuse = |why: String| Err(Failure::Usage(why));
    if let Err(why) = hdl::lang::check_name(name) {
        return refuse(why);
    }
    let kind = if args.accelerator { ACCELERATOR } else { BLOCK };
    if RESERVED.split_whitespace().chain(kind.words.split_whitespace()).any(|word| word == name) {
        return refuse(format!("`{name}` is a word of Rust or of the new crate itself; choose another name"));
    }
    if !crate::catalogue::is_family(&args.family) {
        return refuse(format!("family `{}`, allowed: letters, digits, `_` and `-`", args.family));
    }
    let package = name.replace('_', "-");
    let folder = args.folder.clone().unwrap_or_else(|| PathBuf::from(&package));
    if fs::symlink_metadata(&folder).is_ok() {
        return refuse(format!("{} is there already: choose another folder with --folder", folder.display()));
    }
    let [toolkit, host] = toolkit(args.toolkit.as_deref())?;
    let version = env!("CARGO_PKG_VERSION");
    let values = context! { name, package, version, family => &args.family, type => camel_case(name), toolkit, host };
    let templates = environment().map_err(bug("a new crate"))?;
    let files = kind.files.iter().map(|(file, template)| {
        let text = templates.render_str(template, &values).map_err(bug(file))?;
        Ok((file.replace("block.rs", &format!("{name}.rs")), text))
    });
    write(&folder, files.collect::<Result<Vec<_>>>()?)?;
    let there = shell::line(&["cd".to_owned(), folder.display().to_string()]);
    report::print(&format!(
        "{} is a crate with the {} `{name}`. Simulate it and compare it with its golden model:\n\n  {there}\n  cargo run -- sim {name}\n",
        folder.display(),
        kind.name
    ))
}

/// All files, or no folder.
fn write(folder: &Path, files: Vec<(String, String)>) -> Result<()> {
    let failed = |path: &Path, e: std::io::Error| Failure::file("write", path, &e);
    let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(|e| failed(parent, e))?;
    let draft = tempfile::Builder::new().prefix(".new-").tempdir_in(parent).map_err(|e| failed(parent, e))?;
    // A name of its own: the folder that is kept has the permissions of any other one.
    let inside = draft.path().join("crate");
    for (file, text) in files {
        let path = inside.join(file);
        let within = path.parent().unwrap_or(&inside);
        fs::create_dir_all(within).and_then(|()| fs::write(&path, text)).map_err(|e| failed(&path, e))?;
    }
    fs::rename(&inside, folder).map_err(|e| failed(folder, e))
}

/// The dependencies in `Cargo.toml`, toolkit and drivers: paths where there are sources, else the version of this program.
fn toolkit(given: Option<&Path>) -> Result<[String; 2]> {
    let built_from = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = match given {
        Some(folder) => folder,
        None if built_from.join("Cargo.toml").is_file() => built_from.parent().unwrap_or(built_from),
        None => return Ok([(); 2].map(|()| format!("version = \"{}\"", env!("CARGO_PKG_VERSION")))),
    };
    let path = |folder: &str, package: &str| {
        let path = root.join(folder);
        let manifest = path.join("Cargo.toml");
        let text = fs::read_to_string(&manifest).map_err(|e| Failure::file("read", &manifest, &e))?;
        if !text.contains(&format!("name = \"{package}\"")) {
            return Err(Failure::Usage(format!("{} is not the package `{package}`", manifest.display())));
        }
        let path = fs::canonicalize(&path).map_err(|e| Failure::file("read", &path, &e))?;
        match path.to_str() {
            Some(text) => Ok(format!("path = {}", toml::Value::from(text))),
            None => Err(Failure::Usage(format!("{}: the name is not UTF-8", path.display()))),
        }
    };
    Ok([path("gen", "senbazuru")?, path("sim/host", "senbazuru-host")?])
}

/// `sat_accumulator` as `SatAccumulator`.
fn camel_case(name: &str) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect::<String>()
    };
    name.split('_').map(capital).collect()
}
