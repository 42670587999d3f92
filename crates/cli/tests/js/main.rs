//! The package `clients/js`: its own tests, in Node.js and in Chromium, with this binary to compare with.
#![expect(clippy::unwrap_used, reason = "helpers of tests, which may fail by panicking")]

mod node;

use std::path::{Path, PathBuf};
use std::process::Command;

use proofmark_receipt::Json;
use tempfile::TempDir;

use node::{has_node, run, run_tests};

const BINARY: &str = env!("CARGO_BIN_EXE_proofmark");
const PACKAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../clients/js");

/// What a program that uses the package may look like.
const CONSUMER: &str = r#"
import { type Json, type Verification, JsonNumber, Refused, parse, verify, verifyChain } from "@proofmark/verify";

const found: Verification = await verify("{", { trusted: [], profile: "jcs" });
const answer: "valid" | "invalid" | "undecidable" = found.answer;
const read: Json = parse("1.50");
if (!(read instanceof JsonNumber) || read.text !== "1.50") throw new Error(String(read));
const links: string | null = (await verifyChain(["{"], { head: new Uint8Array() })).links.cause;
try {
  parse("[");
} catch (error) {
  if (!(error instanceof Refused)) throw error;
  const code: string = error.code;
  if (`${answer} ${found.cause} ${links} ${code}` !== "undecidable unexpected_end empty_chain unexpected_end") throw error;
}
// @ts-expect-error: a profile is one of four words.
await verify("{", { profile: "VRF" }).catch((error: unknown) => error);
"#;

/// Runs files of the package's tests, of which none may fail.
fn tested(files: &[&str], variables: &[(&str, &Path)]) {
    // Where the data is missing, this lists the skip, and the tests leave out what needs it.
    let conformance = proofmark_testing::conformance("ed25519");
    let mut command = Command::new("node");
    command.args(["--test", "--test-reporter=spec"]).args(files.iter().map(|file| format!("test/{file}.test.js")));
    command.current_dir(PACKAGE).env("PROOFMARK_BINARY", BINARY).envs(variables.iter().copied());
    if let Some(folder) = conformance.as_deref().and_then(Path::parent) {
        command.env("PROOFMARK_CONFORMANCE", folder);
    }
    run_tests(&mut command);
}

#[test]
fn node_verifies_as_the_binary_does() {
    if has_node() {
        tested(&["vectors", "api", "log", "page", "mutants"], &[]);
    }
}

#[test]
fn chromium_verifies_as_the_binary_does_and_shows_it() {
    if !has_node() || !proofmark_testing::has_program("chromium", "chromium") {
        return;
    }
    let Some(modules) = proofmark_testing::node_modules_with(&["axe-core", "playwright-core"]) else { return };
    let chromium = String::from_utf8(run(Command::new("sh").args(["-c", "command -v chromium"])).stdout).unwrap();
    tested(&["browser"], &[("PROOFMARK_NODE_MODULES", &modules), ("PROOFMARK_CHROMIUM", Path::new(chromium.trim()))]);
}

/// A copy of what the package is made from, in a folder where making it leaves nothing in the repository.
fn copy(folder: &Path) -> PathBuf {
    let copy = folder.join("package");
    std::fs::create_dir(&copy).unwrap();
    let files =
        ["package.json", "tsconfig.json", "README.md", "LICENSE-APACHE", "LICENSE-MIT", "verify.js", "check.html"];
    for name in files.into_iter().chain(["src", "test"]) {
        run(Command::new("cp").arg("-r").arg(Path::new(PACKAGE).join(name)).arg(&copy));
    }
    copy
}

#[test]
fn the_package_has_types_and_works_where_it_is_installed() {
    if !has_node() || !proofmark_testing::has_program("npm", "npm") {
        return;
    }
    let Some(modules) = proofmark_testing::node_modules_with(&["typescript"]) else { return };
    let compiler = || {
        let mut command = Command::new("node");
        command.arg(modules.join("typescript/bin/tsc"));
        command
    };
    run(compiler().current_dir(PACKAGE).args(["--project", "page/tsconfig.json"]));
    let folder = TempDir::new().unwrap();
    let path = format!("{}:{}", modules.join(".bin").display(), std::env::var("PATH").unwrap());
    let npm = |arguments: &[&str], place: &Path| {
        run(Command::new("npm").args(arguments).current_dir(place).env("PATH", &path).env("npm_config_offline", "true"))
    };
    npm(&["pack", "--pack-destination", ".."], &copy(folder.path()));
    let archive = format!("proofmark-verify-{}.tgz", env!("CARGO_PKG_VERSION"));
    let listed = run(Command::new("tar").arg("tzf").arg(folder.path().join(&archive)));
    let listed = String::from_utf8(listed.stdout).unwrap();
    for file in
        ["src/index.js", "types/index.d.ts", "verify.js", "check.html", "README.md", "LICENSE-APACHE", "LICENSE-MIT"]
    {
        assert!(listed.lines().any(|line| line == format!("package/{file}")), "`{file}` is missing:\n{listed}");
    }
    assert!(!listed.contains("package/test"), "tests are not part of the package:\n{listed}");
    let consumer = folder.path().join("consumer");
    std::fs::create_dir(&consumer).unwrap();
    std::fs::write(consumer.join("package.json"), r#"{"type": "module", "private": true}"#).unwrap();
    npm(&["install", "--no-audit", "--no-fund", &format!("../{archive}")], &consumer);
    std::fs::write(consumer.join("main.ts"), CONSUMER).unwrap();
    let options = ["--strict", "--target", "es2023", "--module", "nodenext", "--exactOptionalPropertyTypes", "main.ts"];
    run(compiler().current_dir(&consumer).args(options));
    run(Command::new("node").arg("main.js").current_dir(&consumer));
}

#[test]
fn the_package_has_the_version_and_the_licences_of_the_binary() {
    let package = std::fs::read(Path::new(PACKAGE).join("package.json")).unwrap();
    let package = Json::parse(&package).unwrap().as_object().unwrap().clone();
    let text = |name: &str| package.get(name).and_then(Json::as_str).map(str::to_owned);
    assert_eq!(text("version").as_deref(), Some(env!("CARGO_PKG_VERSION")));
    assert_eq!(text("license").as_deref(), Some(env!("CARGO_PKG_LICENSE")));
    assert!(!package.contains("dependencies"), "a verifier that others rely on has no dependencies");
    for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
        let read = |folder: &str| std::fs::read(Path::new(folder).join(name)).unwrap();
        assert_eq!(read(PACKAGE), read(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")), "{name}");
    }
}
