//! Suites: a specification and its tests, under one digest.

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

/// Replaces the file names of suites by their digests, so that the hash of the document covers the suite and not the name
/// of its file. `way` leads to the objects that may have a `suite`; `*` is every item of a list. `find` gets the name of a
/// file and its place in the document, and returns the digest.
///
/// # Errors
/// The first error of `find`.
pub fn resolve_suites<E>(
    document: &mut Json,
    way: &[&str],
    find: &mut dyn FnMut(&str, &str) -> Result<Sha256Digest, E>,
) -> Result<(), E> {
    descend(document, way, "", find)
}

fn descend<E>(
    json: &mut Json,
    way: &[&str],
    at: &str,
    find: &mut dyn FnMut(&str, &str) -> Result<Sha256Digest, E>,
) -> Result<(), E> {
    match (way.split_first(), json) {
        (Some((&"*", rest)), Json::Array(items)) => items
            .iter_mut()
            .enumerate()
            .try_for_each(|(index, item)| descend(item, rest, &format!("{at}[{index}]"), find)),
        (Some((name, rest)), Json::Object(object)) => {
            let place = if at.is_empty() { (*name).to_owned() } else { format!("{at}.{name}") };
            object.get_mut(name).map_or(Ok(()), |member| descend(member, rest, &place, find))
        }
        (None, Json::Object(object)) => match object.get_mut("suite") {
            // A text in the form of a digest is never looked up, so no file with such a name can replace the suite.
            Some(Json::String(text)) if text.parse::<Sha256Digest>().is_err() => {
                *text = find(text, &format!("{at}.suite"))?.to_string();
                Ok(())
            }
            Some(_) | None => Ok(()),
        },
        // The reader of the document refuses any other shape.
        (_, _) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_become_digests_where_rules_are() {
        let digest = Sha256Digest::of(b"suite");
        let text = format!(
            r#"{{"suite":"a","rules":[{{"receipt":{{"suite":"b.yaml"}}}},{{"receipt":{{"suite":"{digest}"}}}},{{"receipt":{{"suite":1}}}},7]}}"#
        );
        let mut document = Json::parse(text.as_bytes()).unwrap();
        let mut asked = Vec::new();
        let mut find = |name: &str, at: &str| -> Result<Sha256Digest, ()> {
            asked.push((name.to_owned(), at.to_owned()));
            Ok(digest)
        };
        resolve_suites(&mut document, &["rules", "*", "receipt"], &mut find).unwrap();
        assert_eq!(asked, [("b.yaml".to_owned(), "rules[0].receipt.suite".to_owned())]);
        assert_eq!(document.to_text(), text.replace("b.yaml", &digest.to_string()));
        let mut refuse = |_: &str, _: &str| Err("no");
        let mut document = Json::parse(br#"{"rules":[{"receipt":{"suite":"b.yaml"}}]}"#).unwrap();
        assert_eq!(resolve_suites(&mut document, &["rules", "*", "receipt"], &mut refuse), Err("no"));
    }
}
