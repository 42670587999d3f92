//! The man pages, which are only in packages.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use proofmark_testing::has_program;
use tempfile::TempDir;

use crate::made::{BINARY, ends_with, run};

/// Warnings of mandoc that are allowed: pages have no date, and the crate that writes them puts a break beside a space.
const ALLOWED: [&str; 2] = ["missing date, using \"\": TH", "skipping paragraph macro: br "];

fn pages() -> TempDir {
    let folder = TempDir::new().unwrap();
    run(Command::new(BINARY).arg("man").arg(folder.path().join("man")));
    folder
}

fn names(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn every_command_has_a_page_that_names_the_others() {
    let folder = pages();
    let man = folder.path().join("man");
    let pages = names(&man);
    assert!(pages.len() > 70 && !pages.contains("proofmark-man.1"), "{pages:?}");
    let mut named = BTreeSet::from(["proofmark.1".to_owned()]);
    for page in &pages {
        let text = fs::read_to_string(man.join(page)).unwrap();
        let name = page.strip_suffix(".1").unwrap().replace('-', "\\-");
        assert!(
            text.starts_with(&format!(".TH {name} 1 \"\" \"proofmark {}\" Proofmark\n", env!("CARGO_PKG_VERSION")))
        );
        let inner = text.lines().filter_map(|line| line.strip_suffix("(1)")).filter(|line| !line.contains(' '));
        named.extend(inner.map(|line| format!("{}.1", line.replace("\\-", "-"))));
    }
    assert_eq!(pages, named);
    let verify = fs::read_to_string(man.join("proofmark-receipt-verify.1")).unwrap();
    assert!(verify.contains(".SH EXAMPLES\n") && verify.contains(".SH \"EXIT CODES\"\n"), "{verify}");
}

#[test]
fn the_pages_are_right_for_readers_of_them() {
    if !has_program("mandoc", "mandoc") {
        return;
    }
    let folder = pages();
    let man = folder.path().join("man");
    let paths = names(&man).into_iter().map(|name| man.join(name));
    let output = Command::new("mandoc").args(["-T", "lint", "-W", "warning"]).args(paths).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let found: Vec<&str> = said.lines().filter(|line| !ALLOWED.iter().any(|allowed| line.contains(allowed))).collect();
    assert!(found.is_empty() && said.contains("missing date"), "{found:#?}");
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let said = ends_with(Command::new(BINARY).args(["man", "file"]).current_dir(folder.path()), 2);
    assert!(said.contains("failed to write the man pages to `file`"), "{said}");
}
