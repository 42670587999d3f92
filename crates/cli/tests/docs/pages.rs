//! The pages of the documentation.

use std::fs;
use std::path::{Path, PathBuf};

use proofmark_testing::{python_with, skip};

use crate::page::{Page, Part};
use crate::session::Session;

const TREE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// Each page, and the Python package that its commands need.
macro_rules! pages {
    ($($test:ident: $path:literal $(needs $module:literal of $package:literal)?;)+) => {
        const PAGES: &[&str] = &[$($path),+];
        $(#[test]
        fn $test() {
            run($path, &[$(($module, $package)),*]);
        })+
    };
}

pages! {
    readme: "README.md" needs "pytest" of "pytest";
    action: "docs/action.md";
    apart: "docs/apart.md";
    commands: "docs/commands.md";
    commerce: "docs/commerce.md";
    contracts: "docs/contracts.md";
    counter_runs: "docs/counter-runs.md";
    decisions: "docs/decisions.md";
    design_decisions: "docs/design/decisions.md";
    design_sandbox: "docs/design/sandbox.md";
    gate: "docs/gate.md";
    guard: "docs/guard.md";
    hooks: "docs/hooks.md";
    log: "docs/log.md" needs "cryptography" of "cryptography";
    map_aarm: "docs/mappings/aarm.md";
    map_eu_ai_act: "docs/mappings/eu-ai-act.md";
    map_nist: "docs/mappings/nist.md";
    map_owasp: "docs/mappings/owasp.md";
    map_soc2_iso42001: "docs/mappings/soc2-iso42001.md";
    mcp: "docs/mcp.md";
    operating: "docs/operating.md";
    origins: "docs/origins.md";
    packages: "docs/packages.md";
    shell: "docs/shell.md";
    page: "docs/page.md";
    predicate: "docs/predicate.md";
    patches: "docs/patches.md";
    projects: "docs/projects.md";
    receipts: "docs/receipts.md";
    requests: "docs/requests.md";
    results: "docs/results.md";
    reviews: "docs/reviews.md";
    runs: "docs/runs.md";
    serving: "docs/serving.md";
    start_actions: "docs/start-actions.md";
    start_ci: "docs/start-ci.md";
    start_mcp: "docs/start-mcp.md";
    start_workflows: "docs/start-workflows.md";
    strength: "docs/strength.md";
    accept_example: "examples/accept/README.md";
    agent_example: "examples/agent/README.md" needs "verifiedx" of "verifiedx==0.1.20";
    decide_example: "examples/decide/README.md";
}

/// The commands that no test runs, because they build or install something, with their pages.
const NOT_RUN: &[(&str, &str)] = &[
    ("README.md", "pip install 'proofmark-sdk[cli]'"),
    ("README.md", "npm install proofmark"),
    ("README.md", "cargo install --path crates/cli --locked"),
    ("README.md", "cargo run --profile quick -- verify examples/sort.json"),
    ("README.md", "cargo xtask test"),
    (
        "README.md",
        "sudo -u postgres createuser \"$(id -un)\" && sudo -u postgres createdb --owner \"$(id -un)\" proofmark",
    ),
    ("README.md", "proofmark store copy --from ~/.local/share/proofmark/proofmark.db --to postgres:///proofmark"),
    ("README.md", "proofmark serve --store postgres:///proofmark"),
    (
        "docs/apart.md",
        "sudo install -m 0755 proofmark /usr/local/bin/proofmark      # an account that could replace the program would decide",
    ),
    ("docs/apart.md", "sudo proofmark setup --policy policy.yaml --agent agent --create-agent"),
    (
        "docs/apart.md",
        "sudo -H -u proofmark /usr/local/bin/proofmark serve --no-verify --policy /etc/proofmark/policy.yaml --socket /run/proofmark/socket",
    ),
    ("docs/apart.md", "sudo proofmark setup --check --agent agent"),
    ("docs/apart.md", "sudo -H -u proofmark proofmark key new reviewer"),
    ("docs/apart.md", "sudo -H -u proofmark proofmark key show reviewer --as pem > reviewer.pem"),
    (
        "docs/apart.md",
        "sudo proofmark reviewer add ann --key reviewer.pem --role owner --policy /etc/proofmark/policy.yaml",
    ),
    ("docs/apart.md", "sudo -H -u proofmark proofmark decision approve 97473953 --key reviewer --note \"seen\""),
    (
        "docs/apart.md",
        "sudo -H -u proofmark proofmark serve --policy policy.yaml --socket socket --socket-tenant acme.dev --api-keys keys.json --listen 127.0.0.1:8700",
    ),
    ("docs/apart.md", "sudo proofmark setup --undo"),
    ("docs/apart.md", "proofmark api-key add --api-keys keys.json ann-laptop agent-host --tenant acme.dev"),
    ("docs/apart.md", "proofmark serve --policy policy.yaml --api-keys keys.json --listen 10.0.0.5:8700"),
    (
        "docs/apart.md",
        "proofmark guard --server https://proofmark.example.org --api-key-file ~/.config/proofmark.key -- npx some-server",
    ),
    ("docs/apart.md", "PROOFMARK_API_KEY=… proofmark guard --server https://proofmark.example.org -- ./server"),
    (
        "docs/apart.md",
        "proofmark guard --server unix:/run/proofmark/socket --listen 127.0.0.1:8701 --upstream https://mcp.example.org/mcp",
    ),
    ("docs/apart.md", "curl --unix-socket /run/proofmark/socket 'http://localhost/v1/agents/sessions?name=nightly'"),
    (
        "docs/contracts.md",
        "proofmark run reopen r1 --step implement --workflow workflow.yaml --key ann --note \"the browser was down\"",
    ),
    (
        "docs/guard.md",
        "proofmark guard --policy examples/guard/policy.yaml --listen 127.0.0.1:8701 --upstream https://mcp.example.org/mcp",
    ),
    ("docs/operating.md", "pg_dump --format custom --file proofmark.dump postgres:///proofmark"),
    (
        "docs/operating.md",
        "sudo -u postgres createdb --owner \"$(id -un)\" restored && pg_restore --no-owner --dbname restored proofmark.dump",
    ),
    ("docs/operating.md", "proofmark store check --store postgres:///restored"),
    ("docs/operating.md", "sudo -u postgres pg_basebackup --checkpoint fast --pgdata /backup/base"),
    ("docs/operating.md", "sudo -u postgres createuser --pwprompt proofmark_worker"),
    ("docs/operating.md", "proofmark store grant worker proofmark_worker --store postgres:///proofmark"),
    ("docs/operating.md", "proofmark work --store postgres://proofmark_worker@db.example.org/proofmark"),
    ("docs/origins.md", "proofmark guard wrap .mcp.json --policy policy.yaml -- --session per-launch"),
    ("docs/origins.md", "proofmark hook install claude --policy policy.yaml -- --session per-launch"),
    ("docs/packages.md", "pip install cargo-zigbuild ziglang 'hatchling>=1.27'"),
    ("docs/packages.md", "program=$(packaging/release/build.sh)"),
    ("docs/packages.md", "packaging/wheel.py \"$program\" release"),
    ("docs/packages.md", "packaging/release/archive.sh \"$program\" release"),
    (
        "docs/packages.md",
        "DEBFULLNAME=\"Ann Example\" DEBEMAIL=ann@example.org packaging/release/deb.sh \"$program\" release",
    ),
    ("docs/packages.md", "packaging/release/npm.sh \"$program\" release"),
    ("docs/packages.md", "packaging/release/npm-clients.sh release"),
    ("docs/packages.md", "packaging/release/python-client.sh release"),
    ("docs/packages.md", "packaging/release/sums.sh release"),
    ("docs/packages.md", "packaging/release/receipt.sh \"$program\" release"),
    ("docs/packages.md", "PROOFMARK_BASE_URL=https://…/releases/download/v0.1.0 sh install.sh"),
    (
        "docs/packages.md",
        "docker build --file packaging/Containerfile --tag proofmark FOLDER    # a folder that has the program",
    ),
    ("docs/packages.md", "docker run --rm proofmark doctor"),
    ("examples/agent/README.md", "pip install -r examples/agent/requirements.txt"),
];

fn text(path: &str) -> String {
    fs::read_to_string(Path::new(TREE).join(path)).unwrap()
}

fn run(path: &str, needs: &[(&str, &str)]) {
    let page = Page::read(&text(path));
    for (module, package) in needs {
        if std::env::var_os("PROOFMARK_PYTHON").is_none() {
            return skip("python", &format!("PROOFMARK_PYTHON names no Python with {module}"));
        }
        if python_with(module, package).is_none() {
            return;
        }
    }
    let git = || std::process::Command::new("git").arg("--version").output();
    if page.parts.iter().any(|part| matches!(part, Part::Command(command) if command.text.starts_with("git ")))
        && git().is_err()
    {
        return skip("git", "git is not on PATH");
    }
    let session = Session::new();
    // The files come first: a page shows a file before the commands that read it, and no command changes one.
    let mut commands = Vec::new();
    for part in &page.parts {
        match part {
            Part::File { name, content } => session.write(name, content),
            Part::Command(command) => commands.push(command),
        }
    }
    let texts: Vec<&str> = commands.iter().map(|command| command.text.as_str()).collect();
    let done = session.run(&texts);
    let failed = commands.iter().zip(&done).filter_map(|(command, done)| session.check(command, done).err());
    let failed: Vec<String> = failed.collect();
    assert!(failed.is_empty(), "{path}: {} of {} commands\n\n{}", failed.len(), texts.len(), failed.join("\n\n"));
}

#[test]
fn every_page_is_run_and_what_is_not_run_is_known() {
    let mut found: Vec<String> = ["README.md".to_owned()].into();
    for folder in ["docs", "examples"] {
        add_pages(&Path::new(TREE).join(folder), folder, &mut found);
    }
    found.sort();
    let mut listed = PAGES.to_vec();
    listed.sort_unstable();
    assert_eq!(found, listed);
    let pages: Vec<(&str, Page)> = PAGES.iter().map(|path| (*path, Page::read(&text(path)))).collect();
    let not_run =
        pages.iter().flat_map(|(path, page)| page.not_run.iter().map(move |command| (*path, command.as_str())));
    assert_eq!(not_run.collect::<Vec<_>>(), NOT_RUN);
    let commands: usize = pages.iter().map(|(_, page)| page.commands()).sum();
    println!("{commands} commands on {} pages", pages.len());
}

fn add_pages(folder: &Path, shown: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path: PathBuf = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        let shown = format!("{shown}/{name}");
        match path.is_dir() {
            true => add_pages(&path, &shown, found),
            // Markdown files of an example that are no page: responses of agents.
            false if name.ends_with(".md") && !name.starts_with("attempt") => found.push(shown),
            false => {}
        }
    }
}

/// Whole requests on the page of requests pass, except that an older node has no TypeScript.
#[test]
fn the_requests_of_the_reference_pass() {
    if std::env::var_os("PROOFMARK_PYTHON").is_none() {
        return skip("python", "PROOFMARK_PYTHON names no Python with pytest and attrs");
    }
    if python_with("pytest", "pytest").and_then(|_| python_with("attrs", "attrs")).is_none() {
        return;
    }
    let page = text("docs/requests.md");
    let blocks = page.split("```json\n").skip(1).filter_map(|rest| rest.split("\n```\n").next());
    let whole: Vec<&str> = blocks.filter(|block| block.contains("\"verification\"")).collect();
    assert!(whole.len() > 10, "{} requests", whole.len());
    let session = Session::new();
    let commands: Vec<String> = (0..whole.len()).map(|at| format!("proofmark verify {at}.json")).collect();
    whole.iter().enumerate().for_each(|(at, request)| session.write(&format!("{at}.json"), request));
    let done = session.run(&commands.iter().map(String::as_str).collect::<Vec<_>>());
    for (request, done) in whole.iter().zip(done) {
        let old_node = request.contains("typescript") && done.code == Some(2) && done.output.contains("22.");
        assert!(done.code == Some(0) || old_node, "{request}\n{}", done.output);
    }
}

/// The relative links of a page, outside its blocks: a path, and a heading after `#`.
fn links(text: &str) -> Vec<(String, String)> {
    let outside: String = text.split("```").step_by(2).collect();
    let targets = outside.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let relative = targets.filter(|target| !target.contains("://"));
    relative
        .map(|target| target.split_once('#').unwrap_or((target, "")))
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .collect()
}

/// The name by which a link refers to a heading, as GitHub makes it.
fn anchor(heading: &str) -> String {
    let kept = heading.trim_start_matches('#').trim().to_lowercase();
    kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[test]
fn every_link_leads_somewhere() {
    let more = [
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "SECURITY.md",
        "vectors/README.md",
        "clients/js/README.md",
        "clients/npm/README.md",
        "clients/python/README.md",
        "clients/python-bin/README.md",
        "docs/design/decisions.md",
        "docs/design/sandbox.md",
    ];
    let mut broken = Vec::new();
    for path in PAGES.iter().chain(&more) {
        let folder = Path::new(path).parent().unwrap();
        for (file, heading) in links(&text(path)) {
            let target = if file.is_empty() { Path::new(path).to_owned() } else { folder.join(&file) };
            let whole = Path::new(TREE).join(&target);
            let found = match heading.as_str() {
                "" => whole.exists(),
                heading => fs::read_to_string(&whole)
                    .is_ok_and(|text| text.lines().any(|line| line.starts_with('#') && anchor(line) == heading)),
            };
            if !found {
                broken.push(format!("{path}: {file}#{heading}"));
            }
        }
    }
    assert_eq!(broken, [""; 0]);
}
