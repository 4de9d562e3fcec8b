//! The ready/valid streams among the ports of a block, found by the names of their ports. A stream into the block has
//! `<name>_valid_i`, `<name>_ready_o` and `<name>_<field>_i`. A stream out of the block has the opposite directions.
//! Channels of AXI are the same without the line before `valid`: `mem_awvalid_o`, `mem_awready_i`, `mem_awaddr_o`.
//! Outputs may be valid without `ready`.

use std::collections::BTreeSet;

use hdl::emit::{Manifest, ManifestPort};

/// A stream, or several side by side whose ports have a place for each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stream<'a> {
    pub name: &'a str,
    pub valid: &'a ManifestPort,
    /// None: every valid beat moves. Streams out of the block only.
    pub ready: Option<&'a ManifestPort>,
    /// The payload of a beat.
    pub data: Vec<&'a ManifestPort>,
    /// Beats into the block.
    pub into: bool,
    /// The channel of requests that this one answers: beats that nobody asked for would be against the protocol.
    pub answers: Option<&'a str>,
}

impl<'a> Stream<'a> {
    /// All of its ports.
    pub(super) fn ports(&self) -> impl Iterator<Item = &'a ManifestPort> + '_ {
        [self.valid].into_iter().chain(self.ready).chain(self.data.iter().copied())
    }
}

/// Beginning and end of the names of a stream's ports: `output_` and `_o`.
type Affixes<'a> = (&'a str, &'static str);

fn affixes<'a>(port: &'a ManifestPort, what: &str) -> Option<Affixes<'a>> {
    let end = if port.direction == "input" { "_i" } else { "_o" };
    let start = port.name.strip_suffix(end)?.strip_suffix(what)?;
    Some((start, end))
}

/// The streams of a design, in the order of their ports.
///
/// The fields of a stream without a name cannot be told from other ports: it has none here.
pub(super) fn of(manifest: &Manifest) -> Vec<Stream<'_>> {
    let ports = &manifest.ports;
    let starts: BTreeSet<Affixes> = ports.iter().filter_map(|p| affixes(p, "valid")).collect();
    let owner = |port: &ManifestPort| {
        let end = if port.direction == "input" { "_i" } else { "_o" };
        // `data_valid_o` goes with `data_o`, too.
        let bare = |start: &str| start.strip_suffix('_').is_some_and(|name| port.name.strip_suffix(end) == Some(name));
        let fits =
            |(start, e): &&Affixes| *e == end && !start.is_empty() && (port.name.starts_with(start) || bare(start));
        starts.iter().filter(fits).max_by_key(|(start, _)| start.len()).copied()
    };
    let mut streams: Vec<Stream> = Vec::new();
    for valid in ports {
        let Some(of) = affixes(valid, "valid") else { continue };
        let back = |p: &&ManifestPort| {
            p.direction != valid.direction
                && p.elements == valid.elements
                && affixes(p, "ready").is_some_and(|(start, _)| start == of.0)
        };
        let ready = ports.iter().find(back);
        if ready.is_none() && valid.direction == "input" {
            // Its payload may be a command, and only the block knows when it is legal.
            continue;
        }
        // `fetch_end_ready_o` answers `fetch_end_valid_i`, and is no field of `fetch`.
        let answers = |p: &ManifestPort| {
            let begins = affixes(p, "ready").map(|(start, _)| start);
            ports.iter().any(|q| {
                q.direction != p.direction && affixes(q, "valid").map(|(start, _)| start) == begins && begins.is_some()
            })
        };
        let fields = |p: &&ManifestPort| {
            p.direction == valid.direction && p.name != valid.name && owner(p) == Some(of) && !answers(p)
        };
        let data = ports.iter().filter(fields).collect();
        let name = of.0.trim_end_matches('_');
        let name = if name.is_empty() { "stream" } else { name };
        streams.push(Stream { name, valid, ready, data, into: valid.direction == "input", answers: None });
    }
    let requests: Vec<_> = streams.iter().map(|s| (s.name, s.into)).collect();
    for stream in &mut streams {
        let asked = |bus: &str, channel: &str| {
            let (name, into) = (format!("{bus}{channel}"), stream.into);
            requests.iter().find(|(n, i)| *n == name && *i != into).map(|(n, _)| *n)
        };
        let is_axi = !stream.valid.name.contains("_valid_");
        stream.answers = match (is_axi, stream.name.strip_suffix('r'), stream.name.strip_suffix('b')) {
            (true, Some(bus), _) => asked(bus, "ar"),
            (true, _, Some(bus)) => asked(bus, "aw"),
            _ => None,
        };
    }
    streams
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Catalogue;

    /// `into`, name, fields, and what is answered.
    fn lines(block: &str) -> Vec<String> {
        let catalogue = Catalogue::standard();
        let entry = catalogue.find(block).unwrap();
        let manifest = entry.elaborate(&entry.defaults()).unwrap().manifest();
        let line = |s: &Stream| {
            let fields: Vec<_> = s.data.iter().map(|p| &p.name[..]).collect();
            let answers = s.answers.map_or(String::new(), |a| format!(" answers {a}"));
            let kind = if s.into {
                "in"
            } else if s.ready.is_some() {
                "out"
            } else {
                "pulse"
            };
            format!("{kind} {}: {}{answers}", s.name, fields.join(" "))
        };
        of(&manifest).iter().map(line).collect()
    }

    #[test]
    fn streams_and_their_fields() {
        assert_eq!(lines("stream_fifo"), ["in input: input_data_i", "out output: output_data_o"]);
        assert_eq!(lines("eviction_controller")[0], "in walk: ");
        // The longest name that fits: `fetch_end` is no field of `fetch`.
        let job = lines("job_controller");
        assert!(
            job.contains(&"out fetch: fetch_address_o fetch_row_bytes_o fetch_rows_o fetch_stride_o".into()),
            "{job:?}"
        );
        assert!(job.contains(&"in fetch_end: fetch_end_error_i fetch_end_address_i".into()), "{job:?}");
        let lines = lines("kv_compressor");
        assert!(lines.contains(&"out k: k_data_o k_last_o".into()), "{lines:?}");
        assert!(lines.contains(&"pulse tail_k: tail_k_used_o tail_k_data_o".into()), "{lines:?}");
    }

    #[test]
    fn what_is_no_stream() {
        for block in ["mac_mesh", "outlier_share", "ram"] {
            assert!(lines(block).is_empty(), "{block}: {:?}", lines(block));
        }
        // A stream without a name: its fields cannot be told.
        assert_eq!(lines("float_add"), ["pulse stream: "]);
        // `ready` without `valid`, and an input that is valid without `ready`.
        assert_eq!(lines("double_buffer"), ["pulse use: "]);
        let found = lines("kv_bank_group");
        assert_eq!(found, ["in access: access_write_i access_row_i access_data_i", "pulse data: data_o"]);
    }

    #[test]
    fn channels_of_axi() {
        let found = lines("axi_read_dma");
        let ar =
            "out mem_ar: mem_arid_o mem_araddr_o mem_arlen_o mem_arsize_o mem_arburst_o mem_arcache_o mem_arprot_o";
        assert!(found.contains(&ar.into()), "{found:?}");
        let r = "in mem_r: mem_rid_i mem_rdata_i mem_rresp_i mem_rlast_i answers mem_ar";
        assert!(found.contains(&r.into()), "{found:?}");
        assert!(lines("axi_write_dma").contains(&"in mem_b: mem_bid_i mem_bresp_i answers mem_aw".into()));
        assert!(lines("shell_registers").contains(&"out ctrl_b: ctrl_bresp_o answers ctrl_aw".into()));
    }
}
