//! Suites: a specification and its tests, under one digest. And the files that rules name: what they hold takes the place of their names.

use proofmark_receipt::{Json, Sha256Digest, object};

/// SHA-256 of `{"specification": "sha256:…", "tests": "sha256:…"}` in canonical form: the digest of a suite.
///
/// The members are `hashes.specification` and `hashes.tests` of the receipts of the suite. Neither alone says what was
/// verified: an agent can put a trivial test under the right specification.
#[must_use]
pub fn suite_digest(specification: &Sha256Digest, tests: &Sha256Digest) -> Sha256Digest {
    let suite = object! { "specification": specification.to_string(), "tests": tests.to_string() };
    Sha256Digest::of(&Json::Object(suite).canonical_vrf())
}

/// A member of a receipt rule that may name a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileOf {
    /// `suite`, whose digest takes the place of the name.
    Suite,
    /// `quorum.of`, where the text of the file takes the place of the name.
    Reviewers,
}

impl FileOf {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Suite, Self::Reviewers];

    /// The way from a rule to the member.
    fn way(self) -> &'static [&'static str] {
        match self {
            Self::Suite => &["suite"],
            Self::Reviewers => &["quorum", "of"],
        }
    }

    /// Whether this is the name of a file, and not what the file holds.
    fn is_name(self, text: &str) -> bool {
        match self {
            // A text in the form of a digest is never looked up, so no file with such a name can replace the suite.
            Self::Suite => text.parse::<Sha256Digest>().is_err(),
            Self::Reviewers => !text.contains('\n') && !text.starts_with("reviewer "),
        }
    }
}

/// Replaces the names of files by what `find` reads from them, so that the hash of the document covers that and not the name.
/// `way` leads to the rules; `*` is every item of a list. `find` gets the name of a file and its place in the document.
///
/// # Errors
/// The first error of `find`.
pub fn resolve_files<E>(
    document: &mut Json,
    way: &[&str],
    file: FileOf,
    find: &mut dyn FnMut(&str, &str) -> Result<String, E>,
) -> Result<(), E> {
    descend(document, &[way, file.way()].concat(), "", &mut |json, place| match json {
        Json::String(text) if file.is_name(text) => {
            *text = find(text, place)?;
            Ok(())
        }
        // The reader of the document refuses any other shape.
        _ => Ok(()),
    })
}

fn descend<E>(
    json: &mut Json,
    way: &[&str],
    at: &str,
    replace: &mut dyn FnMut(&mut Json, &str) -> Result<(), E>,
) -> Result<(), E> {
    match (way.split_first(), json) {
        (None, json) => replace(json, at),
        (Some((&"*", rest)), Json::Array(items)) => items
            .iter_mut()
            .enumerate()
            .try_for_each(|(index, item)| descend(item, rest, &format!("{at}[{index}]"), replace)),
        (Some((name, rest)), Json::Object(object)) => {
            let place = if at.is_empty() { (*name).to_owned() } else { format!("{at}.{name}") };
            object.get_mut(name).map_or(Ok(()), |member| descend(member, rest, &place, replace))
        }
        (Some(_), _) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_what_the_files_hold_where_rules_are() {
        let digest = Sha256Digest::of(b"suite");
        let text = format!(
            r#"{{"suite":"a","rules":[{{"receipt":{{"suite":"b.yaml"}}}},{{"receipt":{{"suite":"{digest}"}}}},{{"receipt":{{"suite":1}}}},7,{{"receipt":{{"quorum":{{"of":"c.txt"}}}}}},{{"receipt":{{"quorum":{{"of":"reviewer a b"}}}}}}]}}"#
        );
        let mut document = Json::parse(text.as_bytes()).unwrap();
        let mut asked = Vec::new();
        for file in FileOf::ALL {
            let mut find = |name: &str, at: &str| -> Result<String, ()> {
                asked.push((name.to_owned(), at.to_owned()));
                Ok(format!("what {name} holds"))
            };
            resolve_files(&mut document, &["rules", "*", "receipt"], file, &mut find).unwrap();
        }
        let expected = [("b.yaml", "rules[0].receipt.suite"), ("c.txt", "rules[4].receipt.quorum.of")];
        assert_eq!(asked, expected.map(|(name, at)| (name.to_owned(), at.to_owned())));
        let resolved = text.replace("b.yaml", "what b.yaml holds").replace("c.txt", "what c.txt holds");
        assert_eq!(document.to_text(), resolved);
        let mut refuse = |_: &str, _: &str| Err("no");
        let mut document = Json::parse(br#"{"rules":[{"receipt":{"suite":"b.yaml"}}]}"#).unwrap();
        assert_eq!(resolve_files(&mut document, &["rules", "*", "receipt"], FileOf::Suite, &mut refuse), Err("no"));
    }
}
