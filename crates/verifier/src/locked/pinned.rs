//! Lock files of other tools as requirements with hashes, which `requirements` checks line by line.

use std::collections::{BTreeMap, BTreeSet};

use proofmark_receipt::{Json, Object};
use toml_edit::{DocumentMut, Item, Table};

use super::LockError;

/// What a `Pipfile.lock` names, of all its groups.
pub(super) fn pipfile(text: &str, file: &str) -> Result<String, LockError> {
    let unread = || LockError::Read(format!("read `{file}`: it is not the JSON of pipenv"));
    let document = Json::parse(text.as_bytes()).map_err(|_| unread())?;
    let mut lines: BTreeMap<String, Pinned> = BTreeMap::new();
    for (_, group) in document.as_object().ok_or_else(unread)?.iter().filter(|(name, _)| *name != "_meta") {
        for (name, package) in group.as_object().ok_or_else(unread)?.iter() {
            let package = package.as_object().ok_or_else(unread)?;
            if ["git", "hg", "svn", "path", "file", "editable"].iter().any(|source| package.contains(source)) {
                return Err(elsewhere(file, name));
            }
            let text = |member: &str| package.get(member).and_then(Json::as_str).unwrap_or_default();
            let extras = texts(package, "extras").join(",");
            let extras = if extras.is_empty() { extras } else { format!("[{extras}]") };
            let pinned = Pinned {
                requirement: format!("{name}{extras}{}", text("version")),
                marker: text("markers").to_owned(),
                hashes: texts(package, "hashes").into_iter().map(str::to_owned).collect(),
            };
            let both = match lines.remove(name) {
                None => Some(pinned),
                Some(other) => pinned.or(other),
            };
            let why = "is another package in another group";
            let error = || LockError::Package { file: file.to_owned(), package: name.to_owned(), why };
            lines.insert(name.to_owned(), both.ok_or_else(error)?);
        }
    }
    Ok(lines.values().map(|pinned| line(&pinned.requirement, &pinned.marker, &pinned.hashes)).collect())
}

/// A package of one group of a `Pipfile.lock`.
struct Pinned {
    requirement: String,
    marker: String,
    hashes: BTreeSet<String>,
}

impl Pinned {
    /// What both groups install: the same package, where the marker of either holds. None where they pin two.
    fn or(mut self, other: Self) -> Option<Self> {
        if (&self.requirement, &self.hashes) != (&other.requirement, &other.hashes) {
            return None;
        }
        if other.marker.is_empty() || self.marker.is_empty() {
            self.marker.clear();
        } else if self.marker != other.marker {
            self.marker = format!("({}) or ({})", self.marker, other.marker);
        }
        Some(self)
    }
}

fn texts<'a>(package: &'a Object, member: &str) -> Vec<&'a str> {
    package.get(member).and_then(Json::as_array).unwrap_or_default().iter().filter_map(Json::as_str).collect()
}

/// What a `poetry.lock` names, of all its groups.
pub(super) fn poetry(text: &str, file: &str) -> Result<String, LockError> {
    let unread = || LockError::Read(format!("read `{file}`: it is not the TOML of poetry"));
    let document: DocumentMut = text.parse().map_err(|_| unread())?;
    let mut lines = String::new();
    let packages = document.get("package").and_then(Item::as_array_of_tables).ok_or_else(unread)?;
    for package in packages {
        let text = |member: &str| package.get(member).and_then(Item::as_str);
        let (name, version) = text("name").zip(text("version")).ok_or_else(unread)?;
        let source = package.get("source").and_then(|source| source.get("type")).and_then(Item::as_str);
        // `legacy` is another registry.
        if source.is_some_and(|source| source != "legacy") {
            return Err(elsewhere(file, name));
        }
        let files: Vec<_> = package.get("files").and_then(Item::as_array).into_iter().flatten().collect();
        let of_files =
            |member: &'static str| files.iter().filter_map(move |file| file.as_inline_table()?.get(member)?.as_str());
        let is_elsewhere = |file: &str| file.ends_with(".whl") && (file.contains("-win") || file.contains("-macosx"));
        if !files.is_empty() && of_files("file").all(is_elsewhere) {
            continue;
        }
        let hashes: Vec<&str> = of_files("hash").collect();
        lines.push_str(&line(&format!("{name}=={version}"), &markers(package), &hashes));
    }
    Ok(lines)
}

/// When a package of poetry is installed: one condition, or one for each group, of which any holds.
fn markers(package: &Table) -> String {
    let Some(markers) = package.get("markers") else { return String::new() };
    if let Some(marker) = markers.as_str() {
        return marker.to_owned();
    }
    let groups = markers.as_table_like().into_iter().flat_map(|groups| groups.iter());
    let all: Vec<String> = groups.filter_map(|(_, marker)| Some(format!("({})", marker.as_str()?))).collect();
    all.join(" or ")
}

fn line<T: std::fmt::Display>(requirement: &str, marker: &str, hashes: impl IntoIterator<Item = T>) -> String {
    let marker = if marker.is_empty() { String::new() } else { format!(" ; {marker}") };
    let hashes: String = hashes.into_iter().map(|hash| format!(" --hash={hash}")).collect();
    // A line break in a name would make two lines of one.
    format!("{}\n", format!("{requirement}{marker}{hashes}").replace(['\n', '\r', '\\'], " "))
}

fn elsewhere(file: &str, package: &str) -> LockError {
    LockError::Package { file: file.to_owned(), package: package.to_owned(), why: "is not of a registry" }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::requirements;
    use super::*;

    const HASH: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn poetry_lock(package: &str) -> String {
        format!("[[package]]\nname = \"a\"\nversion = \"1.0\"\n{package}\n[metadata]\nlock-version = \"2.1\"\n")
    }

    #[test]
    fn the_packages_of_poetry_are_pinned_with_their_hashes() {
        let files = format!("files = [{{file = \"a-1.0-py3-none-any.whl\", hash = \"{HASH}\"}}]");
        let read = |package: &str| poetry(&poetry_lock(package), "poetry.lock");
        assert_eq!(read(&files).unwrap(), format!("a==1.0 --hash={HASH}\n"));
        let marked = format!("{files}\nmarkers = 'python_version < \"3.9\"'");
        assert_eq!(read(&marked).unwrap(), format!("a==1.0 ; python_version < \"3.9\" --hash={HASH}\n"));
        let grouped = format!("{files}\nmarkers = {{main = 'os_name == \"nt\"', dev = 'os_name == \"posix\"'}}");
        let expected = format!("a==1.0 ; (os_name == \"nt\") or (os_name == \"posix\") --hash={HASH}\n");
        assert_eq!(read(&grouped).unwrap(), expected);
        // Of another system; a source distribution could be of this one.
        let windows = format!("files = [{{file = \"a-1.0-cp312-cp312-win_amd64.whl\", hash = \"{HASH}\"}}]");
        assert_eq!(read(&windows).unwrap(), "");
        let legacy = format!("{files}\n[package.source]\ntype = \"legacy\"\nurl = \"https://example.com\"");
        assert!(read(&legacy).is_ok());
        for kind in ["git", "url", "directory", "file", "other"] {
            let text = format!("{files}\n[package.source]\ntype = \"{kind}\"\nurl = \"x\"");
            assert!(matches!(read(&text), Err(LockError::Package { .. })), "{kind}");
        }
        assert!(requirements::read(&read("").unwrap(), "poetry.lock").is_err(), "it has no hash");
        assert!(poetry("[metadata]\n", "poetry.lock").is_err());
    }

    #[test]
    fn the_packages_of_pipenv_are_pinned_with_their_hashes() {
        let read = |package: &str| {
            let text = format!(r#"{{"_meta": {{"sources": []}}, "default": {{"a": {package}}}, "develop": {{}}}}"#);
            pipfile(&text, "Pipfile.lock").map_err(|error| error.to_string())
        };
        let entry = format!(
            r#"{{"hashes": ["{HASH}"], "version": "==1.0", "markers": "python_version >= '3.8'", "extras": ["x", "y"]}}"#
        );
        assert_eq!(read(&entry).unwrap(), format!("a[x,y]==1.0 ; python_version >= '3.8' --hash={HASH}\n"));
        for source in ["git", "path", "file", "editable"] {
            let entry = format!(r#"{{"hashes": ["{HASH}"], "version": "==1.0", "{source}": "x"}}"#);
            assert!(read(&entry).unwrap_err().contains("`a` is not of a registry"), "{source}");
        }
        for entry in [r#"{"version": "*"}"#, "{}", r#"{"version": "==1.0"}"#] {
            assert!(requirements::read(&read(entry).unwrap(), "Pipfile.lock").is_err(), "{entry}");
        }
        assert!(pipfile("[]", "Pipfile.lock").is_err());
    }

    #[test]
    fn a_package_of_two_groups_of_pipenv_is_one_package() {
        let other = HASH.replace('a', "b");
        let entry = |version: &str, hash: &str, marker: &str| {
            format!(r#"{{"hashes": ["{hash}"], "version": "=={version}"{marker}}}"#)
        };
        let read = |default: &str, develop: &str| {
            pipfile(&format!(r#"{{"default": {{"a": {default}}}, "develop": {{"a": {develop}}}}}"#), "Pipfile.lock")
        };
        let (old, new) = (r#", "markers": "os_name == 'nt'""#, r#", "markers": "os_name == 'posix'""#);
        let one = entry("1.0", HASH, "");
        let expected = format!("a==1.0 --hash={HASH}\n");
        assert_eq!(read(&one, &one).unwrap(), expected);
        assert_eq!(read(&one, &entry("1.0", HASH, old)).unwrap(), expected);
        let either = read(&entry("1.0", HASH, old), &entry("1.0", HASH, new)).unwrap();
        assert_eq!(either, format!("a==1.0 ; (os_name == 'posix') or (os_name == 'nt') --hash={HASH}\n"));
        assert_ne!(other, HASH);
        for another in [entry("2.0", HASH, ""), entry("1.0", &other, "")] {
            let error = read(&one, &another).unwrap_err().to_string();
            assert!(error.contains("`a` is another package in another group"), "{error}");
        }
    }

    proptest! {
        /// Whatever a lock file has as a name, a version or a marker: what is installed has a hash, and is no option.
        #[test]
        fn nothing_but_pinned_packages_comes_of_a_lock_file(name in ".{0,12}", version in ".{0,12}", marker in ".{0,20}", hash in ".{0,20}") {
            let quoted = |text: &str| Json::from(text).to_text();
            let text = format!(
                r#"{{"default": {{{}: {{"version": {}, "markers": {}, "hashes": [{}]}}}}}}"#,
                quoted(&name), quoted(&version), quoted(&marker), quoted(&hash),
            );
            if let Ok(read) = pipfile(&text, "x").and_then(|lines| requirements::read(&lines, "x")) {
                prop_assert!(read.lines().all(|line| line.contains("==") && line.contains("--hash=sha") && !line.starts_with('-')), "{read}");
            }
        }

        #[test]
        fn any_text_is_read_or_refused(text in "(\\[\\[package\\]\\]\n|name = \"a\"\n|version = \"1\"\n|files = \\[.{0,9}\\]\n|.{0,9}\n){0,8}") {
            let _ = poetry(&text, "x");
            let _ = pipfile(&text, "x");
        }
    }
}
