//! A configuration file of a host, which is changed in place: what people wrote stays as it is.
//!
//! `hook install`, `guard wrap` and `mcp config --into` all write through this.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use proofmark_hosts::{JsonText, JsonTextError};
use proofmark_receipt::Sha256Digest;
use proofmark_server::replace_file;

use crate::config::Config;
use crate::error::with_help;
use crate::input;
use crate::paint::printable;

/// The longest configuration of a host, in bytes.
const MAX_CONFIGURATION: u64 = 4 << 20;
/// The mode of a new configuration, which has no secrets.
const MODE: u32 = 0o644;

/// Where the earlier version of a changed file is kept: below the folder of keys, and not in the project, because what is there an
/// agent can write. `path` is absolute.
pub(crate) fn kept_at(config: &Config, folder: &str, path: &Path) -> PathBuf {
    let name = Sha256Digest::of(path.as_os_str().as_encoded_bytes()).to_string().replace(':', "-");
    config.home.join(folder).join(name)
}

/// A file that was read. One that does not exist has no bytes.
pub(crate) struct HostFile {
    path: PathBuf,
    before: Option<Vec<u8>>,
    /// Whether the host's own reader takes comments out.
    has_comments: bool,
}

impl HostFile {
    /// Reads a file, which may be missing.
    pub(crate) fn read(path: &Path, has_comments: bool) -> anyhow::Result<Self> {
        // A link that leads nowhere is not a missing file: what is written must not go where nobody looked.
        match fs::symlink_metadata(path) {
            Ok(_) => Self::read_existing(path, has_comments),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Ok(Self { path: path.to_owned(), before: None, has_comments })
            }
            Err(error) => Err(error).with_context(|| format!("read `{}`", path.display())),
        }
    }

    /// Reads a file that is there.
    pub(crate) fn read_existing(path: &Path, has_comments: bool) -> anyhow::Result<Self> {
        let about = fs::metadata(path).with_context(|| format!("read `{}`", path.display()))?;
        // A pipe in its place would keep the reader waiting for ever.
        if !about.is_file() {
            return Err(with_help(format!("read `{}`: it is not a file", path.display()), "put a file in its place"));
        }
        let before = input::read_limited(path, MAX_CONFIGURATION)?;
        Ok(Self { path: path.to_owned(), before: Some(before), has_comments })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// What the file had when it was read.
    pub(crate) fn before(&self) -> Option<&[u8]> {
        self.before.as_deref()
    }

    /// The file as JSON; an empty or missing one is an empty object.
    pub(crate) fn document(&self) -> Result<JsonText, JsonTextError> {
        self.document_of(self.before().unwrap_or_default())
    }

    /// Other bytes, as the host reads them in this file.
    pub(crate) fn document_of(&self, bytes: &[u8]) -> Result<JsonText, JsonTextError> {
        let bytes = if bytes.trim_ascii().is_empty() { b"{}\n" } else { bytes };
        JsonText::read(bytes, self.has_comments)
    }

    /// Writes the file, with the rights that it has.
    pub(crate) fn write(&self, text: &str) -> anyhow::Result<()> {
        replace_file(&self.path, text, MODE)
            .with_context(|| format!("write the configuration `{}`", self.path.display()))
    }

    pub(crate) fn remove(&self) -> anyhow::Result<()> {
        fs::remove_file(&self.path).with_context(|| format!("remove `{}`", self.path.display()))
    }

    /// The path of a file beside it, with this ending.
    pub(crate) fn beside(&self, ending: &str) -> PathBuf {
        let mut path = self.path.as_os_str().to_owned();
        path.push(".");
        path.push(ending);
        path.into()
    }

    /// What is kept at this path.
    pub(crate) fn kept(backup: &Path) -> anyhow::Result<Option<Vec<u8>>> {
        backup.is_file().then(|| input::read_limited(backup, MAX_CONFIGURATION)).transpose()
    }

    /// Keeps what the file had at this path, readable by those who could read it: configurations of other servers may have secrets.
    pub(crate) fn keep(&self, backup: &Path, bytes: &[u8]) -> anyhow::Result<()> {
        let context = || format!("write `{}`", backup.display());
        let about = fs::metadata(&self.path).with_context(context)?;
        if !about.is_file() {
            return Err(with_help(
                format!("change `{}`: it is not a regular file", printable(&self.path.display().to_string())),
                "name a file, which is created if it is missing",
            ));
        }
        let mode = about.permissions().mode() & 0o777;
        if let Some(folder) = backup.parent() {
            fs::create_dir_all(folder).with_context(context)?;
        }
        // One that is there keeps its own mode, so it goes first.
        drop(fs::remove_file(backup));
        replace_file(backup, &String::from_utf8_lossy(bytes), mode).with_context(context)
    }

    /// Removes what is kept at this path, if anything is.
    pub(crate) fn forget(backup: &Path) -> anyhow::Result<()> {
        match fs::remove_file(backup) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(error).with_context(|| format!("remove `{}`", backup.display()))
            }
            _ => Ok(()),
        }
    }
}
