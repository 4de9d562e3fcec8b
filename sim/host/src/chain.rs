//! Descriptors one after the other.

use crate::layout::header;
use crate::{Descriptor, ErrorCode, Image, Refusal, Window};

/// Of so many operations an operation can be said to be independent.
const MOST_INDEPENDENT: usize = 7;

/// A descriptor in a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The operation. Next, tag and flags are set when the chain is placed.
    pub descriptor: Descriptor,
    /// The register TAG shows this value when the operation is done.
    pub tag: u32,
    /// Where the tag is written to memory, if anywhere.
    pub tag_address: Option<u64>,
    /// Of so many operations right before it the operation is independent, 0 to 7: it reads and writes nothing that they
    /// write, and writes nothing that they read. An accelerator whose operations overlap does not wait for them.
    pub independent: u8,
    /// So many operations right before it, 0 to 7, write nothing that the operation reads early. A number that is smaller
    /// than `independent` says nothing.
    pub early: u8,
}

impl From<Descriptor> for Link {
    fn from(descriptor: Descriptor) -> Self {
        Self { descriptor, tag: 0, tag_address: None, independent: 0, early: 0 }
    }
}

impl Link {
    /// With a tag.
    #[must_use]
    pub fn tag(self, tag: u32) -> Self {
        Self { tag, ..self }
    }

    /// With a tag that is written to memory as well, last.
    #[must_use]
    pub fn tag_at(self, tag: u32, address: u64) -> Self {
        Self { tag, tag_address: Some(address), ..self }
    }

    /// The operation is independent of so many operations right before it, of 7 at most.
    #[must_use]
    pub fn independent(self, operations: usize) -> Self {
        Self { independent: operations.min(MOST_INDEPENDENT) as u8, ..self }
    }
}

/// A job: descriptors in the order in which they are done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    links: Vec<Link>,
}

impl Chain {
    /// An empty job.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends a descriptor.
    #[must_use]
    pub fn then(mut self, link: impl Into<Link>) -> Self {
        self.links.push(link.into());
        self
    }

    /// The same chain, whose operations say of how many operations right before them they are
    /// [independent](Descriptor::may_overlap), and what they [read early](Descriptor::reads_early_beside): the
    /// largest numbers that are true. An accelerator whose operations overlap then waits for nothing else.
    #[must_use]
    pub fn overlapping(mut self) -> Self {
        for k in 0..self.links.len() {
            let (before, link) = self.links.split_at_mut(k);
            let own = &link[0].descriptor;
            let apart = |other: &&Link| own.may_overlap(&other.descriptor);
            let early = |other: &&Link| own.reads_early_beside(&other.descriptor);
            let nearest = || before.iter().rev().take(MOST_INDEPENDENT);
            (link[0].independent, link[0].early) =
                (nearest().take_while(apart).count() as u8, nearest().take_while(early).count() as u8);
        }
        self
    }

    /// Bytes of memory that the chain takes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        (self.links.len() * Descriptor::BYTES) as u64
    }

    /// The chain at `address`: the descriptors follow each other without gaps.
    ///
    /// # Errors
    /// There is no descriptor, or more than `max_descriptors`. A descriptor or a tag would be outside of the window, or
    /// at no multiple of 64.
    pub fn place(&self, address: u64, window: &Window, max_descriptors: u32) -> Result<Image, Refusal> {
        let count = self.links.len();
        if count == 0 || count as u64 > max_descriptors.into() {
            let expected = format!("1 to {max_descriptors}");
            return Err(Refusal::new(ErrorCode::Chain, "number of descriptors", count.to_string(), expected));
        }
        let mut bytes = Vec::with_capacity(count * Descriptor::BYTES);
        let mut at = address;
        for (k, link) in self.links.iter().enumerate() {
            Descriptor::check_place(at, window)?;
            let mut descriptor = link.descriptor.clone();
            // The place after the last descriptor may have no address.
            let next = if k + 1 < count { at.wrapping_add(Descriptor::BYTES as u64) } else { 0 };
            let flag = |set: bool, flag: u16| if set { u64::from(flag) } else { 0 };
            let independent =
                u64::from(header::FLAG_INDEPENDENT) * u64::from(link.independent.min(MOST_INDEPENDENT as u8));
            let early = u64::from(header::FLAG_EARLY) * u64::from(link.early.min(MOST_INDEPENDENT as u8));
            let flags = flag(link.tag_address.is_some(), header::FLAG_TAG) | independent | early;
            descriptor.set(header::NEXT, next);
            descriptor.set(header::FLAGS, flags);
            descriptor.set(header::TAG, link.tag.into());
            descriptor.set(header::TAG_ADDRESS, link.tag_address.unwrap_or(0));
            descriptor.check_header(window, u8::MAX)?;
            bytes.extend(descriptor.bytes());
            at = next;
        }
        Ok(Image { address, bytes })
    }
}
