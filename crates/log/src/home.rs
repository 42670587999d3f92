use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use proofmark_keys::owned::{self, OwnedError};
use proofmark_keys::{Keyring, Passphrase};
use proofmark_receipt::{SignerId, SigningKey};
use proofmark_tlog::{Checkpoint, KeyType, LogSigner, MAX_NOTE_BYTES, PrivateKeyError, SignedCheckpoint, Vkey};

use crate::error::LogError;

/// The longest origin, in bytes.
const MAX_ORIGIN: usize = 200;

/// How long another process may keep a checkpoint, which takes as long as writing a file.
const MAX_LOCKED: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// How the names of the log's keys begin; a number follows, which grows with each rotation.
const KEY: &str = "log-";

/// What is kept of a log outside the store: its origin, its keys, and the checkpoint that was signed last. A store that was rolled
/// back does not have that checkpoint's entries, and is not signed for.
#[derive(Clone, Debug)]
pub struct LogHome {
    folder: PathBuf,
}

impl LogHome {
    /// The log of this `$PROOFMARK_HOME`.
    #[must_use]
    pub fn of(home: &Path) -> Self {
        Self { folder: home.join("log") }
    }

    /// Begins the log of this origin, with a key of its own.
    ///
    /// # Errors
    /// [`LogError::Origin`], [`LogError::Begun`], and when files cannot be written.
    pub fn begin(&self, origin: &str, passphrase: Option<&Passphrase>) -> Result<LogSigner, LogError> {
        // Refused before anything is written.
        Self::check_origin(origin)?;
        match self.origin()? {
            Some(old) if old != origin => return Err(LogError::Begun { old, new: origin.to_owned() }),
            Some(_) => {}
            None => {
                owned::create_folder(&self.folder).map_err(|error| self.io("create", &self.folder, error))?;
                self.write("origin", &format!("{origin}\n"))?;
            }
        }
        if self.key_numbers()?.is_empty() {
            self.keyring().create(&format!("{KEY}1"), passphrase)?;
        }
        self.signer(passphrase)
    }

    /// Refuses an origin that others could not name, or not tell from another one: it is the address of a log without its scheme.
    ///
    /// # Errors
    /// [`LogError::Origin`]
    pub fn check_origin(origin: &str) -> Result<(), LogError> {
        check_origin(origin)
    }

    /// The origins of logs that have ended here.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn ended(&self) -> Result<Vec<String>, LogError> {
        let ended = (1..).map(|number| Self { folder: self.folder.with_file_name(format!("log.{number}")) });
        let there = ended.take_while(|log| log.folder.exists());
        there.filter_map(|log| log.origin().transpose()).collect()
    }

    /// Ends the log: its folder is renamed to `log.1`, or the next free number, so that its keys stay.
    ///
    /// # Errors
    /// When the folder cannot be renamed.
    pub fn retire(&self) -> Result<(), LogError> {
        if self.origin()?.is_none() {
            return Ok(());
        }
        let retired = (1..).map(|number| self.folder.with_file_name(format!("log.{number}")));
        let Some(free) = retired.into_iter().find(|path| !path.exists()) else { return Ok(()) };
        std::fs::rename(&self.folder, free).map_err(|error| self.io("rename", &self.folder, error))
    }

    /// The origin of the log, once it was begun.
    ///
    /// # Errors
    /// When the file cannot be read, or others may write to it.
    pub fn origin(&self) -> Result<Option<String>, LogError> {
        Ok(self.read("origin", MAX_ORIGIN as u64 + 1)?.map(|text| text.trim_end_matches('\n').to_owned()))
    }

    /// The key that signs now.
    ///
    /// # Errors
    /// [`LogError::NotBegun`], and when the key cannot be used.
    pub fn signer(&self, passphrase: Option<&Passphrase>) -> Result<LogSigner, LogError> {
        self.signer_of(&self.keyring().load(&self.key_name()?, passphrase)?)
    }

    /// The name of the key that signs now, in [`LogHome::keyring`].
    ///
    /// # Errors
    /// [`LogError::NotBegun`]
    pub fn key_name(&self) -> Result<String, LogError> {
        self.begun().map(|(_, number)| format!("{KEY}{number}"))
    }

    /// The keys of the log. They are not among those that sign receipts.
    #[must_use]
    pub fn keyring(&self) -> Keyring {
        Keyring::new(&self.folder)
    }

    /// The signer with this key.
    ///
    /// # Errors
    /// [`LogError::NotBegun`]
    pub fn signer_of(&self, key: &SigningKey) -> Result<LogSigner, LogError> {
        let (origin, _) = self.begun()?;
        Ok(LogSigner::from_pkcs8_pem(&origin, &key.to_pkcs8_pem())?)
    }

    /// The keys that have signed for the log, the one that signs now last.
    ///
    /// # Errors
    /// [`LogError::NotBegun`], and when one cannot be read.
    pub fn vkeys(&self) -> Result<Vec<Vkey>, LogError> {
        let (origin, _) = self.begun()?;
        let mut vkeys = Vec::new();
        for number in self.key_numbers()? {
            // Each has its public half beside it, by which an encrypted key is known.
            if let Some(signer) = self.keyring().public(&format!("{KEY}{number}"))? {
                vkeys.push(vkey(&origin, &signer)?);
            }
        }
        Ok(vkeys)
    }

    /// Makes a new key, which signs from now on. What earlier ones signed stays valid for those who know them.
    ///
    /// # Errors
    /// [`LogError::NotBegun`], and when the key cannot be written.
    pub fn rotate(&self, passphrase: Option<&Passphrase>) -> Result<LogSigner, LogError> {
        let (_, number) = self.begun()?;
        self.keyring().create(&format!("{KEY}{}", number.saturating_add(1)), passphrase)?;
        self.signer(passphrase)
    }

    /// The checkpoint that was signed last.
    ///
    /// # Errors
    /// [`LogError::Changed`] where none of the log's keys has signed it, and when it cannot be read.
    pub fn published(&self) -> Result<Option<SignedCheckpoint>, LogError> {
        let Some(note) = self.read("checkpoint", MAX_NOTE_BYTES as u64)? else { return Ok(None) };
        let opened = SignedCheckpoint::open(note.as_bytes(), &self.vkeys()?, []);
        let changed = |error: proofmark_tlog::CheckpointError| LogError::Changed {
            path: self.folder.join("checkpoint"),
            reason: error.to_string(),
        };
        opened.map(Some).map_err(changed)
    }

    /// Keeps a checkpoint, before anybody sees it, unless another one than `before` is kept by now: whether it is kept.
    pub(crate) fn publish(&self, note: &str, before: Option<&Checkpoint>) -> Result<bool, LogError> {
        let _locked = self.lock()?;
        if self.published()?.map(|kept| kept.checkpoint).as_ref() != before {
            return Ok(false);
        }
        self.write("checkpoint", note)?;
        Ok(true)
    }

    /// Excludes other processes, until the result is dropped.
    fn lock(&self) -> Result<File, LogError> {
        let path = self.folder.join("lock");
        // To open a pipe waits for somebody who reads it.
        if path.exists() && !path.is_file() {
            return Err(self.io("lock", &path, io::Error::other("not a file")));
        }
        let lock = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let lock = lock.map_err(|error| self.io("lock", &path, error))?;
        let begun = Instant::now();
        while lock.try_lock().is_err() {
            if begun.elapsed() > MAX_LOCKED {
                return Err(self.io("lock", &path, io::Error::other("another process holds it")));
            }
            thread::sleep(LOOK_EVERY);
        }
        Ok(lock)
    }

    fn begun(&self) -> Result<(String, u32), LogError> {
        let origin = self.origin()?;
        let number = self.key_numbers()?.last().copied();
        origin.zip(number).ok_or_else(|| LogError::NotBegun(self.folder.clone()))
    }

    fn key_numbers(&self) -> Result<Vec<u32>, LogError> {
        let names = self.keyring().names()?;
        let mut numbers: Vec<u32> = names.iter().filter_map(|name| name.strip_prefix(KEY)?.parse().ok()).collect();
        numbers.sort_unstable();
        Ok(numbers)
    }

    fn read(&self, name: &str, limit: u64) -> Result<Option<String>, LogError> {
        let path = self.folder.join(name);
        match owned::read(&path, limit) {
            Ok(text) => Ok(Some(text)),
            Err(OwnedError::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(OwnedError::Io(error)) => Err(self.io("read", &path, error)),
            Err(OwnedError::Writable) => {
                Err(LogError::Changed { path, reason: "others may write to it: run `chmod 600` on it".to_owned() })
            }
        }
    }

    fn write(&self, name: &str, text: &str) -> Result<(), LogError> {
        let path = self.folder.join(name);
        owned::replace(&path, text.as_bytes()).map_err(|error| self.io("write", &path, error))
    }

    #[expect(clippy::unused_self, reason = "an error of this home")]
    fn io(&self, doing: &'static str, path: &Path, error: io::Error) -> LogError {
        LogError::Io { doing, path: path.to_owned(), error }
    }
}

/// Refuses what others could not name, or not tell from another one: an origin is the address of a log without its scheme.
fn check_origin(origin: &str) -> Result<(), LogError> {
    let refused = |reason| LogError::Origin { origin: origin.to_owned(), reason };
    let is_plain = |one: char| one.is_ascii_alphanumeric() || matches!(one, '.' | '-' | '_' | '/' | ':' | '~');
    if origin.is_empty() || origin.len() > MAX_ORIGIN || !origin.chars().all(is_plain) {
        return Err(refused("it has 1 to 200 letters, digits and the characters . - _ ~ : /"));
    }
    if origin.contains("://") || origin.split('/').any(|part| part.is_empty() || part == "." || part == "..") {
        return Err(refused("it is an address without its scheme, and without empty parts"));
    }
    if origin == "cosignature/v1" {
        return Err(refused("witnesses sign texts that begin so"));
    }
    Ok(())
}

fn vkey(origin: &str, signer: &SignerId) -> Result<Vkey, LogError> {
    let vkey = Vkey::new(origin, KeyType::Note, *signer.as_bytes());
    vkey.map_err(|error| LogError::PrivateKey(PrivateKeyError::Name(error)))
}
