//! Files that are never the submission's: `held` of a request.
//!
//! A submission that brings the tests it is judged by, or what configures their runner, judges itself. So what it has at such a
//! path is not laid out; what `files` of the request has there is.

use proofmark_receipt::document::{Cause, DocumentError, Field};
use proofmark_receipt::glob::Globs;
use proofmark_receipt::{Json, Object};
use regex::{Regex, RegexBuilder};

use crate::content::Content;
use crate::files::Files;

/// The most globs of `held`, and as many that begin with `!`.
pub const MAX_HELD_GLOBS: usize = 256;
/// The most bytes that the expression made of them may take.
const MAX_EXPRESSION_BYTES: usize = 8 << 20;

/// The sign before a glob of what is the submission's all the same.
const EXCEPT: char = '!';

/// The file that says what a package of Node.js is, and configures the runners of its tests.
const PACKAGE: &str = "package.json";
/// What a submission decides in it: what the package is, and what it needs. Not its `name` and its `imports`: by them Node.js resolves
/// what the tests import, before it looks for installed packages.
const OF_PACKAGE: [&str; 22] = [
    "author",
    "bin",
    "browser",
    "bundleDependencies",
    "dependencies",
    "description",
    "devDependencies",
    "engines",
    "exports",
    "files",
    "homepage",
    "keywords",
    "license",
    "main",
    "module",
    "optionalDependencies",
    "peerDependencies",
    "repository",
    "sideEffects",
    "type",
    "types",
    "version",
];

/// Which files are held.
#[derive(Clone, Debug)]
pub struct Held {
    held: Regex,
    except: Option<Regex>,
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        let texts =
            |held: &Held| (held.held.as_str().to_owned(), held.except.as_ref().map(|one| one.as_str().to_owned()));
        texts(self) == texts(other)
    }
}

impl Held {
    /// Reads a list of globs. Those that begin with `!` name what the submission brings all the same.
    ///
    /// # Errors
    /// [`DocumentError`] where there is none, there are too many, or one is too long.
    pub fn read(field: &Field<'_>) -> Result<Held, DocumentError> {
        let (except, held): (Vec<Json>, Vec<Json>) =
            field.array()?.iter().cloned().partition(|glob| glob.as_str().is_some_and(|glob| glob.starts_with(EXCEPT)));
        let except = except.iter().filter_map(Json::as_str).map(|glob| Json::from(glob.trim_start_matches(EXCEPT)));
        let except: Vec<Json> = except.collect();
        Ok(Held {
            held: expression(field, held)?,
            except: if except.is_empty() { None } else { Some(expression(field, except)?) },
        })
    }

    /// Whether the file at this path is held.
    #[must_use]
    pub fn holds(&self, path: &str) -> bool {
        self.names(&mut glob_texts(path))
    }

    /// Whether a folder that the file is in is held.
    fn holds_above(&self, path: &str) -> bool {
        let above = path.rfind('/').and_then(|at| path.get(..=at));
        above.is_some_and(|above| self.names(&mut glob_texts(above)))
    }

    fn names(&self, texts: &mut dyn Iterator<Item = String>) -> bool {
        let texts: Vec<String> = texts.collect();
        let is_named = |regex: &Regex| texts.iter().any(|text| regex.is_match(text));
        is_named(&self.held) && !self.except.as_ref().is_some_and(is_named)
    }

    /// What is laid out of a submission beside the files of the request. Both have `package.json` in them where both decide on it.
    pub(super) fn laid_out(&self, submitted: Files, own: &mut Files) -> Files {
        let mut all = Files::new();
        for (path, content) in submitted {
            if !self.holds(&path) {
                all.insert(path, content);
            } else if is_package(&path)
                && !self.holds_above(&path)
                && let Some(merged) = content.here().and_then(|content| package(content, own.get(&path)))
            {
                own.insert(path, merged.into());
            }
        }
        all
    }
}

/// The texts of which a glob has to match one whole to name a file: its path and its name, and those of each folder above it, with a
/// slash at their end. A glob of a folder has that slash.
pub fn glob_texts(path: &str) -> impl Iterator<Item = String> {
    let folders = path.match_indices('/').map(|(at, _)| at + 1);
    let ends = folders.chain((!path.ends_with('/')).then_some(path.len()));
    let named = move |end: usize| {
        let whole = path.get(..end).unwrap_or(path);
        let begin = whole.trim_end_matches('/').rfind('/').map_or(0, |at| at + 1);
        [whole.to_owned(), whole.get(begin..).unwrap_or(whole).to_owned()]
    };
    ends.flat_map(named)
}

fn expression(field: &Field<'_>, globs: Vec<Json>) -> Result<Regex, DocumentError> {
    let list = Json::from(globs);
    let globs = Globs::read_at_most(&Field { at: field.at.clone(), json: &list }, MAX_HELD_GLOBS)?;
    // In any letter case: two spellings are one file to some runners and file systems.
    let expression =
        RegexBuilder::new(&globs.pattern()).case_insensitive(true).size_limit(MAX_EXPRESSION_BYTES).build();
    expression.map_err(|_| field.error(Cause::TooLarge, "the globs are too long together").with_help("write fewer"))
}

/// Whether a file mixes what a package is with how its tests are run.
fn is_package(path: &str) -> bool {
    path.rsplit('/').next() == Some(PACKAGE)
}

/// The submission's `package.json` with all that could configure a runner taken from the owner's. None where the submission's cannot be
/// read strictly: two readers could take it for two documents, so the owner's counts as it is.
fn package(submitted: &[u8], own: Option<&Content>) -> Option<Vec<u8>> {
    let read = |bytes: &[u8]| match Json::parse(bytes) {
        Ok(Json::Object(object)) => Some(object),
        _ => None,
    };
    let own = own.map_or(Some(Object::new()), |own| own.here().and_then(read))?;
    let submitted = read(submitted)?;
    let is_theirs = |name: &str| OF_PACKAGE.contains(&name);
    let mut merged = Object::new();
    for (name, value) in submitted.iter().filter(|(name, _)| is_theirs(name)) {
        merged.insert(name, value.clone());
    }
    for (name, value) in own.iter().filter(|(name, _)| !is_theirs(name)) {
        merged.insert(name, value.clone());
    }
    Some(Json::from(merged).to_text().into_bytes())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn held(globs: &[&str]) -> Held {
        let list = Json::from(globs.iter().map(|glob| Json::from(*glob)).collect::<Vec<_>>());
        Held::read(&Field::root(&list)).unwrap()
    }

    fn files(files: &[(&str, &str)]) -> Files {
        files.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec().into())).collect()
    }

    #[test]
    fn a_glob_names_a_file_or_a_folder_at_any_place() {
        let held = held(&["tests/", "conftest.py", "test_*.py", "test/?*", "!django/test/", "!src/tests/data/"]);
        for (path, expected) in [
            ("tests/a.py", true),
            ("src/tests/deep/a.txt", true),
            ("src/tests/data/a.txt", false),
            ("tests", false),
            ("conftest.py", true),
            ("src/conftest.py", true),
            // A folder where the owner has a file.
            ("conftest.py/a", false),
            ("Tests/Conftest.PY", true),
            ("a/test_x.py", true),
            ("contests/a.py", false),
            ("test/a.js", true),
            ("django/test/client.py", false),
            ("src/test/client.py", false),
        ] {
            assert_eq!(held.holds(path), expected, "{path}");
        }
    }

    #[test]
    fn a_package_is_the_submissions_and_its_runner_the_owners() {
        let held = held(&["package.json", "test/"]);
        let mut own = files(&[("package.json", r#"{"name":"a","dependencies":{"b":"1"},"jest":{"bail":1}}"#)]);
        let all = held.laid_out(
            files(&[
                ("test/package.json", r#"{"type":"module"}"#),
                ("package.json", r#"{"name":"chai","type":"module","dependencies":{"c":"2"},"jest":{"setupFiles":["x"]},"mocha":{}}"#),
                ("sub/package.json", r#"{"type":"commonjs","jest":{}}"#),
                ("bad/package.json", r#"{"type":"a","type":"b"}"#),
                ("a.js", ""),
            ]),
            &mut own,
        );
        assert_eq!(all, files(&[("a.js", "")]));
        let expected = [
            ("package.json", r#"{"type":"module","dependencies":{"c":"2"},"name":"a","jest":{"bail":1}}"#),
            ("sub/package.json", r#"{"type":"commonjs"}"#),
        ];
        assert_eq!(own, files(&expected));
    }

    proptest! {
        #[test]
        fn what_is_held_is_never_laid_out(paths in proptest::collection::btree_set("[a-cT.]{1,3}(/[a-cT.]{1,3}){0,2}", 0..8)) {
            let held = held(&["t", "a/", "*b", "!c"]);
            let submitted = paths.iter().map(|path| (path.clone(), Vec::new().into())).collect();
            let all = held.laid_out(submitted, &mut Files::new());
            for path in paths {
                prop_assert_eq!(all.contains_key(&path), !held.holds(&path));
            }
        }

        #[test]
        fn any_package_is_read_or_refused(submitted: Vec<u8>, own: Vec<u8>) {
            let _ = package(&submitted, Some(&own.into()));
        }
    }
}
