//! Keys in files: `<home>/keys/<name>.pem`, readable by their owner only, each with its public half in `<name>.pub`, so that
//! an encrypted key is known without its passphrase.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use proofmark_receipt::document::shown;
use proofmark_receipt::{SignerId, SigningKey, Timestamp};
use zeroize::Zeroizing;

use crate::keyfile::{self, KeyFileError, Passphrase};
use crate::owned::{self, OwnedError};

/// The longest name of a key.
const MAX_NAME: usize = 64;

/// The largest file that says when a key ends, in bytes.
const MAX_END_FILE: u64 = 256;
/// A key file is a few hundred bytes; what is larger is something else.
/// The largest key file, in bytes.
pub const MAX_KEY_FILE: u64 = 64 << 10;

/// Why a key could not be stored or found.
#[derive(Debug, thiserror::Error)]
pub enum KeyringError {
    /// The file system refused.
    #[error("{doing} `{}` ({error})", path.display())]
    Io { doing: &'static str, path: PathBuf, error: io::Error },
    /// Keys are never overwritten.
    #[error("store the key as `{}`: there is one already, and keys are never overwritten", .0.display())]
    Exists(PathBuf),
    /// A name that would lead out of the folder.
    #[error("use `{}` as the name of a key", shown(.0))]
    Name(String),
    #[error("find the key `{name}` in `{}`", folder.display())]
    Missing { name: String, folder: PathBuf },
    /// Others may read the file.
    #[error("use the key `{}`: its mode is {mode:o}, so others may read it", path.display())]
    Exposed {
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The file beside a key is the public half of another one.
    #[error("use the key `{name}`: `{}` is the public half of another key", path.display())]
    OtherHalf { name: String, path: PathBuf },
    /// The file beside a key does not say when it ends.
    #[error("read when the key ends: `{}` holds no time", .0.display())]
    NoEnd(PathBuf),
    /// The key has ended.
    #[error("use the key `{name}`: it ends at {end}")]
    Ended { name: String, end: Timestamp },
    /// The end of the key is earlier already.
    #[error("move the end of the key `{name}`: it ends at {end} already")]
    EndsEarlier { name: String, end: Timestamp },
    /// Others may replace the public half.
    #[error("use `{}`: others may write to it", .0.display())]
    Writable(PathBuf),
    /// The file is there and is not a usable key.
    #[error("use the key file `{}`: {error}", path.display())]
    File { path: PathBuf, error: KeyFileError },
    /// The system gave no randomness.
    #[error("draw a key ({0})")]
    Randomness(#[from] getrandom::Error),
}

impl KeyringError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        Some(match self {
            Self::Exists(_) => "choose another name".to_owned(),
            Self::Name(_) => {
                format!("write 1 to {MAX_NAME} letters, digits, `-`, `_` and `.`, not beginning with `.`")
            }
            Self::Missing { name, .. } => format!("make it with `proofmark key new {name}`"),
            Self::Exposed { .. } | Self::Writable(_) => "run `chmod 600` on it".to_owned(),
            Self::OtherHalf { path, .. } => {
                format!("check who changed it, and delete `{}`: it is written again from the key", path.display())
            }
            Self::NoEnd(_) => "write a time into it, as in 2026-10-01T00:00:00Z".to_owned(),
            Self::Ended { .. } => "use the key that has taken its place".to_owned(),
            Self::EndsEarlier { .. } => {
                "give a time before that: an end can only be moved to an earlier time".to_owned()
            }
            Self::File { error, .. } => return error.help().map(str::to_owned),
            Self::Io { .. } | Self::Randomness(_) => return None,
        })
    }
}

impl KeyringError {
    /// Whether a key is encrypted and no passphrase was given.
    #[must_use]
    pub fn needs_passphrase(&self) -> bool {
        matches!(self, Self::File { error: KeyFileError::NoPassphrase, .. })
    }

    /// Whether the passphrase does not fit.
    #[must_use]
    pub fn is_wrong_passphrase(&self) -> bool {
        matches!(self, Self::File { error: KeyFileError::WrongPassphrase, .. })
    }
}

/// The folder of keys.
#[derive(Clone, Debug)]
pub struct Keyring {
    folder: PathBuf,
}

impl Keyring {
    /// The keys under `home`.
    pub fn new(home: &Path) -> Keyring {
        Keyring { folder: home.join("keys") }
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Where the key of this name is, or would be.
    ///
    /// # Errors
    /// When the name could lead out of the folder.
    pub fn path(&self, name: &str) -> Result<PathBuf, KeyringError> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.len() > MAX_NAME || name.starts_with('.') || !name.chars().all(plain) {
            return Err(KeyringError::Name(name.to_owned()));
        }
        Ok(self.folder.join(format!("{name}.pem")))
    }

    /// Makes a new key and stores it under this name.
    ///
    /// # Errors
    /// When there is one of that name, or the file cannot be written.
    pub fn create(&self, name: &str, passphrase: Option<&Passphrase>) -> Result<SigningKey, KeyringError> {
        let mut seed = Zeroizing::new([0; 32]);
        getrandom::fill(seed.as_mut())?;
        let key = SigningKey::from_seed(*seed);
        self.store(name, &key, passphrase)?;
        Ok(key)
    }

    /// Stores a key under this name: atomically, mode 0600, never over another.
    ///
    /// # Errors
    /// As [`Keyring::create`].
    pub fn store(&self, name: &str, key: &SigningKey, passphrase: Option<&Passphrase>) -> Result<(), KeyringError> {
        let path = self.path(name)?;
        let text = keyfile::write(key, passphrase).map_err(|error| KeyringError::File { path: path.clone(), error })?;
        owned::create_folder(&self.folder).map_err(|error| io_error("create", &self.folder, error))?;
        // Written whole under another name first. A link, unlike a rename, fails where the name exists, so that no key
        // is lost.
        let draft = self.folder.join(format!(".{name}.{}.new", std::process::id()));
        let written = owned::write_new(&draft, text.as_bytes()).and_then(|()| fs::hard_link(&draft, &path));
        // Where it cannot be removed it is as private as the key, and `names` does not list it.
        let _gone = fs::remove_file(&draft);
        match written {
            // What an earlier key of this name left behind is replaced.
            Ok(()) => self.write_public(name, key.signer()),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(KeyringError::Exists(path)),
            Err(error) => Err(io_error("write", &path, error)),
        }
    }

    /// The key of this name; a text with a `/`, or one that names a file, is the
    /// path of a key file.
    ///
    /// # Errors
    /// When it is missing, readable by others, or not a usable key.
    pub fn load(&self, name: &str, passphrase: Option<&Passphrase>) -> Result<SigningKey, KeyringError> {
        if name.contains('/') || Path::new(name).is_file() {
            return load_file(Path::new(name), passphrase);
        }
        let path = self.path(name)?;
        if !path.exists() {
            return Err(KeyringError::Missing { name: name.to_owned(), folder: self.folder.clone() });
        }
        let key = load_file(&path, passphrase)?;
        match self.read_public(name)? {
            Some(signer) if signer == key.signer() => {}
            // The person who wrote it would be taken for the owner of this key.
            Some(_) => return Err(KeyringError::OtherHalf { name: name.to_owned(), path: self.public_path(name)? }),
            // Keys of older versions have none. In a folder that cannot be written to, it stays away.
            None => drop(self.write_public(name, key.signer())),
        }
        Ok(key)
    }

    /// The signer whose key has this name, without its passphrase; `None` when the key is encrypted and has not been used
    /// since its public half is stored beside it.
    ///
    /// # Errors
    /// As [`Keyring::load`], for the name of a key.
    pub fn public(&self, name: &str) -> Result<Option<SignerId>, KeyringError> {
        let path = self.path(name)?;
        if !path.exists() {
            return Err(KeyringError::Missing { name: name.to_owned(), folder: self.folder.clone() });
        }
        match load_file(&path, None) {
            // The key itself says who signs with it, where it can be read.
            Ok(key) => Ok(Some(key.signer())),
            Err(KeyringError::File { error: KeyFileError::NoPassphrase, .. }) => self.read_public(name),
            Err(error) => Err(error),
        }
    }

    fn public_path(&self, name: &str) -> Result<PathBuf, KeyringError> {
        Ok(self.path(name)?.with_extension("pub"))
    }

    fn read_public(&self, name: &str) -> Result<Option<SignerId>, KeyringError> {
        let path = self.public_path(name)?;
        let text = match owned::read(&path, MAX_KEY_FILE) {
            Ok(text) => text,
            Err(OwnedError::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(OwnedError::Io(error)) => return Err(io_error("read", &path, error)),
            Err(OwnedError::Writable) => return Err(KeyringError::Writable(path)),
        };
        match SignerId::from_public_pem(&text) {
            Ok(signer) => Ok(Some(signer)),
            Err(_) => Err(KeyringError::OtherHalf { name: name.to_owned(), path }),
        }
    }

    fn write_public(&self, name: &str, signer: SignerId) -> Result<(), KeyringError> {
        let path = self.public_path(name)?;
        owned::replace(&path, signer.to_public_pem().as_bytes()).map_err(|error| io_error("write", &path, error))
    }

    /// When the key of this name ends or has ended, if that was said.
    ///
    /// # Errors
    /// When the file that says so cannot be read: then nobody knows whether the key counts.
    pub fn end(&self, name: &str) -> Result<Option<Timestamp>, KeyringError> {
        let path = self.end_path(name)?;
        match owned::read(&path, MAX_END_FILE) {
            Ok(text) => match text.trim().parse() {
                Ok(end) => Ok(Some(end)),
                Err(_) => Err(KeyringError::NoEnd(path)),
            },
            Err(OwnedError::Io(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(OwnedError::Io(error)) => Err(io_error("read", &path, error)),
            Err(OwnedError::Writable) => Err(KeyringError::Writable(path)),
        }
    }

    /// Ends the key of this name: what it signs that is dated at this moment or later does not count. An end can be moved to an
    /// earlier moment only.
    ///
    /// # Errors
    /// When the keyring has no key of this name, when its end is earlier already, and when the file cannot be read or written.
    pub fn set_end(&self, name: &str, end: &Timestamp) -> Result<(), KeyringError> {
        if !self.has(name) {
            return Err(KeyringError::Missing { name: name.to_owned(), folder: self.folder.clone() });
        }
        match self.end(name)? {
            Some(known) if known.unix_millis() < end.unix_millis() => {
                return Err(KeyringError::EndsEarlier { name: name.to_owned(), end: known });
            }
            Some(_) | None => {}
        }
        let path = self.end_path(name)?;
        owned::replace(&path, format!("{end}\n").as_bytes()).map_err(|error| io_error("write", &path, error))
    }

    fn end_path(&self, name: &str) -> Result<PathBuf, KeyringError> {
        Ok(self.path(name)?.with_extension("end"))
    }

    /// Whether there is a key of this name.
    pub fn has(&self, name: &str) -> bool {
        self.path(name).is_ok_and(|path| path.exists())
    }

    /// The names of all keys, sorted.
    ///
    /// # Errors
    /// When the folder is there and cannot be read.
    pub fn names(&self) -> Result<Vec<String>, KeyringError> {
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(io_error("read", &self.folder, error)),
        };
        let name = |file: String| file.strip_suffix(".pem").filter(|n| !n.starts_with('.')).map(str::to_owned);
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| name(entry.file_name().to_string_lossy().into_owned())).collect();
        names.sort();
        Ok(names)
    }
}

/// Reads a key file that only its owner can read.
fn load_file(path: &Path, passphrase: Option<&Passphrase>) -> Result<SigningKey, KeyringError> {
    let found = fs::metadata(path).map_err(|error| io_error("read", path, error))?;
    let mode = found.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(KeyringError::Exposed { path: path.to_owned(), mode });
    }
    read_key(path, passphrase)
}

/// Reads a key to import it. Others may be able to read the file: the copy is what counts.
///
/// # Errors
/// When the file cannot be read or is not a usable key.
pub(crate) fn read_key(path: &Path, passphrase: Option<&Passphrase>) -> Result<SigningKey, KeyringError> {
    let found = fs::metadata(path).map_err(|error| io_error("read", path, error))?;
    if found.len() > MAX_KEY_FILE {
        return Err(io_error("read", path, io::Error::other("larger than any key file")));
    }
    let text = Zeroizing::new(fs::read_to_string(path).map_err(|error| io_error("read", path, error))?);
    keyfile::read(&text, passphrase).map_err(|error| KeyringError::File { path: path.to_owned(), error })
}

impl Keyring {
    /// Reads a key from elsewhere to store it under this name. Others may be able to read the file: the copy is what counts.
    ///
    /// # Errors
    /// When the file is not a usable key or the name is taken.
    pub fn import(&self, name: &str, file: &Path, passphrase: Option<&Passphrase>) -> Result<SigningKey, KeyringError> {
        let key = read_key(file, passphrase)?;
        self.store(name, &key, passphrase)?;
        Ok(key)
    }

    /// As [`Keyring::import`], from the text of a key that standard input had.
    ///
    /// # Errors
    /// When the text is not a usable key or the name is taken.
    pub fn import_text(
        &self,
        name: &str,
        text: &str,
        passphrase: Option<&Passphrase>,
    ) -> Result<SigningKey, KeyringError> {
        let key = keyfile::read(text, passphrase)
            .map_err(|error| KeyringError::File { path: PathBuf::from("standard input"), error })?;
        self.store(name, &key, passphrase)?;
        Ok(key)
    }
}

fn io_error(doing: &'static str, path: &Path, error: io::Error) -> KeyringError {
    KeyringError::Io { doing, path: path.to_owned(), error }
}
