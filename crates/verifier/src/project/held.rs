//! The owner's tests: files that come from another place than the submission.

mod count;
mod rules;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use proofmark_checks::{Content, Held, TreeEntryKind, files_digest, glob_texts};
use proofmark_git::{GitTree, LeftOut, Repository, Revision, whole};
use proofmark_receipt::document::Field;
use proofmark_receipt::{Json, Object, glob, object};

use super::config::MAX_SETTINGS_BYTES;
use super::folder::{all_folder_files, settings_in};
use super::{CONFIG_FILE, ProjectConfig, ProjectError, ProjectFiles};
use count::{Defined, definitions};
use rules::HeldGlob;

/// How many changes a receipt names.
const MAX_CHANGES: usize = 100;
/// How many changes one line names.
const MAX_TOLD: usize = 5;
/// The largest file of tests whose text is read, in bytes.
const MAX_TEXT_BYTES: u64 = 4 << 20;
/// How many bytes of such files are read, of the owner's and of the submission's each.
const MAX_TEXTS_BYTES: u64 = 64 << 20;
/// How the path of a folder begins, which no name of git does.
const FOLDER_BEGINS: [&str; 4] = ["/", "./", "../", "~/"];

/// Where the tests of a project come from.
#[derive(Clone, Debug)]
pub enum TestsFrom {
    /// A commit or a tree of the repository that the project is in.
    Revision { repository: Repository, name: String, revision: Revision },
    /// Another folder.
    Folder(PathBuf),
}

/// What was done to a file that is the owner's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Added,
    Changed,
    Removed,
}

impl Change {
    /// The word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Removed => "removed",
        }
    }
}

/// The owner's files, and what the submission changed in its own.
#[derive(Debug)]
pub struct HeldTests {
    /// The owner's files by path, each with the rule that it is held by.
    pub files: BTreeMap<String, (Content, String)>,
    /// Files of the owner that are not laid out.
    pub left_out: Vec<(String, LeftOut)>,
    /// What the submission changed, by path, each with the rule.
    pub changes: Vec<(String, Change, String)>,
    /// How many tests the owner's files define that the submission's do not.
    pub fewer: u64,
    globs: Vec<HeldGlob>,
    from: Object,
}

impl TestsFrom {
    /// The place with this name: a folder where it is an absolute path or begins with `./` or `../`, and otherwise a commit, a branch, a
    /// tag or a tree of the repository that `project` is in. A folder never stands in for a name of git: the submission could make it.
    ///
    /// # Errors
    /// [`ProjectError`] where there is no such place.
    pub fn find(project: &Path, name: &str) -> Result<Self, ProjectError> {
        if matches!(name, "." | "..") || FOLDER_BEGINS.iter().any(|begin| name.starts_with(begin)) {
            return Ok(Self::Folder(PathBuf::from(name)));
        }
        let repository = Repository::of_work_tree(project);
        let revision = match repository.only_revision_of_folder(name) {
            Err(_) if Path::new(name).is_dir() => return Err(ProjectError::FolderName(name.to_owned())),
            found => found?,
        };
        Ok(Self::Revision { repository, name: name.to_owned(), revision })
    }

    /// The `proofmark.yaml` there, if there is one.
    ///
    /// # Errors
    /// [`ProjectError`] where it cannot be read, or is a link.
    pub fn settings(&self) -> Result<Option<Vec<u8>>, ProjectError> {
        match self {
            Self::Folder(folder) => settings_in(folder),
            Self::Revision { repository, revision, name } => {
                match repository.file(&revision.tree, CONFIG_FILE, MAX_SETTINGS_BYTES)? {
                    Some((TreeEntryKind::File | TreeEntryKind::Executable, content)) => Ok(Some(content)),
                    Some((TreeEntryKind::Link, _)) => Err(ProjectError::SettingsLink(format!("{name}:{CONFIG_FILE}"))),
                    Some((TreeEntryKind::Folder | TreeEntryKind::Submodule, _)) | None => Ok(None),
                }
            }
        }
    }

    /// The place, as people name it.
    #[must_use]
    pub fn shown(&self) -> String {
        match self {
            Self::Folder(folder) => folder.display().to_string(),
            Self::Revision { name, .. } => name.clone(),
        }
    }

    /// The commit, if it is one.
    #[must_use]
    pub fn commit(&self) -> Option<&str> {
        match self {
            Self::Folder(_) => None,
            Self::Revision { revision, .. } => revision.commit.as_deref(),
        }
    }

    fn files(&self, config: &ProjectConfig) -> Result<ProjectFiles, ProjectError> {
        match self {
            Self::Folder(folder) => all_folder_files(folder, config),
            Self::Revision { repository, revision, .. } => {
                let tree = GitTree::read(repository, &revision.tree, &|path| config.excludes(path))?;
                Ok(ProjectFiles { files: tree.files, left_out: tree.left_out, ..ProjectFiles::default() })
            }
        }
    }

    fn describe(&self) -> Object {
        match self {
            Self::Folder(folder) => object! { "dir": folder.display().to_string() },
            Self::Revision { name, revision, .. } => object! {
                "ref": name.as_str(),
                "commit"?: revision.commit.as_deref(),
                "tree": revision.tree.as_str(),
            },
        }
    }

    /// The owner's files among those of this place, as the settings say, and what of them `submitted` changed.
    ///
    /// # Errors
    /// [`ProjectError`] where the place cannot be read, or has no such file.
    pub fn hold(
        &self,
        submitted: &BTreeMap<String, Content>,
        config: &ProjectConfig,
    ) -> Result<HeldTests, ProjectError> {
        let globs = rules::globs(&config.command(), &config.tests);
        let held =
            held(&globs).map_err(|error| ProjectError::Request { folder: PathBuf::from(self.shown()), error })?;
        let ProjectFiles { files, left_out, .. } = self.files(config)?;
        let (mut all, mut owned, mut brought) = (BTreeMap::new(), Defined::default(), Defined::default());
        let (mut of_owner, mut of_submission) = (Texts::default(), Texts::default());
        for (path, content) in files.into_iter().filter(|(path, _)| held.holds(path)) {
            let content = of_owner.read(&path, content)?;
            owned.add(&path, &content);
            let rule = rule(&globs, &path);
            all.insert(path, (content, rule));
        }
        if all.is_empty() {
            return Err(ProjectError::NoTests(self.shown()));
        }
        let mut changes = Vec::new();
        for (path, content) in submitted.iter().filter(|(path, _)| held.holds(path)) {
            brought.add(path, &of_submission.read(path, content.clone())?);
            let change = match all.get(path) {
                None => Change::Added,
                Some((own, _)) if own != content => Change::Changed,
                Some(_) => continue,
            };
            changes.push((path.clone(), change, rule(&globs, path)));
        }
        let removed = all.iter().filter(|(path, _)| !submitted.contains_key(*path));
        changes.extend(removed.map(|(path, (_, rule))| (path.clone(), Change::Removed, rule.clone())));
        changes.sort_by(|left, right| left.0.cmp(&right.0));
        let left_out = left_out.into_iter().filter(|(path, _)| held.holds(path)).collect();
        let from = self.describe();
        Ok(HeldTests { files: all, left_out, changes, fewer: owned.missing_in(&brought), globs, from })
    }
}

impl HeldTests {
    /// What the submission changed, in one line; none where it changed nothing.
    #[must_use]
    pub fn told(&self) -> Option<String> {
        let mut parts: Vec<String> =
            self.changes.iter().take(MAX_TOLD).map(|(path, change, _)| format!("{path} {}", change.as_str())).collect();
        if let Some(more) = self.changes.len().checked_sub(MAX_TOLD).filter(|more| *more > 0) {
            parts.push(format!("{more} more files"));
        }
        parts.extend(self.fewer_told());
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// How many tests fewer there are, in words.
    pub(super) fn fewer_told(&self) -> Option<String> {
        match self.fewer {
            0 => None,
            1 => Some("1 test fewer than the owner's".to_owned()),
            fewer => Some(format!("{fewer} tests fewer than the owner's")),
        }
    }

    /// The globs, for `held` of a request.
    pub(super) fn globs(&self) -> Vec<Json> {
        self.globs.iter().map(|held| Json::from(held.glob.as_str())).collect()
    }

    /// What the receipt says.
    pub(super) fn known(&self, names: bool) -> Object {
        let digest = files_digest(self.files.iter().map(|(path, (content, _))| (path.as_str(), content)));
        let changed = self.changes.iter().take(MAX_CHANGES);
        let changed =
            changed.map(|(path, change, _)| Json::from(object! { "path": path.as_str(), "change": change.as_str() }));
        let mut known = self.from.clone();
        for (name, value) in object! {
            "files": self.files.len() as u64,
            "digest": digest.to_string(),
            "changes": self.changes.len() as u64,
            "changed"?: names.then(|| changed.collect::<Vec<_>>()),
            "fewer": self.fewer,
        }
        .iter()
        {
            known.insert(name, value.clone());
        }
        known
    }
}

/// Has the text of large files of tests at hand, as far as that is not too much.
struct Texts {
    left: u64,
}

impl Default for Texts {
    fn default() -> Self {
        Self { left: MAX_TEXTS_BYTES }
    }
}

impl Texts {
    /// The same content, in memory if it is a file of tests.
    fn read(&mut self, path: &str, content: Content) -> Result<Content, ProjectError> {
        let is_stored = content.place().is_some() && definitions(path).is_some();
        if !is_stored || content.bytes() > MAX_TEXT_BYTES.min(self.left) {
            return Ok(content);
        }
        self.left -= content.bytes();
        let failed = |error: io::Error| ProjectError::Io { path: PathBuf::from(path), error };
        whole(&content).map(Content::from).map_err(failed)
    }
}

fn held(globs: &[HeldGlob]) -> Result<Held, proofmark_checks::RequestError> {
    let list = Json::from(globs.iter().map(|held| Json::from(held.glob.as_str())).collect::<Vec<_>>());
    Held::read(&Field::root(&list))
}

/// What the first glob is of that names this file.
fn rule(globs: &[HeldGlob], path: &str) -> String {
    let texts: Vec<String> = glob_texts(path).map(|text| text.to_lowercase()).collect();
    let names = |held: &&HeldGlob| texts.iter().any(|text| glob::matches(&held.glob.to_lowercase(), text));
    globs.iter().find(names).map_or_else(String::new, |held| format!("{}: {}", held.of, held.glob))
}
