//! What names stand for: commits and trees, as the objects themselves say.

use std::collections::{HashSet, VecDeque};

use proofmark_checks::{MAX_REQUEST_BYTES, TreeEntryKind, tree_entries};

use super::{GitError, MAX_ANCESTORS, MAX_COMMITS, Object, Objects, Repository};

/// How many tags may stand for each other.
const MAX_TAGS: usize = 16;

/// Before and after a name, where git looks for a reference of it (gitrevisions(7)).
const FOUND_IN: [(&str, &str); 6] = [
    ("", ""),
    ("refs/", ""),
    ("refs/tags/", ""),
    ("refs/heads/", ""),
    ("refs/remotes/", ""),
    ("refs/remotes/", "/HEAD"),
];
/// Where the name of a reference ends, in the name of a commit.
const NAME_ENDS: [char; 4] = ['~', '^', ':', '@'];
/// The fewest digits that git takes for the beginning of an id.
const MIN_ID: usize = 4;

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// The id of the commit, if it is one.
    pub commit: Option<String>,
    /// The id of the tree.
    pub tree: String,
}

impl Repository {
    /// What a name stands for: a commit, a tag, a tree, a folder (`HEAD:src`).
    ///
    /// # Errors
    /// [`GitError`], also where it stands for neither a tree nor a commit.
    pub fn revision(&self, name: &str) -> Result<Revision, GitError> {
        let (whole, path) = split(name);
        let found = self.id_of(whole)?.ok_or_else(|| GitError::NotFound(name.to_owned()))?;
        let mut objects = Objects::of(self)?;
        let revision = objects.revision(&found)?.ok_or_else(|| GitError::NoTree(name.to_owned()))?;
        let Some(path) = path else { return Ok(revision) };
        let is_relative = path.split('/').next().is_some_and(|first| matches!(first, "." | ".."));
        let folder = if is_relative { self.folder_within()? } else { String::new() };
        let tree = objects.folder(revision.tree, &format!("{folder}{path}"))?;
        Ok(Revision { commit: None, tree: tree.ok_or_else(|| GitError::NoTree(name.to_owned()))? })
    }

    /// What a name stands for in the folder that the repository was named by: of a commit, the tree of this folder.
    ///
    /// # Errors
    /// As [`Repository::revision`].
    pub fn revision_of_folder(&self, name: &str) -> Result<Revision, GitError> {
        let revision = self.revision(name)?;
        if revision.commit.is_none() {
            return Ok(revision);
        }
        let tree = Objects::of(self)?.folder(revision.tree, &self.folder_within()?)?;
        Ok(Revision { tree: tree.ok_or_else(|| GitError::NoTree(name.to_owned()))?, ..revision })
    }

    /// As [`Repository::revision_of_folder`], for a name that stands for one reference alone. Git takes a tag before a branch of the
    /// same name, so anyone who can push a tag could choose what the name of a branch stands for.
    ///
    /// # Errors
    /// As [`Repository::revision`], and [`GitError::Ambiguous`].
    pub fn only_revision_of_folder(&self, name: &str) -> Result<Revision, GitError> {
        let whole = name.split(NAME_ENDS).next().unwrap_or(name);
        let references = self.references()?;
        let mut found = FOUND_IN.iter().filter_map(|(before, after)| {
            let full = format!("{before}{whole}{after}");
            references.iter().find(|reference| reference.name == full)
        });
        if let Some(first) = found.next() {
            let ambiguous =
                |second: String| GitError::Ambiguous { name: name.to_owned(), first: first.name.clone(), second };
            if let Some(second) = found.next() {
                return Err(ambiguous(second.name.clone()));
            }
            let is_short_id = whole.len() >= MIN_ID && whole.bytes().all(|byte| byte.is_ascii_hexdigit());
            let listed = format!("--disambiguate={whole}");
            let object = if is_short_id { self.run("rev-parse", &[&listed], b"")? } else { Vec::new() };
            if let Some(object) = String::from_utf8_lossy(&object).lines().next() {
                return Err(ambiguous(object.to_owned()));
            }
        }
        self.revision_of_folder(name)
    }

    /// A file directly in a tree: what it is, and its content.
    ///
    /// # Errors
    /// [`GitError`], also where it has more than `most` bytes.
    pub fn file(&self, tree: &str, name: &str, most: u64) -> Result<Option<(TreeEntryKind, Vec<u8>)>, GitError> {
        let mut objects = Objects::of(self)?;
        let missing = || GitError::NoTree(tree.to_owned());
        let object = objects.get(tree, MAX_REQUEST_BYTES as u64)?.filter(|object| object.kind == "tree");
        let object = object.ok_or_else(missing)?;
        let entries = tree_entries(&object.content, object.id.len() / 2);
        let entries = entries.map_err(|error| GitError::Tree { id: object.id, error })?;
        let Some(entry) = entries.into_iter().find(|entry| entry.name == name.as_bytes()) else { return Ok(None) };
        match entry.kind {
            TreeEntryKind::Folder | TreeEntryKind::Submodule => Ok(Some((entry.kind, Vec::new()))),
            TreeEntryKind::File | TreeEntryKind::Executable | TreeEntryKind::Link => {
                let content = objects.get(&entry.id, most)?.ok_or_else(missing)?.content;
                Ok(Some((entry.kind, content)))
            }
        }
    }

    /// Whether `old` is among the commits that `new` continues; none where that is not known here, or too far back.
    ///
    /// # Errors
    /// [`GitError`].
    pub fn continues(&self, old: &str, new: &str) -> Result<Option<bool>, GitError> {
        let mut objects = Objects::of(self)?;
        let ends = (objects.peeled(old)?, objects.peeled(new)?);
        let (Some((old, Head::Commit { .. })), Some((new, Head::Commit { .. }))) = ends else { return Ok(None) };
        let (mut seen, mut next) = (HashSet::from([new.clone()]), VecDeque::from([new]));
        let mut is_all_known = true;
        while let Some(id) = next.pop_front() {
            if id == old {
                return Ok(Some(true));
            }
            if seen.len() > MAX_ANCESTORS {
                return Ok(None);
            }
            let parents = match objects.peeled(&id)? {
                Some((_, Head::Commit { parents, .. })) => parents,
                Some((_, Head::Tree)) | None => {
                    is_all_known = false;
                    continue;
                }
            };
            next.extend(parents.into_iter().filter(|parent| seen.insert(parent.clone())));
        }
        Ok(is_all_known.then_some(false))
    }

    /// The commits that `new` continues and none of `known` does, with itself, the newest first. Git goes by parents without looking
    /// whether a commit has its id, so what it leaves out has to be what the known ones continue by objects that have theirs.
    ///
    /// # Errors
    /// [`GitError`], also where there are more than [`MAX_COMMITS`], and where a commit is missing.
    pub fn commits(&self, new: &str, known: &[String]) -> Result<Vec<String>, GitError> {
        let mut objects = Objects::of(self)?;
        let mut before = Ancestors::default();
        for id in known {
            // What other references point to may be of another kind, or not be here.
            if let Some((id, Head::Commit { .. })) = objects.peeled(id)? {
                before.add(id);
            }
        }
        let (new, _) = objects.peeled(new)?.ok_or_else(|| GitError::NoCommit(new.to_owned()))?;
        let most = format!("--max-count={}", MAX_COMMITS + 1);
        let wanted: String = known.iter().map(|id| format!("^{id}\n")).chain([format!("{new}\n")]).collect();
        let listed = self.run("rev-list", &[&most, "--ignore-missing", "--stdin"], wanted.as_bytes())?;
        let listed: Vec<String> = String::from_utf8_lossy(&listed).lines().map(str::to_owned).collect();
        let is_listed: HashSet<String> = listed.iter().cloned().collect();
        let mut next: VecDeque<String> = listed.into_iter().chain([new]).collect();
        let (mut added, mut seen) = (Vec::new(), HashSet::new());
        while let Some(id) = next.pop_front() {
            // A commit that is listed without need is decided on without need.
            let is_known = !seen.insert(id.clone()) || (!is_listed.contains(&id) && before.have(&id, &mut objects)?);
            if is_known {
                continue;
            }
            let Some((_, Head::Commit { parents, .. })) = objects.peeled(&id)? else {
                return Err(GitError::NoCommit(id));
            };
            added.push(id);
            if added.len() > MAX_COMMITS {
                return Err(GitError::TooManyCommits);
            }
            next.extend(parents);
        }
        Ok(added)
    }

    /// The folder that the repository was named by, within the tree: empty, or with a slash at its end.
    fn folder_within(&self) -> Result<String, GitError> {
        let output = self.run("rev-parse", &["--show-prefix"], b"")?;
        let folder = String::from_utf8(output).map_err(|_| GitError::Unknown("rev-parse"))?;
        Ok(folder.trim_end_matches('\n').to_owned())
    }
}

/// Commits and all that they continue, of which those are read that are asked for.
#[derive(Default)]
struct Ancestors {
    seen: HashSet<String>,
    next: VecDeque<String>,
}

impl Ancestors {
    fn add(&mut self, id: String) {
        if self.seen.insert(id.clone()) {
            self.next.push_back(id);
        }
    }

    /// Whether a commit is among them. Of a new one this is known once all of them were read.
    fn have(&mut self, wanted: &str, objects: &mut Objects) -> Result<bool, GitError> {
        while !self.seen.contains(wanted) {
            let Some(id) = self.next.pop_front() else { return Ok(false) };
            if self.seen.len() > MAX_ANCESTORS {
                return Err(GitError::TooFarBack);
            }
            // A shallow clone lacks the first ones, and those that are not known count as new.
            if let Some((_, Head::Commit { parents, .. })) = objects.peeled(&id)? {
                parents.into_iter().for_each(|parent| self.add(parent));
            }
        }
        Ok(true)
    }
}

/// What an object leads to that tags may stand for.
enum Head {
    Commit { tree: String, parents: Vec<String> },
    Tree,
}

impl Objects {
    fn revision(&mut self, id: &str) -> Result<Option<Revision>, GitError> {
        Ok(self.peeled(id)?.map(|(id, head)| match head {
            Head::Commit { tree, .. } => Revision { commit: Some(id), tree },
            Head::Tree => Revision { commit: None, tree: id },
        }))
    }

    /// The commit or the tree that an id stands for, with its own id; none where it is missing, or stands for something else.
    fn peeled(&mut self, id: &str) -> Result<Option<(String, Head)>, GitError> {
        let mut id = id.to_owned();
        for _ in 0..MAX_TAGS {
            let Some(object) = self.get(&id, MAX_REQUEST_BYTES as u64)? else { return Ok(None) };
            match object.kind.as_str() {
                "tree" => return Ok(Some((id, Head::Tree))),
                "commit" => return Ok(object.commit().map(|commit| (id, commit))),
                "tag" => match object.lines().next().and_then(|line| id_after("object ", line)) {
                    Some(tagged) => id = tagged,
                    None => return Ok(None),
                },
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    /// The folder at a path within a tree; none where there is no such folder.
    fn folder(&mut self, tree: String, path: &str) -> Result<Option<String>, GitError> {
        let mut above = vec![tree];
        for name in path.split('/').filter(|name| !matches!(*name, "" | ".")) {
            if name == ".." {
                above.pop();
                continue;
            }
            let Some(inside) = above.last().cloned() else { return Ok(None) };
            let Some(object) = self.get(&inside, MAX_REQUEST_BYTES as u64)? else { return Ok(None) };
            let entries = tree_entries(&object.content, object.id.len() / 2);
            let entries = entries.map_err(|error| GitError::Tree { id: object.id, error })?;
            let found = entries.into_iter().find(|entry| entry.name == name.as_bytes());
            match found.filter(|entry| entry.kind == TreeEntryKind::Folder) {
                Some(entry) => above.push(entry.id),
                None => return Ok(None),
            }
        }
        Ok(above.pop())
    }
}

impl Object {
    fn lines(&self) -> impl Iterator<Item = &[u8]> {
        self.content.split(|byte| *byte == b'\n')
    }

    fn commit(&self) -> Option<Head> {
        let mut lines = self.lines();
        let tree = id_after("tree ", lines.next()?)?;
        // Git takes a parent that stands anywhere else for none.
        let parents = lines.map_while(|line| id_after("parent ", line)).collect();
        Some(Head::Commit { tree, parents })
    }
}

/// The id after a word in a line that has nothing else.
fn id_after(word: &str, line: &[u8]) -> Option<String> {
    let id = std::str::from_utf8(line).ok()?.strip_prefix(word)?;
    super::is_id(id).then(|| id.to_owned())
}

/// A name without the path of a folder, and the path: as git does, from the first colon that is not between braces on. A name that
/// begins with a colon stands for something else than a folder of a commit.
fn split(name: &str) -> (&str, Option<&str>) {
    let mut depth = 0_u32;
    for (at, letter) in name.char_indices().skip_while(|_| name.starts_with(':')) {
        match letter {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            ':' if depth == 0 => return (name.get(..at).unwrap_or(name), name.get(at + 1..)),
            _ => {}
        }
    }
    (name, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_stand_behind_the_tree() {
        let id = |digit: &str| digit.repeat(40);
        let content = format!(
            "tree {}\nparent {}\nauthor a <a> 1 +0000\nparent {}\n\nparent {}\n",
            id("1"),
            id("2"),
            id("3"),
            id("4")
        );
        let commit = Object { id: id("5"), kind: "commit".to_owned(), content: content.into_bytes() };
        let Some(Head::Commit { tree, parents }) = commit.commit() else { panic!() };
        assert_eq!((tree, parents), (id("1"), vec![id("2")]));
    }

    #[test]
    fn a_name_is_split_where_git_splits_it() {
        for (name, parts) in [
            ("HEAD", ("HEAD", None)),
            ("HEAD:", ("HEAD", Some(""))),
            ("HEAD:src/a:b", ("HEAD", Some("src/a:b"))),
            ("HEAD^{/fix: it}", ("HEAD^{/fix: it}", None)),
            ("HEAD@{10:30}:src", ("HEAD@{10:30}", Some("src"))),
            (":/fix: it", (":/fix: it", None)),
        ] {
            assert_eq!(split(name), parts);
        }
    }
}
