//! What is to be decided on: a tree, or the updates of references that a hook is given.

use std::collections::HashMap;
use std::env;

use proofmark_git::{
    Candidate, GitTree, Note, RefUpdate, Repository, Revision, TreeSummary, changes_how_others_are_read,
};
use proofmark_receipt::Receipt;
use proofmark_receipt::glob;

use super::{Commits, How, MAX_NAMED, SHORT};
use crate::error::with_help;
use crate::input;
use crate::out;
use crate::paint::printable;

/// The most decisions on one push.
const MAX_DECISIONS: usize = 1_000;
/// The longest input of a hook, in bytes.
const MAX_INPUT: u64 = 4 << 20;
/// The most options of a push that are looked at.
const MAX_PUSH_OPTIONS: usize = 1_000;
/// How an option of a push with a receipt begins.
const PUSH_OPTION: &str = "proofmark-receipt=";

/// A candidate, and what it is called.
pub(super) struct Found {
    pub(super) candidate: Candidate,
    what: String,
    /// The notes in which there may be receipts for it: a reference, or the id of a commit.
    notes: String,
}

impl Found {
    /// What people know it by.
    pub(super) fn name(&self) -> String {
        let short = |id: &str| id.get(..SHORT).unwrap_or(id).to_owned();
        let tree = self.candidate.tree.as_ref().map_or_else(String::new, |tree| format!(" (tree {})", short(&tree.id)));
        let commit = self.candidate.commit.as_deref().map_or_else(String::new, |id| format!(" {}", short(id)));
        format!("{}{commit}{tree}", self.what)
    }
}

/// A repository whose trees are read once each: many references may have one.
pub(super) struct Looking<'a> {
    repository: &'a Repository,
    trees: HashMap<String, TreeSummary>,
    notes: String,
}

impl<'a> Looking<'a> {
    pub(super) fn at(repository: &'a Repository, notes: &str) -> Self {
        Self { repository, trees: HashMap::new(), notes: notes.to_owned() }
    }

    /// The tree that a name stands for.
    pub(super) fn tree(&mut self, name: &str, reference: Option<String>) -> anyhow::Result<Found> {
        self.found(Candidate { reference, ..Candidate::default() }, name, name)
    }

    /// The updates of protected references that git has written on standard input.
    pub(super) fn updates(&mut self, pre_push: bool, how: &How) -> anyhow::Result<Vec<Found>> {
        let text = input::read_stdin(MAX_INPUT)?;
        let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
        let read = if pre_push { RefUpdate::pushed } else { RefUpdate::received };
        let updates = lines.iter().map(|line| read(line)).collect::<Result<Vec<_>, _>>()?;
        refuse_namespace()?;
        let protected: Vec<&RefUpdate> = self.protected(&updates, pre_push, how)?;
        // The references of a `pre-push` hook are those of another repository.
        let known: Vec<String> = match (how.commits, pre_push) {
            (Commits::Tip, _) => Vec::new(),
            (Commits::All, true) => updates.iter().filter_map(|update| update.old.clone()).collect(),
            (Commits::All, false) => {
                let references = self.repository.references()?;
                references.into_iter().filter(|one| matches(&how.protect, &one.name)).map(|one| one.id).collect()
            }
        };
        // Notes that are pushed together with what they are about count: signatures say what a receipt is worth.
        let pushed = updates.iter().find(|update| update.reference == how.notes && !pre_push);
        if let Some(pushed) = pushed.and_then(|update| update.new.clone()) {
            self.notes = pushed;
        }
        let mut found = Vec::new();
        for (at, update) in protected.iter().enumerate() {
            found.extend(self.of_update(update, &known, how.commits)?);
            // Each of those that are left needs one at least.
            if found.len() + (protected.len() - at - 1) > MAX_DECISIONS {
                let message = format!("decide on a push: it needs more than {MAX_DECISIONS} decisions");
                return Err(with_help(message, "push less at a time"));
            }
        }
        if found.is_empty() {
            out::note("proofmark gate: no protected reference changes");
        }
        Ok(found)
    }

    /// The updates of protected references: by their names, or by those of the references that they stand for.
    fn protected<'u>(&self, updates: &'u [RefUpdate], pre_push: bool, how: &How) -> anyhow::Result<Vec<&'u RefUpdate>> {
        let mut protected = Vec::new();
        for update in updates {
            // What the references of another repository stand for is not known here.
            let target = if pre_push { None } else { self.repository.target_of(&update.reference)? };
            let names = [Some(update.reference.clone()), target];
            let mut names = names.iter().flatten();
            if names.clone().any(|name| changes_how_others_are_read(name)) {
                return Err(with_help(
                    format!("decide on `{}`: it changes how other references are read", printable(&update.reference)),
                    "leave it out of the push; who keeps the repository can change it there",
                ));
            }
            if names.any(|name| matches(&how.protect, name)) {
                protected.push(update);
            }
        }
        Ok(protected)
    }

    /// What an update brings. `known` are the commits that protected references have.
    fn of_update(&mut self, update: &RefUpdate, known: &[String], commits: Commits) -> anyhow::Result<Vec<Found>> {
        let reference = update.reference.as_str();
        let Some(new) = &update.new else {
            let (candidate, what) = (candidate(update, Some(true)), format!("the deletion of {reference}"));
            return Ok(vec![Found { candidate, what, notes: self.notes.clone() }]);
        };
        let forced = match &update.old {
            Some(old) => self.repository.continues(old, new)?.map(|continues| !continues),
            None => Some(false),
        };
        let mut found = vec![self.found(candidate(update, forced), new, reference)?];
        if commits == Commits::All {
            for commit in self.repository.commits(new, known)?.iter().filter(|commit| *commit != new) {
                found.push(self.found(candidate(update, forced), commit, reference)?);
            }
        }
        Ok(found)
    }

    /// Reads the tree that a revision stands for.
    fn found(&mut self, candidate: Candidate, revision: &str, what: &str) -> anyhow::Result<Found> {
        let Revision { commit, tree } = self.repository.revision(revision)?;
        let summary = match self.trees.get(&tree) {
            Some(summary) => summary.clone(),
            None => {
                let summary = GitTree::read(self.repository, &tree, &|_| false)?.summary(MAX_NAMED);
                self.trees.entry(tree).or_insert(summary).clone()
            }
        };
        let candidate = Candidate { commit, tree: Some(summary), ..candidate };
        Ok(Found { candidate, what: what.to_owned(), notes: self.notes.clone() })
    }
}

impl Found {
    /// The receipts in the notes on the tree and on its commit. What is wrong with a note is the fault of anyone who can push
    /// notes: it does not count as evidence, and is not an error.
    pub(super) fn noted(&self, repository: &Repository) -> Vec<Receipt> {
        let tree = self.candidate.tree.as_ref().map(|tree| &tree.id);
        let mut receipts = Vec::new();
        for object in [tree, self.candidate.commit.as_ref()].into_iter().flatten() {
            match repository.note(&self.notes, object) {
                Ok(Note { receipts: noted, unreadable }) => {
                    if unreadable > 0 {
                        out::note(format_args!("the note on {object} has {unreadable} lines that are not receipts"));
                    }
                    receipts.extend(noted);
                }
                Err(error) => out::note(format_args!("the note on {object} is not used: failed to {error}")),
            }
        }
        receipts
    }
}

/// Refuses a push into a namespace of git: its references are others than those that they are named as here.
fn refuse_namespace() -> anyhow::Result<()> {
    if env::var_os("GIT_NAMESPACE").is_some_and(|namespace| !namespace.is_empty()) {
        return Err(with_help(
            "decide on a push: it is one into a namespace of git, whose references have other names",
            "push to a repository without `GIT_NAMESPACE`",
        ));
    }
    Ok(())
}

fn candidate(update: &RefUpdate, forced: Option<bool>) -> Candidate {
    let reference = Some(update.reference.clone());
    Candidate { reference, update: Some(update.clone()), forced, ..Candidate::default() }
}

/// Whether a glob matches a reference. Letter case does not matter: on some file systems two spellings are one reference.
fn matches(globs: &[String], reference: &str) -> bool {
    let reference = reference.to_lowercase();
    globs.iter().any(|glob| glob::matches(&glob.to_lowercase(), &reference))
}

/// The receipts among the options of a push (`git push -o proofmark-receipt=…`), which git gives hooks as variables.
pub(super) fn pushed_receipts() -> Vec<Receipt> {
    let count = env::var("GIT_PUSH_OPTION_COUNT").ok().and_then(|count| count.parse::<usize>().ok()).unwrap_or(0);
    let option = |at: usize| env::var(format!("GIT_PUSH_OPTION_{at}")).ok();
    let options = (0..count.min(MAX_PUSH_OPTIONS)).filter_map(option);
    let mut receipts = Vec::new();
    for option in options {
        let Some(text) = option.strip_prefix(PUSH_OPTION) else { continue };
        match Receipt::parse(text.as_bytes()) {
            Ok(receipt) => receipts.push(receipt),
            Err(_) => out::note("an option of the push is not a receipt"),
        }
    }
    receipts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letter_case_protects_no_less() {
        let globs = ["refs/heads/Main".to_owned(), "refs/heads/release/*".to_owned()];
        for (name, is_protected) in [
            ("refs/heads/main", true),
            ("refs/heads/MAIN", true),
            ("refs/heads/release/1/2", true),
            ("refs/heads/mainly", false),
            ("refs/tags/main", false),
        ] {
            assert_eq!(matches(&globs, name), is_protected, "{name}");
        }
    }
}
