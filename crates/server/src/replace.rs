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
    // To put a file in the place of a device or a pipe would take it away from every program.
    if fs::metadata(&path).is_ok_and(|old| !old.is_file()) {
        return Err(io::Error::other("it is not a regular file"));
    }
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?.to_string_lossy();
    let beside = path.with_file_name(format!(".{name}.{}", std::process::id()));
    // An earlier process with this number was killed, and left it.
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{FileTypeExt, symlink};
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn what_is_not_a_regular_file_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (socket, link) = (folder.path().join("socket"), folder.path().join("link"));
        let _listener = UnixListener::bind(&socket).unwrap();
        symlink(&socket, &link).unwrap();
        for path in [&socket, &link] {
            let refused = replace_file(path, "text", 0o600).unwrap_err();
            assert_eq!(refused.to_string(), "it is not a regular file");
        }
        assert!(fs::metadata(&socket).unwrap().file_type().is_socket());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        // A link to a file stays one.
        let (file, link) = (folder.path().join("file"), folder.path().join("link2"));
        fs::write(&file, "old").unwrap();
        symlink(&file, &link).unwrap();
        replace_file(&link, "new", 0o600).unwrap();
        assert!(link.is_symlink() && fs::read_to_string(&file).unwrap() == "new");
    }
}
