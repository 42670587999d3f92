//! Files that are replaced as a whole: who reads one finds the old text or the new one, also after a crash.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::Path;

/// Puts a new file with this text in the place of the one at `path`, with its owner and its mode; a file that was not there
/// gets this mode.
///
/// # Errors
/// When it cannot be written; then the old file is unchanged.
pub fn replace_file(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    // A link stays a link, to a new file.
    let path = fs::canonicalize(path).or_else(|_| std::path::absolute(path))?;
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.{}", std::process::id()));
    // Left by a process with this number that was killed.
    drop(fs::remove_file(&beside));
    let result = write(&path, &beside, text, mode);
    if result.is_err() {
        // What is left where this fails, too, is a file that nothing reads.
        drop(fs::remove_file(&beside));
    }
    result
}

fn write(path: &Path, beside: &Path, text: &str, mode: u32) -> io::Result<()> {
    let mut new = OpenOptions::new().write(true).create_new(true).mode(mode).open(beside)?;
    if let Ok(old) = fs::metadata(path) {
        let owner = new.metadata()?;
        if (owner.uid(), owner.gid()) != (old.uid(), old.gid()) {
            fchown(&new, Some(old.uid()), Some(old.gid()))?;
        }
        new.set_permissions(fs::Permissions::from_mode(old.mode() & 0o777))?;
    }
    new.write_all(text.as_bytes())?;
    new.sync_all()?;
    fs::rename(beside, path)?;
    // The name of the file is on disk once its folder is.
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}
