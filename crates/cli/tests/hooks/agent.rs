//! The hosts themselves, with a model that says what a script says.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use proofmark_receipt::json::Limits;
use proofmark_receipt::{Json, Object};

use crate::place::{Place, said};

const MODEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/hooks/model.py");
/// How long a host may take.
const PATIENCE: Duration = Duration::from_secs(280);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Agent {
    Claude,
    Codex,
    Copilot,
    Gemini,
    OpenCode,
}

/// What a run of an agent left behind.
pub(crate) struct Ran {
    /// What the host asked the model, in order.
    pub(crate) requests: Vec<String>,
    pub(crate) said: String,
}

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// The settings of opencode, with the address of the model.
const OPENCODE: &str = r#"{"autoupdate": false, "share": "disabled", "model": "mock/scripted", "small_model": "mock/scripted",
 "provider": {"mock": {"npm": "@ai-sdk/openai-compatible", "name": "mock", "models": {"scripted": {"tool_call": true}},
  "options": {"apiKey": "none", "baseURL": "$address/v1"}}}}"#;

/// A package for this processor.
const fn for_processor(x64: &'static str, arm64: &'static str) -> &'static str {
    if cfg!(target_arch = "aarch64") { arm64 } else { x64 }
}

impl Agent {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Copilot => "copilot",
            Self::Gemini => "gemini",
            Self::OpenCode => "opencode",
        }
    }

    /// The folder with its program; `None` after a skip.
    pub(crate) fn programs(self) -> Option<PathBuf> {
        let package = match self {
            Self::Claude => {
                for_processor("@anthropic-ai/claude-code-linux-x64", "@anthropic-ai/claude-code-linux-arm64")
            }
            Self::Codex => "@openai/codex",
            Self::Copilot => for_processor("@github/copilot-linux-x64", "@github/copilot-linux-arm64"),
            Self::Gemini => "@google/gemini-cli",
            Self::OpenCode => for_processor("opencode-linux-x64-baseline", "opencode-linux-arm64"),
        };
        let modules = proofmark_testing::node_modules_with_host(package)?;
        Some(match self {
            Self::Codex | Self::Gemini => modules.join(".bin"),
            Self::Claude | Self::Copilot => modules.join(package),
            Self::OpenCode => modules.join(package).join("bin"),
        })
    }

    /// A turn of the model in which it runs a command.
    pub(crate) fn shell(self, command: &str) -> String {
        let (tool, argument) = match self {
            Self::Claude => ("Bash", "command"),
            Self::Codex => ("exec_command", "cmd"),
            Self::Copilot | Self::OpenCode => ("bash", "command"),
            Self::Gemini => ("run_shell_command", "command"),
        };
        let command = Json::from(command).to_text();
        match self {
            Self::Copilot | Self::OpenCode => {
                format!(r#"{{"call": "{tool}", "args": {{"{argument}": {command}, "description": "work"}}}}"#)
            }
            Self::Claude | Self::Codex | Self::Gemini => {
                format!(r#"{{"call": "{tool}", "args": {{"{argument}": {command}}}}}"#)
            }
        }
    }

    /// Makes this host usable without an account, beside what is installed.
    pub(crate) fn prepare(self, place: &Place) {
        match self {
            Self::Claude | Self::Codex | Self::Copilot | Self::OpenCode => {}
            Self::Gemini => {
                place.write(
                    "home/.gemini/settings.json",
                    r#"{"security": {"auth": {"selectedType": "gemini-api-key"}}}"#,
                );
            }
        }
    }

    /// Has the host work in the project until the script ends.
    pub(crate) fn run(self, place: &Place, turns: &[String]) -> Option<Ran> {
        let programs = self.programs()?;
        let script = place.at("script.json");
        let log = place.at("log");
        std::fs::write(&script, format!("[{}]", turns.join(","))).unwrap();
        std::fs::write(&log, "").unwrap();
        let mut model = Command::new("python3");
        let model = model.arg(MODEL).arg(&script).arg(&log).stdout(Stdio::piped()).spawn().unwrap();
        let mut model = Running(model);
        let mut port = String::new();
        BufReader::new(model.0.stdout.take().unwrap()).read_line(&mut port).unwrap();
        let address = format!("http://127.0.0.1:{}", port.trim());
        let mut command = place.command(programs.join(self.name()));
        self.ask(place, &mut command, &address);
        let output = ended(&mut command);
        let requests = std::fs::read_to_string(&log).unwrap().lines().map(str::to_owned).collect();
        Some(Ran { requests, said: said(&output) })
    }

    /// Has the command ask the model at this address, and nobody else.
    fn ask(self, place: &Place, command: &mut Command, address: &str) {
        match self {
            Self::Claude => {
                command.args([
                    "--print",
                    "--permission-mode",
                    "bypassPermissions",
                    "--model",
                    "claude-sonnet-4-5",
                    "go",
                ]);
                command.env("ANTHROPIC_BASE_URL", address).env("ANTHROPIC_API_KEY", "none");
                command.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1").env("DISABLE_AUTOUPDATER", "1");
                // Else it does not run without questions as root.
                command.env("IS_SANDBOX", "1");
            }
            Self::Codex => {
                let provider = format!(
                    "model_providers.mock={{name=\"mock\",base_url=\"{address}/v1\",wire_api=\"responses\",requires_openai_auth=false}}"
                );
                command.args(["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]);
                command.args(["-c", "model_provider=\"mock\"", "-c", "model=\"gpt-5.1-codex\"", "-c", &provider, "go"]);
            }
            Self::Copilot => {
                command.args(["--allow-all-tools", "--trust-folder", "--prompt", "go"]);
                command.env("COPILOT_OFFLINE", "true").env("COPILOT_MODEL", "scripted");
                command.env("COPILOT_PROVIDER_BASE_URL", format!("{address}/v1"));
            }
            Self::Gemini => {
                command.args(["--yolo", "--skip-trust", "--model", "gemini-2.5-flash", "--prompt", "go"]);
                command.env("GEMINI_API_KEY", "none").env("GOOGLE_GEMINI_BASE_URL", address);
            }
            Self::OpenCode => {
                command.args(["run", "--auto", "go"]);
                // Where it works.
                command.env("PWD", place.at("project"));
                command.env("OPENCODE_CONFIG_CONTENT", OPENCODE.replace("$address", address));
            }
        }
    }

    /// What the model was told of the calls, in order.
    pub(crate) fn results(self, ran: &Ran) -> Vec<String> {
        let last = ran.requests.last().unwrap_or_else(|| panic!("the model was not asked: {}", ran.said));
        let limits = Limits { max_bytes: 64 << 20, max_depth: 200, ..Limits::default() };
        let last = Json::parse_with(last.as_bytes(), limits).unwrap();
        let list = |object: &Object, name: &str| object.get(name).and_then(Json::as_array).map(<[Json]>::to_vec);
        let last = last.as_object().unwrap();
        match self {
            Self::Claude => {
                let messages = list(last, "messages").unwrap_or_default();
                let blocks = messages.iter().filter_map(|message| list(message.as_object()?, "content")).flatten();
                let is_result = |block: &Object| block.get("type").and_then(Json::as_str) == Some("tool_result");
                let results =
                    blocks.filter_map(|block| Some(block.as_object().filter(|block| is_result(block))?.clone()));
                results.filter_map(|block| Some(block.get("content")?.to_text())).collect()
            }
            Self::Copilot | Self::OpenCode => {
                let messages = list(last, "messages").unwrap_or_default();
                let told = messages.iter().filter_map(Json::as_object);
                let told = told.filter(|message| message.get("role").and_then(Json::as_str) == Some("tool"));
                told.filter_map(|message| Some(message.get("content")?.to_text())).collect()
            }
            Self::Codex => {
                let items = list(last, "input").unwrap_or_default();
                items.iter().filter_map(|item| Some(item.as_object()?.get("output")?.to_text())).collect()
            }
            Self::Gemini => {
                let contents = list(last, "contents").unwrap_or_default();
                let parts = contents.iter().filter_map(|content| list(content.as_object()?, "parts")).flatten();
                parts.filter_map(|part| Some(part.as_object()?.get("functionResponse")?.to_text())).collect()
            }
        }
    }
}

/// Runs a program to its end, or kills it.
fn ended(command: &mut Command) -> Output {
    let mut child =
        Running(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let read = |from: Option<Box<dyn std::io::Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            drop(from.map(|mut from| from.read_to_end(&mut bytes)));
            bytes
        })
    };
    let stdout = read(child.0.stdout.take().map(|out| Box::new(out) as Box<_>));
    let stderr = read(child.0.stderr.take().map(|out| Box::new(out) as Box<_>));
    let since = Instant::now();
    let status = loop {
        if let Some(status) = child.0.try_wait().unwrap() {
            break status;
        }
        assert!(since.elapsed() < PATIENCE, "the host does not end");
        std::thread::sleep(Duration::from_millis(20));
    };
    Output { status, stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() }
}
