//! The order of channels, and where sums are doubled.

/// Why there is no table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// A channel is in a group that does not exist.
    #[error("the group of channel {channel} is {group}, must be below {groups}")]
    Group {
        /// The channel.
        channel: usize,
        /// Its group.
        group: usize,
        /// Groups.
        groups: usize,
    },
    /// Channels have 15 bits.
    #[error("a channel is {0}, must be 0 to 32767")]
    Channel(usize),
    /// More entries than fit into the field of a descriptor.
    #[error("the table has {0} entries, must be 1 to 4294967295")]
    Entries(usize),
}

/// A table of a product.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    entries: Vec<u16>,
}

impl Table {
    /// The entry that is no channel: all sums are doubled.
    pub const RESCALE: u16 = 0x8000;

    /// Channels of groups whose scales are a power of two apart. `group` is the group of each channel; group 0 has the
    /// largest scale. There are `groups` groups, and some may be empty. All sums are doubled between groups, so that in
    /// the end they have the scale of the last group.
    ///
    /// # Errors
    /// A group does not exist, or there are no channels or too many.
    pub fn of_groups(group: &[usize], groups: usize) -> Result<Self, TableError> {
        if let Some((channel, &group)) = group.iter().enumerate().find(|(_, group)| **group >= groups) {
            return Err(TableError::Group { channel, group, groups });
        }
        let mut order: Vec<usize> = (0..group.len()).collect();
        // Stable: by index within a group.
        order.sort_by_key(|&channel| group[channel]);
        let mut passes = vec![Vec::new(); groups];
        order.into_iter().for_each(|channel| passes[group[channel]].push(channel));
        Self::of_passes(&passes)
    }

    /// Channels in any order; a channel may come several times. All sums are doubled between two lists.
    ///
    /// # Errors
    /// A channel has more than 15 bits, or there are no entries or too many.
    pub fn of_passes(passes: &[Vec<usize>]) -> Result<Self, TableError> {
        if let Some(&channel) = passes.iter().flatten().find(|&&channel| channel >= Self::RESCALE.into()) {
            return Err(TableError::Channel(channel));
        }
        let mut entries = Vec::new();
        for (k, pass) in passes.iter().enumerate() {
            if k > 0 {
                entries.push(Self::RESCALE);
            }
            entries.extend(pass.iter().map(|&channel| channel as u16));
        }
        if entries.is_empty() || u32::try_from(entries.len()).is_err() {
            return Err(TableError::Entries(entries.len()));
        }
        Ok(Self { entries })
    }

    /// Entries.
    #[must_use]
    pub fn steps(&self) -> u32 {
        self.entries.len() as u32
    }

    /// The bytes in memory.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        self.entries.iter().flat_map(|entry| entry.to_le_bytes()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESCALE: u16 = Table::RESCALE;

    #[test]
    fn groups_and_doublings() {
        let entries = |group: &[usize], groups| Table::of_groups(group, groups).map(|table| table.entries);
        // The walking example of the paper.
        let walking = [1, RESCALE, 3, 5, RESCALE, 0, 2, 4];
        assert_eq!(entries(&[2, 0, 2, 1, 2, 1], 3).unwrap(), walking);
        // Empty groups at the beginning, in the middle, at the end.
        assert_eq!(entries(&[1, 3, 3], 5).unwrap(), [RESCALE, 0, RESCALE, RESCALE, 1, 2, RESCALE]);
        assert_eq!(entries(&[], 2).unwrap(), [RESCALE]);
        assert_eq!(entries(&[], 1), Err(TableError::Entries(0)));
        assert_eq!(entries(&[0, 2], 2), Err(TableError::Group { channel: 1, group: 2, groups: 2 }));
        assert_eq!(Table::of_passes(&[vec![1, 32_768]]), Err(TableError::Channel(32_768)));
        let said = TableError::Group { channel: 1, group: 2, groups: 2 }.to_string();
        assert_eq!(said, "the group of channel 1 is 2, must be below 2");
        let table = Table::of_passes(&[vec![0x123, 0], vec![0x123]]).unwrap();
        assert_eq!((table.steps(), table.bytes()), (4, vec![0x23, 1, 0, 0, 0, 0x80, 0x23, 1]));
    }
}
