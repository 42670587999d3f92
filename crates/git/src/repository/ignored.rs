//! What git ignores in a folder.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::{GitError, Repository};

/// What would have git start a program that the repository names, or believe what one wrote.
const BELIEVES: [&str; 4] = ["-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false"];

/// The files and folders below `folder` that its repository ignores, by their paths below it: those that `.gitignore` and the like name
/// and that git does not track. Empty outside of a repository, and if the whole folder is ignored.
///
/// # Errors
/// Where git cannot be started, or refuses to read the repository.
pub fn ignored_below(folder: &Path) -> Result<BTreeSet<String>, GitError> {
    let folder = folder.canonicalize()?;
    let Some(root) = folder.ancestors().find(|above| above.join(".git").symlink_metadata().is_ok()) else {
        return Ok(BTreeSet::new());
    };
    let below = folder.strip_prefix(root).unwrap_or(&folder).as_os_str().as_bytes();
    let mut command = Repository::of_work_tree(root).command();
    command.args(BELIEVES);
    let mut only = b":(literal)".to_vec();
    only.extend(below);
    let mut arguments =
        ["-z", "--others", "--ignored", "--exclude-standard", "--directory", "--"].map(OsStr::new).to_vec();
    // Every path matches no pathspec; an empty one is an error.
    arguments.extend((!below.is_empty()).then(|| OsStr::from_bytes(&only)));
    let output = Repository::run_command(command, "ls-files", &arguments, b"")?;
    let mut ignored = BTreeSet::new();
    for path in output.split(|byte| *byte == 0).filter(|path| !path.is_empty()) {
        let path = path.strip_suffix(b"/").unwrap_or(path);
        if !below.is_empty() && Path::new(OsStr::from_bytes(below)).starts_with(OsStr::from_bytes(path)) {
            return Ok(BTreeSet::new());
        }
        let path = Path::new(OsStr::from_bytes(path)).strip_prefix(OsStr::from_bytes(below));
        ignored.extend(path.ok().and_then(Path::to_str).map(str::to_owned));
    }
    Ok(ignored)
}
