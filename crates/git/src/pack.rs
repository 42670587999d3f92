//! Large files of a project, in a file without a name that only this process has: what was hashed is what the tests get, whatever
//! becomes of the files that were read.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use proofmark_checks::{Content, STORED_FROM, Stored};
use proofmark_receipt::Sha256Digest;

/// Where large files are stored, one behind the other.
#[derive(Debug, Default)]
pub struct Pack {
    file: Option<Arc<OwnedFd>>,
    end: u64,
}

/// Copies what is read.
struct Copying<'a, R> {
    from: R,
    to: &'a mut File,
    bytes: u64,
}

impl<R: Read> Read for Copying<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.from.read(buffer)?;
        self.to.write_all(buffer.get(..count).unwrap_or_default())?;
        self.bytes += count as u64;
        Ok(count)
    }
}

impl Pack {
    /// Reads content to its end, and stores it if it is large. None if it has more than `most` bytes.
    ///
    /// # Errors
    /// When it cannot be read, or the folder of temporary files has no room.
    pub fn take(&mut self, mut from: impl Read, most: u64) -> io::Result<Option<Content>> {
        let mut start = Vec::new();
        from.by_ref().take(STORED_FROM.min(most.saturating_add(1))).read_to_end(&mut start)?;
        if start.len() as u64 > most {
            return Ok(None);
        }
        if (start.len() as u64) < STORED_FROM {
            // A project may have many small files.
            start.shrink_to_fit();
            return Ok(Some(start.into()));
        }
        let file = match &self.file {
            Some(file) => Arc::clone(file),
            None => Arc::clone(self.file.insert(Arc::new(tempfile::tempfile()?.into()))),
        };
        let mut to = File::from(file.try_clone()?);
        to.seek(SeekFrom::Start(self.end))?;
        let from = start.as_slice().chain(from).take(most.saturating_add(1));
        let mut copying = Copying { from, to: &mut to, bytes: 0 };
        let digest = Sha256Digest::read(&mut copying)?;
        let bytes = copying.bytes;
        if bytes > most {
            return Ok(None);
        }
        let offset = self.end;
        self.end += bytes;
        Ok(Some(Content::stored(Stored { file, offset, bytes, digest })))
    }
}

/// All bytes of content, wherever it is.
///
/// # Errors
/// When stored content cannot be read.
pub fn whole(content: &Content) -> io::Result<Vec<u8>> {
    let Some(stored) = content.place() else { return Ok(content.here().unwrap_or_default().to_vec()) };
    let mut bytes = vec![0; usize::try_from(stored.bytes).map_err(io::Error::other)?];
    File::from(stored.file.try_clone()?).read_exact_at(&mut bytes, stored.offset)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_is_the_same_wherever_it_is() {
        let mut pack = Pack::default();
        let most = 4 * STORED_FROM;
        let all: Vec<Vec<u8>> = [0, 1, STORED_FROM - 1, STORED_FROM, STORED_FROM + 1, most]
            .iter()
            .map(|bytes| (0..*bytes).map(|at| (at % 251) as u8).collect())
            .collect();
        let taken: Vec<Content> = all.iter().map(|one| pack.take(one.as_slice(), most).unwrap().unwrap()).collect();
        for (content, expected) in taken.iter().zip(&all) {
            assert!(whole(content).unwrap() == *expected);
            assert_eq!(content.digest(), Sha256Digest::of(expected));
            assert_eq!(content.bytes(), expected.len() as u64);
            assert_eq!(content.place().is_some(), content.bytes() >= STORED_FROM);
            assert!(*content == Content::from(expected.clone()));
        }
    }

    #[test]
    fn no_more_is_taken_than_there_is_room_for() {
        let mut pack = Pack::default();
        for (bytes, most) in [(1, 0), (STORED_FROM, STORED_FROM - 1), (STORED_FROM + 1, STORED_FROM)] {
            assert!(pack.take(io::repeat(1).take(bytes), most).unwrap().is_none());
            assert!(pack.take(io::repeat(1).take(bytes), bytes).unwrap().is_some());
        }
        assert!(pack.take(io::repeat(1), 2 * STORED_FROM).unwrap().is_none());
    }
}
