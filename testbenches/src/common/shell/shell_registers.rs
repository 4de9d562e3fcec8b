//! The registers of all accelerators under random accesses.

use golden::common::shell::shell_registers::{Bus, fields};
use hdl::blocks::common::ShellRegisters;
use hdl::blocks::common::shell::BusCaps;

use crate::common::bus::axi_lite_registers::{FieldPins, accesses};

/// The bench of `shell_registers`; a vector is a cycle.
///
/// # Errors
/// Parameters that the block refuses.
pub fn bench(p: &ShellRegisters) -> anyhow::Result<Box<dyn sim::Bench>> {
    let BusCaps { address_width, data_width, ports } = p.bus;
    let bus = Bus { address_width, data_width, ports };
    let fields = fields(p.accelerator.into(), p.max_descriptors.into(), bus);
    sim::kit::bench(p, move |sim, run| {
        let pins =
            fields.iter().map(|(name, field)| FieldPins::find(sim, name, field)).collect::<sim::Result<Vec<_>>>()?;
        let irq_o = sim.output("irq_o")?;
        let at = |wanted: &str| fields.iter().position(|(name, _)| *name == wanted).unwrap_or(0);
        let pairs = ["done", "error", "refused"].map(|name| (at(name), at(&format!("irq_{name}"))));
        let map = fields.iter().map(|(_, field)| *field).collect();
        accesses(sim, run, map, &pins, |sim, run, r| {
            let raised = pairs.iter().any(|&(bit, enable)| r.value(bit) & r.value(enable) == 1);
            run.expect_u64(sim, irq_o, raised.into())
        })
    })
}
