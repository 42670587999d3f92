//! Changes of a repository as actions to decide on: whether a tree may become that of a branch.
//!
//! The action names the tree by its id and by the digest that a receipt over exactly its files has. Who made the receipt does not
//! matter here: whose receipts count is a matter of the policy and of trust.

use proofmark_boundary::Request;
use proofmark_receipt::document::{DocumentError, shown};
use proofmark_receipt::{Object, object};

use crate::left_out::LeftOut;
use crate::repository::{TreeSummary, is_id};

/// The class of such actions, which a policy declares.
const CLASS: &str = "code_merge";
/// The tool of an update of a reference, and that of a tree alone.
const TOOLS: [&str; 2] = ["git_push", "git_tree"];
/// How the references begin that there are.
const REFERENCES: &str = "refs/";
/// How references begin that change how others are read: objects in place of others, and the references of a namespace.
const READING_OTHERS: [&str; 2] = ["refs/replace/", "refs/namespaces/"];

/// An update of a reference, as git tells its hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefUpdate {
    pub reference: String,
    /// The id before; none where it is created.
    pub old: Option<String>,
    /// The id after; none where it is deleted.
    pub new: Option<String>,
}

/// Why a line of a hook's input is not the update of a reference.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("read the update `{}`: it is not a line that git gives a hook", shown(.0))]
pub struct ParseUpdateError(String);

/// What is to be decided on.
#[derive(Clone, Debug, Default)]
pub struct Candidate {
    /// The reference that is to have the tree, if that is known.
    pub reference: Option<String>,
    /// The update that brings the tree; none where the tree alone is asked about.
    pub update: Option<RefUpdate>,
    /// Whether the update takes commits away from the reference, if that is known.
    pub forced: Option<bool>,
    /// The commit that has the tree, if it is one.
    pub commit: Option<String>,
    /// None where the reference is deleted.
    pub tree: Option<TreeSummary>,
}

impl RefUpdate {
    /// Reads a line of a `pre-receive` hook: `OLD NEW REFERENCE`.
    ///
    /// # Errors
    /// [`ParseUpdateError`].
    pub fn received(line: &[u8]) -> Result<Self, ParseUpdateError> {
        let text = String::from_utf8_lossy(line);
        let mut words = text.splitn(3, ' ');
        match (words.next(), words.next(), words.next()) {
            (Some(old), Some(new), Some(reference)) => Self::of(line, reference, old, new),
            _ => Err(ParseUpdateError(text.into_owned())),
        }
    }

    /// Reads a line of a `pre-push` hook: `LOCAL-REFERENCE NEW REFERENCE OLD`.
    ///
    /// # Errors
    /// [`ParseUpdateError`].
    pub fn pushed(line: &[u8]) -> Result<Self, ParseUpdateError> {
        let text = String::from_utf8_lossy(line);
        // What is pushed is named as the user did, and may have spaces.
        let mut words = text.rsplitn(4, ' ');
        match (words.next(), words.next(), words.next(), words.next()) {
            (Some(old), Some(reference), Some(new), Some(_)) => Self::of(line, reference, old, new),
            _ => Err(ParseUpdateError(text.into_owned())),
        }
    }

    fn of(line: &[u8], reference: &str, old: &str, new: &str) -> Result<Self, ParseUpdateError> {
        let error = || ParseUpdateError(String::from_utf8_lossy(line).into_owned());
        let is_named = reference.starts_with(REFERENCES) && !reference.chars().any(|c| c.is_control() || c == ' ');
        // A name that is not text is one that no policy can name.
        let is_text = std::str::from_utf8(line).is_ok();
        if !(is_text && is_named && is_id(old) && is_id(new) && old.len() == new.len()) {
            return Err(error());
        }
        let id = |id: &str| id.bytes().any(|digit| digit != b'0').then(|| id.to_owned());
        let update = Self { reference: reference.to_owned(), old: id(old), new: id(new) };
        if update.old.is_none() && update.new.is_none() { Err(error()) } else { Ok(update) }
    }

    /// What is done to the reference: `create`, `update` or `delete`.
    #[must_use]
    pub fn method(&self) -> &'static str {
        match (&self.old, &self.new) {
            (_, None) => "delete",
            (None, Some(_)) => "create",
            (Some(_), Some(_)) => "update",
        }
    }
}

/// Whether a reference changes what others stand for, to those who read the repository as git does by default. Letter case does
/// not matter: on some file systems two spellings are one reference.
#[must_use]
pub fn changes_how_others_are_read(reference: &str) -> bool {
    let reference = reference.to_lowercase();
    READING_OTHERS.iter().any(|begin| reference.starts_with(begin))
}

impl Candidate {
    /// The request for a decision, by this agent in this environment.
    ///
    /// # Errors
    /// [`DocumentError`] where a value cannot be a fact.
    pub fn request(&self, agent: Option<&str>, environment: Option<&str>) -> Result<Request, DocumentError> {
        let [pushed, alone] = TOOLS;
        let action = object! {
            "tool": if self.update.is_some() { pushed } else { alone },
            "class": CLASS,
            "boundary": "action_execute",
            "surface": "git",
            "method": self.update.as_ref().map_or("check", RefUpdate::method),
            "target"?: self.reference.as_deref(),
            "args": self.arguments(),
        };
        Request::from_facts(object! {
            "action": action,
            "agent": object! { "id"?: agent, "environment"?: environment },
        })
    }

    fn arguments(&self) -> Object {
        let update = self.update.as_ref();
        let mut arguments = object! {
            "ref"?: self.reference.as_deref(),
            "old"?: update.and_then(|update| update.old.as_deref()),
            "new"?: update.and_then(|update| update.new.as_deref()),
            "forced"?: self.forced,
            "commit"?: self.commit.as_deref(),
        };
        let Some(tree) = &self.tree else { return arguments };
        for (name, value) in object! {
            "tree": tree.id.as_str(),
            // Absent where no receipt covers the whole tree, so that a rule which needs it is not met.
            "digest"?: tree.digest.map(|digest| digest.to_string()),
            "files_digest": tree.files_digest.to_string(),
            "files": tree.files,
            "executable": tree.executable,
            "left_out": object! {
                "links": tree.left_out_for(LeftOut::Link),
                "submodules": tree.left_out_for(LeftOut::Submodule),
                "folders": tree.left_out_for(LeftOut::Folder),
                "names": tree.left_out_for(LeftOut::Path),
            },
        }
        .iter()
        {
            arguments.insert(name, value.clone());
        }
        arguments
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::repository::GitTree;

    const ZERO: &str = "0000000000000000000000000000000000000000";
    const ONE: &str = "1111111111111111111111111111111111111111";

    #[test]
    fn updates_are_read_as_git_writes_them() {
        let update = RefUpdate::received(format!("{ZERO} {ONE} refs/heads/main").as_bytes()).unwrap();
        assert_eq!((update.method(), update.reference.as_str()), ("create", "refs/heads/main"));
        let update = RefUpdate::received(format!("{ONE} {ZERO} refs/heads/main").as_bytes()).unwrap();
        assert_eq!(update.method(), "delete");
        let update = RefUpdate::pushed(format!("HEAD@{{1 day ago}} {ONE} refs/heads/main {ONE}").as_bytes()).unwrap();
        assert_eq!((update.method(), update.reference.as_str()), ("update", "refs/heads/main"));
        let update = RefUpdate::pushed(format!("(delete) {ZERO} refs/heads/main {ONE}").as_bytes()).unwrap();
        assert_eq!(update.method(), "delete");
    }

    #[test]
    fn other_lines_are_refused() {
        let long = "1".repeat(64);
        for line in [
            String::new(),
            format!("{ONE} {ONE}"),
            format!("{ONE} {ONE} main"),
            format!("{ONE} {ONE} refs/heads/a b"),
            format!("{ONE} {ONE} refs/heads/a\u{1}"),
            format!("{ZERO} {ZERO} refs/heads/main"),
            format!("{ONE} {long} refs/heads/main"),
            format!("{ONE} HEAD refs/heads/main"),
            format!("{ONE}  {ONE} refs/heads/main"),
        ] {
            assert!(RefUpdate::received(line.as_bytes()).is_err(), "{line}");
        }
        let line = [format!("{ONE} {ONE} refs/heads/").as_bytes(), b"\xff"].concat();
        assert!(RefUpdate::received(&line).is_err());
    }

    #[test]
    fn only_a_tree_that_a_receipt_covers_has_a_digest() {
        let tree = GitTree { files: [("a".to_owned(), b"x".to_vec().into())].into(), ..GitTree::default() };
        let about = |tree: &GitTree| {
            let candidate = Candidate { tree: Some(tree.summary(9)), ..Candidate::default() };
            let facts = candidate.request(None, None).unwrap().facts().clone();
            facts.get("action").unwrap().as_object().unwrap().get("args").unwrap().as_object().unwrap().clone()
        };
        assert_eq!(about(&tree).get("digest"), about(&tree).get("files_digest"));
        let with_link = GitTree { left_out: vec![("b".to_owned(), LeftOut::Link)], ..tree.clone() };
        assert_eq!(about(&with_link).get("files_digest"), about(&tree).get("files_digest"));
        assert!(!about(&with_link).contains("digest") && !about(&GitTree::default()).contains("digest"));
    }

    proptest! {
        #[test]
        fn any_line_is_read_or_refused(line: Vec<u8>) {
            let _ = RefUpdate::received(&line);
            let _ = RefUpdate::pushed(&line);
        }
    }
}
