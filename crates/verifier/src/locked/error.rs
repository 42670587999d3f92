//! Why a lock file has no environment.

use std::io;
use std::path::PathBuf;

/// Why a lock file has no environment.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// There is no such file.
    #[error("find the lock file: the project has no `{0}`")]
    Missing(String),
    /// No tool is known that reads it.
    #[error("read the lock file `{0}`: nothing here installs what it names")]
    Form(String),
    /// It has packages of another language than the command's.
    #[error("read the lock file `{0}`: its packages are not of the language of the command")]
    Language(String),
    /// More bytes than are read.
    #[error("read the lock file `{path}`: with what belongs to it, it has more than {most} bytes")]
    TooLarge { path: String, most: u64 },
    /// A line of requirements that is not installed.
    #[error("read {file}, line {line}: {why}: `{text}`")]
    Requirement { file: String, line: usize, why: &'static str, text: String },
    /// A package of npm's lock file that is not installed.
    #[error("read the lock file `{file}`: `{package}` {why}")]
    Package { file: String, package: String, why: &'static str },
    /// A tool is not installed.
    #[error("build the environment: `{0}` is not installed")]
    Tool(&'static str),
    /// A tool failed.
    #[error("build the environment: `{tool}` failed ({status}): {text}")]
    Failed { tool: &'static str, status: String, text: String },
    /// The file system refused.
    #[error("build the environment in `{}` ({error})", path.display())]
    Io { path: PathBuf, error: io::Error },
    /// It was built, and is no longer there.
    #[error("build the environment in `{}`: another process has changed it", .0.display())]
    Changed(PathBuf),
    /// What was built cannot be read.
    #[error("build the environment: failed to {0}")]
    Read(String),
}

impl LockError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        let help = match self {
            Self::Missing(_) => "name the file, as in `packages: {lock: requirements/test.txt}`",
            Self::Form(_) => {
                "name a `uv.lock`, a `poetry.lock`, a `Pipfile.lock`, a `package-lock.json`, or a file of requirements, which ends with `.txt`; \
                 or install the packages, and write `packages: true`"
            }
            Self::Language(_) => "name the lock file of the language that the command runs",
            Self::Requirement { .. } => {
                "write each package as `name==version --hash=sha256:…`, as `uv export` and `pip-compile --generate-hashes` do"
            }
            Self::Package { .. } => {
                "only packages of the registry are installed, by their digests; lock it anew without others"
            }
            Self::Tool("uv") => "install it, as with `python3 -m pip install uv`",
            Self::Tool("npm") => "install it; it comes with Node.js",
            Self::Tool(_) => "install pip for this interpreter, as with `apt install python3-pip`, or install `uv`",
            Self::TooLarge { .. } | Self::Failed { .. } | Self::Io { .. } | Self::Changed(_) | Self::Read(_) => {
                return None;
            }
        };
        Some(help.to_owned())
    }
}
