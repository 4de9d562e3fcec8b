//! Identifiers: which names a person may give, and which words Verilog keeps for itself.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::error::Loc;

/// Reserved words of Verilog-2005 and SystemVerilog-2017 (Verilator reads `.v` as the latter).
const KEYWORDS: &str = "accept_on alias always always_comb always_ff always_latch and assert assign assume automatic before \
begin bind bins binsof bit break buf bufif0 bufif1 byte case casex casez cell chandle checker class clocking cmos config \
const constraint context continue cover covergroup coverpoint cross deassign default defparam design disable dist do edge \
else end endcase endchecker endclass endclocking endconfig endfunction endgenerate endgroup endinterface endmodule \
endpackage endprimitive endprogram endproperty endspecify endsequence endtable endtask enum event eventually expect export \
extends extern final first_match for force foreach forever fork forkjoin function generate genvar global highz0 highz1 if \
iff ifnone ignore_bins illegal_bins implements implies import incdir include initial inout input inside instance int \
integer interconnect interface intersect join join_any join_none large let liblist library local localparam logic longint \
macromodule matches medium modport module nand negedge nettype new nexttime nmos nor noshowcancelled not notif0 notif1 null \
or output package packed parameter pmos posedge primitive priority program property protected pull0 pull1 pulldown pullup \
pulsestyle_ondetect pulsestyle_onevent pure rand randc randcase randsequence rcmos real realtime ref reg reject_on release \
repeat restrict return rnmos rpmos rtran rtranif0 rtranif1 s_always s_eventually s_nexttime s_until s_until_with scalared \
sequence shortint shortreal showcancelled signed small soft solve specify specparam static string strong strong0 strong1 \
struct super supply0 supply1 sync_accept_on sync_reject_on table tagged task this throughout time timeprecision timeunit \
tran tranif0 tranif1 tri tri0 tri1 triand trior trireg type typedef union unique unique0 unsigned until until_with untyped \
use uwire var vectored virtual void wait wait_order wand weak weak0 weak1 while wildcard wire with within wor xnor xor";

/// Every name of every design is looked up.
fn is_reserved(name: &str) -> bool {
    static WORDS: LazyLock<BTreeSet<&str>> = LazyLock::new(|| KEYWORDS.split_whitespace().collect());
    WORDS.contains(name)
}

/// Checks a name given to a signal, port, instance or module: what a bridge that brings names from elsewhere asks first.
///
/// # Errors
/// Says what is wrong with the name and what would be right.
pub fn check(name: &str) -> Result<(), String> {
    if is_reserved(name) {
        return Err(format!("`{name}` is a reserved word of Verilog or SystemVerilog; choose another name"));
    }
    if name.is_empty() {
        return Err("a name is empty".into());
    }
    let mut bytes = name.bytes();
    let head = bytes.next().is_some_and(|b| b.is_ascii_lowercase());
    if !head || !bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_') {
        return Err(format!(
            "`{name}` is not a good name: use lower-case letters, digits and `_`, starting with a letter"
        ));
    }
    if name.contains("__") || name.ends_with('_') {
        return Err(format!("`{name}` is not a good name: no double or trailing `_`"));
    }
    Ok(())
}

/// Checks a name in Verilog that comes from outside: any identifier that needs no escape.
///
/// # Errors
/// Says what is wrong with the name.
pub(crate) fn check_external(name: &str) -> Result<(), String> {
    let mut bytes = name.bytes();
    let head = bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    if !head || !bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'$') {
        return Err(format!("`{name}` is not a Verilog identifier"));
    }
    if is_reserved(name) {
        return Err(format!("`{name}` is a reserved word of Verilog or SystemVerilog"));
    }
    Ok(())
}

/// Name of the net at an instance's port: `u_pe` + `act_i` = `pe_act_in`, `u_pe` + `act_o` = `pe_act`. The suffixes `_i`
/// and `_o` are for ports only. Ports from outside may be called `QN` or `a$1`: the net is `.._qn`, `.._a_1`.
pub(crate) fn instance_net(instance: &str, port: &str) -> String {
    const SUFFIXES: [(&str, &str); 4] = [("_ni", "_n_in"), ("_no", "_n"), ("_i", "_in"), ("_o", "")];
    let instance = instance.strip_prefix("u_").unwrap_or(instance);
    let port = format!("_{}", port.to_ascii_lowercase().replace('$', "_"));
    let swap = |(suffix, end): &(&str, &str)| Some(format!("{}{end}", port.strip_suffix(suffix)?));
    let stem = SUFFIXES.iter().find_map(swap).unwrap_or(port);
    let words: Vec<&str> = stem.split('_').filter(|w| !w.is_empty()).collect();
    // An output that is called `o` and nothing else.
    let words = if words.is_empty() { "out".into() } else { words.join("_") };
    format!("{instance}_{words}")
}

/// `wanted`, with a number where that is taken: nobody can rename the ports of a module from outside.
pub(crate) fn free(wanted: &str, taken: &BTreeMap<String, Loc>) -> String {
    let numbered = (2..).map(|n| format!("{wanted}_{n}"));
    std::iter::once(wanted.into()).chain(numbered).find(|name: &String| !taken.contains_key(name)).unwrap_or_default()
}

/// Port name without its direction suffix.
pub(crate) fn port_stem(port: &str) -> &str {
    for suffix in ["_ni", "_i", "_o"] {
        if let Some(stem) = port.strip_suffix(suffix) {
            return stem;
        }
    }
    port
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_and_bad_names() {
        for name in ["a", "data_i", "max_tree_l3", "x2"] {
            assert_eq!(check(name), Ok(()), "{name}");
        }
        for name in ["reg", "logic", "do", "", "2x", "Data", "a__b", "a_", "a-b", "_a"] {
            assert!(check(name).is_err(), "{name}");
        }
    }

    #[test]
    fn nets_of_instances() {
        assert_eq!(instance_net("u_round_shift", "data_o"), "round_shift_data");
        assert_eq!(instance_net("u_pe", "act_i"), "pe_act_in");
        assert_eq!(instance_net("u_pe", "act_o"), "pe_act");
        assert_eq!(instance_net("bank_0", "sleep_ni"), "bank_0_sleep_n_in");
        assert_eq!(instance_net("u_dff", "QN"), "dff_qn");
        assert_eq!([instance_net("u_pad", "I"), instance_net("u_pad", "O")], ["pad_in", "pad_out"]);
        assert_eq!(instance_net("u_dff", "a$1"), "dff_a_1");
    }
}
