//! What is remembered of a tree, and when it no longer counts.

use std::fs::{self, File};
use std::os::unix::fs::symlink;

use super::*;

fn state(root: &Path) -> Sha256Digest {
    Listing::of(root, Kind::Python).unwrap().unwrap().state()
}

fn digest(root: &Path) -> Sha256Digest {
    content::digest(&Listing::of(root, Kind::Python).unwrap().unwrap()).unwrap()
}

#[test]
fn a_file_of_the_same_size_and_time_is_another_file() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("a.py");
    fs::write(&file, "x = 1\n").unwrap();
    let (before, content, modified) =
        (state(place.path()), digest(place.path()), file.metadata().unwrap().modified().unwrap());
    assert_eq!((before, content), (state(place.path()), digest(place.path())));
    fs::write(&file, "x = 2\n").unwrap();
    File::options().append(true).open(&file).unwrap().set_modified(modified).unwrap();
    assert_eq!(file.metadata().unwrap().modified().unwrap(), modified);
    assert_ne!(before, state(place.path()));
    assert_ne!(content, digest(place.path()));
}

#[test]
fn names_folders_links_and_what_can_be_started_are_part_of_the_digest() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("a.py"), "").unwrap();
    let mut seen = vec![digest(place.path())];
    let mut differs = |what: &str| {
        let now = digest(place.path());
        assert!(!seen.contains(&now), "{what}");
        seen.push(now);
    };
    fs::rename(place.path().join("a.py"), place.path().join("b.py")).unwrap();
    differs("a name");
    fs::create_dir(place.path().join("c")).unwrap();
    differs("a folder");
    symlink("b.py", place.path().join("d.py")).unwrap();
    differs("a link");
    fs::remove_file(place.path().join("d.py")).unwrap();
    symlink("c", place.path().join("d.py")).unwrap();
    differs("where a link leads");
    let mut permissions = place.path().join("b.py").metadata().unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
    fs::set_permissions(place.path().join("b.py"), permissions).unwrap();
    differs("what can be started");
}

#[test]
fn a_link_is_followed_only_to_what_the_command_finds() {
    let (place, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(other.path().join("a.py"), "").unwrap();
    let paths = |root: &Path| Listing::of(root, Kind::Python).unwrap().unwrap().entries.len();
    symlink(other.path(), place.path().join("out")).unwrap();
    symlink(place.path(), place.path().join("round")).unwrap();
    // The folder and its links.
    assert_eq!(paths(place.path()), 3);
    symlink("/usr/bin/env", place.path().join("env")).unwrap();
    assert_eq!(paths(place.path()), 5);
}

#[test]
fn a_tree_that_changes_while_the_command_runs_has_no_digest() {
    let place = tempfile::tempdir().unwrap();
    let environments = Environments::default();
    let before = SystemTime::now().checked_sub(SETTLED).unwrap();
    fs::write(place.path().join("a.py"), "").unwrap();
    let error = environments.unchanged(place.path(), Kind::Python, before).unwrap_err().to_string();
    assert!(error.ends_with("it was changed while the command ran"), "{error}");
    assert!(environments.unchanged(&place.path().join("none"), Kind::Python, before).unwrap().is_none());
}

#[test]
fn a_stored_digest_counts_only_with_the_signature_of_the_key_and_for_its_tree() {
    let place = tempfile::tempdir().unwrap();
    let with = |seed| Environments::in_cache(place.path(), Some(&Arc::new(SigningKey::from_seed([seed; 32]))));
    let (one, other) = (Sha256Digest::of(b"one"), Sha256Digest::of(b"other"));
    let content = Content { digest: Sha256Digest::of(b"content"), packages: 7 };
    with(1).remember(one, content);
    assert_eq!(with(1).remembered(&one), Some(content));
    assert_eq!(with(2).remembered(&one), None);
    let path = place.path().join(DIGESTS).join(one.bare_hex());
    fs::copy(&path, path.with_file_name(other.bare_hex())).unwrap();
    assert_eq!(with(1).remembered(&other), None);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("\"packages\":7", "\"packages\":8")).unwrap();
    assert_eq!(with(1).remembered(&one), None);
    fs::write(&path, "").unwrap();
    assert_eq!(with(1).remembered(&one), None);
}
