//! Repositories of git, read through the `git` of the host.
//!
//! An id stands for the object that it names and for no other: objects that were replaced, grafts, and objects that another
//! repository would have to send are not followed.

mod ignored;
mod notes;
mod objects;
mod patch;
mod revision;
mod tree;

use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use proofmark_checks::{MAX_PROJECT_BYTES, MAX_PROJECT_FILES, TreeError};
use proofmark_receipt::document::shown;

use crate::left_out::{MAX_ENTRIES, MAX_FOLDER_DEPTH};

pub use ignored::ignored_below;
pub use notes::{NOTES, Note};
pub(crate) use objects::{MOST_ASKED, Object, Objects};
pub use revision::Revision;
pub use tree::{GitTree, TreeSummary};

/// The most commits that one update of a reference may add, where each of them is looked at.
pub const MAX_COMMITS: usize = 1_000;
/// How many commits are looked at to find the one that an update continues.
pub(crate) const MAX_ANCESTORS: usize = 50_000;
/// How much of what git says about a failure is shown, in characters.
const MAX_SAID: usize = 500;

/// The variables by which git finds its repository without being told where it is. A repository that is named is not looked for.
const REPOSITORY_VARIABLES: [&str; 13] = [
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_PARAMETERS",
    "GIT_DIR",
    "GIT_IMPLICIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_NAMESPACE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
    "GIT_QUARANTINE_PATH",
    "GIT_WORK_TREE",
];

/// A repository.
#[derive(Clone, Debug)]
pub struct Repository {
    /// A folder in it; without one git finds it as any of its commands does, also within a hook.
    folder: Option<PathBuf>,
    /// Whether the folder may itself look like a repository without being one: files of a work tree can do that.
    in_work_tree: bool,
    /// Where objects are that a patch made.
    scratch: Option<patch::Scratch>,
}

/// A reference of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitRef {
    pub name: String,
    /// The id of what it points to.
    pub id: String,
}

/// Why a repository cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    #[error("start `git` ({0})")]
    Start(io::Error),
    #[error("read what `git` writes ({0})")]
    Io(#[from] io::Error),
    /// A command of git failed.
    #[error("run `git {command}`: {}", shown(said))]
    Refused { command: &'static str, said: String },
    /// Git wrote something that is not known.
    #[error("read what `git {0}` wrote: it has an unknown form")]
    Unknown(&'static str),
    #[error("find `{}` in the repository", shown(.0))]
    NotFound(String),
    #[error("find `{}` in the repository: it stands for {first} and for {second}", shown(name))]
    Ambiguous { name: String, first: String, second: String },
    #[error("find the tree of `{}`: it is neither a tree nor a commit, or an object of it is missing", shown(.0))]
    NoTree(String),
    #[error("read the tree {id}: {error}")]
    Tree { id: String, error: TreeError },
    #[error("read the object {id}: it has {bytes} bytes, and at most {most} are read")]
    TooLarge { id: String, bytes: u64, most: u64 },
    #[error("read the object {0}: the repository has content of another object under this id")]
    OtherContent(String),
    #[error(
        "read the tree {tree}: with `{}` it has more than the {MAX_PROJECT_BYTES} bytes that a receipt can cover",
        shown(file)
    )]
    TooManyBytes { tree: String, file: String },
    #[error("read the tree {0}: it has more than the {MAX_PROJECT_FILES} files that a receipt can cover")]
    TooManyFiles(String),
    #[error("read the tree {0}: it has more than {MAX_ENTRIES} files and folders")]
    TooManyEntries(String),
    #[error("read the tree {0}: its folders nest more than {MAX_FOLDER_DEPTH} deep")]
    TooDeep(String),
    #[error("look at every commit: the update adds more than {MAX_COMMITS}")]
    TooManyCommits,
    #[error("look at every commit: {0} is missing, or is not a commit")]
    NoCommit(String),
    #[error(
        "look at every commit: the update begins more than {MAX_ANCESTORS} commits before the references that are known"
    )]
    TooFarBack,
}

impl GitError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        let help = match self {
            Self::Start(_) => "install git, and see that it is on `PATH`",
            Self::NotFound(_) | Self::NoTree(_) => "name a commit, a tag or a tree, as in `HEAD` or `main`",
            Self::Ambiguous { first, second, .. } => {
                return Some(format!("write the one that is meant: `{first}` or `{second}`"));
            }
            Self::TooManyBytes { .. } | Self::TooManyFiles(_) | Self::TooManyEntries(_) | Self::TooDeep(_) => {
                "a folder of it can be named, as in `HEAD:src`"
            }
            Self::TooManyCommits => "push fewer at a time",
            Self::NoCommit(_) => "fetch the commits before it; a shallow clone lacks them",
            Self::TooFarBack => "continue a commit that the repository has had for less long",
            Self::OtherContent(_) => "find who has changed the repository's files, and clone it again",
            Self::Io(_) | Self::Refused { .. } | Self::Unknown(_) | Self::Tree { .. } | Self::TooLarge { .. } => {
                return None;
            }
        };
        Some(help.to_owned())
    }
}

impl Repository {
    /// The repository that `folder` is in; without one that of the current folder, or of the hook that this runs in.
    #[must_use]
    pub fn at(folder: Option<&Path>) -> Self {
        Self { folder: folder.map(Path::to_owned), in_work_tree: false, scratch: None }
    }

    /// The repository whose work tree `folder` is in. Files in it that look like a repository are none.
    #[must_use]
    pub fn of_work_tree(folder: &Path) -> Self {
        Self { folder: Some(folder.to_owned()), in_work_tree: true, scratch: None }
    }

    /// Whether there is such a repository.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.require().is_ok()
    }

    /// The id that a name stands for, if it stands for any.
    pub(crate) fn id_of(&self, name: &str) -> Result<Option<String>, GitError> {
        if name.is_empty() || name.contains(['\0', '\n']) {
            return Ok(None);
        }
        let mut command = self.command();
        command.args(["rev-parse", "--verify", "--quiet", "--end-of-options", name]).stdin(Stdio::null());
        let output = command.output().map_err(GitError::Start)?;
        if !output.status.success() {
            // Also where there is no repository, which has to be told apart.
            self.require()?;
            return Ok(None);
        }
        let id = String::from_utf8(output.stdout).ok().map(|text| text.trim_end().to_owned());
        id.filter(|id| is_id(id)).map(Some).ok_or(GitError::Unknown("rev-parse"))
    }

    /// The reference that a symbolic one stands for, also where there is no such reference yet.
    ///
    /// # Errors
    /// Where git cannot be started.
    pub fn target_of(&self, reference: &str) -> Result<Option<String>, GitError> {
        let mut command = self.command();
        command.args(["symbolic-ref", "--quiet", reference]).stdin(Stdio::null());
        let output = command.output().map_err(GitError::Start)?;
        let target = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
        Ok((output.status.success() && !target.is_empty()).then_some(target))
    }

    /// The references of the repository.
    ///
    /// # Errors
    /// [`GitError`].
    pub fn references(&self) -> Result<Vec<GitRef>, GitError> {
        let output = self.run("for-each-ref", &["--format=%(objectname) %(refname)"], b"")?;
        let text = String::from_utf8_lossy(&output).into_owned();
        let read = |line: &str| {
            let (id, name) = line.split_once(' ')?;
            Some(GitRef { name: name.to_owned(), id: id.to_owned() })
        };
        text.lines().map(|line| read(line).ok_or(GitError::Unknown("for-each-ref"))).collect()
    }

    /// The folder in which git looks for hooks, and the one that it keeps for this repository.
    ///
    /// # Errors
    /// [`GitError`].
    pub fn hook_folders(&self) -> Result<(PathBuf, PathBuf), GitError> {
        let folder = |arguments: &[&str]| -> Result<PathBuf, GitError> {
            let output = self.run("rev-parse", &[&["--path-format=absolute"], arguments].concat(), b"")?;
            let path = output.strip_suffix(b"\n").unwrap_or(&output);
            Ok(PathBuf::from(OsStr::from_bytes(path)))
        };
        let own = folder(&["--git-common-dir"])?;
        Ok((folder(&["--git-path", "hooks"])?, own.join("hooks")))
    }

    /// Whether files below this path of the folder are in the index, as those of every commit that is checked out are.
    ///
    /// # Errors
    /// Where git cannot be started, or finds no repository that it trusts.
    pub fn tracks(&self, below: &str) -> Result<bool, GitError> {
        Ok(!self.run("ls-files", &["-z", "--", &format!(":(literal){below}")], b"")?.is_empty())
    }

    fn command(&self) -> Command {
        let mut command = Command::new("git");
        // A file that repeats what commits say, and that anyone who can write to the repository can change.
        command.args(["-c", "core.commitGraph=false"]);
        if self.in_work_tree {
            command.args(["-c", "safe.bareRepository=explicit"]);
        }
        if let Some(folder) = &self.folder {
            for name in REPOSITORY_VARIABLES {
                command.env_remove(name);
            }
            command.arg("-C").arg(folder);
        }
        if let Some(scratch) = &self.scratch {
            scratch.apply_to(&mut command);
        }
        command.env("GIT_NO_REPLACE_OBJECTS", "1").env("GIT_NO_LAZY_FETCH", "1").env("GIT_GRAFT_FILE", "/dev/null");
        // Versions of git that know no GIT_NO_LAZY_FETCH fetch by no protocol either.
        command.env("GIT_ALLOW_PROTOCOL", "none");
        command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
        command
    }

    /// What a command of git writes; `input` is its standard input.
    fn run(&self, name: &'static str, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, GitError> {
        Self::run_command(self.command(), name, arguments, input)
    }

    fn run_command(
        mut command: Command,
        name: &'static str,
        arguments: &[impl AsRef<OsStr>],
        input: &[u8],
    ) -> Result<Vec<u8>, GitError> {
        command.arg(name).args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(GitError::Start)?;
        if let Some(mut stdin) = child.stdin.take() {
            // None of the commands that are given any writes before it has read all of it. Why one ends early, it says.
            let _ended = stdin.write_all(input);
        }
        let output = child.wait_with_output()?;
        if output.status.success() {
            Ok(output.stdout)
        } else {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(GitError::Refused { command: name, said: said.trim().chars().take(MAX_SAID).collect() })
        }
    }

    fn require(&self) -> Result<(), GitError> {
        self.run("rev-parse", &["--git-dir"], b"").map(drop)
    }
}

/// Whether a text is an id of git: SHA-1 or SHA-256, in hex.
pub(crate) fn is_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
