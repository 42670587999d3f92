//! The digest of what the files of a tree hold.

use std::fs::File;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use proofmark_receipt::Sha256Digest;

use super::EnvironmentError;
use super::listing::{Entry, Listing, What};

/// How many threads read files.
const MAX_READERS: usize = 8;

/// The digest of all files of a tree with their paths, of its folders and its links.
pub(super) fn digest(listing: &Listing) -> Result<Sha256Digest, EnvironmentError> {
    let digests = digests(&listing.entries)?;
    let mut bytes = Vec::new();
    for (entry, digest) in listing.entries.iter().zip(digests) {
        bytes.extend((entry.at.len() as u64).to_le_bytes());
        bytes.extend(&entry.at);
        match &entry.what {
            What::Folder => bytes.push(b'd'),
            What::File(can_start) => bytes.push(if *can_start { b'x' } else { b'f' }),
            What::Link(_) => bytes.push(b'l'),
        }
        bytes.extend(digest.as_bytes());
    }
    Ok(Sha256Digest::of(&bytes))
}

/// The digest of each entry, in their order.
fn digests(entries: &[Entry]) -> Result<Vec<Sha256Digest>, EnvironmentError> {
    let next = AtomicUsize::new(0);
    let readers = thread::available_parallelism().map_or(1, usize::from).min(MAX_READERS);
    let read = || {
        let mut read = Vec::new();
        loop {
            // Relaxed: each number is given out once, and nothing else depends on it.
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(entry) = entries.get(index) else { return Ok(read) };
            read.push((index, of_entry(entry)?));
        }
    };
    let mut all = thread::scope(|scope| {
        let readers: Vec<_> = (1..readers).map(|_| scope.spawn(read)).collect();
        let mut all: Vec<(usize, Sha256Digest)> = read()?;
        for reader in readers {
            // A panic of a reader is one of ours.
            all.extend(reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?);
        }
        Ok(all)
    })?;
    all.sort_unstable_by_key(|(index, _)| *index);
    Ok(all.into_iter().map(|(_, digest)| digest).collect())
}

fn of_entry(entry: &Entry) -> Result<Sha256Digest, EnvironmentError> {
    let failed = |error| EnvironmentError::Io { path: entry.path.clone(), error };
    match &entry.what {
        What::Folder => Ok(Sha256Digest::of(b"")),
        What::Link(to) => Ok(Sha256Digest::of(to)),
        What::File(_) => {
            let mut file = File::open(&entry.path).map_err(failed)?;
            let digest = Sha256Digest::read(&mut file).map_err(failed)?;
            // The listing stands for what was read, so it has to be of the same time.
            if entry.is_unchanged(&file.metadata().map_err(failed)?) {
                Ok(digest)
            } else {
                Err(EnvironmentError::Changed(entry.path.clone()))
            }
        }
    }
}
