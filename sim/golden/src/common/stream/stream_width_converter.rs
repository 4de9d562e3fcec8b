//! Width converter: granules with strobes, in packets.

/// A beat: one value for each strobed granule, from the first granule on, and whether the beat ends its packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Granules in use.
    pub granules: Vec<u64>,
    /// The last beat of a packet.
    pub last: bool,
}

/// The beats of `from` granules as beats of `to` granules. One of the two numbers is a multiple of the other.
///
/// To wider beats: as many beats as fit become one, and the last wide beat of a packet may have fewer. Granules stay in
/// their places, so a gap follows a beat that is not full. To narrower beats: parts without granules are left out,
/// except the first part of a beat.
#[must_use]
pub fn convert(beats: &[Part], from: usize, to: usize) -> Vec<(Vec<Option<u64>>, bool)> {
    let places = |part: &Part| -> Vec<Option<u64>> { (0..from).map(|k| part.granules.get(k).copied()).collect() };
    let mut out = Vec::new();
    if to > from {
        let mut wide: Vec<Option<u64>> = Vec::new();
        for beat in beats {
            wide.extend(places(beat));
            if wide.len() == to || beat.last {
                wide.resize(to, None);
                out.push((std::mem::take(&mut wide), beat.last));
            }
        }
    } else {
        for beat in beats {
            let parts = beat.granules.len().div_ceil(to).max(1);
            let all = places(beat);
            for k in 0..parts {
                out.push((all[k * to..(k + 1) * to].to_vec(), beat.last && k + 1 == parts));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(granules: &[u64], last: bool) -> Part {
        Part { granules: granules.to_vec(), last }
    }

    #[test]
    fn wider_and_narrower() {
        let beats = [part(&[1], false), part(&[2], false), part(&[3], true), part(&[4], true)];
        let wide = convert(&beats, 1, 2);
        assert_eq!(wide, [(vec![Some(1), Some(2)], false), (vec![Some(3), None], true), (vec![Some(4), None], true)]);
        let narrow = convert(&[part(&[1, 2, 3], true), part(&[], true)], 4, 2);
        assert_eq!(narrow, [(vec![Some(1), Some(2)], false), (vec![Some(3), None], true), (vec![None, None], true)]);
    }
}
