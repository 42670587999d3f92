//! The server that is attacked: the real binary with its defaults, in a process and a home of its own.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, bail};
use tempfile::TempDir;
use xtask::step::{cargo, run as run_step};

use super::client::{Caller, Client, Request};

/// It allows notes, and a payment waits for a manager.
const POLICY: &str = "\
version: 1
boundaries:
  - id: notes
    match: {action_class: record_mutation}
    require:
      - fact: 'action.args.text != \"\"'
  - id: payments
    match: {action_class: system_change}
    require:
      - approval: {role: manager, count: 1}
        otherwise: human_review
unmatched: replan_required
mode: enforce
";

/// A server; it ends with this value.
#[derive(Debug)]
pub(crate) struct Server {
    child: Mutex<Child>,
    id: u32,
    address: SocketAddrV4,
    _home: TempDir,
    /// The tenant that asks for little.
    pub(crate) little: Caller,
    /// The one that takes what it can get, as an agent and as a reviewer.
    pub(crate) greedy: Caller,
    pub(crate) reviewer: Caller,
}

impl Server {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let (binary, home) = (binary()?, tempfile::tempdir()?);
        let at = |name: &str| home.path().join(name);
        std::fs::write(at("policy.yaml"), POLICY)?;
        let key = |id: &str, role: &str, tenant: &str| add_key(&binary, &at("keys.json"), [id, role, tenant]);
        let caller = |address: u8, key: String| Caller { address: Ipv4Addr::new(127, 0, 0, address), key };
        let little = caller(2, key("bot", "agent", "little")?);
        let greedy = caller(3, key("bot", "agent", "greedy")?);
        let reviewer = caller(3, key("ann", "reviewer", "greedy")?);
        let mut child = Command::new(&binary)
            .args(["serve", "--listen", "127.0.0.1:0", "--policy"])
            .arg(at("policy.yaml"))
            .arg("--api-keys")
            .arg(at("keys.json"))
            .env("PROOFMARK_HOME", home.path())
            .env_remove("PROOFMARK_STORE")
            .stderr(Stdio::piped())
            .spawn()
            .context("failed to start the server")?;
        let mut said = BufReader::new(child.stderr.take().context("the server has no standard error")?).lines();
        let address = loop {
            let line = said.next().context("the server ended before it served")??;
            if let Some(address) = line.strip_prefix("serving on http://") {
                break address.split(' ').next().unwrap_or_default().parse().context("an odd address")?;
            }
        };
        // What it says later must not fill the pipe.
        std::thread::spawn(move || said.for_each(drop));
        Ok(Self { id: child.id(), child: Mutex::new(child), address, _home: home, little, greedy, reviewer })
    }

    /// A connection of this caller.
    pub(crate) fn connect(&self, caller: &Caller) -> std::io::Result<Client> {
        Client::connect(caller.address, self.address)
    }

    /// The connection, opened if there is none.
    pub(crate) fn connected<'a>(
        &self,
        client: &'a mut Option<Client>,
        caller: &Caller,
    ) -> std::io::Result<&'a mut Client> {
        match client {
            Some(client) => Ok(client),
            none => Ok(none.insert(self.connect(caller)?)),
        }
    }

    /// An origin that its own pages have.
    pub(crate) fn origin(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Sends a request that prepares an attack.
    pub(crate) fn prepare(&self, caller: &Caller, request: &Request) -> anyhow::Result<(String, String)> {
        let (status, head, body) = self.connect(caller)?.answer_to(request, caller)?;
        let body = String::from_utf8_lossy(&body).into_owned();
        if !(200..400).contains(&status) {
            bail!("{} {} was answered with {status}: {body:.500}", request.method, request.path);
        }
        Ok((head, body))
    }

    /// A request for a decision that is allowed; with another number it is another action.
    pub(crate) fn note(&self, number: u64) -> String {
        format!(r#"{{"action": {{"tool": "note", "class": "record_mutation", "args": {{"text": "note {number}"}}}}}}"#)
    }

    /// The most MiB that were in memory.
    pub(crate) fn most_memory(&self) -> anyhow::Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id)).context("the server has ended")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kibibytes = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        Ok(kibibytes.context("an odd status")? / 1024.0)
    }

    /// Ends it, and with it all connections.
    pub(crate) fn end(&self) {
        let mut child = self.child.lock().unwrap_or_else(PoisonError::into_inner);
        drop(child.kill());
        drop(child.wait());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// The program that `PROOFMARK_BIN` names, else a release build of this tree.
fn binary() -> anyhow::Result<PathBuf> {
    if let Some(binary) = std::env::var_os("PROOFMARK_BIN") {
        return Ok(binary.into());
    }
    run_step(&mut cargo(&["build", "--quiet", "--release", "--locked", "--package", "proofmark-cli"]))?;
    let own = std::env::current_exe().context("failed to find the target folder")?;
    let target = own.parent().and_then(Path::parent).context("failed to find the target folder")?;
    Ok(target.join("release/proofmark"))
}

/// Makes an API key.
fn add_key(binary: &Path, file: &Path, [id, role, tenant]: [&str; 3]) -> anyhow::Result<String> {
    let holds: &[&str] = if role == "reviewer" { &["--holds", "manager"] } else { &[] };
    let made = Command::new(binary)
        .args(["api-key", "add", id, role, "--tenant", tenant])
        .args(holds)
        .arg("--api-keys")
        .arg(file)
        .output()
        .context("failed to start `proofmark api-key add`")?;
    let said = String::from_utf8_lossy(&made.stdout);
    let key = said.split_whitespace().find(|word| word.starts_with("pmk_"));
    key.map(str::to_owned).with_context(|| format!("no key was made: {}", String::from_utf8_lossy(&made.stderr)))
}
