//! The files of a tree, and what the kernel says of each.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use proofmark_git::NODE_MODULES;
use proofmark_receipt::Sha256Digest;
use proofmark_sandbox::CACHES;

use super::EnvironmentError;

/// The most entries of one tree.
pub(super) const MAX_ENTRIES: usize = 1_000_000;
/// The most bytes of its files together.
pub(super) const MAX_BYTES: u64 = 64 << 30;
/// How deep its folders may nest.
pub(super) const MAX_DEPTH: usize = 128;

/// What the command finds below its root, wherever links lead.
const SHOWN: [&str; 4] = ["/usr", "/bin", "/lib", "/lib64"];
/// Folders of packages beside a library.
const PACKAGE_FOLDERS: [&str; 2] = ["site-packages", "dist-packages"];

/// What a tree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An interpreter's own, without the packages that are installed in it.
    Library,
    /// A folder of packages of Python.
    Python,
    /// A folder `node_modules`.
    Node,
    /// Any other that the command may read.
    Other,
}

impl Kind {
    /// Whether the command does not see what is at the top of the tree under this name.
    fn hides(self, name: &str) -> bool {
        match self {
            Kind::Library => PACKAGE_FOLDERS.contains(&name),
            Kind::Node => CACHES.contains(&name),
            Kind::Python | Kind::Other => false,
        }
    }
}

/// A tree.
pub(crate) struct Listing {
    kind: Kind,
    /// By their paths below the root, in bytes.
    pub(super) entries: Vec<Entry>,
    /// When the last of them changed.
    pub(super) newest: SystemTime,
    bytes: u64,
    /// What links have led to, so that each is listed once.
    seen: BTreeSet<PathBuf>,
}

/// One file, folder or link.
pub(super) struct Entry {
    /// Below the root.
    pub(super) at: Vec<u8>,
    /// On the host.
    pub(super) path: PathBuf,
    pub(super) what: What,
    state: [i64; 8],
}

pub(super) enum What {
    Folder,
    /// A file, and whether it can be started.
    File(bool),
    Link(Vec<u8>),
}

impl Listing {
    /// The tree at a path; `None` if there is none.
    pub(crate) fn of(root: &Path, kind: Kind) -> Result<Option<Listing>, EnvironmentError> {
        let Ok(root) = root.canonicalize() else { return Ok(None) };
        let newest = SystemTime::UNIX_EPOCH;
        let mut listing = Listing { kind, entries: Vec::new(), newest, bytes: 0, seen: BTreeSet::from([root.clone()]) };
        listing.add(&root, Vec::new(), 0)?;
        listing.entries.sort_by(|one, other| one.at.cmp(&other.at));
        Ok(Some(listing))
    }

    fn add(&mut self, path: &Path, at: Vec<u8>, depth: usize) -> Result<(), EnvironmentError> {
        let failed = |error| EnvironmentError::Io { path: path.to_owned(), error };
        if depth > MAX_DEPTH {
            return Err(EnvironmentError::TooDeep(path.to_owned()));
        }
        let found = path.symlink_metadata().map_err(failed)?;
        let kind = found.file_type();
        let what = if kind.is_dir() {
            What::Folder
        } else if kind.is_file() {
            self.bytes = self.bytes.saturating_add(found.len());
            What::File(found.mode() & 0o111 != 0)
        } else if kind.is_symlink() {
            What::Link(fs::read_link(path).map_err(failed)?.as_os_str().as_bytes().to_vec())
        } else {
            // The command does not see sockets and pipes of the host.
            return Ok(());
        };
        self.newest = self.newest.max(changed(&found));
        if self.entries.len() >= MAX_ENTRIES || self.bytes > MAX_BYTES {
            return Err(EnvironmentError::TooLarge(path.to_owned()));
        }
        let (is_folder, is_link) = (kind.is_dir(), kind.is_symlink());
        self.entries.push(Entry { at: at.clone(), path: path.to_owned(), what, state: state(&found) });
        if is_folder {
            for entry in fs::read_dir(path).map_err(failed)? {
                let name = entry.map_err(failed)?.file_name();
                if depth > 0 || !name.to_str().is_some_and(|name| self.kind.hides(name)) {
                    self.add(&path.join(&name), [at.as_slice(), b"/", name.as_bytes()].concat(), depth + 1)?;
                }
            }
        }
        if is_link { self.follow(path, at, depth) } else { Ok(()) }
    }

    /// Lists what a link leads to outside of the tree, where the command finds that.
    fn follow(&mut self, link: &Path, at: Vec<u8>, depth: usize) -> Result<(), EnvironmentError> {
        let Ok(target) = link.canonicalize() else { return Ok(()) };
        let is_shown = SHOWN.iter().any(|shown| target.starts_with(shown));
        let is_listed = self.seen.iter().any(|seen| target.starts_with(seen));
        if !is_shown || is_listed {
            return Ok(());
        }
        self.seen.insert(target.clone());
        self.add(&target, [at.as_slice(), b"/"].concat(), depth + 1)
    }

    /// What the kernel says of the tree: it differs if anything in it was changed.
    pub(super) fn state(&self) -> Sha256Digest {
        let mut bytes = vec![self.kind as u8];
        for Entry { at, path, what, state } in &self.entries {
            for part in [at, path.as_os_str().as_bytes()] {
                bytes.extend((part.len() as u64).to_le_bytes());
                bytes.extend(part);
            }
            if let What::Link(to) = what {
                bytes.extend((to.len() as u64).to_le_bytes());
                bytes.extend(to);
            }
            state.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        }
        Sha256Digest::of(&bytes)
    }

    /// How many distributions it has.
    pub(super) fn packages(&self) -> u64 {
        let is_package = |entry: &&Entry| {
            let names: Vec<&[u8]> = entry.at.split(|byte| *byte == b'/').skip(1).collect();
            match (self.kind, names.as_slice()) {
                (Kind::Python, [name]) => name.ends_with(b".dist-info") || name.ends_with(b".egg-info"),
                (Kind::Node, [above @ .., _, b"package.json"]) => {
                    let above = above
                        .strip_suffix(&[above.last().copied().unwrap_or_default()])
                        .filter(|_| above.last().is_some_and(|scope| scope.starts_with(b"@")))
                        .unwrap_or(above);
                    above.last().is_none_or(|name| *name == NODE_MODULES.as_bytes())
                }
                _ => false,
            }
        };
        self.entries.iter().filter(is_package).count() as u64
    }
}

impl Entry {
    /// Whether this is the state in which it was listed.
    pub(super) fn is_unchanged(&self, found: &Metadata) -> bool {
        state(found) == self.state
    }
}

/// The time that only the kernel sets.
fn changed(found: &Metadata) -> SystemTime {
    let seconds = Duration::from_secs(u64::try_from(found.ctime()).unwrap_or_default());
    let nanoseconds = Duration::from_nanos(u64::try_from(found.ctime_nsec()).unwrap_or_default());
    SystemTime::UNIX_EPOCH + seconds + nanoseconds
}

fn state(found: &Metadata) -> [i64; 8] {
    [
        found.ino().cast_signed(),
        found.dev().cast_signed(),
        found.len().cast_signed(),
        i64::from(found.mode()),
        found.mtime(),
        found.mtime_nsec(),
        found.ctime(),
        found.ctime_nsec(),
    ]
}
