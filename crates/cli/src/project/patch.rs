//! `--repo`: a patch over a commit, and the tests that it has to pass.

use std::path::PathBuf;

use clap::Args;
use proofmark_receipt::Object;
use proofmark_verifier::{Base, Lists, Patch, ProjectConfig, ProjectFiles};

/// A patch over a commit of a repository.
#[derive(Args)]
#[command(next_help_heading = "Patches")]
pub(crate) struct PatchOptions {
    /// Verify a patch over a commit of this git repository; nothing is checked out, and its work tree is not read
    #[arg(long, value_name = "DIR", requires = "base", conflicts_with_all = ["dir", "tree", "submission"])]
    pub(super) repo: Option<PathBuf>,
    /// The commit that the patch is over
    #[arg(long, value_name = "REF", requires = "repo")]
    base: Option<String>,
    /// The patch: a file, as git diff writes it, or the commit that results [default: the base as it is]
    #[arg(long, value_name = "FILE|REF", requires = "repo")]
    patch: Option<String>,
    /// The tests in this file, one a line, have to pass, and no others count
    #[arg(long, value_name = "LIST")]
    must_pass: Option<PathBuf>,
    /// So do the tests in this file, which passed before the patch
    #[arg(long, value_name = "LIST")]
    must_keep: Option<PathBuf>,
    /// Run the tests over the base and over their own commit, and write both lists into this folder
    #[arg(long, value_name = "DIR", requires_all = ["repo", "tests_from"], conflicts_with_all = ["patch", "must_pass", "must_keep", "chain", "out", "watch", "explain"])]
    pub(crate) derive_lists: Option<PathBuf>,
}

impl PatchOptions {
    /// The files of the base with the patch, and what the receipt says of both; none where no repository is named.
    pub(super) fn read(&self, config: &ProjectConfig) -> anyhow::Result<Option<(ProjectFiles, Object)>> {
        let (Some(folder), Some(base)) = (&self.repo, &self.base) else { return Ok(None) };
        let patch = self.patch.as_ref().map(|name| Patch::find(name)).transpose()?;
        Ok(Some(Base::find(folder, base)?.patched(folder, patch.as_ref(), config)?))
    }

    /// The lists that are named.
    pub(super) fn lists(&self) -> anyhow::Result<Lists> {
        let read = |path: &Option<PathBuf>| path.as_deref().map(Lists::read).transpose();
        let (must_pass, must_keep) = (read(&self.must_pass)?, read(&self.must_keep)?);
        Ok(Lists { must_pass: must_pass.unwrap_or_default(), must_keep: must_keep.unwrap_or_default() })
    }

    /// The files that are read.
    pub(super) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.repo.iter().chain(&self.must_pass).chain(&self.must_keep)
    }

    /// An option that means nothing without a project.
    pub(super) fn given(&self) -> [(&'static str, bool); 2] {
        [("`--must-pass`", self.must_pass.is_some()), ("`--must-keep`", self.must_keep.is_some())]
    }
}
