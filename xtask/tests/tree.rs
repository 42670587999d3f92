//! The rules of the tree that no compiler checks: which crate may use which, and where things may be.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests, which may fail by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

/// Which crates each crate may depend on and name in its source: the table of ARCHITECTURE.md.
const ARROWS: &[(&str, &[&str])] = &[
    ("testing", &[]),
    ("calendar", &[]),
    ("receipt", &["calendar"]),
    ("quorum", &["receipt"]),
    ("predicate", &["calendar"]),
    ("checks", &["receipt", "predicate"]),
    ("mutation", &["checks"]),
    ("flow", &["receipt"]),
    ("session", &["receipt", "flow"]),
    ("passkey", &["receipt"]),
    ("evidence", &["receipt", "passkey", "predicate", "session"]),
    ("contract", &["receipt", "predicate", "evidence", "session"]),
    ("shell", &[]),
    ("boundary", &["receipt", "flow", "passkey", "predicate", "evidence", "session", "shell"]),
    ("guard", &["receipt", "boundary", "flow", "session"]),
    ("hosts", &["receipt", "evidence", "session", "shell"]),
    ("interop", &["receipt"]),
    ("tlog", &["receipt"]),
    ("otlp", &["receipt"]),
    ("sandbox", &["checks"]),
    ("store", &["receipt"]),
    ("keys", &["receipt", "boundary", "evidence", "passkey", "session"]),
    ("log", &["receipt", "keys", "store", "tlog"]),
    ("git", &["receipt", "checks", "boundary"]),
    ("statement", &["receipt", "boundary", "evidence", "session"]),
    (
        "verifier",
        &[
            "receipt", "checks", "evidence", "contract", "boundary", "git", "mutation", "passkey", "sandbox",
            "session", "store",
        ],
    ),
    ("jobs", &["receipt", "checks", "sandbox", "store", "verifier"]),
    (
        "decider",
        &[
            "receipt",
            "checks",
            "evidence",
            "contract",
            "boundary",
            "guard",
            "hosts",
            "interop",
            "keys",
            "passkey",
            "session",
            "statement",
            "store",
            "verifier",
        ],
    ),
    (
        "server",
        &[
            "boundary", "checks", "contract", "decider", "evidence", "guard", "interop", "jobs", "keys", "log",
            "receipt", "sandbox", "store", "tlog", "verifier",
        ],
    ),
    (
        "pages",
        &[
            "boundary",
            "contract",
            "decider",
            "evidence",
            "jobs",
            "passkey",
            "receipt",
            "server",
            "session",
            "statement",
            "store",
            "verifier",
        ],
    ),
    ("proxy", &["decider", "guard", "receipt", "server"]),
    ("agents", &["decider", "guard", "hosts", "receipt", "server", "session"]),
    (
        "cli",
        &[
            "agents",
            "boundary",
            "checks",
            "contract",
            "decider",
            "evidence",
            "git",
            "guard",
            "hosts",
            "interop",
            "jobs",
            "keys",
            "log",
            "otlp",
            "pages",
            "passkey",
            "proxy",
            "quorum",
            "receipt",
            "sandbox",
            "server",
            "session",
            "statement",
            "store",
            "tlog",
            "verifier",
        ],
    ),
    ("xtask", &["testing"]),
    (
        "xtask-bench",
        &["boundary", "checks", "contract", "evidence", "log", "receipt", "sandbox", "store", "tlog", "verifier"],
    ),
    ("xtask-measure", &[]),
];

/// Crates that re-export another crate of the project, so that a third reaches the other through them, and why.
const REEXPORTS: &[(&str, &str)] = &[
    ("boundary", "approvals, calls and facts are arguments of `decide`"),
    ("checks", "`RequestError` is the document reader's error"),
];

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

/// What `public_functions_and_types_are_documented` looks for.
const DOCUMENTED: &[&str] = &["const", "enum", "fn", "mod", "static", "struct", "trait", "type", "union"];
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

/// The files of `src` with their text, without test modules, which come last in a file.
fn product_sources(package: &Package) -> Vec<(PathBuf, String)> {
    let files = rust_files(&folder_of(package).join("src"));
    files.into_iter().map(|file| (file.clone(), without_tests(&fs::read_to_string(file).unwrap()).to_owned())).collect()
}

fn without_tests(text: &str) -> &str {
    text.split("#[cfg(test)]\nmod tests {").next().unwrap_or(text)
}

/// The line without its comment.
fn code_of(line: &str) -> &str {
    line.split("//").next().unwrap_or(line)
}

/// The crates of the project that this source names, as `receipt` for `proofmark_receipt::…`.
fn named_crates(text: &str) -> BTreeSet<String> {
    let ends = |letter: char| !letter.is_alphanumeric() && letter != '_';
    let of_line = |line| code_of(line).split("proofmark_").skip(1).collect::<Vec<_>>();
    let paths = text.lines().flat_map(of_line).filter(|rest| {
        let path = rest.trim_start_matches(|letter| !ends(letter));
        path.starts_with("::") || path.starts_with(" as ") || path.starts_with("};")
    });
    paths.map(|rest| rest.split(ends).next().unwrap_or(rest).to_owned()).collect()
}

/// Public items without a doc comment, with their line numbers; fields and variants need none.
fn undocumented(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let (mut documented, mut in_attribute) = (false, false);
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        let begins_attribute = line.starts_with("#[");
        if in_attribute || begins_attribute {
            in_attribute = !line.ends_with(']');
            continue;
        }
        if is_public_item(line) && !documented && !takes_nothing(line) {
            found.push(format!("{}: {line}", number + 1));
        }
        documented = line.starts_with("///");
    }
    found
}

/// Whether this is a method that takes nothing but `self`, or `new()`: its name and its type say what it gives.
fn takes_nothing(line: &str) -> bool {
    ["(&self) ->", "(self) ->", " new() ->"].iter().any(|arguments| line.contains(arguments))
}

/// `pub mod name;` is documented in its own file.
fn is_public_item(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("pub ") else { return false };
    let modifiers = ["async", "const", "extern", "unsafe", "\"C\""];
    let mut words = rest.split_whitespace().skip_while(|word| modifiers.contains(word)).peekable();
    let is_constant = rest.starts_with("const ") && !rest.starts_with("const fn");
    let is_item = words.peek().is_some_and(|word| DOCUMENTED.contains(word));
    (is_constant || is_item) && !(rest.starts_with("mod ") && rest.ends_with(';'))
}

/// Whether code on this line uses `unsafe`, or lifts the lint that denies it.
fn mentions_unsafe(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or(line);
    // In content security policies, `'unsafe-inline'` is a word.
    let mut words = code.split(|letter: char| !letter.is_alphanumeric() && !['_', '-'].contains(&letter));
    words.any(|word| word == "unsafe" || word == "unsafe_code")
}

/// Whether a line names a variant of `Language`; its constants are in capitals.
fn names_a_language(line: &str) -> bool {
    let mut paths = line.split("Language::").skip(1);
    paths.any(|path| {
        let mut letters = path.chars();
        letters.next().is_some_and(char::is_uppercase) && letters.next().is_some_and(char::is_lowercase)
    })
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
