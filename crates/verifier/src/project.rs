//! A request made of a folder and the command that tests it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use proofmark_checks::{MAX_FILES, MAX_PATH_BYTES, MAX_REQUEST_BYTES};
use proofmark_receipt::{Json, Object, object};

/// Folders without source: histories, caches, installed packages, builds.
const LEFT_OUT: [&str; 8] =
    [".git", ".hg", ".venv", "__pycache__", ".pytest_cache", ".mypy_cache", "node_modules", "target"];

/// How many files and folders are looked at, with those that are left out.
const MAX_ENTRIES: usize = 50_000;
/// How deep folders may nest.
const MAX_FOLDER_DEPTH: usize = 64;

/// Why a folder cannot be verified.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// The file system refused.
    #[error("read the project `{}` ({error})", path.display())]
    Io { path: PathBuf, error: io::Error },
    /// More text than a request holds.
    #[error("read the project `{}`: with `{}` it has more than the {MAX_REQUEST_BYTES} bytes of a request", folder.display(), file.display())]
    TooLarge { folder: PathBuf, file: PathBuf },
    /// More files than a request holds.
    #[error("read the project `{}`: it has more than {MAX_FILES} files", .0.display())]
    TooManyFiles(PathBuf),
    /// More files and folders than are looked at.
    #[error("read the project `{}`: it has more than {MAX_ENTRIES} files and folders", .0.display())]
    TooManyEntries(PathBuf),
    /// Folders in folders without end.
    #[error("read the project `{}`: its folders nest more than {MAX_FOLDER_DEPTH} deep", .0.display())]
    TooDeep(PathBuf),
    /// No file in it.
    #[error("read the project `{}`: it holds no text files", .0.display())]
    Empty(PathBuf),
}

impl ProjectError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Self::TooLarge { .. } => Some("name a smaller folder, or move the file out of it"),
            Self::TooManyFiles(_) | Self::TooManyEntries(_) => Some("name a smaller folder"),
            Self::TooDeep(_) => Some("name a folder further down"),
            Self::Io { .. } | Self::Empty(_) => None,
        }
    }
}

/// A project as a request, and the files that were left out: their content or their path is not text, or the path is too
/// long for a request.
#[derive(Debug)]
pub struct ProjectRequest {
    /// The request, as `docs/requests.md` describes it.
    pub document: Json,
    /// Paths below the folder.
    pub left_out: Vec<String>,
}

/// Writes the request that runs `command` in a copy of `folder`, with the packages installed for the host's Python.
///
/// # Errors
/// When the folder cannot be read or is more than a request holds.
pub fn project_request(folder: &Path, command: &[String]) -> Result<ProjectRequest, ProjectError> {
    let mut reader = Reader { root: folder, files: BTreeMap::new(), left_out: Vec::new(), bytes: 0, entries: 0 };
    reader.folder(folder, 0)?;
    if reader.files.is_empty() {
        return Err(ProjectError::Empty(folder.to_owned()));
    }
    let mut files = Object::new();
    for (path, content) in reader.files {
        files.insert(path, content);
    }
    let request: Object = object! {
        "output": object! { "files": files },
        "verification": object! {
            "kind": "test_suite",
            "mode": "command",
            "command": command.iter().map(|word| Json::from(word.as_str())).collect::<Vec<_>>(),
            "packages": true,
        },
    };
    Ok(ProjectRequest { document: request.into(), left_out: reader.left_out })
}

struct Reader<'a> {
    root: &'a Path,
    files: BTreeMap<String, String>,
    left_out: Vec<String>,
    bytes: u64,
    entries: usize,
}

impl Reader<'_> {
    fn folder(&mut self, folder: &Path, depth: usize) -> Result<(), ProjectError> {
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
            // A link could lead out of the project, so it is not followed.
            if kind.is_dir() && !LEFT_OUT.iter().any(|left_out| name == *left_out) {
                self.folder(&path, depth + 1)?;
            } else if kind.is_file() {
                self.file(&path)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path) -> Result<(), ProjectError> {
        let below = path.strip_prefix(self.root).unwrap_or(path);
        let Some(name) = below.to_str().filter(|name| name.len() <= MAX_PATH_BYTES) else {
            self.left_out.push(below.to_string_lossy().into_owned());
            return Ok(());
        };
        if self.files.len() >= MAX_FILES {
            return Err(ProjectError::TooManyFiles(self.root.to_owned()));
        }
        let content = self.content(path)?;
        match String::from_utf8(content) {
            Ok(text) => drop(self.files.insert(name.to_owned(), text)),
            Err(_) => self.left_out.push(name.to_owned()),
        }
        Ok(())
    }

    /// The content of a file, of which no more is read than a request still has room for.
    fn content(&mut self, path: &Path) -> Result<Vec<u8>, ProjectError> {
        let failed = |error| ProjectError::Io { path: path.to_owned(), error };
        let file = File::open(path).map_err(failed)?;
        let room = (MAX_REQUEST_BYTES as u64).saturating_sub(self.bytes);
        let mut content = Vec::new();
        // The length comes first, since a sparse file costs nothing to make; it may grow while it is read.
        if file.metadata().map_err(failed)?.len() <= room {
            file.take(room + 1).read_to_end(&mut content).map_err(failed)?;
            self.bytes += content.len() as u64;
            if content.len() as u64 <= room {
                return Ok(content);
            }
        }
        Err(ProjectError::TooLarge { folder: self.root.to_owned(), file: path.to_owned() })
    }
}
