//! A project as its folder has it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use proofmark_checks::{Content, HostFolder, MAX_PATH_BYTES, MAX_PROJECT_BYTES, MAX_PROJECT_FILES};
use proofmark_git::{
    ENVIRONMENT_FILE, LeftOut, MAX_ENTRIES, MAX_FOLDER_DEPTH, NODE_MODULES, Pack, ignored_below, is_left_out,
};

use super::config::MAX_SETTINGS_BYTES;
use super::{CONFIG_FILE, MAX_NODE_MODULES, ProjectConfig, ProjectError, ProjectFiles, installed};

/// Reads the files of a folder, without what `config` leaves out and what git ignores there, and finds the packages installed in it.
///
/// # Errors
/// When the folder cannot be read or is more than a project may have.
pub fn folder_files(folder: &Path, config: &ProjectConfig) -> Result<ProjectFiles, ProjectError> {
    let (ignored, unknown) = match ignored_below(folder) {
        Ok(ignored) => (ignored, None),
        // What may be ignored is part of what is verified then.
        Err(error) => (BTreeSet::new(), Some(error)),
    };
    Ok(ProjectFiles { unknown_ignored: unknown, ..read(folder, config, ignored)? })
}

/// As [`folder_files`], also what git ignores: the files of the owner are not for a `.gitignore` of the submission to leave out.
///
/// # Errors
/// As for [`folder_files`].
pub(super) fn all_folder_files(folder: &Path, config: &ProjectConfig) -> Result<ProjectFiles, ProjectError> {
    read(folder, config, BTreeSet::new())
}

fn read(folder: &Path, config: &ProjectConfig, ignored: BTreeSet<String>) -> Result<ProjectFiles, ProjectError> {
    let mut reader = Reader {
        root: folder,
        config,
        ignored,
        files: BTreeMap::new(),
        pack: Pack::default(),
        left_out: Vec::new(),
        packages: Vec::new(),
        bytes: 0,
        entries: 0,
    };
    reader.folder(folder, Ignoring::Listed, 0)?;
    let Reader { files, left_out, packages, .. } = reader;
    Ok(ProjectFiles { files, left_out, packages, unknown_ignored: None })
}

/// The settings that a project has in its folder, if it has any.
///
/// # Errors
/// When they cannot be read, or are a link.
pub fn settings_in(folder: &Path) -> Result<Option<Vec<u8>>, ProjectError> {
    let path = folder.join(CONFIG_FILE);
    let failed = |error: io::Error| ProjectError::Io { path: path.clone(), error };
    match fs::symlink_metadata(&path) {
        // An error shows the line it is in, which could be one of any file of the host.
        Ok(found) if found.is_symlink() => Err(ProjectError::SettingsLink(path.display().to_string())),
        Ok(found) if found.is_file() => {
            let mut content = Vec::new();
            let file = File::open(&path).map_err(failed)?;
            file.take(MAX_SETTINGS_BYTES + 1).read_to_end(&mut content).map_err(failed)?;
            Ok(Some(content))
        }
        Ok(_) => Ok(None),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(error)),
    }
}

/// What of a folder git ignores.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ignoring {
    /// What it lists.
    Listed,
    /// Everything that is not included.
    All,
    /// Nothing: the folder, or one above, is included.
    Nothing,
}

struct Reader<'a> {
    root: &'a Path,
    config: &'a ProjectConfig,
    /// What git ignores.
    ignored: BTreeSet<String>,
    files: BTreeMap<String, Content>,
    pack: Pack,
    left_out: Vec<(String, LeftOut)>,
    packages: Vec<HostFolder>,
    bytes: u64,
    entries: usize,
}

impl Reader<'_> {
    fn folder(&mut self, folder: &Path, ignoring: Ignoring, depth: usize) -> Result<(), ProjectError> {
        if depth > MAX_FOLDER_DEPTH {
            return Err(ProjectError::TooDeep(self.root.to_owned()));
        }
        let failed = |error| ProjectError::Io { path: folder.to_owned(), error };
        let mut entries = Vec::new();
        for entry in fs::read_dir(folder).map_err(failed)? {
            self.entries += 1;
            if self.entries > MAX_ENTRIES {
                return Err(ProjectError::TooManyEntries(self.root.to_owned()));
            }
            entries.push(entry.map_err(failed)?);
        }
        // The map sorts the files. This sorts what is left out, and decides which file an error names.
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (path, kind) = (entry.path(), entry.file_type().map_err(failed)?);
            let name = entry.file_name();
            let Some(below) = self.below(&path) else { continue };
            if self.config.excludes(&below) {
                continue;
            }
            let ignoring = match ignoring {
                Ignoring::Nothing => Ignoring::Nothing,
                _ if self.config.includes(&below) => Ignoring::Nothing,
                Ignoring::All => Ignoring::All,
                Ignoring::Listed if self.ignored.contains(&below) => Ignoring::All,
                Ignoring::Listed => Ignoring::Listed,
            };
            if kind.is_symlink() {
                // A link could lead out of the project, so it is not followed.
                self.left_out.push((below, LeftOut::Link));
            } else if kind.is_dir() && name == NODE_MODULES {
                self.installed(&path, below)?;
            } else if kind.is_dir() && path.join(ENVIRONMENT_FILE).is_file() {
                self.left_out.push((below, LeftOut::Folder));
            } else if kind.is_dir() && name.to_str().is_some_and(is_left_out) {
                // Every project has some of these, and nobody misses them.
            } else if ignoring == Ignoring::All && !(kind.is_dir() && self.config.includes_any()) {
                self.left_out.push((below, LeftOut::Ignored));
            } else if kind.is_dir() {
                self.folder(&path, ignoring, depth + 1)?;
            } else if kind.is_file() {
                self.file(&path, below)?;
            }
        }
        Ok(())
    }

    /// The path below the project, where a request can name it.
    fn below(&mut self, path: &Path) -> Option<String> {
        let below = path.strip_prefix(self.root).unwrap_or(path);
        let fits = |name: &&str| name.len() <= MAX_PATH_BYTES && !name.chars().any(char::is_control);
        let name = below.to_str().filter(fits).map(str::to_owned);
        if name.is_none() {
            self.left_out.push((below.to_string_lossy().into_owned(), LeftOut::Path));
        }
        name
    }

    fn installed(&mut self, path: &Path, below: String) -> Result<(), ProjectError> {
        if self.packages.len() >= MAX_NODE_MODULES {
            return Err(ProjectError::TooManyPackages(self.root.to_owned()));
        }
        self.packages.push(installed(path, below)?);
        Ok(())
    }

    fn file(&mut self, path: &Path, below: String) -> Result<(), ProjectError> {
        if self.files.len() >= MAX_PROJECT_FILES {
            return Err(ProjectError::TooManyFiles(self.root.to_owned()));
        }
        let content = self.content(path)?;
        self.files.insert(below, content);
        Ok(())
    }

    /// The content of a file, of which no more is read than a project still has room for.
    fn content(&mut self, path: &Path) -> Result<Content, ProjectError> {
        let failed = |error| ProjectError::Io { path: path.to_owned(), error };
        let file = File::open(path).map_err(failed)?;
        let room = MAX_PROJECT_BYTES.saturating_sub(self.bytes);
        // The length comes first, since a sparse file costs nothing to make; it may grow while it is read.
        if file.metadata().map_err(failed)?.len() <= room
            && let Some(content) = self.pack.take(file, room).map_err(failed)?
        {
            self.bytes += content.bytes();
            return Ok(content);
        }
        Err(ProjectError::TooLarge { folder: self.root.to_owned(), file: path.to_owned() })
    }
}
