//! The rules of the tree that no compiler checks: arrows between rooms, and where things may be.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which may fail by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

/// Which rooms each room may depend on: the table of ARCHITECTURE.md.
const ARROWS: &[(&str, &[&str])] = &[
    ("receipt", &[]),
    ("predicate", &[]),
    ("checks", &["receipt", "predicate"]),
    ("evidence", &["receipt", "predicate"]),
    ("contract", &["receipt", "predicate", "evidence"]),
    ("boundary", &["receipt", "predicate", "evidence"]),
    ("sandbox", &["checks"]),
    ("store", &["receipt"]),
    ("verifier", &["receipt", "checks", "evidence", "contract", "boundary", "sandbox", "store"]),
    ("server", &["verifier", "receipt", "checks", "evidence", "contract", "boundary"]),
    ("cli", &["verifier", "server", "receipt", "checks", "evidence", "contract", "boundary"]),
    ("xtask", &["verifier", "receipt", "evidence", "contract", "boundary"]),
];

/// Rooms that decide from values alone: time, randomness and keys are their arguments.
const PURE_ROOMS: &[&str] = &["receipt", "predicate", "checks", "evidence", "contract", "boundary"];

/// What brings a clock, randomness, I/O or an async runtime with it.
const IMPURE_CRATES: &[&str] = &["chrono", "getrandom", "rand", "reqwest", "rusqlite", "time", "tokio"];

/// What a pure room reaches all the same, because it does not reach its answers: `jsonschema` seeds hash tables.
const HARMLESS: &[(&str, &str)] = &[("checks", "getrandom")];

/// The one room that may use each of these crates, with `xtask` where it says so.
const HOMES: &[(&str, &[&str])] = &[
    ("rusqlite", &["store"]),
    ("libsqlite3-sys", &["store"]),
    ("anyhow", &["cli", "xtask"]),
    ("axum", &["server"]),
    ("hyper", &["server"]),
    ("rmcp", &["server"]),
    ("tokio", &["server"]),
];

const LONGEST_FILE: usize = 600;

#[test]
fn arrows_point_only_where_the_architecture_lets_them() {
    for package in rooms() {
        let allowed = allowed_rooms(&package);
        for dependency in shipped_dependencies(&package) {
            let Some(room) = dependency.strip_prefix("proofmark-") else {
                continue;
            };
            assert!(
                allowed.contains(&room),
                "`{}` may not depend on `{room}`: it may depend on {allowed:?}",
                package.name
            );
        }
    }
}

#[test]
fn pure_rooms_reach_no_clock_randomness_or_io() {
    for room in PURE_ROOMS {
        let reached = reached_crates(&format!("proofmark-{room}"));
        for impure in IMPURE_CRATES {
            assert!(
                !reached.contains(*impure) || HARMLESS.contains(&(*room, *impure)),
                "`{room}` reaches `{impure}`: see `cargo tree -p proofmark-{room} -e normal -i {impure}`"
            );
        }
    }
}

#[test]
fn crates_with_a_home_stay_there() {
    for package in rooms() {
        for dependency in &package.dependencies {
            let Some((_, homes)) = HOMES.iter().find(|(name, _)| *name == dependency.name) else {
                continue;
            };
            assert!(
                homes.contains(&room_of(&package)),
                "`{}` depends on `{}`, which only {homes:?} may",
                package.name,
                dependency.name
            );
        }
    }
}

#[test]
fn unsafe_code_is_only_in_the_sandbox() {
    for package in rooms() {
        if room_of(&package) == "sandbox" {
            continue;
        }
        for file in rust_files(&folder_of(&package)) {
            if file.ends_with("xtask/tests/tree.rs") {
                continue;
            }
            let text = fs::read_to_string(&file).unwrap();
            if let Some(line) = text.lines().position(mentions_unsafe) {
                panic!("`unsafe` at {}:{}", file.display(), line + 1);
            }
        }
    }
}

#[test]
fn no_source_file_is_too_long() {
    for package in rooms() {
        for file in rust_files(&folder_of(&package).join("src")) {
            let lines = fs::read_to_string(&file).unwrap().lines().count();
            assert!(
                lines <= LONGEST_FILE,
                "{} has {lines} lines: more than {LONGEST_FILE} is two ideas",
                file.display()
            );
        }
    }
}

#[test]
fn no_module_is_a_mod_rs() {
    for package in rooms() {
        for file in rust_files(&folder_of(&package).join("src")) {
            assert!(!file.ends_with("mod.rs"), "{} should be named after its module", file.display());
        }
    }
}

#[test]
fn every_crate_inherits_lints_and_versions() {
    for package in rooms() {
        let manifest = fs::read_to_string(&package.manifest_path).unwrap();
        assert_eq!(
            section(&manifest, "lints"),
            ["workspace = true"],
            "the lints of `{}` are not those of the workspace",
            package.name
        );
        for line in dependency_lines(&manifest) {
            assert!(
                line.contains("workspace = true"),
                "`{line}` of `{}` belongs in [workspace.dependencies] of the root manifest",
                package.name
            );
        }
    }
}

#[test]
fn every_dependency_says_why_it_is_there() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let lines = section(&manifest, "workspace.dependencies");
    assert!(!lines.is_empty(), "no [workspace.dependencies] found");
    for line in lines {
        let ours = line.starts_with("proofmark-");
        let reason = line.split_once(" # ").map_or("", |(_, reason)| reason);
        assert!(ours || !reason.trim().is_empty(), "`{line}` has no `# reason`");
    }
}

#[test]
fn receipt_builds_for_wasm32() {
    const TARGET: &str = "wasm32-unknown-unknown";
    let printed = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output().unwrap();
    let library = String::from_utf8(printed.stdout).unwrap();
    if !printed.status.success() || !Path::new(library.trim()).exists() {
        eprintln!("skipped: `rustup target add {TARGET}` to build `receipt` for it");
        return;
    }
    let built = Command::new(env!("CARGO"))
        .args(["check", "--package", "proofmark-receipt", "--target", TARGET])
        .current_dir(root())
        .status()
        .unwrap();
    assert!(built.success(), "`receipt` does not build for {TARGET}");
}

fn metadata() -> Metadata {
    MetadataCommand::new().current_dir(root()).no_deps().exec().unwrap()
}

fn rooms() -> Vec<Package> {
    let packages = metadata().packages;
    assert!(packages.len() > 1, "cargo metadata found no rooms");
    packages
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn room_of(package: &Package) -> &str {
    package.name.strip_prefix("proofmark-").unwrap_or(&package.name)
}

fn folder_of(package: &Package) -> PathBuf {
    package.manifest_path.parent().unwrap().into()
}

fn allowed_rooms(package: &Package) -> &'static [&'static str] {
    let room = room_of(package);
    match ARROWS.iter().find(|(name, _)| *name == room) {
        Some((_, allowed)) => allowed,
        None => panic!("`{room}` is a new room: add its arrows to ARROWS and ARCHITECTURE.md"),
    }
}

/// Names of what the crate is built with, tests left out.
fn shipped_dependencies(package: &Package) -> impl Iterator<Item = &str> {
    package
        .dependencies
        .iter()
        .filter(|dependency| dependency.kind != DependencyKind::Development)
        .map(|dependency| dependency.name.as_str())
}

/// Names of all crates that end up in `package`, with the features it alone asks for.
fn reached_crates(package: &str) -> BTreeSet<String> {
    let printed = Command::new(env!("CARGO"))
        .args(["tree", "--package", package, "--edges", "normal"])
        .args(["--prefix", "none", "--format", "{p}"])
        .current_dir(root())
        .output()
        .unwrap();
    let text = String::from_utf8(printed.stdout).unwrap();
    assert!(
        printed.status.success() && text.starts_with(package),
        "cargo tree failed: {}",
        String::from_utf8_lossy(&printed.stderr)
    );
    text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("target") {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// Whether code on this line uses `unsafe`, or lifts the lint that denies it.
fn mentions_unsafe(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or(line);
    code.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .any(|word| word == "unsafe" || word == "unsafe_code")
}

/// The lines of one section of a manifest, comments and empty ones left out.
fn section<'a>(manifest: &'a str, name: &str) -> Vec<&'a str> {
    let heading = format!("[{name}]");
    content(
        manifest.lines().skip_while(|line| line.trim() != heading).skip(1).take_while(|line| !line.starts_with('[')),
    )
}

/// The lines of all dependency sections of a manifest.
fn dependency_lines(manifest: &str) -> Vec<&str> {
    let mut inside = false;
    content(manifest.lines().filter(|line| {
        if line.starts_with('[') {
            inside = line.trim().ends_with("dependencies]");
            return false;
        }
        inside
    }))
}

fn content<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    lines.map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}
