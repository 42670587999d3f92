//! A request made of a folder and the command that tests it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use proofmark_checks::{
    Checks, HostFolder, MAX_FILES, MAX_PATH_BYTES, MAX_REQUEST_BYTES, MissingFile, Origin, Place, Request,
    RequestError, file_content,
};
use proofmark_receipt::{Json, Object, object};

use proofmark_git::{ENVIRONMENT_FILE, GitError, LeftOut, MAX_ENTRIES, MAX_FOLDER_DEPTH, NODE_MODULES, is_left_out};

mod config;
mod environment;
mod metadata;
mod tree;

pub use config::{CONFIG_FILE, ProjectConfig};
use environment::origin;
pub(crate) use metadata::{Run, describe};
pub use tree::tree_request;

/// How many folders of installed packages a project may have.
const MAX_NODE_MODULES: usize = 64;

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
    /// More installed packages than a project may have.
    #[error("read the project `{}`: it has more than {MAX_NODE_MODULES} folders `{NODE_MODULES}`", .0.display())]
    TooManyPackages(PathBuf),
    /// Folders in folders without end.
    #[error("read the project `{}`: its folders nest more than {MAX_FOLDER_DEPTH} deep", .0.display())]
    TooDeep(PathBuf),
    /// It cannot be verified as the settings say.
    #[error("read the settings of the project `{}`: {}", folder.display(), of_settings(error))]
    Request { folder: PathBuf, error: RequestError },
    /// The command names a file that is not there.
    #[error("verify the project `{}`: it has no `{}`, which the command names", folder.display(), missing.path)]
    Missing { folder: PathBuf, missing: MissingFile },
    /// No file in it.
    #[error("read the project `{}`: it holds no files", .0.display())]
    Empty(PathBuf),
    /// It is to be read from a repository, which cannot be read.
    #[error(transparent)]
    Git(#[from] GitError),
}

impl ProjectError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        let help = match self {
            Self::Request { error, .. } => return error.help(),
            Self::Git(error) => return error.help(),
            Self::Missing { missing, .. } => {
                return missing.nearest.as_ref().map(|nearest| format!("did you mean `{nearest}`?"));
            }
            Self::TooLarge { .. } => Some("name a smaller folder, or leave the file out with `exclude`"),
            Self::TooManyFiles(_) | Self::TooManyEntries(_) => {
                Some("name a smaller folder, or leave files out with `exclude`")
            }
            Self::TooManyPackages(_) => Some("name the folder of one package, or leave some out with `exclude`"),
            Self::TooDeep(_) => Some("name a folder further down"),
            Self::Io { .. } | Self::Empty(_) => None,
        };
        help.map(str::to_owned)
    }
}

/// An error of the request, whose places the user knows as those of settings.
fn of_settings(error: &RequestError) -> String {
    match error.place() {
        Place::Field(path) => {
            let setting = path.strip_prefix("verification.").unwrap_or(path);
            format!("`{setting}`: {}", error.message())
        }
        Place::Whole | Place::Text { .. } => error.to_string(),
    }
}

/// A project as a request, and what of it is not in the request.
#[derive(Debug)]
pub struct ProjectRequest {
    pub request: Request,
    /// Paths below the folder that were left out, each with the reason.
    pub left_out: Vec<(String, LeftOut)>,
    /// Installed packages, which the command finds at their places.
    pub packages: Vec<HostFolder>,
    /// The folder, and the virtual environment in it.
    pub origin: Origin,
}

/// Writes the request that runs a command in a copy of `folder`, as `config` says, with the packages installed for the host's
/// Python and those in `node_modules`.
///
/// # Errors
/// When the folder cannot be read or is more than a request holds, or the settings do not fit it.
pub fn project_request(folder: &Path, config: &ProjectConfig) -> Result<ProjectRequest, ProjectError> {
    let mut reader = Reader {
        root: folder,
        exclude: config,
        files: BTreeMap::new(),
        left_out: Vec::new(),
        packages: Vec::new(),
        bytes: 0,
        entries: 0,
    };
    reader.folder(folder, 0)?;
    let Reader { files, mut left_out, packages, .. } = reader;
    let request = request(folder, files, config)?;
    let origin = origin(folder)?;
    // It is left out, but of all environments it is the one that is used.
    left_out.retain(|(path, _)| origin.environment.as_ref().is_none_or(|own| own.at != *path));
    Ok(ProjectRequest { request, left_out, packages, origin })
}

/// The request that runs the command of `config` among these files.
fn request(folder: &Path, contents: BTreeMap<String, Json>, config: &ProjectConfig) -> Result<Request, ProjectError> {
    if contents.is_empty() {
        return Err(ProjectError::Empty(folder.to_owned()));
    }
    let mut files = Object::new();
    for (path, content) in contents {
        files.insert(path, content);
    }
    let mut verification: Object = object! { "kind": "test_suite", "mode": "command", "packages": true };
    for (name, value) in config.settings.iter() {
        verification.insert(name, value.clone());
    }
    let document = object! { "output": object! { "files": files }, "verification": verification };
    let request = Request::from_json(&document.into())
        .map_err(|error| ProjectError::Request { folder: folder.to_owned(), error })?;
    if let Checks::Command(command) = &request.checks
        && let Some(missing) = command.unusable.as_ref().and_then(|unusable| unusable.missing.clone())
    {
        return Err(ProjectError::Missing { folder: folder.to_owned(), missing });
    }
    Ok(request)
}

/// Installed packages, which the project has at `below`.
fn installed(path: &Path, below: String) -> Result<HostFolder, ProjectError> {
    // The folders above may be reached by links; the sandbox shows what is at the end of them.
    let host = path.canonicalize().map_err(|error| ProjectError::Io { path: path.to_owned(), error })?;
    Ok(HostFolder { host, at: below })
}

struct Reader<'a> {
    root: &'a Path,
    exclude: &'a ProjectConfig,
    files: BTreeMap<String, Json>,
    left_out: Vec<(String, LeftOut)>,
    packages: Vec<HostFolder>,
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
            let Some(below) = self.below(&path) else { continue };
            if self.exclude.excludes(&below) {
                continue;
            }
            if kind.is_symlink() {
                // A link could lead out of the project, so it is not followed.
                self.left_out.push((below, LeftOut::Link));
            } else if kind.is_dir() && name == NODE_MODULES {
                self.installed(&path, below)?;
            } else if kind.is_dir() && path.join(ENVIRONMENT_FILE).is_file() {
                self.left_out.push((below, LeftOut::Folder));
            } else if kind.is_dir() && !name.to_str().is_some_and(is_left_out) {
                self.folder(&path, depth + 1)?;
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
        if self.files.len() >= MAX_FILES {
            return Err(ProjectError::TooManyFiles(self.root.to_owned()));
        }
        let content = self.content(path)?;
        self.files.insert(below, file_content(content));
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
