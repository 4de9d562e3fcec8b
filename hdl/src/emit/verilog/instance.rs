//! Instances and the connections of their ports.

use super::comment::LINE;
use super::items::{Printer, Section};
use super::slot::Slot;
use super::types::declaration;
use crate::lang::ir::{Instance, NetId, NodeId, Op};

impl Printer<'_> {
    pub(super) fn instance(&mut self, instance: &Instance) {
        let child = &instance.module;
        let (clocks, reset) = match &child.external {
            Some(x) => (x.clocks.clone(), x.reset.clone()),
            None => (child.clocked.then(|| "clk_i".into()).into_iter().collect(), child.reset.then(|| "rst_ni".into())),
        };
        let mut connections: Vec<(String, String)> = Vec::new();
        connections.extend(clocks.into_iter().map(|c| (c, "clk_i".into())));
        connections.extend(reset.map(|r| (r, "rst_ni".into())));
        for (port, &net) in instance.nets.iter().enumerate() {
            let name = child.net(child.ports[port]).name.clone();
            let text = if let Some(target) = self.direct.get(&net) {
                self.net_whole(target.net, target.index.as_ref())
            } else if let Some(&value) = self.inputs.get(&net) {
                self.context.clone_from(&self.ir.net(net).name);
                self.connection(value, net)
            } else {
                self.net_whole(net, None)
            };
            connections.push((name, text));
        }
        self.section(Section::Instance);
        if instance.free {
            self.line("(* free_in_proofs *)".to_owned());
        }
        let joined: Vec<String> = connections.iter().map(|(p, t)| format!(".{p}({t})")).collect();
        let single = format!("{} {} ({});", child.name, instance.name, joined.join(", "));
        if single.len() <= LINE {
            self.line(single);
            return;
        }
        self.line(format!("{} {} (", child.name, instance.name));
        let last = joined.len().saturating_sub(1);
        for (i, c) in joined.into_iter().enumerate() {
            self.line(format!("  {c}{}", if i == last { "" } else { "," }));
        }
        self.line(");");
    }

    /// The connection of an input port: names, selects and constants in place, anything else under the net's name.
    fn connection(&mut self, value: NodeId, net: NetId) -> String {
        let plain = |op: &Op| matches!(op, Op::Net(..) | Op::Literal(_));
        let op = &self.ir.node(value).op;
        let simple = match op {
            Op::Slice(a, _) | Op::Cast(a) | Op::Extend(a) | Op::Not(a) => plain(&self.ir.node(*a).op),
            op => plain(op),
        };
        if simple || self.hoisted(value).is_some() {
            return self.expr(value, Slot::Inner, 0);
        }
        let text = self.expr_unshared(value);
        let name = self.names[net as usize].clone();
        self.section(Section::Logic);
        self.line(format!("{} = {text};", declaration("wire", self.ir.net(net), &name)));
        self.connected.push(net);
        name
    }
}
