//! The rules of the tree that no compiler checks: which crate may use which, and where things may be.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which may fail by panicking")]

mod arrows;
mod sources;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

use arrows::{ARROWS, REEXPORTS};
use sources::{
    code_of, dependency_lines, mentions_unsafe, named_crates, names_a_language, product_sources, rust_files, section,
    undocumented, without_tests,
};

/// Crates that decide from values alone: time, randomness and keys are their arguments.
const PURE_CRATES: &[&str] = &[
    "calendar",
    "shell",
    "receipt",
    "quorum",
    "predicate",
    "checks",
    "mutation",
    "evidence",
    "contract",
    "boundary",
    "guard",
    "hosts",
    "interop",
    "session",
    "statement",
    "tlog",
];

/// What brings a clock, randomness, I/O or an async runtime with it.
const IMPURE_CRATES: &[&str] = &["chrono", "getrandom", "rand", "reqwest", "rusqlite", "time", "tokio"];

/// What reaches the machine without any crate: files, variables, other programs, the network and the clock.
const IMPURE_NAMES: &[&str] =
    &["std::env", "std::fs", "std::net", "std::process", "Instant", "SystemTime", "File::open", "Command::new"];

/// What a pure crate reaches all the same, because it does not reach its answers: `jsonschema` seeds hash tables.
const HARMLESS: &[(&str, &str)] = &[("checks", "getrandom"), ("mutation", "getrandom")];

/// The crates that may use each of these; all others go through them.
const HOMES: &[(&str, &[&str])] = &[
    ("rusqlite", &["store"]),
    ("libsqlite3-sys", &["store"]),
    ("anyhow", &["cli", "xtask", "xtask-bench", "xtask-measure"]),
    ("axum", &["server", "pages", "proxy", "agents"]),
    ("hyper", &["server", "proxy"]),
    ("tokio", &["server", "pages", "proxy", "store", "agents"]),
    ("tokio-postgres", &["store"]),
];

/// Crates that only tests use, and what runs them.
const DEVELOPMENT_CRATES: &[&str] = &["testing"];

/// Where languages are told apart: a table of this name, and a folder with a file for each language.
const LANGUAGE_TABLES: [&str; 4] = [
    "crates/checks/src/language",
    "crates/mutation/src/expectation",
    "crates/mutation/src/grammar",
    "crates/sandbox/src/toolchain",
];

const LONGEST_FILE: usize = 600;

#[test]
fn arrows_point_only_where_the_architecture_lets_them() {
    for package in crates() {
        let allowed = allowed_crates(&package);
        for dependency in shipped_dependencies(&package) {
            let Some(used) = dependency.strip_prefix("proofmark-") else {
                continue;
            };
            assert!(
                allowed.contains(&used),
                "`{}` may not depend on `{used}`: it may depend on {allowed:?}",
                package.name
            );
        }
    }
}

#[test]
fn crates_name_only_what_they_may_use_and_use_what_they_depend_on() {
    for package in crates() {
        let allowed = allowed_crates(&package);
        let mut used = BTreeSet::new();
        for (file, text) in product_sources(&package) {
            for name in named_crates(&text) {
                let development = DEVELOPMENT_CRATES.contains(&name.as_str());
                assert!(
                    development || allowed.contains(&name.as_str()),
                    "{} names `proofmark_{name}`; `{}` may use {allowed:?}",
                    file.display(),
                    package.name
                );
                used.insert(name);
            }
        }
        for dependency in shipped_dependencies(&package).filter_map(|name| name.strip_prefix("proofmark-")) {
            assert!(used.contains(dependency), "`{}` depends on `{dependency}` and does not use it", package.name);
        }
    }
}

#[test]
fn no_crate_is_reached_through_another() {
    for package in crates() {
        for (file, text) in product_sources(&package) {
            let line = text.lines().position(|line| code_of(line).trim_start().starts_with("pub use proofmark_"));
            let Some(line) = line else { continue };
            assert!(
                REEXPORTS.iter().any(|(name, _)| *name == crate_name(&package)),
                "{}:{} re-exports another crate; import it where it is used",
                file.display(),
                line + 1
            );
        }
    }
}

#[test]
fn examples_in_the_documentation_run() {
    for package in crates() {
        let is_tested = package.targets.iter().any(|target| target.doctest);
        for (file, text) in product_sources(&package) {
            let example = |line: &str| ["//! ```", "/// ```"].iter().any(|fence| line.trim_start().starts_with(fence));
            assert!(
                is_tested || !text.lines().any(example),
                "{} has an example, and `doctest = false` in the manifest of `{}` leaves it out",
                file.display(),
                package.name
            );
        }
    }
}

#[test]
fn public_functions_and_types_are_documented() {
    let mut found = Vec::new();
    for package in crates() {
        for (file, text) in product_sources(&package) {
            found.extend(undocumented(&text).into_iter().map(|item| format!("{}:{item}", file.display())));
        }
    }
    assert!(found.is_empty(), "say what these are, on lines that begin with `///`:\n{}", found.join("\n"));
}

#[test]
fn pure_crates_reach_no_clock_randomness_or_io() {
    for name in PURE_CRATES {
        let reached = reached_crates(&format!("proofmark-{name}"));
        for impure in IMPURE_CRATES {
            assert!(
                !reached.contains(*impure) || HARMLESS.contains(&(*name, *impure)),
                "`{name}` reaches `{impure}`: see `cargo tree -p proofmark-{name} -e normal -i {impure}`"
            );
        }
    }
}

#[test]
fn pure_crates_name_nothing_of_the_machine() {
    for package in crates().iter().filter(|package| PURE_CRATES.contains(&crate_name(package))) {
        for (file, text) in product_sources(package) {
            // Modules of tests have files of their own in some crates.
            if text.contains("proofmark_testing") {
                continue;
            }
            for name in IMPURE_NAMES {
                let line = text.lines().position(|line| code_of(line).contains(name));
                assert!(line.is_none(), "{}:{} names `{name}`", file.display(), line.unwrap_or_default() + 1);
            }
        }
    }
}

#[test]
fn crates_with_a_home_stay_there() {
    for package in crates() {
        for dependency in &package.dependencies {
            let Some((_, homes)) = HOMES.iter().find(|(name, _)| *name == dependency.name) else {
                continue;
            };
            assert!(
                homes.contains(&crate_name(&package)),
                "`{}` depends on `{}`, which only {homes:?} may",
                package.name,
                dependency.name
            );
        }
    }
}

#[test]
fn unsafe_code_is_only_in_the_sandbox() {
    for package in crates() {
        if crate_name(&package) == "sandbox" {
            continue;
        }
        for file in rust_files(&folder_of(&package)) {
            if file.ends_with("xtask/tests/tree/main.rs") || file.ends_with("xtask/tests/tree/sources.rs") {
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
    for package in crates() {
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
fn languages_are_named_only_in_their_tables() {
    for package in crates().iter().filter(|package| !crate_name(package).starts_with("xtask")) {
        for file in rust_files(&folder_of(package).join("src")) {
            let path = file.with_extension("");
            if LANGUAGE_TABLES.iter().any(|table| path.starts_with(root().join(table))) {
                continue;
            }
            let text = fs::read_to_string(&file).unwrap();
            let code = without_tests(&text);
            if let Some(line) = code.lines().position(names_a_language) {
                panic!("{}:{} names a language: what it asks belongs in {LANGUAGE_TABLES:?}", file.display(), line + 1);
            }
        }
    }
}

#[test]
fn the_files_of_languages_are_formatted() {
    let files = LANGUAGE_TABLES.iter().flat_map(|folder| rust_files(&root().join(folder)));
    let done = Command::new("rustfmt").args(["--check", "--edition", "2024"]).args(files).status().unwrap();
    assert!(done.success(), "`cargo fmt` does not see what a macro declares: format these files with `rustfmt`");
}

#[test]
fn no_module_is_a_mod_rs() {
    for package in crates() {
        for file in rust_files(&folder_of(&package).join("src")) {
            assert!(!file.ends_with("mod.rs"), "{} should be named after its module", file.display());
        }
    }
}

#[test]
fn every_crate_inherits_lints_and_versions() {
    for package in crates() {
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
fn receipt_interop_and_tlog_build_for_wasm32() {
    const TARGET: &str = "wasm32-unknown-unknown";
    let printed = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output().unwrap();
    let library = String::from_utf8(printed.stdout).unwrap();
    if !printed.status.success() || !Path::new(library.trim()).exists() {
        let help = format!("`rustup target add {TARGET}` builds `receipt`, `interop` and `tlog` for it");
        return proofmark_testing::skip("wasm32", &help);
    }
    let built = Command::new(env!("CARGO"))
        .args(["check", "--package", "proofmark-receipt", "--package", "proofmark-interop"])
        .args(["--package", "proofmark-tlog", "--target", TARGET])
        .current_dir(root())
        .status()
        .unwrap();
    assert!(built.success(), "`receipt`, `interop` or `tlog` does not build for {TARGET}");
}

fn metadata() -> Metadata {
    MetadataCommand::new().current_dir(root()).no_deps().exec().unwrap()
}

fn crates() -> Vec<Package> {
    let packages = metadata().packages;
    assert!(packages.len() > 1, "cargo metadata found no crates");
    packages
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

fn crate_name(package: &Package) -> &str {
    package.name.strip_prefix("proofmark-").unwrap_or(&package.name)
}

fn folder_of(package: &Package) -> PathBuf {
    package.manifest_path.parent().unwrap().into()
}

fn allowed_crates(package: &Package) -> &'static [&'static str] {
    let own = crate_name(package);
    match ARROWS.iter().find(|(name, _)| *name == own) {
        Some((_, allowed)) => allowed,
        None => panic!("`{own}` is a new crate: add its row to ARROWS and ARCHITECTURE.md"),
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
