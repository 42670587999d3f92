//! The pages in a browser: a reviewer's and a reader's story, and every page in every look.
#![expect(clippy::unwrap_used, reason = "helpers of tests, which may fail by panicking")]

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use proofmark_testing::Home;

const BINARY: &str = env!("CARGO_BIN_EXE_proofmark");
const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ui");
const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples");

/// How many links the chain has that a browser checks: more than it gets at once.
const LINKS: &str = "620";

/// A process that is killed when it is dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// The folder with the packages, where the browser and Node.js are there as well.
fn packages() -> Option<PathBuf> {
    let modules = proofmark_testing::node_modules_with(&["playwright-core", "axe-core"])?;
    (proofmark_testing::has_program("node", "nodejs") && proofmark_testing::has_program("chromium", "chromium"))
        .then_some(modules)
}

fn proofmark(home: &Home, arguments: &[&str]) -> String {
    let done = Command::new(BINARY).args(arguments).envs(home.variables()).current_dir(home.path()).output().unwrap();
    String::from_utf8(done.stdout).unwrap().trim().to_owned()
}

/// A server with the policy of the tests, and where it listens.
fn served(home: &Home, more: &[&str]) -> (Running, String) {
    served_by(home, &format!("{HERE}/policy.yaml"), more)
}

fn served_by(home: &Home, policy: &str, more: &[&str]) -> (Running, String) {
    let mut child = Command::new(BINARY)
        .args(["serve", "--policy", policy, "--listen", "127.0.0.1:0"])
        .args(more)
        .envs(home.variables())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines();
    let line = said.by_ref().map(Result::unwrap).find(|line| line.starts_with("serving on ")).unwrap();
    // What it says later must not fill the pipe.
    std::thread::spawn(move || said.for_each(drop));
    (Running(child), line.split_whitespace().nth(2).unwrap().to_owned())
}

/// Runs a script of this folder, which fails with a message.
fn tell(modules: &Path, script: &str, arguments: &[&str]) {
    let told = Command::new("node")
        .arg(format!("{HERE}/{script}"))
        .args(arguments)
        .env("PROOFMARK_NODE_MODULES", modules)
        .output()
        .unwrap();
    let said = format!("{}{}", String::from_utf8_lossy(&told.stdout), String::from_utf8_lossy(&told.stderr));
    assert!(told.status.success(), "{said}");
}

#[test]
fn actions_with_different_hashes_never_look_the_same() {
    let Some(modules) = packages() else { return };
    let home = Home::new();
    let (_server, address) = served(&home, &["--rate", "1000"]);
    // What the page shows and what the terminal shows, of the same decisions in the same store.
    let ids = home.path().join("ids");
    tell(&modules, "alike.mjs", &[&address, &ids.display().to_string()]);
    let ids = std::fs::read_to_string(ids).unwrap();
    proofmark(&home, &["key", "new", "ann"]);
    let mut shown = std::collections::BTreeMap::new();
    for id in ids.lines() {
        let mut asked = Command::new(BINARY);
        asked.args(["decision", "approve", id, "--key", "ann", "--role", "finance-lead", "--note", "n"]);
        let done = asked.envs(home.variables()).current_dir(home.path()).output().unwrap();
        let said = String::from_utf8(done.stderr).unwrap();
        assert!(done.status.code() == Some(2) && said.contains("asked to run"), "{said}");
        // Ids and digests differ anyway.
        let action = said.split("what blocks it").next().unwrap().to_owned();
        let other = shown.insert(action.clone(), id);
        assert_eq!(other, None, "{id} looks as this one does:\n{action}");
    }
    assert!(shown.len() > 60, "{}", shown.len());
}

/// The file of the keys of an agent and two reviewers, and the keys.
fn keys(home: &Home) -> (String, [String; 3]) {
    let file = home.path().join("keys.json").display().to_string();
    let key = |id: &str, role: &str| {
        let holds = ["--holds", "finance-lead", "--holds", "support-lead"];
        let add = ["api-key", "add", "--api-keys", &file, id, role, "--tenant", "acme.support"];
        proofmark(home, &[&add[..], &holds].concat())
    };
    let keys = [("bot", "agent"), ("ann", "reviewer"), ("bob", "reviewer")].map(|(id, role)| key(id, role));
    (file, keys)
}

#[test]
fn reviewers_and_readers_reach_what_they_want() {
    let Some(modules) = packages() else { return };
    let home = Home::new();
    let (file, keys) = keys(&home);
    proofmark(&home, &["log", "init", "log.example.org/ui"]);
    let (_server, address) = served(&home, &["--api-keys", &file, "--log"]);
    tell(&modules, "story.mjs", &[&address, &keys[0], &keys[1], &keys[2]]);
}

#[test]
fn chains_and_documents_from_elsewhere_are_checked_in_the_browser() {
    let Some(modules) = packages() else { return };
    let home = Home::new();
    let (_server, address) = served(&home, &["--rate", "1000"]);
    tell(&modules, "check.mjs", &[&address, LINKS]);
}

#[test]
fn a_job_is_followed_and_run_again() {
    let Some(modules) = packages() else { return };
    let home = Home::new();
    let (file, keys) = keys(&home);
    let (_server, address) = served(&home, &["--api-keys", &file]);
    tell(&modules, "jobs.mjs", &[&address, &keys[0], &keys[1]]);
}

#[test]
fn a_reader_is_notified_only_after_asking_for_it() {
    let Some(modules) = packages() else { return };
    let home = Home::new();
    let (file, keys) = keys(&home);
    let (_server, address) = served(&home, &["--api-keys", &file]);
    tell(&modules, "notify.mjs", &[&address, &keys[0], &keys[1]]);
}

#[test]
fn a_passkey_approves_what_its_holder_saw_and_nothing_else() {
    let Some(modules) = packages() else { return };
    let home = Home::new();
    let policy = home.path().join("policy.yaml");
    let text = std::fs::read_to_string(format!("{HERE}/policy.yaml")).unwrap();
    std::fs::write(
        &policy,
        text.replace("role: finance-lead,", "role: finance-lead, passkey: true, scopes: [once, session, pattern],"),
    )
    .unwrap();
    let policy = policy.display().to_string();
    let (_server, address) = served_by(&home, &policy, &[]);
    // Browsers bind passkeys to names.
    let address = address.replace("127.0.0.1", "localhost");
    tell(&modules, "passkey.mjs", &[&address, BINARY, &policy]);
}

#[test]
fn a_review_outlives_the_server() {
    let Some(modules) = packages() else { return };
    let home = Home::new();
    let (file, keys) = keys(&home);
    // The script starts the server, twice on one address.
    let free = format!("127.0.0.1:{}", proofmark_testing::free_port());
    let folder = home.path().display().to_string();
    let policy = format!("{HERE}/policy.yaml");
    let store = home.store().into_string().unwrap();
    let serve = ["serve", "--policy", &policy, "--listen", &free, "--api-keys", &file, "--store", &store];
    let address = format!("http://{free}");
    tell(&modules, "away.mjs", &[&[BINARY, &folder, &address, &keys[0], &keys[1]], serve.as_slice()].concat());
}

#[test]
fn a_mail_is_denied_with_a_note_changed_approved_and_sent() {
    let Some(modules) = packages() else { return };
    let Some(python) = proofmark_testing::python_with("verifiedx", "verifiedx==0.1.20") else { return };
    let home = Home::new();
    let (file, keys) = keys(&home);
    let (_server, address) = served_by(&home, &format!("{EXAMPLES}/agent/policy.yaml"), &["--api-keys", &file]);
    let agent = Command::new(python)
        .arg(format!("{EXAMPLES}/agent/agent.py"))
        .args(["T-8812", "--wait", "120"])
        .env("VERIFIEDX_BASE_URL", &address)
        .env("VERIFIEDX_API_KEY", &keys[0])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut agent = Running(agent);
    tell(&modules, "mail.mjs", &[&address, &keys[1]]);
    let mut said = String::new();
    agent.0.stdout.take().unwrap().read_to_string(&mut said).unwrap();
    let lines: Vec<_> = said.lines().collect();
    let expected = [
        "blocked: The subject does not name the ticket.",
        "replanned: [T-8812] Your refund",
        "blocked: Nobody has read the mail.",
        "denied by ann: Say when: \"It takes 5 days.\"",
        "changed: Your refund for T-8812 is on its way. It takes 5 days.",
        "blocked: Nobody has read the mail.",
        "approved by ann: It says when.",
        "SENT to customer@example.com: [T-8812] Your refund",
    ];
    assert_eq!(lines, expected);
    assert!(agent.0.wait().unwrap().success());
}

#[test]
fn every_page_is_for_everybody() {
    let Some(modules) = packages() else { return };
    let home = Home::new();
    let example = |name: &str| format!("{EXAMPLES}/{name}");
    proofmark(&home, &["verify", &example("sort.json")]);
    let attempt = |number: u8| {
        let (response, trace) =
            (example(&format!("accept/attempt{number}.md")), example(&format!("accept/trace{number}.json")));
        let workflow = example("accept/workflow.yaml");
        proofmark(
            &home,
            &[
                "workflow",
                "accept",
                &workflow,
                "--step",
                "implement",
                "--run",
                "demo",
                "--response",
                &response,
                "--trace",
                &trace,
            ],
        );
    };
    attempt(1);
    let guarded = ["guard", "--policy", &example("guard/policy.yaml"), "--session", "nightly", "--", "python3"]
        .map(str::to_owned);
    let agent = Command::new("python3")
        .arg(example("guard/agent.py"))
        .arg(BINARY)
        .args(&guarded)
        .arg(example("guard/server.py"))
        .envs(home.variables())
        .current_dir(home.path())
        .output()
        .unwrap();
    assert!(agent.status.success(), "{}", String::from_utf8_lossy(&agent.stderr));
    // Without API keys, approvals are those of the server's key.
    let policy = home.path().join("policy.yaml").display().to_string();
    std::fs::copy(format!("{HERE}/policy.yaml"), &policy).unwrap();
    proofmark(&home, &["reviewer", "add", "server", "--key", "default", "--role", "finance-lead", "--policy", &policy]);
    let (_server, address) = served_by(&home, &policy, &[]);
    tell(&modules, "looks.mjs", &[&address]);
}
