//! The file of API keys: entries are added and revoked here, and every change replaces the file as a whole.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use proofmark_receipt::document::{self, DocumentError, Format, MAX_DOCUMENT_BYTES, shown};
use proofmark_receipt::{Json, Object};

use crate::keys::{ApiKeys, KeysError};
use crate::replace::replace_file;

/// Who may read a new file: its owner. It has hashes, from which no key can be computed, and names of callers.
const MODE: u32 = 0o600;
/// How often the file is opened again because another process replaced it meanwhile.
const MAX_TRIES: u32 = 100;

/// A file of API keys.
#[derive(Clone, Debug)]
pub struct KeysFile {
    path: PathBuf,
}

/// Why a file of API keys cannot be read or changed, completing "failed to …".
#[derive(Debug, thiserror::Error)]
pub enum KeysFileError {
    #[error("read the API keys `{}` ({error})", path.display())]
    Read { path: PathBuf, error: io::Error },
    #[error("write the API keys `{}` ({error})", path.display())]
    Write { path: PathBuf, error: io::Error },
    #[error("read the API keys `{}`: {error}", path.display())]
    Document { path: PathBuf, error: DocumentError },
    #[error("use the API keys `{}`: failed to {error}", path.display())]
    Keys { path: PathBuf, error: KeysError },
    #[error("change the API keys `{}`: the file is not JSON", .0.display())]
    NotJson(PathBuf),
    #[error("add the API key `{}`: the tenant `{}` has a key with this id", shown(.id), shown(.tenant))]
    Exists { id: String, tenant: String },
    #[error("revoke the API key `{}`: the file has none with this id", shown(.0))]
    Unknown(String),
    #[error("revoke the API key `{}`: several tenants have one with this id: {}", shown(.id), .tenants.join(", "))]
    Ambiguous { id: String, tenants: Vec<String> },
}

impl KeysFileError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Document { error, .. } => error.help(),
            Self::Keys { error, .. } => error.help(),
            Self::NotJson(_) => Some("convert it to JSON, or edit it by hand".to_owned()),
            Self::Exists { .. } => Some("choose another id, or give `--replace` to revoke that key".to_owned()),
            Self::Unknown(_) => Some("`proofmark api-key list` shows the ids".to_owned()),
            Self::Ambiguous { .. } => Some("name the tenant with `--tenant`".to_owned()),
            Self::Read { .. } | Self::Write { .. } => None,
        }
    }
}

impl KeysFile {
    /// The file at this path, which need not be there.
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Reads the keys.
    ///
    /// # Errors
    /// [`KeysFileError`] when the file cannot be read, or is not a file of API keys.
    pub fn read(&self) -> Result<ApiKeys, KeysFileError> {
        let text = read(&mut File::open(&self.path).map_err(|error| self.unread(error))?);
        let text = text.map_err(|error| self.unread(error))?;
        // YAML includes JSON, and the server takes both.
        let document = document::parse(&text, Format::Yaml).map_err(|error| self.invalid(error))?;
        ApiKeys::read(&document).map_err(|error| self.unusable(error))
    }

    /// Adds an entry that [`crate::new_key`] made, and creates the file where there is none. With `replace` it takes the place
    /// of the entries with its id and tenant.
    ///
    /// # Errors
    /// [`KeysFileError`]; then the file is unchanged.
    pub fn add(&self, entry: &Json, replace: bool) -> Result<(), KeysFileError> {
        self.change(true, |entries| {
            let (id, tenant) = (member(entry, "id"), member(entry, "tenant"));
            let same = |other: &Json| member(other, "id") == id && member(other, "tenant") == tenant;
            if !replace && entries.iter().any(same) {
                return Err(KeysFileError::Exists { id: id.to_owned(), tenant: tenant.to_owned() });
            }
            entries.retain(|other| !same(other));
            entries.push(entry.clone());
            Ok(())
        })
    }

    /// Removes every entry with this id, of the tenant where one is named; returns its tenant.
    ///
    /// # Errors
    /// [`KeysFileError`]; then the file is unchanged.
    pub fn revoke(&self, id: &str, tenant: Option<&str>) -> Result<String, KeysFileError> {
        let mut of = String::new();
        self.change(false, |entries| {
            let meant =
                |entry: &Json| member(entry, "id") == id && tenant.is_none_or(|name| member(entry, "tenant") == name);
            let mut tenants: Vec<String> =
                entries.iter().filter(|entry| meant(entry)).map(|entry| member(entry, "tenant").to_owned()).collect();
            tenants.dedup();
            match tenants.as_slice() {
                [] => return Err(KeysFileError::Unknown(id.to_owned())),
                [only] => of.clone_from(only),
                _ => return Err(KeysFileError::Ambiguous { id: id.to_owned(), tenants }),
            }
            entries.retain(|entry| !meant(entry));
            Ok(())
        })?;
        Ok(of)
    }

    /// Changes the entries, and replaces the file. Two processes that change it wait for each other.
    fn change(
        &self,
        create: bool,
        change: impl FnOnce(&mut Vec<Json>) -> Result<(), KeysFileError>,
    ) -> Result<(), KeysFileError> {
        let mut file = self.lock(create)?;
        let text = read(&mut file).map_err(|error| self.unread(error))?;
        let mut entries = if text.is_empty() { Vec::new() } else { self.entries(&text)? };
        change(&mut entries)?;
        let written = written(&entries);
        // The text is read back before it is written: the server must not find a file that it refuses.
        let document = Json::parse(written.as_bytes()).map_err(|_| KeysFileError::NotJson(self.path.clone()))?;
        ApiKeys::read(&document).map_err(|error| self.unusable(error))?;
        let replaced = replace_file(&self.path, &written, MODE);
        // The lock ends with the file, after the new one is in its place.
        drop(file);
        replaced.map_err(|error| KeysFileError::Write { path: self.path.clone(), error })
    }

    fn entries(&self, text: &[u8]) -> Result<Vec<Json>, KeysFileError> {
        // Comments and the spelling of YAML would be lost.
        let document = Json::parse(text).map_err(|_| KeysFileError::NotJson(self.path.clone()))?;
        ApiKeys::read(&document).map_err(|error| self.unusable(error))?;
        let entries = document.as_object().and_then(|document| document.get("keys")?.as_array());
        Ok(entries.unwrap_or_default().to_vec())
    }

    /// Opens the file and locks it, until it is dropped. A file that did not exist is empty.
    fn lock(&self, create: bool) -> Result<File, KeysFileError> {
        let unread = |error| self.unread(error);
        for _ in 0..MAX_TRIES {
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).create(create).truncate(false).mode(MODE).open(&self.path);
            let file = file.map_err(unread)?;
            file.lock().map_err(unread)?;
            let locked = file.metadata().map_err(unread)?;
            // Another process may have replaced the file while this one waited for the lock.
            if fs::metadata(&self.path).is_ok_and(|now| (now.dev(), now.ino()) == (locked.dev(), locked.ino())) {
                return Ok(file);
            }
        }
        Err(unread(io::Error::other("other processes replace it again and again")))
    }

    fn unread(&self, error: io::Error) -> KeysFileError {
        KeysFileError::Read { path: self.path.clone(), error }
    }

    fn invalid(&self, error: DocumentError) -> KeysFileError {
        KeysFileError::Document { path: self.path.clone(), error }
    }

    fn unusable(&self, error: KeysError) -> KeysFileError {
        KeysFileError::Keys { path: self.path.clone(), error }
    }
}

fn read(file: &mut File) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    file.take(MAX_DOCUMENT_BYTES as u64 + 1).read_to_end(&mut text)?;
    if text.len() > MAX_DOCUMENT_BYTES {
        Err(io::Error::other(format!("it has more than {MAX_DOCUMENT_BYTES} bytes")))
    } else {
        Ok(text)
    }
}

/// One entry a line, so that people can read the file and compare two versions of it.
fn written(entries: &[Json]) -> String {
    let lines: Vec<String> = entries.iter().map(|entry| format!("\n  {}", entry.to_text())).collect();
    format!("{{\"keys\": [{}\n]}}\n", lines.join(","))
}

fn member<'a>(entry: &'a Json, name: &str) -> &'a str {
    entry.as_object().and_then(|entry: &Object| entry.get(name)?.as_str()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::keys::{ReviewerEntry, Role, new_key};

    fn entry(id: &str, tenant: &str) -> Json {
        new_key(id, Role::Agent, tenant, &ReviewerEntry::default()).unwrap().1
    }

    fn ids(file: &KeysFile) -> Vec<String> {
        file.read().unwrap().list().iter().map(|entry| member(&entry.clone().into(), "id").to_owned()).collect()
    }

    #[test]
    fn keys_are_added_and_revoked_and_the_file_is_always_whole() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("keys.json");
        let file = KeysFile::at(&path);
        assert!(matches!(file.revoke("a", None), Err(KeysFileError::Read { .. })));
        assert!(!path.exists(), "only `add` makes a file");
        file.add(&entry("a", "x"), false).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        assert!(matches!(file.add(&entry("a", "x"), false), Err(KeysFileError::Exists { .. })));
        file.add(&entry("a", "y"), false).unwrap();
        assert!(matches!(file.revoke("a", None), Err(KeysFileError::Ambiguous { .. })));
        assert_eq!(file.revoke("a", Some("y")).unwrap(), "y");
        let before = fs::read(&path).unwrap();
        file.add(&entry("a", "x"), true).unwrap();
        assert_eq!(ids(&file), ["a"]);
        assert_ne!(fs::read(&path).unwrap(), before, "another key has its place");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        assert_eq!(file.revoke("a", None).unwrap(), "x");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o640, "the server may be another user");
        assert!(file.read().unwrap().is_empty());
        assert!(matches!(file.revoke("a", None), Err(KeysFileError::Unknown(_))));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "something was left beside it");
    }

    #[test]
    fn what_is_not_its_own_is_not_changed() {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("keys.json");
        for text in ["keys: [] # mine", "{\"keys\": 1}", "[]", "{\"keys\": [], \"more\": 1}", "{\"keys\": []} x"] {
            fs::write(&path, text).unwrap();
            assert!(KeysFile::at(&path).add(&entry("a", "x"), false).is_err(), "{text}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn processes_that_add_at_once_lose_nothing() {
        let folder = tempfile::TempDir::new().unwrap();
        let file = KeysFile::at(&folder.path().join("keys.json"));
        std::thread::scope(|scope| {
            for number in 0..16 {
                let file = &file;
                scope.spawn(move || file.add(&entry(&format!("k{number}"), "x"), false).unwrap());
            }
        });
        assert_eq!(ids(&file).len(), 16);
    }
}
