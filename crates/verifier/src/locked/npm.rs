//! What npm's lock file may name.

use std::collections::BTreeMap;

use proofmark_receipt::{Json, Object};

use super::LockError;

/// The first version of the format that lists packages by their places.
const WITH_PLACES: u64 = 2;
/// The kinds of digests that npm checks.
const DIGESTS: [&str; 4] = ["sha512-", "sha384-", "sha256-", "sha1-"];

/// Refuses packages that are not of a registry, or have no digest: npm would read folders of the host, or run git. `files` are the lock
/// file at `path` and the manifests, by path.
pub(super) fn check(path: &str, files: &BTreeMap<String, Vec<u8>>) -> Result<(), LockError> {
    let refused = |package: &str, why| LockError::Package { file: path.to_owned(), package: package.to_owned(), why };
    let document = files.get(path).and_then(|content| Json::parse(content).ok());
    let document =
        document.as_ref().and_then(Json::as_object).ok_or_else(|| refused("{}", "cannot be read as JSON"))?;
    let version = document.get("lockfileVersion").and_then(|version| version.as_number()?.as_u64());
    let packages = document.get("packages").and_then(Json::as_object);
    let packages = packages
        .filter(|_| version.is_some_and(|version| version >= WITH_PLACES))
        .ok_or_else(|| refused("lockfileVersion", "is of an npm before version 7"))?;
    for (place, package) in packages.iter() {
        let package = package.as_object().ok_or_else(|| refused(place, "is not an object"))?;
        if !is_plain(place) {
            return Err(refused(place, "is not a path below the project"));
        }
        let is_own = !place.split('/').any(|name| name == "node_modules");
        let why = if is_own {
            let manifest = if place.is_empty() { "package.json".to_owned() } else { format!("{place}/package.json") };
            (!files.contains_key(&manifest)).then_some("is a package of the project without a `package.json`")
        } else {
            not_of_registry(package)
        };
        if let Some(why) = why {
            return Err(refused(place, why));
        }
    }
    Ok(())
}

/// Why a package is not installed.
fn not_of_registry(package: &Object) -> Option<&'static str> {
    let text = |name: &str| package.get(name).and_then(Json::as_str);
    let is_true = |name: &str| package.get(name).and_then(Json::as_bool) == Some(true);
    if is_true("link") {
        let is_inside = text("resolved").is_some_and(|to| is_plain(to) && !to.contains(':') && !to.is_empty());
        return (!is_inside).then_some("is a link out of the project");
    }
    if text("resolved").is_some_and(|from| !from.starts_with("https://") && !from.starts_with("http://")) {
        return Some("is not of a registry");
    }
    // A package that another one brings is part of that one's archive.
    let has_digest = is_true("inBundle")
        || text("integrity")
            .is_some_and(|all| all.split_whitespace().all(|one| DIGESTS.iter().any(|kind| one.starts_with(kind))));
    (!has_digest).then_some("has no digest (`integrity`)")
}

/// Whether it is a path below the project, or the project.
fn is_plain(path: &str) -> bool {
    path.is_empty() || path.split('/').all(|name| !matches!(name, "" | "." | "..") && !name.contains(['\\', '\0']))
}

#[cfg(test)]
mod tests {
    use super::check;

    fn checked(packages: &str) -> Result<(), String> {
        let lock = format!(r#"{{"lockfileVersion": 3, "packages": {{"": {{}}, {packages}}}}}"#);
        let files = [("package-lock.json", lock.as_str()), ("package.json", "{}"), ("a/package.json", "{}")];
        let files = files.map(|(path, content)| (path.to_owned(), content.into())).into();
        check("package-lock.json", &files).map_err(|error| error.to_string())
    }

    #[test]
    fn packages_of_the_registry_and_of_the_project_are_installed() {
        let registry = r#""node_modules/x": {"resolved": "https://r.example/x.tgz", "integrity": "sha512-x"}"#;
        let own = r#""a": {"version": "1.0.0"}, "node_modules/a": {"link": true, "resolved": "a"}"#;
        let bundled = r#""node_modules/x/node_modules/y": {"version": "1.0.0", "inBundle": true}"#;
        checked(&format!("{registry}, {own}, {bundled}")).unwrap();
    }

    #[test]
    fn what_could_run_or_read_the_host_is_refused() {
        for package in [
            r#""node_modules/x": {"resolved": "git+ssh://git@h.example/x.git#1", "integrity": "sha512-x"}"#,
            r#""node_modules/x": {"resolved": "file:///etc/x.tgz", "integrity": "sha512-x"}"#,
            r#""node_modules/x": {"resolved": "file:../x.tgz"}"#,
            r#""node_modules/x": {"resolved": "https://r.example/x.tgz"}"#,
            r#""node_modules/x": {"resolved": "https://r.example/x.tgz", "integrity": "md5-x"}"#,
            r#""node_modules/x": {"link": true, "resolved": "../x"}"#,
            r#""node_modules/x": {"link": true, "resolved": "/etc"}"#,
            r#""../x": {}"#,
            r#""/etc": {}"#,
            r#""b": {}"#,
            r#""node_modules/x": 1"#,
        ] {
            let error = checked(package).unwrap_err();
            assert!(error.starts_with("read the lock file `package-lock.json`: "), "{package}: {error}");
        }
    }
}
