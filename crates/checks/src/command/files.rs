//! The files of a project.

use std::collections::BTreeMap;

use proofmark_receipt::Sha256Digest;
use proofmark_receipt::document::{Cause, DocumentError, Field, shown};

/// The most files a project may have.
pub const MAX_FILES: usize = 5_000;
/// The longest path, in bytes.
pub const MAX_PATH_BYTES: usize = 512;

/// One file of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectFile {
    /// Its path below the project: `/` between names, none of them `.` or `..`.
    pub path: String,
    /// Its content.
    pub content: Vec<u8>,
}

/// Reads an object of paths and their text.
pub(super) fn read(field: &Field<'_>) -> Result<BTreeMap<String, Vec<u8>>, DocumentError> {
    let mut files = BTreeMap::new();
    for (path, content) in field.fields()?.iter() {
        check(path).map_err(|why| content.error(Cause::InvalidValue, why))?;
        files.insert(path.to_owned(), content.text()?.as_bytes().to_vec());
    }
    if files.len() > MAX_FILES {
        let message = format!("{} files are more than the {MAX_FILES} a project may have; leave some out", files.len());
        return Err(field.error(Cause::TooMany, message));
    }
    // One file can not be the folder of another.
    let below =
        |path: &String| files.keys().any(|other| other.strip_prefix(path).is_some_and(|rest| rest.starts_with('/')));
    match files.keys().find(|path| below(path)) {
        None => Ok(files),
        Some(path) => {
            let message = format!("`{}` is a file and a folder; rename one", shown(path));
            Err(field.error(Cause::ConflictingFields, message))
        }
    }
}

/// Whether a path stays inside of the project, and why not.
pub(super) fn check(path: &str) -> Result<(), String> {
    let plain = |name: &str| !matches!(name, "" | "." | "..") && !name.chars().any(char::is_control);
    match path.len() <= MAX_PATH_BYTES && path.split('/').all(plain) {
        true => Ok(()),
        false => {
            Err(format!("`{}` is no path inside of the project; write one as in `tests/test_sort.py`", shown(path)))
        }
    }
}

/// SHA-256 of what `sha256sum` prints of the files, sorted by path.
pub(crate) fn digest<'a>(files: impl Iterator<Item = (&'a str, &'a [u8])>) -> Sha256Digest {
    let line = |(path, content): (&str, &[u8])| format!("{}  {path}\n", Sha256Digest::of(content).bare_hex());
    Sha256Digest::of(files.map(line).collect::<String>().as_bytes())
}
