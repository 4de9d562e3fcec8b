//! The files of designs, and where they go.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use hdl::lang::About;
use serde::Serialize;

pub use super::layout::Layout;
use super::{Package, host, package};
use crate::error::{Failure, Result};

/// One design of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Design {
    /// Block.
    pub block: String,
    /// Top module.
    pub top: String,
    /// Its files: modules, children before parents, then file list and manifest.
    pub files: Vec<PathBuf>,
}

/// Designs as files. A module that several of them place is there once.
#[derive(Clone, Debug)]
pub struct Bundle {
    layout: Layout,
    designs: Vec<Design>,
    pub(super) files: BTreeMap<PathBuf, String>,
}

impl Bundle {
    /// Nothing yet.
    #[must_use]
    pub fn new(layout: Layout) -> Self {
        Self { layout, designs: Vec::new(), files: BTreeMap::new() }
    }

    /// Adds a design: a file for each module, a file list (children first), a manifest, and descriptions of its
    /// registers where it has any.
    ///
    /// # Errors
    /// Another design has a module of the same name with another text; a manifest that JSON cannot hold.
    pub fn add(&mut self, family: &str, block: &str, design: &hdl::lang::Design) -> Result<()> {
        let top = design.top_name();
        let manifest = design.manifest();
        let text =
            serde_json::to_string_pretty(&manifest).map_err(|e| Failure::Check(format!("manifest of {top}: {e}")))?;
        let mut described = vec![("json", text + "\n")];
        described.extend(host::files(&manifest)?);
        let modules = design.verilog().into_iter().map(|f| (f.name, f.text)).collect();
        self.add_text(family, block, top, modules, described)
    }

    /// Adds files for other flows to the design that was added last: see [`Package`].
    ///
    /// # Errors
    /// More than one design, or a library: a package has a folder of its own.
    pub fn add_package(
        &mut self,
        family: &str,
        about: &About,
        source: &hdl::lang::Design,
        package: &Package,
    ) -> Result<()> {
        let (Layout::Flat, [design]) = (self.layout, &mut self.designs[..]) else {
            return Err(Failure::Usage("a package is of one block, in a folder of its own: name one block".into()));
        };
        let verilog = design.files.iter().filter(|p| is_verilog(p)).filter_map(|p| p.to_str());
        let (manifest, state) = (source.manifest(), package::State::from(source));
        for (name, text) in package::files(family, about, &manifest, &verilog.collect::<Vec<_>>(), &state, package)? {
            design.files.push(PathBuf::from(&name));
            self.files.insert(name.into(), text);
        }
        Ok(())
    }

    fn add_text(
        &mut self,
        family: &str,
        block: &str,
        top: &str,
        modules: Vec<(String, String)>,
        described: Vec<(&str, String)>,
    ) -> Result<()> {
        let stem = match self.layout {
            Layout::Flat => PathBuf::from(top),
            Layout::Library => Path::new(family).join(block),
        };
        let list = modules.iter().map(|(file, _)| self.layout.listed(file) + "\n").collect();
        let modules = modules.into_iter().map(|(file, text)| (self.layout.module(&file), text));
        let described = described.into_iter().map(|(extension, text)| (stem.with_extension(extension), text));
        let files: Vec<_> = modules.chain([(stem.with_extension("f"), list)]).chain(described).collect();
        for (path, text) in &files {
            if self.files.get(path).is_some_and(|other| other != text) {
                let first = self.designs.iter().find(|d| d.files.contains(path)).map_or("", |d| &d.block);
                let file = path.file_name().unwrap_or_default().to_string_lossy();
                return Err(Failure::Check(format!(
                    "{first} and {block} have different modules in a file of the same name, {file}: \
                     write them to different folders"
                )));
            }
        }
        let paths = files.iter().map(|(path, _)| path.clone()).collect();
        self.designs.push(Design { block: block.to_owned(), top: top.to_owned(), files: paths });
        self.files.extend(files);
        Ok(())
    }

    /// Where the files go.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The designs, in the order in which they were added.
    #[must_use]
    pub fn designs(&self) -> &[Design] {
        &self.designs
    }

    /// Text by path, relative to the folder of the bundle.
    #[must_use]
    pub fn files(&self) -> &BTreeMap<PathBuf, String> {
        &self.files
    }

    /// All modules, each once, children before parents.
    #[must_use]
    pub fn verilog(&self) -> Vec<&str> {
        let mut paths: Vec<&PathBuf> = Vec::new();
        for path in self.designs.iter().flat_map(|d| &d.files).filter(|p| is_verilog(p)) {
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        paths.into_iter().map(|path| self.files[path].as_str()).collect()
    }

    /// The differences between `dir` and the files, one line each; empty when the folder is up to date.
    ///
    /// # Errors
    /// A file that exists but cannot be read.
    pub fn compare(&self, dir: &Path) -> Result<Vec<String>> {
        let mut stale = Vec::new();
        for (path, text) in &self.files {
            let path = dir.join(path);
            match fs::read(&path) {
                Ok(there) if there == text.as_bytes() => {}
                Ok(there) => stale.push(format!("{}:{} differs", path.display(), first_difference(&there, text))),
                Err(e) if e.kind() == io::ErrorKind::NotFound => stale.push(format!("{} is missing", path.display())),
                Err(e) => return Err(Failure::file("read", &path, &e)),
            }
        }
        Ok(stale)
    }
}

pub(super) fn is_verilog(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "v")
}

/// Line number of the first difference.
fn first_difference(old: &[u8], new: &str) -> usize {
    let same = old.iter().zip(new.as_bytes()).take_while(|(a, b)| a == b);
    1 + same.filter(|(a, _)| **a == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(bundle: &mut Bundle, block: &str, modules: &[(&str, &str)]) -> Result<()> {
        let modules = modules.iter().map(|(name, text)| (format!("{name}.v"), (*text).to_owned())).collect();
        bundle.add_text("family", block, &format!("{block}_8"), modules, vec![("json", "{}\n".into())])
    }

    #[test]
    fn modules_are_shared_and_lists_lead_to_them() {
        let mut bundle = Bundle::new(Layout::Library);
        add(&mut bundle, "a", &[("leaf", "leaf"), ("a_8", "a")]).unwrap();
        add(&mut bundle, "b", &[("leaf", "leaf"), ("b_8", "b")]).unwrap();
        let paths: Vec<_> = bundle.files().keys().map(|p| p.display().to_string()).collect();
        let modules = ["modules/a_8.v", "modules/b_8.v", "modules/leaf.v"];
        assert_eq!(paths, [&["family/a.f", "family/a.json", "family/b.f", "family/b.json"][..], &modules].concat());
        assert_eq!(bundle.files()[Path::new("family/b.f")], "../modules/leaf.v\n../modules/b_8.v\n");
        assert_eq!(bundle.verilog(), ["leaf", "a", "b"]);
    }

    #[test]
    fn two_modules_of_one_name_are_refused() {
        for layout in [Layout::Flat, Layout::Library] {
            let mut bundle = Bundle::new(layout);
            add(&mut bundle, "a", &[("leaf", "one")]).unwrap();
            let error = add(&mut bundle, "b", &[("leaf", "another")]).unwrap_err().to_string();
            assert!(error.starts_with("a and b have different modules in a file of the same name, leaf.v"), "{error}");
            assert_eq!(bundle.designs().len(), 1);
        }
    }
}
