//! The trust store: `<home>/trust.json`, the signers this user trusts, each under a name.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use proofmark_evidence::{Capabilities, Capability, DatedKey};
use proofmark_receipt::document::{self, Cause, DocumentError, Field, Format};
use proofmark_receipt::{Json, Object, SignerId, Timestamp, object};

use crate::owned::{self, OwnedError};
use crate::trust::{MAX_TRUST_FILE, TrustError};

/// The name of the file.
const FILE: &str = "trust.json";
/// The most signers under one name, which are the keys of one issuer.
const MAX_SIGNERS_OF_ONE: usize = 64;
/// The most names.
const MAX_NAMES: usize = 1_000;
/// The longest name.
const MAX_NAME: usize = 64;
/// The longest note, in bytes.
const MAX_NOTE: usize = 1_024;
/// By this permission anyone may replace the files of a folder.
const ANYONE_WRITES: u32 = 0o002;

/// Somebody who is trusted: a name, and the keys that this name signs with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedName {
    pub name: String,
    pub keys: Vec<DatedKey>,
    /// What these keys may vouch for.
    pub may: Capabilities,
    /// Why they are trusted, or who they are.
    pub note: Option<String>,
}

impl TrustedName {
    /// Whether this is one of the keys.
    #[must_use]
    pub fn has(&self, signer: &SignerId) -> bool {
        self.keys.iter().any(|key| key.signer == *signer)
    }

    fn shares_key_with(&self, other: &Self) -> bool {
        self.keys.iter().any(|key| other.has(&key.signer))
    }

    /// As the trust store has it: `{name, for, signers, ends, note}`.
    #[must_use]
    pub fn to_json(&self) -> Json {
        let signers: Vec<Json> = self.keys.iter().map(|key| Json::from(key.signer.to_string())).collect();
        let mut ends = Object::new();
        for key in &self.keys {
            if let Some(until) = &key.until {
                ends.insert(key.signer.to_string(), until.as_str());
            }
        }
        let entry = object! {
            "name": self.name.as_str(),
            "for": self.may.iter().map(|capability| Json::from(capability.as_str())).collect::<Vec<_>>(),
            "signers": signers,
            "ends"?: (!ends.is_empty()).then_some(ends),
            "note"?: self.note.as_deref(),
        };
        entry.into()
    }
}

/// The trust store of a user.
#[derive(Clone, Debug)]
pub struct TrustStore {
    home: PathBuf,
}

impl TrustStore {
    /// The trust store under `home`.
    #[must_use]
    pub fn new(home: &Path) -> Self {
        Self { home: home.to_owned() }
    }

    /// The file of the trust store.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.home.join(FILE)
    }

    /// Everybody who is trusted, in the order in which they were added. Without a file nobody is.
    ///
    /// # Errors
    /// [`TrustError`]: the file cannot be read, others may write to it, or it is not of the known form.
    pub fn list(&self) -> Result<Vec<TrustedName>, TrustError> {
        let path = self.path();
        let io = |error| TrustError::Io { path: path.clone(), error };
        let text = match owned::read(&path, MAX_TRUST_FILE) {
            Ok(text) => text,
            Err(OwnedError::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(OwnedError::Io(error)) => return Err(io(error)),
            Err(OwnedError::Writable) => return Err(TrustError::Writable(path)),
        };
        // Who can replace the file decides as well. Groups are left out: many systems give each user one of their own.
        if fs::metadata(&self.home).map_err(io)?.permissions().mode() & ANYONE_WRITES != 0 {
            return Err(TrustError::Writable(self.home.clone()));
        }
        read(&text).map_err(|error| TrustError::Store { path, error })
    }

    /// Adds somebody. A name and a signer are in the trust store once.
    ///
    /// # Errors
    /// [`TrustError`]; the trust store is as before.
    pub fn add(&self, new: TrustedName) -> Result<(), TrustError> {
        check_name(&new.name)?;
        if new.note.as_ref().is_some_and(|note| note.trim().is_empty() || note.len() > MAX_NOTE) {
            return Err(TrustError::Note);
        }
        self.change(|names| {
            if names.iter().any(|known| known.name == new.name) {
                return Err(TrustError::NameTaken(new.name.clone()));
            }
            if let Some(known) = names.iter().find(|known| known.shares_key_with(&new)) {
                return Err(TrustError::SignerTaken { name: new.name.clone(), known: known.name.clone() });
            }
            if names.len() >= MAX_NAMES || new.keys.len() > MAX_SIGNERS_OF_ONE {
                return Err(TrustError::Full);
            }
            names.push(new);
            Ok(())
        })
    }

    /// Removes the name and returns what it stood for.
    ///
    /// # Errors
    /// [`TrustError`]; the trust store is as before.
    pub fn remove(&self, name: &str) -> Result<TrustedName, TrustError> {
        self.change(|names| {
            let place = names.iter().position(|known| known.name == name);
            place.map(|place| names.remove(place)).ok_or_else(|| TrustError::NoSuchName(name.to_owned()))
        })
    }

    fn change<T>(&self, change: impl FnOnce(&mut Vec<TrustedName>) -> Result<T, TrustError>) -> Result<T, TrustError> {
        let path = self.path();
        let io = |error| TrustError::Io { path: path.clone(), error };
        owned::create_folder(&self.home).map_err(io)?;
        // Two commands that change it at once would lose one of the changes. The lock ends with the handle.
        let folder = File::open(&self.home).map_err(io)?;
        folder.lock().map_err(io)?;
        let mut names = self.list()?;
        let changed = change(&mut names)?;
        owned::replace(&path, write(&names).as_bytes()).map_err(io)?;
        Ok(changed)
    }
}

/// A name is neither a path nor a signer id: it has no dot, no slash, no colon and no `=`.
fn check_name(name: &str) -> Result<(), TrustError> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    let valid = (1..=MAX_NAME).contains(&name.len()) && !name.starts_with('-') && name.chars().all(plain);
    // Such a name would pass for a signer id that was cut.
    if valid && !crate::trust::begins_like_signer(name) { Ok(()) } else { Err(TrustError::Name(name.to_owned())) }
}

fn read(text: &str) -> Result<Vec<TrustedName>, DocumentError> {
    let json = document::parse(text.as_bytes(), Format::Json)?;
    let fields = Field::root(&json).fields()?;
    fields.only(&["version", "trusted"])?;
    let version = fields.need("version", "write `\"version\": 1`")?;
    if version.positive()? != 1 {
        return Err(version.error(Cause::Unsupported, "this version is not known"));
    }
    let mut names: Vec<TrustedName> = Vec::new();
    for item in fields.need("trusted", "write an array")?.items()? {
        let trusted = entry(&item)?;
        let twice = |known: &TrustedName| known.name == trusted.name || known.shares_key_with(&trusted);
        if names.iter().any(twice) {
            return Err(item.error(Cause::DuplicateName, "the name or a signer is there twice"));
        }
        names.push(trusted);
    }
    Ok(names)
}

fn entry(item: &Field<'_>) -> Result<TrustedName, DocumentError> {
    let fields = item.fields()?;
    fields.only(&["name", "for", "signers", "ends", "note"])?;
    let name = fields.need("name", "name the signer")?;
    check_name(name.text()?).map_err(|error| name.error(Cause::InvalidValue, error.to_string()))?;
    let signers = fields.need("signers", "list the signer ids")?;
    let signer = |field: &Field<'_>| {
        let text = field.text()?;
        text.parse().map_err(|error| field.error(Cause::InvalidValue, format!("{error}")))
    };
    let all = signers.items()?.iter().map(signer).collect::<Result<Vec<SignerId>, _>>()?;
    if all.is_empty() || all.len() > MAX_SIGNERS_OF_ONE {
        return Err(signers.error(Cause::Empty, format!("write 1 to {MAX_SIGNERS_OF_ONE} signer ids")));
    }
    let may = fields.need("for", "list what these keys may sign: verification, acceptance, approval, decision")?;
    let words = Capability::ALL.map(|capability| (capability.as_str(), capability));
    let held = may.items()?.iter().map(|word| word.choice(&words)).collect::<Result<Vec<_>, _>>()?;
    let may = Capabilities::of(held).ok_or_else(|| may.error(Cause::Empty, "the list is empty"))?;
    let mut keys: Vec<DatedKey> = all.into_iter().map(DatedKey::endless).collect();
    if let Some(ends) = fields.get("ends") {
        for (name, end) in ends.fields()?.iter() {
            let signer = name.parse::<SignerId>().ok();
            let key = keys.iter_mut().find(|key| Some(key.signer) == signer);
            let key = key.ok_or_else(|| end.error(Cause::InvalidValue, "no signer of the entry has this id"))?;
            let at: Result<Timestamp, _> = end.text()?.parse();
            key.until = Some(at.map_err(|error| end.error(Cause::InvalidValue, format!("{error}")))?);
        }
    }
    let note = fields.get("note").map(|note| note.text().map(str::to_owned)).transpose()?;
    Ok(TrustedName { name: name.text()?.to_owned(), keys, may, note })
}

/// The form that [`read`] reads, one name per line.
fn write(names: &[TrustedName]) -> String {
    let line = |trusted: &TrustedName| format!("  {}", trusted.to_json().to_text());
    let lines: Vec<String> = names.iter().map(line).collect();
    format!("{{\"version\": 1, \"trusted\": [\n{}\n]}}\n", lines.join(",\n"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use proofmark_receipt::SigningKey;
    use proptest::prelude::*;

    use super::*;

    fn signer(seed: u8) -> SignerId {
        SigningKey::from_seed([seed; 32]).signer()
    }

    fn trusted(name: &str, seed: u8) -> TrustedName {
        let until = seed.is_multiple_of(2).then(|| Timestamp::from_unix_millis(1_800_000_000_000 + i64::from(seed)));
        let may = Capabilities::only(Capability::Verification);
        TrustedName { name: name.to_owned(), keys: vec![DatedKey { signer: signer(seed), until }], may, note: None }
    }

    #[test]
    fn a_name_and_a_signer_are_there_once() {
        let home = tempfile::tempdir().unwrap();
        let store = TrustStore::new(home.path());
        assert!(store.list().unwrap().is_empty());
        store.add(trusted("ci", 1)).unwrap();
        assert!(matches!(store.add(trusted("ci", 2)), Err(TrustError::NameTaken(_))));
        assert!(matches!(store.add(trusted("other", 1)), Err(TrustError::SignerTaken { .. })));
        store.add(trusted("other", 2)).unwrap();
        assert_eq!(store.remove("ci").unwrap(), trusted("ci", 1));
        assert!(matches!(store.remove("ci"), Err(TrustError::NoSuchName(_))));
        assert_eq!(store.list().unwrap(), [trusted("other", 2)]);
        // No draft is left behind.
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_name_is_plain() {
        let home = tempfile::tempdir().unwrap();
        let store = TrustStore::new(home.path());
        let id = signer(1).to_string();
        let long = "x".repeat(65);
        for name in ["", "../up", "a/b", "a.pem", "-x", "did:key:z", "a b", "ü", "\u{1b}[31m", &id, &id[..20], &long] {
            assert!(matches!(store.add(trusted(name, 1)), Err(TrustError::Name(_))), "{name}");
        }
        assert!(!store.path().exists());
    }

    #[test]
    fn what_others_can_write_is_not_read() {
        let home = tempfile::tempdir().unwrap();
        let store = TrustStore::new(home.path());
        store.add(trusted("ci", 1)).unwrap();
        let set = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        for mode in [0o666, 0o620, 0o602] {
            set(&store.path(), mode);
            assert!(matches!(store.list(), Err(TrustError::Writable(_))), "{mode:o}");
            assert!(store.add(trusted("other", 2)).is_err());
        }
        set(&store.path(), 0o600);
        set(home.path(), 0o777);
        assert!(matches!(store.list(), Err(TrustError::Writable(_))));
        set(home.path(), 0o700);
        // A link stays one: the file that it leads to is replaced.
        let elsewhere = tempfile::tempdir().unwrap();
        let target = elsewhere.path().join("mine.json");
        fs::rename(store.path(), &target).unwrap();
        symlink(&target, store.path()).unwrap();
        store.add(trusted("other", 2)).unwrap();
        assert!(fs::symlink_metadata(store.path()).unwrap().is_symlink());
        assert_eq!(store.list().unwrap().len(), 2);
    }

    #[test]
    fn a_pipe_is_refused_and_not_waited_for() {
        let home = tempfile::tempdir().unwrap();
        let store = TrustStore::new(home.path());
        assert!(std::process::Command::new("mkfifo").arg(store.path()).status().unwrap().success());
        assert!(matches!(store.list(), Err(TrustError::Io { .. })));
    }

    #[test]
    fn another_form_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let store = TrustStore::new(home.path());
        let id = signer(1);
        let entry = format!(r#"{{"name": "ci", "for": ["decision"], "signers": ["{id}"]}}"#);
        for text in [
            String::new(),
            "{}".to_owned(),
            r#"{"version": 2, "trusted": []}"#.to_owned(),
            r#"{"version": 1, "trusted": [], "more": 1}"#.to_owned(),
            r#"{"version": 1, "trusted": [{"name": "ci", "signers": []}]}"#.to_owned(),
            r#"{"version": 1, "trusted": [{"name": "ci", "signers": ["x"]}]}"#.to_owned(),
            r#"{"version": 1, "trusted": [{"name": "../ci", "signers": []}]}"#.to_owned(),
            format!(r#"{{"version": 1, "trusted": [{entry}, {entry}]}}"#),
            // A key that is trusted without a kind.
            format!(r#"{{"version": 1, "trusted": [{}]}}"#, entry.replace(r#""for": ["decision"], "#, "")),
            format!(r#"{{"version": 1, "trusted": [{}]}}"#, entry.replace(r#""decision""#, "")),
            format!(r#"{{"version": 1, "trusted": [{}]}}"#, entry.replace("decision", "all")),
            format!(r#"{{"version": 1, "trusted": [{}]}}"#, entry.replace("[", r#"["x", "#)),
            format!(r#"{{"version": 1, "trusted": [{entry}], "trusted": []}}"#),
        ] {
            fs::write(store.path(), &text).unwrap();
            fs::set_permissions(store.path(), fs::Permissions::from_mode(0o600)).unwrap();
            assert!(matches!(store.list(), Err(TrustError::Store { .. })), "{text}");
        }
    }

    #[test]
    fn of_two_changes_at_once_none_is_lost() {
        let home = tempfile::tempdir().unwrap();
        let store = TrustStore::new(home.path());
        std::thread::scope(|scope| {
            for seed in 1..=8 {
                let store = &store;
                scope.spawn(move || store.add(trusted(&format!("n{seed}"), seed)).unwrap());
            }
        });
        assert_eq!(store.list().unwrap().len(), 8);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(notes in prop::collection::vec(prop::option::of("\\PC{1,40}"), 0..6)) {
            let names: Vec<_> = notes
                .into_iter()
                .zip(1_u8..)
                .map(|(note, seed)| TrustedName { note, ..trusted(&format!("n{seed}"), seed) })
                .collect();
            prop_assert_eq!(read(&write(&names)).unwrap(), names);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,200}") {
            let _ = read(&text);
        }
    }
}
