//! A patch over a commit of a repository, and the tests that it has to pass.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use proofmark_checks::MAX_REQUEST_BYTES;
use proofmark_git::{GitTree, Repository, Revision};
use proofmark_receipt::{Json, Object, Sha256Digest, object};

use super::tree::packages;
use super::{ProjectConfig, ProjectError, ProjectFiles, TestsFrom};

/// The longest list of tests, in bytes.
const MAX_LIST_BYTES: u64 = 4 << 20;

/// The commit that a patch is over.
#[derive(Clone, Debug)]
pub struct Base {
    repository: Repository,
    name: String,
    revision: Revision,
}

/// What is done to the base.
#[derive(Clone, Debug)]
pub enum Patch {
    /// A patch as `git diff` writes it.
    Text(Vec<u8>),
    /// The commit or tree that results.
    Revision(String),
}

/// The tests that a run is held to, by the names that the runner's report has.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    /// Those that failed before.
    pub must_pass: Vec<String>,
    /// Those that passed before.
    pub must_keep: Vec<String>,
}

impl Base {
    /// The commit with this name in the repository whose work tree `folder` is.
    ///
    /// # Errors
    /// [`ProjectError`] where there is none, or the name stands for two.
    pub fn find(folder: &Path, name: &str) -> Result<Self, ProjectError> {
        let repository = Repository::of_work_tree(folder);
        let revision = repository.only_revision_of_folder(name)?;
        Ok(Self { repository, name: name.to_owned(), revision })
    }

    /// The files of the base with a patch, and what the receipt says of both. The packages are those installed in `folder`.
    ///
    /// # Errors
    /// [`ProjectError`] where the patch does not apply, or the files are more than a request holds.
    pub fn patched(
        &self,
        folder: &Path,
        patch: Option<&Patch>,
        config: &ProjectConfig,
    ) -> Result<(ProjectFiles, Object), ProjectError> {
        let (repository, tree, known) = self.applied(patch)?;
        let tree = GitTree::read(&repository, &tree, &|path| config.excludes(path))?;
        let packages = packages(folder, &tree, config)?;
        let mut known = known;
        known.insert("tree", tree.id.as_str());
        Ok((ProjectFiles { files: tree.files, left_out: tree.left_out, packages, unknown_ignored: None }, known))
    }

    /// The base with a patch as the place of tests.
    ///
    /// # Errors
    /// [`ProjectError`] where the patch does not apply.
    pub fn with_tests(&self, patch: &[u8]) -> Result<TestsFrom, ProjectError> {
        let (repository, tree) = self.repository.patched(&self.revision.tree, patch)?;
        let name = format!("{} with a patch", self.name);
        Ok(TestsFrom::Revision { repository, name, revision: Revision { commit: None, tree } })
    }

    /// The base with a patch as a repository and the id of a tree in it.
    fn applied(&self, patch: Option<&Patch>) -> Result<(Repository, String, Object), ProjectError> {
        let base = object! {
            "ref": self.name.as_str(),
            "commit"?: self.revision.commit.as_deref(),
            "tree": self.revision.tree.as_str(),
        };
        let mut known = object! { "base": base };
        match patch {
            None => Ok((self.repository.clone(), self.revision.tree.clone(), known)),
            Some(Patch::Text(text)) => {
                known.insert("digest", Sha256Digest::of(text).to_string());
                let (repository, tree) = self.repository.patched(&self.revision.tree, text)?;
                Ok((repository, tree, known))
            }
            Some(Patch::Revision(name)) => {
                let revision = self.repository.only_revision_of_folder(name)?;
                if let Some(commit) = &revision.commit {
                    known.insert("commit", commit.as_str());
                }
                Ok((self.repository.clone(), revision.tree, known))
            }
        }
    }
}

impl Patch {
    /// The patch in this file, if there is one; otherwise the commit of this name.
    ///
    /// # Errors
    /// [`ProjectError`] where the file cannot be read, or is longer than a request may be.
    pub fn find(name: &str) -> Result<Self, ProjectError> {
        let path = Path::new(name);
        if !path.is_file() {
            return Ok(Self::Revision(name.to_owned()));
        }
        let text = limited(path, MAX_REQUEST_BYTES as u64)?;
        let text = text.ok_or_else(|| ProjectError::TooLarge { folder: path.to_owned(), file: path.to_owned() })?;
        Ok(Self::Text(text))
    }
}

impl Lists {
    /// Reads a list: the name of a test a line. Empty lines do not count.
    ///
    /// # Errors
    /// [`ProjectError`] where the file cannot be read, is too long, or has no test.
    pub fn read(path: &Path) -> Result<Vec<String>, ProjectError> {
        let failed = |why| ProjectError::List { path: path.to_owned(), why };
        let text = limited(path, MAX_LIST_BYTES)?.ok_or_else(|| failed("it is longer than 4 MiB"))?;
        let text = String::from_utf8(text).map_err(|_| failed("it is not UTF-8 text"))?;
        let names = text.lines().map(|line| line.trim_end_matches('\r')).filter(|line| !line.trim().is_empty());
        let names: Vec<String> = names.map(str::to_owned).collect();
        if names.is_empty() { Err(failed("it has no tests")) } else { Ok(names) }
    }

    /// Whether no test is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.must_pass.is_empty() && self.must_keep.is_empty()
    }

    pub(super) fn write(&self, verification: &mut Object) {
        for (name, tests) in [("must_pass", &self.must_pass), ("must_keep", &self.must_keep)] {
            if !tests.is_empty() {
                verification.insert(name, tests.iter().map(|test| Json::from(test.as_str())).collect::<Vec<_>>());
            }
        }
    }
}

/// The content of a file; none where it has more than `most` bytes.
fn limited(path: &Path, most: u64) -> Result<Option<Vec<u8>>, ProjectError> {
    let failed = |error| ProjectError::Io { path: path.to_owned(), error };
    let mut content = Vec::new();
    File::open(path).map_err(failed)?.take(most + 1).read_to_end(&mut content).map_err(failed)?;
    Ok((content.len() as u64 <= most).then_some(content))
}
