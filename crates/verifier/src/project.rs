//! A request made of a folder and the command that tests it.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use proofmark_checks::{
    Checks, Content, HostFolder, MAX_PROJECT_BYTES, MAX_PROJECT_FILES, MissingFile, Place, Request, RequestError,
    Reveal, Unusable, file_content,
};
use proofmark_git::{GitError, LeftOut, MAX_ENTRIES, MAX_FOLDER_DEPTH, NODE_MODULES};
use proofmark_receipt::{Object, object};

mod config;
mod environment;
mod folder;
mod held;
mod metadata;
mod patch;
mod script;
mod tree;

pub use config::{CONFIG_FILE, ProjectConfig};
pub use environment::project_origin;
pub use folder::{folder_files, settings_in};
pub use held::{Change, HeldTests, TestsFrom};
pub(crate) use metadata::{Run, describe};
pub use patch::{Base, Lists, Patch};
pub use tree::tree_files;

/// How many folders of installed packages a project may have.
const MAX_NODE_MODULES: usize = 64;

/// Why a folder cannot be verified.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// The file system refused.
    #[error("read the project `{}` ({error})", path.display())]
    Io { path: PathBuf, error: io::Error },
    /// More bytes than a project may have.
    #[error("read the project `{}`: with `{}` it has more than the {MAX_PROJECT_BYTES} bytes of a project", folder.display(), file.display())]
    TooLarge { folder: PathBuf, file: PathBuf },
    /// More files than a project may have.
    #[error("read the project `{}`: it has more than {MAX_PROJECT_FILES} files", .0.display())]
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
    /// Its settings are a link.
    #[error("read the settings `{0}`: it is a link, which could lead out of the project")]
    SettingsLink(String),
    /// The place of the tests is written as the name of a commit, and is a folder.
    #[error("find the tests in `{0}`: it is not a commit of the repository, but a folder")]
    FolderName(String),
    /// No file of the place is a test.
    #[error("find the tests in `{0}`: none of its files is a test, or configures one")]
    NoTests(String),
    /// A list of tests is unusable.
    #[error("read the list of tests `{}`: {why}", path.display())]
    List { path: PathBuf, why: &'static str },
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
            Self::SettingsLink(_) => Some("name the file with `--config`, or ignore it with `--no-config`"),
            Self::FolderName(name) => return Some(format!("write `./{name}` for the folder")),
            Self::NoTests(_) => Some("name the tests as globs in `tests` of proofmark.yaml, or another place"),
            Self::List { .. } => Some("write the name of a test a line, as the runner's report has it"),
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

/// What is read of a project.
#[derive(Debug, Default)]
pub struct ProjectFiles {
    /// By path.
    pub files: BTreeMap<String, Content>,
    /// Paths below the folder that were left out, each with the reason.
    pub left_out: Vec<(String, LeftOut)>,
    /// Installed packages, which the command finds at their places.
    pub packages: Vec<HostFolder>,
    /// Why it is not known what git ignores, so that everything is part of the project.
    pub unknown_ignored: Option<GitError>,
}

/// Where the receipt says whose the tests are.
const TESTS_FROM: &str = "tests_from";

/// Writes the request that runs the command of `config` in a copy of `files`; `folder` is what messages call them. With `held`, the
/// tests are the owner's.
///
/// # Errors
/// When the files are more than a project may have, or the settings do not fit them.
pub fn project_request(
    folder: &Path,
    files: BTreeMap<String, Content>,
    config: &ProjectConfig,
    held: Option<&HeldTests>,
    lists: &Lists,
) -> Result<Request, ProjectError> {
    if files.is_empty() {
        return Err(ProjectError::Empty(folder.to_owned()));
    }
    let mut verification: Object = object! { "kind": "test_suite", "mode": "command", "packages": true };
    for (name, value) in config.settings.iter() {
        verification.insert(name, value.clone());
    }
    script::run(&mut verification, script::owners_package(&files, held));
    if let Some(held) = held {
        let mut contents = Object::new();
        for (path, (content, _)) in &held.files {
            contents.insert(path.as_str(), file_content(content));
        }
        verification.insert("files", contents);
        verification.insert("held", held.globs());
    }
    lists.write(&mut verification);
    let document = object! { "verification": verification };
    let own = held.iter().flat_map(|held| held.files.values()).map(|(content, _)| content);
    let stored: Vec<Content> = own.filter(|content| content.place().is_some()).cloned().collect();
    let mut request = Request::from_project(files, &stored, &document.into())
        .map_err(|error| ProjectError::Request { folder: folder.to_owned(), error })?;
    if let Checks::Command(command) = &request.checks
        && let Some(missing) = command.unusable.as_ref().and_then(|unusable| unusable.missing.clone())
    {
        return Err(ProjectError::Missing { folder: folder.to_owned(), missing });
    }
    let names = request.checks.reveal() != Reveal::None;
    let tests_from = held.map_or_else(|| object! { "submission": true }, |held| held.known(names));
    request.known.insert(TESTS_FROM, tests_from);
    Ok(request)
}

/// Makes a request that nothing passes whose submission has fewer tests than the owner: it is not run.
pub fn require_all_tests(request: &mut Request, held: &HeldTests) {
    if let (Checks::Command(command), Some(fewer)) = (&mut request.checks, held.fewer_told()) {
        let message = format!("the submission has {fewer}, and `--strict-tests` does not allow that");
        command.unusable = Some(Unusable { by_request: false, message, missing: None });
    }
}

/// Installed packages, which the project has at `below`.
fn installed(path: &Path, below: String) -> Result<HostFolder, ProjectError> {
    // The folders above may be reached by links; the sandbox shows what is at the end of them.
    let host = path.canonicalize().map_err(|error| ProjectError::Io { path: path.to_owned(), error })?;
    Ok(HostFolder { host, at: below })
}
