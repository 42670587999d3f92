//! The files of a project.

use std::collections::{BTreeMap, BTreeSet};

use base64ct::{Base64, Encoding};
use proofmark_receipt::document::{Cause, DocumentError, Field, shown};
use proofmark_receipt::{Json, Sha256Digest, object};

use crate::content::Content;

/// The most files that a request may write out.
pub const MAX_FILES: usize = 5_000;
/// The most files a project may have, which is read from a folder or a repository.
pub const MAX_PROJECT_FILES: usize = 200_000;
/// The most bytes in the files of such a project.
pub const MAX_PROJECT_BYTES: u64 = 2 << 30;
/// The most folders that the files of a request may be in.
pub const MAX_FOLDERS: usize = 5_000;
/// The longest path, in bytes.
pub const MAX_PATH_BYTES: usize = 512;

/// The longest name of a file or a folder that Linux has, in bytes.
const MAX_NAME_BYTES: usize = 255;

/// What the disk of a run gives a file at a time, in bytes.
const BLOCK_BYTES: u64 = 4_096;

/// What to write instead of a path that [`check`] refuses.
pub(crate) const PATH_HELP: &str = "write one as in `tests/test_sort.py`";

/// How much a run has room for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Room {
    files: usize,
    folders: usize,
    disk_bytes: u64,
}

impl Room {
    /// What a request may write out.
    pub(crate) const OF_REQUEST: Room = Room { files: MAX_FILES, folders: MAX_FOLDERS, disk_bytes: DEFAULT_DISK_BYTES };
    /// What is read from a folder or a repository.
    pub(crate) const OF_PROJECT: Room =
        Room { files: MAX_PROJECT_FILES, folders: MAX_PROJECT_FILES, disk_bytes: DEFAULT_DISK_BYTES };

    /// The same on a disk of this size, where one is asked for.
    pub(crate) fn on_disk(self, disk_mb: Option<u32>) -> Room {
        Room { disk_bytes: disk_mb.map_or(self.disk_bytes, |disk_mb| u64::from(disk_mb) << 20), ..self }
    }
}

/// Writable space of a command where `limits.disk_mb` is not given, in MiB.
pub const DEFAULT_COMMAND_DISK_MB: u32 = 1_024;
const DEFAULT_DISK_BYTES: u64 = (DEFAULT_COMMAND_DISK_MB as u64) << 20;

/// Files by path.
pub(crate) type Files = BTreeMap<String, Content>;

/// The member of a file that is not text.
const BASE64: &str = "base64";
/// The member of a file that is large: its digest, whose content the caller has.
const SHA256: &str = "sha256";

/// What a request writes for a file: its text, or base64 of what is not UTF-8; of what is stored, the digest.
pub fn file_content(content: &Content) -> Json {
    let Some(bytes) = content.here() else {
        return object! { "sha256": content.digest().bare_hex() }.into();
    };
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => object! { "base64": Base64::encode_string(bytes) }.into(),
    }
}

/// Reads an object of paths and their content. Content that is not in it is among `stored`.
pub(crate) fn read(field: &Field<'_>, stored: &[Content], room: Room) -> Result<Files, DocumentError> {
    let mut files = Files::new();
    for (path, content) in field.fields()?.iter() {
        check(path).map_err(|why| content.error(Cause::InvalidValue, why).with_help(PATH_HELP))?;
        files.insert(path.to_owned(), read_content(&content, stored)?);
    }
    if files.len() > room.files {
        let message = format!("{} files are more than the {} a request may have", files.len(), room.files);
        return Err(field.error(Cause::TooMany, message).with_help("leave some out"));
    }
    // One file cannot be the folder of another.
    match below_a_file(&files) {
        None => Ok(files),
        Some((file, _)) => {
            let message = format!("`{}` is a file and a folder", shown(file));
            Err(field.error(Cause::ConflictingFields, message).with_help("rename one"))
        }
    }
}

/// The content of a file.
fn read_content(content: &Field<'_>, stored: &[Content]) -> Result<Content, DocumentError> {
    if let Some(text) = content.json.as_str() {
        return Ok(text.as_bytes().to_vec().into());
    }
    let Ok(fields) = content.fields() else {
        return Err(content.wrong_type("the text of a file, or `{\"base64\": …}`"));
    };
    let named = fields.get(SHA256).and_then(|digest| digest.json.as_str().map(str::to_owned));
    let found = named.and_then(|digest| stored.iter().find(|one| one.digest().bare_hex() == digest));
    if let Some(content) = found {
        fields.only(&[SHA256])?;
        return Ok(content.clone());
    }
    fields.only(&[BASE64])?;
    let encoded = fields.need(BASE64, "write the bytes of the file in base64")?;
    Base64::decode_vec(encoded.text()?).map(Content::from).map_err(|_| {
        let error = encoded.error(Cause::InvalidValue, "this is not base64 (RFC 4648, section 4)");
        error.with_help("write it on one line, with its padding, as `base64 -w0` does")
    })
}

/// A file, and the path of another below it.
pub(crate) fn below_a_file(files: &Files) -> Option<(&str, &str)> {
    files.keys().find_map(|path| {
        let above = folders(path).find(|above| files.contains_key(*above))?;
        Some((above, path.as_str()))
    })
}

/// Why the files are more than a run can hold.
pub(crate) fn too_many(files: &Files, room: Room) -> Option<String> {
    let Room { files: most, folders: most_folders, disk_bytes } = room;
    if files.len() > most {
        return Some(format!("{} files are more than the {most} a project may have", files.len()));
    }
    let mut all = BTreeSet::new();
    // This is checked in the loop: a path holds up to 255 folders, so 5,000 files could name more than a million.
    for path in files.keys() {
        all.extend(folders(path));
        if all.len() > most_folders {
            return Some(format!("the files are in more than the {most_folders} folders a project may have"));
        }
    }
    // The disk has room for as many files and folders as it has blocks, however empty they are.
    let blocks: u64 = files.values().map(|content| content.bytes().div_ceil(BLOCK_BYTES).max(1)).sum();
    let needed = (blocks + all.len() as u64) * BLOCK_BYTES;
    (needed > disk_bytes)
        .then(|| format!("the files take {needed} bytes of disk, more than the {disk_bytes} of `limits.disk_mb`"))
}

/// The folders a file is in.
fn folders(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').filter_map(|(at, _)| path.get(..at))
}

/// Whether a path stays inside of the project, and why not.
pub(crate) fn check(path: &str) -> Result<(), String> {
    // An absolute path and a doubled slash have an empty name, so `plain` refuses them too.
    if path.len() <= MAX_PATH_BYTES
        && path.split('/').all(|name| {
            !matches!(name, "" | "." | "..") && name.len() <= MAX_NAME_BYTES && !name.chars().any(char::is_control)
        })
    {
        Ok(())
    } else {
        Err(format!("`{}` is not a path inside the project", shown(path)))
    }
}

/// Whether a path is one inside a project.
#[must_use]
pub fn is_project_path(path: &str) -> bool {
    check(path).is_ok()
}

/// SHA-256 of what `sha256sum` prints of the files, which are sorted by path: `hashes.output` of a project's receipts.
pub fn files_digest<'a>(files: impl Iterator<Item = (&'a str, &'a Content)>) -> Sha256Digest {
    Sha256Digest::of(
        files
            .map(|(path, content)| format!("{}  {path}\n", content.digest().bare_hex()))
            .collect::<String>()
            .as_bytes(),
    )
}
