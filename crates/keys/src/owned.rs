//! Files that only their owner may write: what they hold decides whom this user trusts.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Permission bits by which others than the owner may write.
const OTHERS_WRITE: u32 = 0o022;

/// Why such a file is not read.
#[derive(Debug)]
pub enum OwnedError {
    Io(io::Error),
    /// Others may write to it.
    Writable,
}

impl From<io::Error> for OwnedError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Reads a text of at most `limit` bytes.
///
/// # Errors
/// [`OwnedError::Writable`] where others may write to the file, and when it is larger, or cannot be read.
pub fn read(path: &Path, limit: u64) -> Result<String, OwnedError> {
    // To open a pipe waits for somebody who writes to it.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("not a file").into());
    }
    let file = File::open(path)?;
    // Of the open file: one that is looked at by its path could be another by the time it is read.
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("not a file").into());
    }
    if found.permissions().mode() & OTHERS_WRITE != 0 {
        return Err(OwnedError::Writable);
    }
    let mut text = String::new();
    file.take(limit.saturating_add(1)).read_to_string(&mut text)?;
    if text.len() as u64 > limit {
        return Err(io::Error::other(format!("it is larger than {limit} bytes")).into());
    }
    Ok(text)
}

/// Makes a folder for this user only, with those above it. They are on disk when this returns.
///
/// # Errors
/// When the operating system refuses.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    let missing: Vec<&Path> =
        folder.ancestors().take_while(|above| !above.as_os_str().is_empty() && !above.exists()).collect();
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    // A name is on disk once the folder that it is in is.
    for made in missing {
        let above = made.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
        File::open(above)?.sync_all()?;
    }
    Ok(())
}

/// Writes a file that does not exist yet, for its owner only.
///
/// # Errors
/// When it exists, or the operating system refuses.
pub fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

/// Replaces a file as a whole, or makes it: a reader sees the old text or the new one, also after a crash.
///
/// # Errors
/// When the operating system refuses; then the old file is unchanged.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // A link stays a link, to the new text.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::Error::other("not the path of a file"));
    };
    static DRAFTS: AtomicU64 = AtomicU64::new(0);
    // Threads that replace the same file at once each have a draft of their own.
    let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
    let draft = folder.join(format!(".{}.{}.{number}.new", name.to_string_lossy(), std::process::id()));
    // Of a process that had this id before and was killed.
    let _gone = fs::remove_file(&draft);
    let written = write_new(&draft, bytes).and_then(|()| fs::rename(&draft, path));
    if written.is_err() {
        let _gone = fs::remove_file(&draft);
    }
    written?;
    // The new name is on disk once its folder is.
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_made_with_those_above_it_for_its_owner_only() {
        let place = tempfile::TempDir::new().unwrap();
        let folder = place.path().join("home/keys");
        // Twice, as two programs that start at the same time.
        for _ in 0..2 {
            create_folder(&folder).unwrap();
            for made in [folder.as_path(), folder.parent().unwrap()] {
                assert_eq!(fs::metadata(made).unwrap().permissions().mode() & 0o777, 0o700);
            }
        }
        fs::write(folder.join("file"), "").unwrap();
        assert!(create_folder(&folder.join("file/below")).is_err());
    }
}
