//! Names of modules that the system around a design chooses.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::block::Design;
use super::ir::ModuleIr;
use super::names;

impl Design {
    /// The same design with a top module of this name, whatever its parameters are.
    ///
    /// # Errors
    /// A name that Verilog reserves, that is badly formed, or that another module of the design has.
    pub fn with_top_name(&self, name: &str) -> Result<Self, String> {
        names::check(name)?;
        if self.modules.iter().any(|m| m.name == name && m.name != self.top_name()) {
            return Err(format!("`{name}` is a module within the design; choose another name"));
        }
        let top = self.top_name();
        Ok(self.renamed(|module| if module == top { name.to_owned() } else { module.to_owned() }))
    }

    /// The same design with this text before the names of its modules. Modules whose Verilog comes from outside keep theirs.
    ///
    /// # Errors
    /// A prefix with which a name is badly formed.
    pub fn with_prefix(&self, prefix: &str) -> Result<Self, String> {
        let own = || self.modules.iter().filter(|m| m.external.is_none());
        own().try_for_each(|m| names::check(&format!("{prefix}{}", m.name)))?;
        Ok(self.renamed(|module| format!("{prefix}{module}")))
    }

    fn renamed(&self, name: impl Fn(&str) -> String) -> Self {
        let mut done: BTreeMap<&str, Arc<ModuleIr>> = BTreeMap::new();
        let mut modules = Vec::new();
        for module in &self.modules {
            let mut new = (**module).clone();
            if module.external.is_none() {
                new.name = name(&module.name);
                for line in &mut new.header {
                    if let Some(rest) = line.strip_prefix(&module.name).filter(|rest| rest.starts_with(':')) {
                        *line = format!("{}{rest}", new.name);
                    }
                }
            }
            for instance in &mut new.instances {
                if let Some(inner) = done.get(instance.module.name.as_str()) {
                    instance.module = inner.clone();
                }
            }
            let new = Arc::new(new);
            done.insert(&module.name, new.clone());
            modules.push(new);
        }
        Self { modules }
    }
}

#[cfg(test)]
mod tests {
    use crate::blocks::common::{MacMesh, StreamFifo};
    use crate::lang::elaborate;

    fn modules(design: &crate::lang::Design) -> Vec<String> {
        design.verilog().into_iter().map(|file| file.name).collect()
    }

    #[test]
    fn a_top_of_any_name() {
        let design = elaborate(&MacMesh::default()).unwrap();
        let named = design.with_top_name("array").unwrap();
        let (old, new) = (modules(&design), modules(&named));
        assert_eq!((new.last().unwrap().as_str(), &new[..new.len() - 1]), ("array.v", &old[..old.len() - 1]));
        let text = &named.verilog().pop().unwrap().text;
        assert!(text.starts_with("// array: ") && text.contains("\nmodule array (\n"), "{text}");
        // Nothing else is different.
        let before = design.verilog().pop().unwrap().text;
        assert_eq!(before.replace(design.top_name(), "array"), *text);
        assert_eq!(named.manifest().top, "array");
        assert_eq!(design.with_top_name(design.top_name()).unwrap().verilog(), design.verilog());
    }

    #[test]
    fn a_prefix_of_all() {
        let design = elaborate(&MacMesh::default()).unwrap();
        let named = design.with_prefix("npu_").unwrap();
        let expected: Vec<_> = modules(&design).iter().map(|name| format!("npu_{name}")).collect();
        assert_eq!(modules(&named), expected);
        let instances = named.verilog().iter().map(|f| f.text.matches("npu_mac_pe").count()).sum::<usize>();
        assert!(instances >= 2, "the module, and where it stands");
        assert!(named.native().is_ok());
    }

    #[test]
    fn names_that_are_refused() {
        let design = elaborate(&MacMesh::default()).unwrap();
        let inner = modules(&design)[0].strip_suffix(".v").unwrap().to_owned();
        for name in ["Array", "module", "", "a__b", &inner] {
            assert!(design.with_top_name(name).unwrap_err().contains(name), "{name}");
        }
        assert!(design.with_prefix("2_").is_err());
        assert!(elaborate(&StreamFifo::default()).unwrap().with_prefix("").is_ok());
    }
}
