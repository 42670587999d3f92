//! The files of a tree, as `hashes.output` of a receipt covers them.

use std::collections::BTreeMap;

use proofmark_checks::{
    Content, MAX_PROJECT_BYTES, MAX_PROJECT_FILES, MAX_REQUEST_BYTES, STORED_FROM, TreeEntry, TreeEntryKind,
    files_digest, is_project_path, tree_entries,
};
use proofmark_receipt::Sha256Digest;

use super::{GitError, MOST_ASKED, Objects, Repository};
use crate::left_out::{ENVIRONMENT_FILE, LeftOut, MAX_ENTRIES, MAX_FOLDER_DEPTH, is_left_out};
use crate::pack::Pack;

/// The files of a tree, byte for byte as the repository has them: no filter, no conversion of line ends.
#[derive(Clone, Debug, Default)]
pub struct GitTree {
    pub id: String,
    /// By path.
    pub files: BTreeMap<String, Content>,
    /// How many of them may be executed, which no receipt covers.
    pub executable: u64,
    /// Paths that no receipt covers, each with the reason.
    pub left_out: Vec<(String, LeftOut)>,
}

/// What is known of a tree without its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeSummary {
    pub id: String,
    /// `hashes.output` of a receipt for the whole tree; none if no receipt can cover all of it.
    pub digest: Option<Sha256Digest>,
    /// `hashes.output` of a receipt for its files, apart from what is left out.
    pub files_digest: Sha256Digest,
    pub files: u64,
    /// How many of them may be executed, which no receipt covers.
    pub executable: u64,
    /// The first of the paths that no receipt covers, each with the reason.
    pub left_out: Vec<(String, LeftOut)>,
    /// How many there are for each reason.
    pub left_out_counts: Vec<(LeftOut, u64)>,
}

impl TreeSummary {
    /// How many paths are left out for this reason.
    #[must_use]
    pub fn left_out_for(&self, reason: LeftOut) -> u64 {
        self.left_out_counts.iter().find(|(other, _)| *other == reason).map_or(0, |(_, count)| *count)
    }
}

impl GitTree {
    /// Reads the tree with this id, without the paths for which `excluded` holds.
    ///
    /// # Errors
    /// [`GitError`], also for a tree that has more than a receipt can cover.
    pub fn read(repository: &Repository, id: &str, excluded: &dyn Fn(&str) -> bool) -> Result<Self, GitError> {
        let tree = Self { id: id.to_owned(), ..Self::default() };
        let mut reader =
            Reader { objects: Objects::of(repository)?, excluded, tree, pack: Pack::default(), bytes: 0, entries: 0 };
        reader.folder(id, "", 0)?;
        Ok(reader.tree)
    }

    /// `hashes.output` of a receipt for these files, apart from what is left out.
    #[must_use]
    pub fn files_digest(&self) -> Sha256Digest {
        files_digest(self.files.iter().map(|(path, content)| (path.as_str(), content)))
    }

    /// The tree without its content, and with at most `named` of the paths that are left out.
    #[must_use]
    pub fn summary(&self, named: usize) -> TreeSummary {
        let files_digest = self.files_digest();
        let count = |reason: LeftOut| self.left_out.iter().filter(|(_, why)| *why == reason).count() as u64;
        TreeSummary {
            id: self.id.clone(),
            digest: (self.left_out.is_empty() && !self.files.is_empty()).then_some(files_digest),
            files_digest,
            files: self.files.len() as u64,
            executable: self.executable,
            left_out: self.left_out.iter().take(named).cloned().collect(),
            left_out_counts: LeftOut::ALL.iter().map(|reason| (*reason, count(*reason))).collect(),
        }
    }
}

struct Reader<'a> {
    objects: Objects,
    excluded: &'a dyn Fn(&str) -> bool,
    tree: GitTree,
    pack: Pack,
    bytes: u64,
    entries: usize,
}

/// What is done with an entry of a folder.
enum Step {
    LeftOut(String, LeftOut),
    Folder { id: String, path: String },
    File { id: String, path: String, executable: bool },
}

impl Step {
    /// The id of a file that is read.
    fn file(&self) -> Option<&str> {
        if let Self::File { id, .. } = self { Some(id) } else { None }
    }
}

impl Reader<'_> {
    fn folder(&mut self, id: &str, above: &str, depth: usize) -> Result<(), GitError> {
        let root = || self.tree.id.clone();
        if depth > MAX_FOLDER_DEPTH {
            return Err(GitError::TooDeep(root()));
        }
        let object = self.objects.get(id, MAX_REQUEST_BYTES as u64)?.filter(|object| object.kind == "tree");
        let object = object.ok_or_else(|| GitError::NoTree(id.to_owned()))?;
        let entries = tree_entries(&object.content, object.id.len() / 2);
        let entries = entries.map_err(|error| GitError::Tree { id: object.id, error })?;
        self.entries += entries.len();
        if self.entries > MAX_ENTRIES {
            return Err(GitError::TooManyEntries(root()));
        }
        if let Some(folder) = above.strip_suffix('/')
            && entries.iter().any(|entry| entry.name == ENVIRONMENT_FILE.as_bytes())
        {
            self.tree.left_out.push((folder.to_owned(), LeftOut::Folder));
            return Ok(());
        }
        let steps: Vec<Step> = entries.into_iter().filter_map(|entry| self.step(above, entry)).collect();
        let mut asked = 0;
        for (place, step) in steps.iter().enumerate() {
            match step {
                Step::LeftOut(path, reason) => self.tree.left_out.push((path.clone(), *reason)),
                Step::Folder { id, path } => self.folder(id, &format!("{path}/"), depth + 1)?,
                Step::File { id, path, executable } => {
                    if asked == 0 {
                        // Those until the next folder, whose tree git would have to be asked for in between.
                        let ahead = steps.get(place..).unwrap_or_default().iter();
                        let ahead = ahead.take_while(|step| !matches!(step, Step::Folder { .. }));
                        let ids: Vec<&str> = ahead.filter_map(Step::file).take(MOST_ASKED).collect();
                        self.objects.ask(&ids)?;
                        asked = ids.len();
                    }
                    asked -= 1;
                    self.tree.executable += u64::from(*executable);
                    self.file(id, path.clone())?;
                }
            }
        }
        Ok(())
    }

    /// What is done with an entry of a folder; nothing with one that is excluded.
    fn step(&self, above: &str, entry: TreeEntry) -> Option<Step> {
        let name = String::from_utf8(entry.name);
        let path = name.as_ref().map(|name| format!("{above}{name}")).ok().filter(|path| is_project_path(path));
        let Some(path) = path else {
            let name = name.unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
            return Some(Step::LeftOut(format!("{above}{name}"), LeftOut::Path));
        };
        if (self.excluded)(&path) {
            return None;
        }
        let (id, executable) = (entry.id, entry.kind == TreeEntryKind::Executable);
        Some(match entry.kind {
            TreeEntryKind::Folder if is_left_out(path.rsplit('/').next().unwrap_or(&path)) => {
                Step::LeftOut(path, LeftOut::Folder)
            }
            TreeEntryKind::Folder => Step::Folder { id, path },
            TreeEntryKind::Link => Step::LeftOut(path, LeftOut::Link),
            TreeEntryKind::Submodule => Step::LeftOut(path, LeftOut::Submodule),
            TreeEntryKind::File | TreeEntryKind::Executable => Step::File { id, path, executable },
        })
    }

    /// Takes a file that git was asked for.
    fn file(&mut self, id: &str, path: String) -> Result<(), GitError> {
        if self.tree.files.len() >= MAX_PROJECT_FILES {
            return Err(GitError::TooManyFiles(self.tree.id.clone()));
        }
        let room = MAX_PROJECT_BYTES.saturating_sub(self.bytes);
        let object = match self.objects.answer(id, room) {
            Err(GitError::TooLarge { .. }) => {
                return Err(GitError::TooManyBytes { tree: self.tree.id.clone(), file: path });
            }
            read => read?.filter(|object| object.kind == "blob"),
        };
        let object = object.ok_or_else(|| GitError::NoTree(self.tree.id.clone()))?;
        self.bytes += object.content.len() as u64;
        let content = if object.content.len() as u64 >= STORED_FROM {
            self.pack.take(object.content.as_slice(), room)?.ok_or_else(|| GitError::NoTree(self.tree.id.clone()))?
        } else {
            object.content.into()
        };
        self.tree.files.insert(path, content);
        Ok(())
    }
}
