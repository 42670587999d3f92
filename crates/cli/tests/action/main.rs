//! The GitHub action, run as a runner runs it; the template for GitLab; the hooks for pre-commit.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "helpers of tests, which may fail by panicking"
)]

mod account;
mod evidence;
mod gitlab;
mod hostile;
mod page;
mod pre_commit;
mod results;
mod runner;
mod tools;

use std::path::PathBuf;

use proofmark_receipt::Json;
use proofmark_receipt::document::{self, Format};

const BINARY: &str = env!("CARGO_BIN_EXE_proofmark");

/// The file of the project with this name.
fn project_file(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).join(name)
}

/// A YAML file of the project.
fn yaml(name: &str) -> Json {
    let bytes = std::fs::read(project_file(name)).unwrap();
    document::parse(&bytes, Format::Yaml).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The value below these members.
fn at<'a>(json: &'a Json, path: &[&str]) -> &'a Json {
    path.iter().fold(json, |json, name| {
        let found = json.as_object().and_then(|object| object.get(name));
        found.unwrap_or_else(|| panic!("there is no `{name}` of {path:?}"))
    })
}

fn text<'a>(json: &'a Json, path: &[&str]) -> &'a str {
    at(json, path).as_str().unwrap_or_else(|| panic!("{path:?} is not a text"))
}

#[test]
fn all_install_this_version() {
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(text(&yaml("action/action.yml"), &["inputs", "version", "default"]), version);
    let template = yaml("packaging/gitlab/proofmark.gitlab-ci.yml");
    assert_eq!(text(&template, &[".proofmark", "variables", "PROOFMARK_VERSION"]), version);
    let hooks = std::fs::read_to_string(project_file("packaging/pre-commit/pyproject.toml")).unwrap();
    assert!(hooks.contains(&format!("version = \"{version}\"\n")), "{hooks}");
    assert!(hooks.contains(&format!("\"proofmark-bin=={version}\"")), "{hooks}");
}
