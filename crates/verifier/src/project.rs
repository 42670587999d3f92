//! A request made of a folder and the command that tests it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use proofmark_checks::{MAX_FILES, MAX_REQUEST_BYTES};
use proofmark_receipt::{Json, Object};

/// Folders that hold no source: histories, caches, installed packages, builds.
const LEFT_OUT: [&str; 8] =
    [".git", ".hg", ".venv", "__pycache__", ".pytest_cache", ".mypy_cache", "node_modules", "target"];

/// Why a folder can not be verified.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// The file system refused.
    #[error("read the project `{}` ({error})", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// More than a request holds.
    #[error("read the project `{}`: it has more than {MAX_FILES} files or {MAX_REQUEST_BYTES} bytes; name a smaller folder", .0.display())]
    TooLarge(PathBuf),
    /// No file in it.
    #[error("read the project `{}`: it holds no text files", .0.display())]
    Empty(PathBuf),
}

/// A project as a request, and the files that are no text and were left out.
#[derive(Debug)]
pub struct ProjectRequest {
    /// The request, as JSON.
    pub text: String,
    /// Paths below the folder.
    pub left_out: Vec<String>,
}

/// Writes the request that runs `command` in a copy of `folder`, with the packages installed for the host's Python.
///
/// # Errors
/// When the folder can not be read or is more than a request holds.
pub fn project_request(folder: &Path, command: &[String]) -> Result<ProjectRequest, ProjectError> {
    let mut reader = Reader { root: folder, files: BTreeMap::new(), left_out: Vec::new(), bytes: 0 };
    reader.folder(folder)?;
    if reader.files.is_empty() {
        return Err(ProjectError::Empty(folder.to_owned()));
    }
    let mut files = Object::new();
    for (path, content) in reader.files {
        files.insert(path, content);
    }
    let mut output = Object::new();
    output.insert("files", files);
    let mut verification = Object::new();
    verification.insert("kind", "test_suite");
    verification.insert("mode", "command");
    verification.insert("command", command.iter().map(|word| Json::from(word.as_str())).collect::<Vec<_>>());
    verification.insert("packages", true);
    let mut request = Object::new();
    request.insert("output", output);
    request.insert("verification", verification);
    Ok(ProjectRequest { text: Json::from(request).to_text(), left_out: reader.left_out })
}

struct Reader<'a> {
    root: &'a Path,
    files: BTreeMap<String, String>,
    left_out: Vec<String>,
    bytes: usize,
}

impl Reader<'_> {
    fn folder(&mut self, folder: &Path) -> Result<(), ProjectError> {
        let failed = |error| ProjectError::Io { path: folder.to_owned(), error };
        let mut entries = fs::read_dir(folder).map_err(failed)?.collect::<io::Result<Vec<_>>>().map_err(failed)?;
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (path, kind) = (entry.path(), entry.file_type().map_err(failed)?);
            let name = entry.file_name();
            // A link could lead out of the project, so it is not followed.
            if kind.is_dir() && !LEFT_OUT.iter().any(|left_out| name == *left_out) {
                self.folder(&path)?;
            } else if kind.is_file() {
                self.file(&path)?;
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path) -> Result<(), ProjectError> {
        let content = fs::read(path).map_err(|error| ProjectError::Io { path: path.to_owned(), error })?;
        let below = path.strip_prefix(self.root).unwrap_or(path).to_string_lossy().into_owned();
        self.bytes += content.len();
        if self.bytes > MAX_REQUEST_BYTES || self.files.len() >= MAX_FILES {
            return Err(ProjectError::TooLarge(self.root.to_owned()));
        }
        match String::from_utf8(content) {
            Ok(text) => drop(self.files.insert(below, text)),
            Err(_) => self.left_out.push(below),
        }
        Ok(())
    }
}
