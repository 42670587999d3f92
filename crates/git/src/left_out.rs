//! What of a folder, or of a tree of git, is not part of a project.

/// Folders without source: histories, caches, builds.
const LEFT_OUT: [&str; 7] = [".git", ".hg", ".venv", "__pycache__", ".pytest_cache", ".mypy_cache", "target"];
/// The file that makes a folder a virtual environment of Python, which is not copied, whatever its name is.
pub const ENVIRONMENT_FILE: &str = "pyvenv.cfg";
/// The folder of packages installed for Node.js, which is not copied but shown to the command.
pub const NODE_MODULES: &str = "node_modules";

/// How many files and folders are looked at, with those that are left out.
pub const MAX_ENTRIES: usize = 400_000;
/// How deep folders may nest.
pub const MAX_FOLDER_DEPTH: usize = 64;

/// Why a file of a project is not part of the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeftOut {
    #[error("its path is not UTF-8 text, has control characters, or is too long")]
    Path,
    #[error("it is a link, which could lead out of the project")]
    Link,
    #[error("it is a submodule, whose files are in another repository")]
    Submodule,
    #[error("folders of this kind are not copied")]
    Folder,
    #[error("git ignores it; `include` in the settings, or `--include`, takes it")]
    Ignored,
}

impl LeftOut {
    /// All reasons.
    pub const ALL: [Self; 5] = [Self::Path, Self::Link, Self::Submodule, Self::Folder, Self::Ignored];
}

/// Whether folders of this name are never copied.
pub fn is_left_out(folder: &str) -> bool {
    folder == NODE_MODULES || LEFT_OUT.contains(&folder)
}
