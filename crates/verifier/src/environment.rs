//! What the command of a project could import or start: the digest that receipts have of it.
//!
//! The digest covers every file of the packages that were shown, those of no distribution too, and the interpreter with its library.
//! A tree is read again only if something in it has changed, which the kernel says by times that no program can set.

mod content;
mod listing;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use proofmark_checks::{Environment, Job, PackagesFrom, Program};
use proofmark_receipt::{
    Json, Object, Sha256Digest, SignatureStatus, SigningKey, object, sign_document, verify_document,
};

use crate::sync::lock;
pub(crate) use listing::{Kind, Listing};

/// What stands for a digest that is not known.
const UNKNOWN: &str = "unknown";
/// Where digests are stored, in a folder of caches.
const DIGESTS: &str = "digests";
/// The kind of a stored digest.
const DIGEST_KIND: &str = "environment_digest";
/// The most bytes of one.
const MAX_STORED_BYTES: u64 = 4 << 10;
/// How many digests a process remembers.
const MAX_KNOWN: usize = 4_096;
/// A file whose time is as near to that of its reading may be written again without another time.
const SETTLED: Duration = Duration::from_secs(2);

/// Computes digests of environments, and remembers those of trees that have not changed.
#[derive(Default)]
pub struct Environments {
    known: Mutex<BTreeMap<Sha256Digest, Content>>,
    stored: Option<Stored>,
}

/// Where digests are stored. Each is signed, since others than this program may write to the folder.
struct Stored {
    folder: PathBuf,
    key: Arc<SigningKey>,
}

/// What a tree holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) digest: Sha256Digest,
    /// How many distributions.
    pub(crate) packages: u64,
}

/// Why a digest is not known.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EnvironmentError {
    /// The file system refused.
    #[error("read `{}` ({error})", path.display())]
    Io { path: PathBuf, error: io::Error },
    /// More than is read.
    #[error("read `{}`: it has more than {} files, or {} bytes", .0.display(), listing::MAX_ENTRIES, listing::MAX_BYTES)]
    TooLarge(PathBuf),
    /// Folders in folders without end.
    #[error("read `{}`: its folders nest more than {} deep", .0.display(), listing::MAX_DEPTH)]
    TooDeep(PathBuf),
    /// It is not what it was when the command began.
    #[error("read `{}`: it was changed while the command ran", .0.display())]
    Changed(PathBuf),
}

impl Environments {
    /// Remembers digests in this folder of caches, too, signed by this key; a digest that another key has signed does not count. Without a
    /// key nothing is stored.
    #[must_use]
    pub fn in_cache(cache: &Path, key: Option<&Arc<SigningKey>>) -> Environments {
        let stored = key.map(|key| Stored { folder: cache.join(DIGESTS), key: Arc::clone(key) });
        Environments { known: Mutex::default(), stored }
    }

    /// Removes digests that were stored before a time from a folder of caches. One that stays costs nothing but its room.
    pub(crate) fn forget(cache: &Path, before: SystemTime) {
        let entries = fs::read_dir(cache.join(DIGESTS)).into_iter().flatten().flatten();
        let is_old = |path: &PathBuf| path.metadata().and_then(|found| found.modified()).is_ok_and(|at| at < before);
        entries.map(|entry| entry.path()).filter(is_old).for_each(|path| drop(fs::remove_file(path)));
    }

    /// What a receipt says of what the command of this job could import. `since` is when the command began.
    pub(crate) fn describe(&self, job: &Job, environment: Option<&Environment>, since: SystemTime) -> Object {
        let Program::Command(project) = &job.program else { return unknown("nothing was started", None) };
        let Some(environment) = environment else { return unknown("nothing was started", None) };
        let from = match (&environment.from, project.folders.is_empty()) {
            _ if project.locked.is_some() => "lock",
            (Some(PackagesFrom::Lock), _) => "lock",
            (Some(PackagesFrom::Project(_) | PackagesFrom::Venv), _) => "venv",
            (Some(PackagesFrom::Host), _) | (None, false) => "host",
            (None, true) => "none",
        };
        let Some(library) = &environment.library else {
            return unknown("its modules are anywhere among the programs of the host", Some(from));
        };
        let mut roots: Vec<(String, Kind, &Path)> = Vec::new();
        let named = |name: &str, index: usize| format!("{name} {index}");
        roots.extend(
            library.iter().enumerate().map(|(index, path)| (named("library", index), Kind::Library, path.as_path())),
        );
        let packages = environment.packages.iter().enumerate();
        roots.extend(packages.map(|(index, path)| (named("packages", index), Kind::Python, path.as_path())));
        roots.extend(project.folders.iter().map(|folder| (folder.at.clone(), Kind::Node, folder.host.as_path())));
        let readable = project.readable.iter().enumerate();
        roots.extend(readable.map(|(index, path)| (named("readable", index), Kind::Other, Path::new(path))));
        let mut text = format!("{} {}\n", job.language, environment.version);
        let mut count = 0;
        for (name, kind, path) in roots {
            match self.unchanged(path, kind, since) {
                Ok(Some(content)) => {
                    text.push_str(&format!("{} {name:?}\n", content.digest));
                    count += content.packages;
                }
                // The interpreter names places that not every installation has.
                Ok(None) => {}
                Err(error) => return unknown(&format!("failed to {error}"), Some(from)),
            }
        }
        let lock = project
            .locked
            .as_ref()
            .map(|locked| object! { "file": locked.file.as_str(), "digest": locked.digest.as_str() });
        let digest = Sha256Digest::of(text.as_bytes()).to_string();
        object! { "digest": digest, "packages": count, "from": from, "lock"?: lock }
    }

    /// What a tree holds that has not changed since then; `None` if there is none.
    fn unchanged(&self, root: &Path, kind: Kind, since: SystemTime) -> Result<Option<Content>, EnvironmentError> {
        match Listing::of(root, kind)? {
            Some(listing) if listing.newest >= since => Err(EnvironmentError::Changed(root.to_owned())),
            Some(listing) => self.content(&listing).map(Some),
            None => Ok(None),
        }
    }

    /// What a tree holds.
    pub(crate) fn content(&self, listing: &Listing) -> Result<Content, EnvironmentError> {
        let state = listing.state();
        if let Some(content) = self.remembered(&state) {
            return Ok(content);
        }
        let content = Content { digest: content::digest(listing)?, packages: listing.packages() };
        // A file that was just written may be written again at the same time.
        if SystemTime::now().duration_since(listing.newest).is_ok_and(|age| age > SETTLED) {
            self.remember(state, content);
        }
        Ok(content)
    }

    fn remembered(&self, state: &Sha256Digest) -> Option<Content> {
        if let Some(content) = lock(&self.known).get(state) {
            return Some(*content);
        }
        let content = self.stored.as_ref()?.read(state)?;
        lock(&self.known).insert(*state, content);
        Some(content)
    }

    fn remember(&self, state: Sha256Digest, content: Content) {
        let mut known = lock(&self.known);
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        known.insert(state, content);
        drop(known);
        // Without it the next run takes longer, and nothing else.
        let _ = self.stored.as_ref().map(|stored| stored.write(&state, content));
    }
}

fn unknown(why: &str, from: Option<&str>) -> Object {
    object! { "digest": UNKNOWN, "from"?: from, "why": why }
}

impl Stored {
    fn path(&self, state: &Sha256Digest) -> PathBuf {
        self.folder.join(state.bare_hex())
    }

    fn read(&self, state: &Sha256Digest) -> Option<Content> {
        let mut text = Vec::new();
        fs::File::open(self.path(state)).ok()?.take(MAX_STORED_BYTES).read_to_end(&mut text).ok()?;
        let document = Json::parse(&text).ok()?;
        let document = document.as_object()?;
        let signed = verify_document(document, &[self.key.signer()]);
        if signed.answer != SignatureStatus::Valid || signed.signer != Some(self.key.signer()) {
            return None;
        }
        let text = |name: &str| document.get(name)?.as_str();
        // What is signed names the state, or the digest of one tree would stand for another.
        if text("kind") != Some(DIGEST_KIND) || text("state") != Some(state.to_string().as_str()) {
            return None;
        }
        let packages = document.get("packages")?.as_number()?.as_u64()?;
        Some(Content { digest: text("digest")?.parse().ok()?, packages })
    }

    fn write(&self, state: &Sha256Digest, content: Content) -> Option<()> {
        let mut document = object! {
            "kind": DIGEST_KIND,
            "state": state.to_string(),
            "digest": content.digest.to_string(),
            "packages": content.packages,
        };
        sign_document(&mut document, &self.key).ok()?;
        fs::create_dir_all(&self.folder).ok()?;
        // Another process that reads it sees all of it or nothing.
        let partial = self.folder.join(format!("{}.{}", state.bare_hex(), std::process::id()));
        fs::write(&partial, Json::from(document).to_text()).ok()?;
        fs::rename(&partial, self.path(state)).ok()
    }
}
