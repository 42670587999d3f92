//! The file tree a submission sees: a plan made of prepared C strings, carried
//! out by the child, which may not allocate.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use proofmark_checks::Content;

/// Where the child builds the new root before it pivots into it. The directory
/// exists on every Linux and holds nothing a runtime needs.
pub(crate) const STAGE: &str = "/sys";

/// An empty folder of the tree.
const EMPTY: &str = "/run/empty";

/// Device nodes a runtime expects; all of them harmless.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// One step of building the tree; paths below [`STAGE`].
pub(crate) enum Entry {
    Dir(CString),
    /// A read-only view of a host path.
    Bind {
        source: CString,
        target: CString,
        device: bool,
    },
    Link {
        to: CString,
        at: CString,
    },
    /// A read-only view of a folder of the host through which its sockets and pipes lead nowhere, and in which locks are the
    /// cell's own: an overlay with nothing over it. The options of the mount.
    Layer {
        options: CString,
        target: CString,
    },
    /// An empty folder in place of what is there.
    EmptyFolder {
        at: CString,
    },
    /// Nothing that can be read or run in place of a file.
    NoFile {
        at: CString,
    },
    File {
        at: CString,
        content: Content,
        is_program: bool,
    },
}

/// How folders of the host are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Views {
    /// As [`Entry::Bind`].
    #[default]
    Binds,
    /// As [`Entry::Layer`].
    Layers,
}

impl Entry {
    /// Where it is made, below [`STAGE`].
    pub(crate) fn place(&self) -> &CStr {
        match self {
            Entry::Dir(at)
            | Entry::File { at, .. }
            | Entry::Link { at, .. }
            | Entry::EmptyFolder { at }
            | Entry::NoFile { at }
            | Entry::Bind { target: at, .. }
            | Entry::Layer { target: at, .. } => at,
        }
    }
}

/// The steps, in order, and the host paths that stay readable.
#[derive(Default)]
pub(crate) struct Tree {
    pub(crate) entries: Vec<Entry>,
    pub(crate) readable: Vec<CString>,
    /// What is made on the private disk once it is mounted, writable for everybody.
    pub(crate) writable: Vec<Entry>,
    /// The name of a file at the top of the tree that only the supervisor can write to, for as long as the cell lives.
    pub(crate) rewritten: Option<CString>,
    views: Views,
    made: BTreeSet<PathBuf>,
}

impl Tree {
    /// A tree with the harmless devices, `/tmp` and nothing else.
    pub(crate) fn new() -> io::Result<Tree> {
        let mut tree = Tree::default();
        for device in DEVICES {
            tree.bind_as(Path::new(device), Path::new(device), true)?;
        }
        tree.folder(Path::new("/tmp"))?;
        Ok(tree)
    }

    /// Shows a host file or directory read-only, or repeats a symbolic link.
    /// A path the host does not have is passed over.
    pub(crate) fn show(&mut self, path: &Path) -> io::Result<()> {
        self.bind_as(path, path, false)
    }

    /// Shows a host file or directory read-only at another place.
    pub(crate) fn show_at(&mut self, path: &Path, at: &Path) -> io::Result<()> {
        self.bind_as(path, at, false)
    }

    /// Puts a read-only file with this content into the tree.
    pub(crate) fn file(&mut self, at: &Path, content: impl Into<Content>) -> io::Result<()> {
        self.parents(at)?;
        self.entries.push(Entry::File { at: staged(at)?, content: content.into(), is_program: false });
        Ok(())
    }

    /// Puts a program into the tree.
    pub(crate) fn program(&mut self, at: &Path, content: impl Into<Content>) -> io::Result<()> {
        self.parents(at)?;
        self.entries.push(Entry::File { at: staged(at)?, content: content.into(), is_program: true });
        Ok(())
    }

    /// Puts a symbolic link into the tree, unless something is shown there.
    pub(crate) fn link(&mut self, to: &Path, at: &Path) -> io::Result<()> {
        if self.covered(at) {
            return Ok(());
        }
        self.parents(at)?;
        self.entries.push(Entry::Link { to: c_string(to)?, at: staged(at)? });
        Ok(())
    }

    /// Puts an empty folder into the tree.
    pub(crate) fn folder(&mut self, path: &Path) -> io::Result<()> {
        self.parents(path)?;
        self.entries.push(Entry::Dir(staged(path)?));
        Ok(())
    }

    /// Shows folders from now on as layers.
    pub(crate) fn layer_folders(&mut self) -> io::Result<()> {
        self.views = Views::Layers;
        self.folder(Path::new(EMPTY))
    }

    /// Hides a file or a folder of what is shown.
    pub(crate) fn hide(&mut self, path: &Path) -> io::Result<()> {
        let at = staged(path)?;
        self.entries.push(if path.is_dir() { Entry::EmptyFolder { at } } else { Entry::NoFile { at } });
        Ok(())
    }

    /// An empty file at the top of the tree, read-only for the cell, that the supervisor fills.
    pub(crate) fn rewritten_file(&mut self, at: &Path) -> io::Result<()> {
        self.rewritten = Some(c_string(at.strip_prefix("/").unwrap_or(at))?);
        Ok(())
    }

    /// As [`Tree::file`], where the tree does not show the host's.
    pub(crate) fn file_unless_shown(&mut self, at: &Path, content: impl Into<Content>) -> io::Result<()> {
        if self.covered(at) { Ok(()) } else { self.file(at, content) }
    }

    /// Makes a folder on the private disk; those above it must have been made.
    pub(crate) fn writable_folder(&mut self, at: &Path) -> io::Result<()> {
        self.writable.push(Entry::Dir(staged(at)?));
        Ok(())
    }

    /// Makes a file on the private disk.
    pub(crate) fn writable_file(&mut self, at: &Path, content: impl Into<Content>) -> io::Result<()> {
        self.writable.push(Entry::File { at: staged(at)?, content: content.into(), is_program: false });
        Ok(())
    }

    /// Shows a file or folder of the host read-only on the private disk, or repeats a symbolic link; the folder above must have
    /// been made. Anything else, as a pipe that a process of the host may read, is passed over.
    pub(crate) fn show_on_disk(&mut self, path: &Path, at: &Path) -> io::Result<()> {
        let kind = path.symlink_metadata()?.file_type();
        let target = staged(at)?;
        if kind.is_symlink() {
            self.writable.push(Entry::Link { to: c_string(&std::fs::read_link(path)?)?, at: target });
            return Ok(());
        }
        let place = match (kind.is_dir(), kind.is_file()) {
            (true, _) => Entry::Dir(target.clone()),
            (_, true) => Entry::File { at: target.clone(), content: Vec::new().into(), is_program: false },
            (false, false) => return Ok(()),
        };
        let view = self.view(path, target, kind.is_dir())?;
        self.writable.extend([place, view]);
        Ok(())
    }

    fn bind_as(&mut self, path: &Path, at: &Path, device: bool) -> io::Result<()> {
        let Ok(found) = path.symlink_metadata() else { return Ok(()) };
        if self.covered(at) {
            return Ok(());
        }
        self.parents(at)?;
        if found.is_symlink() {
            let to = c_string(&std::fs::read_link(path)?)?;
            self.entries.push(Entry::Link { to, at: staged(at)? });
        } else {
            let target = staged(at)?;
            let place = if found.is_dir() {
                Entry::Dir(target.clone())
            } else {
                Entry::File { at: target.clone(), content: Vec::new().into(), is_program: false }
            };
            self.readable.push(c_string(path)?);
            let view = if device {
                Entry::Bind { source: c_string(path)?, target, device }
            } else {
                self.view(path, target, found.is_dir())?
            };
            self.entries.extend([place, view]);
        }
        self.made.insert(at.to_owned());
        Ok(())
    }

    fn view(&self, path: &Path, target: CString, is_dir: bool) -> io::Result<Entry> {
        if self.views == Views::Binds || !is_dir {
            return Ok(Entry::Bind { source: c_string(path)?, target, device: false });
        }
        Ok(Entry::Layer { options: layer(path)?, target })
    }

    /// Whether a directory above `path`, or `path` itself, is already shown.
    fn covered(&self, path: &Path) -> bool {
        path.ancestors().any(|above| self.made.contains(above))
    }

    fn parents(&mut self, path: &Path) -> io::Result<()> {
        let mut above: Vec<&Path> = path.ancestors().skip(1).collect();
        above.reverse();
        for directory in above {
            if directory.components().any(|part| matches!(part, Component::Normal(_))) {
                self.entries.push(Entry::Dir(staged(directory)?));
            }
        }
        Ok(())
    }
}

pub(crate) fn c_string(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)
}

/// The options of an overlay of the folder over an empty one, which takes two to be read-only.
fn layer(folder: &Path) -> io::Result<CString> {
    let mut options = b"lowerdir=".to_vec();
    for byte in folder.as_os_str().as_bytes() {
        if matches!(byte, b'\\' | b':' | b',') {
            options.push(b'\\');
        }
        options.push(*byte);
    }
    options.extend(format!(":{STAGE}{EMPTY}").as_bytes());
    CString::new(options).map_err(io::Error::other)
}

fn staged(path: &Path) -> io::Result<CString> {
    let below = path.strip_prefix("/").unwrap_or(path);
    c_string(&Path::new(STAGE).join(below))
}
