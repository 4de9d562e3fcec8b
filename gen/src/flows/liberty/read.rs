//! The text of a library's file.

use std::fs;
use std::io::Read;
use std::path::Path;

use crate::error::{Failure, Result};

/// Bytes that a packed file may unpack to, whatever its size is.
const ROOM: u64 = 64 << 20;

/// Bytes for each packed byte beyond that. Tables of numbers have about ten.
const TIMES: u64 = 100;

/// Bytes that it may unpack to at most.
const MOST: u64 = 4 << 30;

/// The text of a file, unpacked where gzip packed it, whatever its name is.
pub(super) fn read(path: &Path) -> Result<String> {
    let bytes = fs::read(path).map_err(|e| Failure::file("read", path, &e))?;
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(plain(&bytes));
    }
    let most = MOST.min(ROOM + TIMES * bytes.len() as u64);
    let text = unpack(&bytes, most).map_err(|what| Failure::Usage(format!("{}: {what}", path.display())))?;
    Ok(plain(&text))
}

fn unpack(bytes: &[u8], most: u64) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    let unpacked = flate2::read::MultiGzDecoder::new(bytes).take(most + 1).read_to_end(&mut text);
    unpacked.map_err(|e| format!("gzip cannot unpack it: {e}"))?;
    if text.len() as u64 > most {
        let [mib, packed] = [most >> 20, bytes.len() as u64 >> 10];
        return Err(format!(
            "gzip unpacks its {packed} KiB to more than {mib} MiB, which no library does; if it is one, unpack it with `gunzip`"
        ));
    }
    Ok(text)
}

/// The text without the mark that some systems put at its beginning, and with the line ends of this one.
pub(super) fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.trim_start_matches('\u{feff}').replace("\r\n", "\n").replace('\r', "\n")
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn line_ends_of_all_systems() {
        assert_eq!(plain(b"\xef\xbb\xbfa\r\nb\rc\n\rd"), "a\nb\nc\n\nd");
    }

    #[test]
    fn a_packed_file_has_a_limit() {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&vec![b' '; 3 << 20]).unwrap();
        let packed = packed.finish().unwrap();
        assert_eq!(unpack(&packed, 3 << 20).map(|text| text.len()), Ok(3 << 20));
        let error = unpack(&packed, (3 << 20) - 1).unwrap_err();
        assert!(error.starts_with("gzip unpacks its ") && error.contains(" to more than 2 MiB, "), "{error}");
        assert!(unpack(&packed[..packed.len() / 2], 3 << 20).unwrap_err().starts_with("gzip cannot unpack it: "));
    }

    /// One that unpacks to a thousand times its size.
    #[test]
    fn a_bomb_is_refused_early() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bomb.lib.gz");
        let mut packed = GzEncoder::new(fs::File::create(&path).unwrap(), Compression::best());
        let zeros = vec![0; 1 << 20];
        for _ in 0..80 {
            packed.write_all(&zeros).unwrap();
        }
        packed.finish().unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(error.contains("bomb.lib.gz: gzip unpacks its ") && error.contains("which no library does"), "{error}");
    }
}
