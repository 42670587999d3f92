//! Environments that are built from lock files.
//!
//! The tools of the ecosystem install what the lock file names, outside of the sandbox. They run no code of what they install and none
//! of the project: a tool works in a folder that has the lock file and what it belongs to, checked before, and nothing else of the
//! project. An environment is built once for a lock file and an interpreter. Its builder signs a digest of what it holds, and before each
//! use the environment is compared with that digest.

mod error;
mod file;
mod npm;
mod pinned;
mod requirements;
mod tools;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use proofmark_checks::{HostFolder, Locked};
use proofmark_git::NODE_MODULES;
use proofmark_receipt::{Json, Object, SignatureStatus, SigningKey, Timestamp, object, sign_document, verify_document};
use proofmark_sandbox::Runtime;

use crate::clock;
use crate::environment::{Content, Environments, Kind, Listing};
use crate::issue::Issuer;
pub use error::LockError;
use file::Form;
pub use file::LockFile;

/// Where the environments are, in the folder of caches.
const ENVIRONMENTS: &str = "environments";
/// What an environment has, beside what says so.
const CONTENT: &str = "content";
const RECORD: &str = "record.json";
/// The kind of a record.
const KIND: &str = "environment";
/// What stands in the name of one that is not finished.
const PARTIAL: &str = ".partial-";

/// An environment that was built from a lock file.
#[derive(Debug)]
pub struct BuiltEnvironment {
    pub id: String,
    /// The lock file, as a path below the project.
    pub lock: String,
    pub lock_digest: String,
    /// The interpreter that it was built for.
    pub runtime: String,
    /// How many distributions it has.
    pub packages: u64,
    /// What its files hold.
    pub digest: String,
    pub built_at: String,
    /// When it was last used.
    pub used: SystemTime,
}

/// The environments of a folder of caches.
pub struct LockedEnvironments {
    cache: PathBuf,
    folder: PathBuf,
    /// Signs what environments hold. Without it nothing that is said of them will be signed.
    key: Option<Arc<SigningKey>>,
    digests: Environments,
}

impl LockedEnvironments {
    /// Those in this folder of caches that this issuer relies on.
    #[must_use]
    pub fn of(cache: &Path, issuer: &Issuer) -> LockedEnvironments {
        let key = issuer.key().cloned();
        let digests = Environments::in_cache(cache, key.as_ref());
        LockedEnvironments { cache: cache.to_owned(), folder: cache.join(ENVIRONMENTS), key, digests }
    }

    /// The environment of a lock file for an interpreter. It is built if it does not exist yet; `building` is called before that.
    ///
    /// # Errors
    /// When a tool is missing or fails, or the file system refuses.
    pub fn get(
        &self,
        lock: &LockFile,
        runtime: &Runtime,
        building: &dyn Fn(),
    ) -> Result<(BuiltEnvironment, Locked), LockError> {
        let id = lock.id(runtime);
        let folder = self.folder.join(&id);
        let built = match self.usable(lock, &id) {
            Some(built) => built,
            None => {
                building();
                self.build(lock, runtime, &id)?
            }
        };
        // When it was used is all that this says, and `prune` is all that asks.
        let _ = File::options().append(true).open(folder.join(RECORD)).map(|file| file.set_modified(SystemTime::now()));
        let content = folder.join(CONTENT);
        let host = |path: PathBuf| path.canonicalize().map_err(|error| LockError::Io { path, error });
        let locked = Locked {
            file: lock.path.clone(),
            digest: lock.digest().to_string(),
            packages: (lock.form.kind() == Kind::Python).then(|| host(content.clone())).transpose()?,
            folders: match lock.form {
                Form::Uv | Form::Poetry | Form::Pipfile | Form::Requirements => Vec::new(),
                Form::Npm => folders(lock, &content)?,
            },
        };
        Ok((built, locked))
    }

    /// The environment with this name, if it holds what its builder signed.
    fn usable(&self, lock: &LockFile, id: &str) -> Option<BuiltEnvironment> {
        let built = self.record(id).filter(|(_, is_signed)| *is_signed).map(|(built, _)| built)?;
        let content = self.content(lock, &self.folder.join(id).join(CONTENT)).ok()?;
        let is_same = built.digest == content.digest.to_string() && built.lock_digest == lock.digest().to_string();
        is_same.then_some(built)
    }

    fn content(&self, lock: &LockFile, folder: &Path) -> Result<Content, LockError> {
        let digest = |listing: Option<Listing>| listing.map(|listing| self.digests.content(&listing)).transpose();
        let content = Listing::of(folder, lock.form.kind()).and_then(digest);
        let missing = || LockError::Changed(folder.to_owned());
        content.map_err(|error| LockError::Read(error.to_string()))?.ok_or_else(missing)
    }

    fn build(&self, lock: &LockFile, runtime: &Runtime, id: &str) -> Result<BuiltEnvironment, LockError> {
        let partial = self.folder.join(format!("{id}{PARTIAL}{}", std::process::id()));
        let made = self.build_in(&partial, lock, runtime, id);
        let built = made.and_then(|()| {
            let folder = self.folder.join(id);
            // One that is there is not usable.
            remove(&folder)?;
            fs::rename(&partial, &folder).map_err(|error| LockError::Io { path: folder, error })?;
            self.record(id).map(|(built, _)| built).ok_or_else(|| LockError::Changed(self.folder.join(id)))
        });
        if built.is_err() {
            // The error says what is wrong. What is left is removed by the next `prune`.
            let _ = remove(&partial);
        }
        built
    }

    fn build_in(&self, partial: &Path, lock: &LockFile, runtime: &Runtime, id: &str) -> Result<(), LockError> {
        remove(partial)?;
        let (content, work) = (partial.join(CONTENT), partial.join("work"));
        [&content, &work].into_iter().try_for_each(|folder| make(folder))?;
        match lock.form {
            Form::Uv => {
                write_files(lock, &work)?;
                let exported = tools::export(&work, runtime)?;
                tools::install(
                    &requirements::read(&exported, "what `uv export` prints of uv.lock")?,
                    &content,
                    &work,
                    runtime,
                )?;
            }
            Form::Poetry | Form::Pipfile => {
                let text = String::from_utf8_lossy(lock.content());
                let read = if lock.form == Form::Poetry { pinned::poetry } else { pinned::pipfile };
                let requirements =
                    requirements::read(&read(&text, &lock.path)?, &format!("the packages of {}", lock.path))?;
                tools::install(&requirements, &content, &work, runtime)?;
            }
            Form::Requirements => {
                let text = String::from_utf8_lossy(lock.content());
                tools::install(&requirements::read(&text, &lock.path)?, &content, &work, runtime)?;
            }
            Form::Npm => {
                write_files(lock, &content)?;
                tools::npm(&content)?;
            }
        }
        remove(&work)?;
        let found = self.content(lock, &content)?;
        let mut record = object! {
            "kind": KIND,
            "id": id,
            "lock": lock.path.as_str(),
            "lock_digest": lock.digest().to_string(),
            "runtime": format!("{} {}", runtime.name, runtime.version),
            "packages": found.packages,
            "digest": found.digest.to_string(),
            "built_at": clock::now().to_string(),
        };
        if let Some(key) = &self.key {
            sign_document(&mut record, key).map_err(|error| LockError::Read(error.to_string()))?;
        }
        let path = partial.join(RECORD);
        fs::write(&path, Json::from(record).to_text()).map_err(|error| LockError::Io { path, error })
    }

    /// What is said of an environment, and whether that counts here.
    fn record(&self, id: &str) -> Option<(BuiltEnvironment, bool)> {
        let path = self.folder.join(id).join(RECORD);
        let text = fs::read(&path).ok()?;
        let record = Json::parse(&text).ok()?;
        let record = record.as_object()?;
        let text = |name: &str| record.get(name)?.as_str().map(str::to_owned);
        if text("kind")? != KIND || text("id")? != id {
            return None;
        }
        let is_signed = self.key.as_ref().is_none_or(|key| {
            let signed = verify_document(record, &[key.signer()]);
            signed.answer == SignatureStatus::Valid && signed.signer == Some(key.signer())
        });
        let built = BuiltEnvironment {
            id: id.to_owned(),
            lock: text("lock")?,
            lock_digest: text("lock_digest")?,
            runtime: text("runtime")?,
            packages: record.get("packages")?.as_number()?.as_u64()?,
            digest: text("digest")?,
            built_at: text("built_at").filter(|at| at.parse::<Timestamp>().is_ok())?,
            used: path.metadata().and_then(|found| found.modified()).ok()?,
        };
        Some((built, is_signed))
    }

    /// All that were built, the one that was used last first.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn list(&self) -> Result<Vec<BuiltEnvironment>, LockError> {
        let mut all: Vec<_> =
            self.names()?.iter().filter_map(|name| self.record(name)).map(|(built, _)| built).collect();
        all.sort_by(|one, other| other.used.cmp(&one.used).then_with(|| one.id.cmp(&other.id)));
        Ok(all)
    }

    /// Removes environments that were not used since then, and files that do not belong to any. Returns their names.
    ///
    /// # Errors
    /// When the file system refuses.
    pub fn prune(&self, since: SystemTime) -> Result<Vec<String>, LockError> {
        Environments::forget(&self.cache, since);
        let mut removed = Vec::new();
        for name in self.names()? {
            let path = self.folder.join(&name);
            let used = match self.record(&name) {
                Some((built, _)) => Some(built.used),
                // Another process may be building it.
                None => path.metadata().and_then(|found| found.modified()).ok().filter(|_| name.contains(PARTIAL)),
            };
            if used.is_none_or(|used| used < since) {
                remove(&path)?;
                removed.push(name);
            }
        }
        Ok(removed)
    }

    fn names(&self) -> Result<Vec<String>, LockError> {
        let failed = |error| LockError::Io { path: self.folder.clone(), error };
        let entries = match self.folder.read_dir() {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed(error)),
        };
        let mut names = Vec::new();
        for entry in entries {
            names.extend(entry.map_err(failed)?.file_name().into_string());
        }
        names.sort();
        Ok(names)
    }
}

/// The folders `node_modules` that npm made: of the project, and of the packages in it.
fn folders(lock: &LockFile, content: &Path) -> Result<Vec<HostFolder>, LockError> {
    let mut folders = Vec::new();
    for manifest in lock.files.keys().filter(|path| **path != lock.path) {
        let at = Path::new(manifest).with_file_name(NODE_MODULES);
        let path = content.join(&at);
        if path.is_dir() {
            let host = path.canonicalize().map_err(|error| LockError::Io { path, error })?;
            folders.push(HostFolder { host, at: at.to_string_lossy().into_owned() });
        }
    }
    Ok(folders)
}

fn write_files(lock: &LockFile, folder: &Path) -> Result<(), LockError> {
    for (path, content) in &lock.files {
        let path = folder.join(path);
        path.parent().map_or(Ok(()), make)?;
        fs::write(&path, content).map_err(|error| LockError::Io { path, error })?;
    }
    Ok(())
}

fn make(folder: &Path) -> Result<(), LockError> {
    fs::create_dir_all(folder).map_err(|error| LockError::Io { path: folder.to_owned(), error })
}

fn remove(folder: &Path) -> Result<(), LockError> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(LockError::Io { path: folder.to_owned(), error }),
        _ => Ok(()),
    }
}

impl BuiltEnvironment {
    /// As JSON.
    #[must_use]
    pub fn to_object(&self) -> Object {
        object! {
            "id": self.id.as_str(),
            "lock": object! { "file": self.lock.as_str(), "digest": self.lock_digest.as_str() },
            "runtime": self.runtime.as_str(),
            "packages": self.packages,
            "digest": self.digest.as_str(),
            "built_at": self.built_at.as_str(),
        }
    }
}
