//! Files that a command adds to a folder of the user.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use proofmark_receipt::{Object, object};

/// A folder that gets new files. A file that exists stays as it is, and no file is written outside the folder.
pub(crate) struct NewFiles {
    root: PathBuf,
    dry_run: bool,
}

/// What became of a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Written {
    /// It is there, with the content given.
    Created,
    /// It would be created; nothing was written, because this is a dry run.
    WouldCreate,
    /// There was a file, a folder or a link of this name; it was left alone.
    Exists,
    /// It could not be written, for this reason.
    Failed(String),
}

impl Written {
    /// The file at this path, and what became of it.
    pub(crate) fn object(&self, path: &str) -> Object {
        let (state, reason) = match self {
            Written::Created => ("created", None),
            Written::WouldCreate => ("would_create", None),
            Written::Exists => ("exists", None),
            Written::Failed(reason) => ("failed", Some(reason.as_str())),
        };
        object! { "path": path, "state": state, "reason"?: reason }
    }
}

impl NewFiles {
    /// The folder, which is created unless this is a dry run.
    ///
    /// # Errors
    /// When the folder can be neither found nor created.
    pub(crate) fn below(folder: &Path, dry_run: bool) -> io::Result<NewFiles> {
        if !dry_run {
            fs::create_dir_all(folder)?;
        }
        let root = match fs::canonicalize(folder) {
            Err(error) if dry_run && error.kind() == ErrorKind::NotFound => folder.to_owned(),
            found => found?,
        };
        Ok(NewFiles { root, dry_run })
    }

    /// Writes a file at a path below the folder, whose parts are separated by `/`.
    pub(crate) fn write(&self, path: &str, content: &str) -> Written {
        self.create(path, content).unwrap_or_else(|error| Written::Failed(error.to_string()))
    }

    fn create(&self, path: &str, content: &str) -> io::Result<Written> {
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut parent = self.root.clone();
        for part in folders.split('/').filter(|part| !part.is_empty()) {
            parent.push(part);
            if let Some(reason) = self.folder(&parent)? {
                return Ok(Written::Failed(format!("`{part}` {reason}")));
            }
        }
        let file = parent.join(name);
        // The link itself is asked for: a link that leads nowhere is a file that exists.
        match fs::symlink_metadata(&file) {
            Ok(_) => return Ok(Written::Exists),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        if self.dry_run {
            return Ok(Written::WouldCreate);
        }
        // Another program may have created it in the meantime; `create_new` neither overwrites nor follows a link.
        let mut created = match OpenOptions::new().write(true).create_new(true).open(&file) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(Written::Exists),
            created => created?,
        };
        if let Err(error) = created.write_all(content.as_bytes()) {
            // Half a file would be left alone by the next run. Its removal may fail as well; the error says enough.
            let _ = fs::remove_file(&file);
            return Err(error);
        }
        Ok(Written::Created)
    }

    /// Makes a folder if there is none; otherwise why files cannot be written into it.
    fn folder(&self, folder: &Path) -> io::Result<Option<&'static str>> {
        match fs::symlink_metadata(folder) {
            Ok(found) if found.is_dir() => Ok(None),
            Ok(found) if found.is_symlink() => match fs::canonicalize(folder) {
                Ok(target) if target.starts_with(&self.root) && target.is_dir() => Ok(None),
                Ok(_) | Err(_) => Ok(Some("is a link that leads out of the folder or to no folder")),
            },
            Ok(_) => Ok(Some("is not a folder")),
            Err(error) if error.kind() == ErrorKind::NotFound && self.dry_run => Ok(None),
            Err(error) if error.kind() == ErrorKind::NotFound => fs::create_dir(folder).map(|()| None),
            Err(error) => Err(error),
        }
    }
}
