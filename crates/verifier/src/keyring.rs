//! Keys in files: `<home>/keys/<name>.pem`, readable by their owner only.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use proofmark_receipt::SigningKey;
use proofmark_receipt::document::shown;
use zeroize::Zeroizing;

use crate::keyfile::{self, KeyFileError, Passphrase};

/// The longest name of a key.
const MAX_NAME: usize = 64;

/// A key file is a few hundred bytes; what is larger is something else.
const MAX_KEY_FILE: u64 = 64 << 10;

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
            Self::Exposed { .. } => "run `chmod 600` on it".to_owned(),
            Self::File { error, .. } => return error.help().map(str::to_owned),
            Self::Io { .. } | Self::Randomness(_) => return None,
        })
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
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)
            .map_err(|e| io_error("create", &self.folder, e))?;
        // Written whole under another name first. A link, unlike a rename, fails where the name exists, so that no key
        // is lost.
        let draft = self.folder.join(format!(".{name}.{}.new", std::process::id()));
        let written = write_private(&draft, text.as_bytes()).and_then(|()| fs::hard_link(&draft, &path));
        // Where it cannot be removed it is as private as the key, and `names` does not list it.
        let _gone = fs::remove_file(&draft);
        match written {
            Ok(()) => Ok(()),
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
        load_file(&path, passphrase)
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
    /// Reads a key from elsewhere and stores it under this name.
    ///
    /// # Errors
    /// When the file is not a usable key or the name is taken.
    pub fn import(&self, name: &str, file: &Path, passphrase: Option<&Passphrase>) -> Result<SigningKey, KeyringError> {
        let key = read_key(file, passphrase)?;
        self.store(name, &key, passphrase)?;
        Ok(key)
    }
}

fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn io_error(doing: &'static str, path: &Path, error: io::Error) -> KeyringError {
    KeyringError::Io { doing, path: path.to_owned(), error }
}
