//! Trees with a patch applied, in objects and an index of their own: neither the repository nor a work tree is written to.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use tempfile::TempDir;

use super::{GitError, Repository, is_id};

/// What a shell runs in place of git, so that a hostile patch ends: 60 s of processor time, 4 GiB of memory (in KiB), files of 256 MiB
/// (in blocks of 512 bytes).
const LIMITED: &str = "ulimit -t 60; ulimit -v 4194304; ulimit -f 524288; exec git \"$@\"";
/// Settings of the repository that would let others choose how a patch is applied, or run a program.
const SETTINGS: [&str; 3] = ["core.hooksPath=/dev/null", "core.fsmonitor=false", "apply.ignoreWhitespace=no"];

/// Where objects are written that are not the repository's.
#[derive(Clone, Debug)]
pub(super) struct Scratch {
    folder: Arc<TempDir>,
    git_dir: String,
}

impl Scratch {
    /// Has git read the repository's objects and write others into the folder.
    pub(super) fn apply_to(&self, command: &mut Command) {
        let folder = self.folder.path();
        command.arg("--git-dir").arg(&self.git_dir).arg("--work-tree").arg(folder.join("work"));
        for setting in SETTINGS {
            command.args(["-c", setting]);
        }
        command.env("GIT_OBJECT_DIRECTORY", folder.join("objects")).env("GIT_INDEX_FILE", folder.join("index"));
    }
}

impl Repository {
    /// The repository with a tree more: that with the id `tree`, with a patch applied as `git apply` does. Also the new tree's id. An
    /// empty patch changes nothing.
    ///
    /// # Errors
    /// [`GitError`], also where the patch does not apply, leads out of the tree, or takes more than a bounded time and memory.
    pub fn patched(&self, tree: &str, patch: &[u8]) -> Result<(Repository, String), GitError> {
        let repository = self.scratch()?;
        repository.run("read-tree", &[tree], b"")?;
        if !patch.trim_ascii().is_empty() {
            repository.run_limited("apply", &["--cached", "--whitespace=nowarn", "-"], patch)?;
        }
        let written = repository.run("write-tree", &[], b"")?;
        let id = String::from_utf8(written).ok().map(|text| text.trim_end().to_owned()).filter(|id| is_id(id));
        Ok((repository, id.ok_or(GitError::Unknown("write-tree"))?))
    }

    fn scratch(&self) -> Result<Repository, GitError> {
        if self.scratch.is_some() {
            return Ok(self.clone());
        }
        let line = |arguments: &[&str]| -> Result<String, GitError> {
            let output = self.run("rev-parse", arguments, b"")?;
            let text = String::from_utf8(output).map_err(|_| GitError::Unknown("rev-parse"))?;
            // A path of several lines would be several paths in the file that names it.
            Some(text.trim_end_matches('\n').to_owned())
                .filter(|line| !line.contains('\n'))
                .ok_or(GitError::Unknown("rev-parse"))
        };
        let git_dir = line(&["--absolute-git-dir"])?;
        let objects = line(&["--path-format=absolute", "--git-path", "objects"])?;
        let folder = tempfile::Builder::new().prefix("proofmark-patch-").tempdir()?;
        let path = folder.path();
        fs::create_dir_all(path.join("objects/info"))?;
        fs::create_dir(path.join("work"))?;
        fs::write(path.join("objects/info/alternates"), format!("{objects}\n"))?;
        let work: &Path = &path.join("work");
        let scratch = Scratch { folder: Arc::new(folder), git_dir };
        Ok(Repository { folder: Some(work.to_owned()), in_work_tree: false, scratch: Some(scratch) })
    }

    /// As [`Repository::run`], with bounded time and memory.
    fn run_limited(&self, name: &'static str, arguments: &[&str], input: &[u8]) -> Result<Vec<u8>, GitError> {
        let git = self.command();
        let mut command = Command::new("sh");
        command.args(["-c", LIMITED, "git"]).args(git.get_args());
        for (variable, value) in git.get_envs() {
            match value {
                Some(value) => command.env(variable, value),
                None => command.env_remove(variable),
            };
        }
        Self::run_command(command, name, arguments, input)
    }
}
