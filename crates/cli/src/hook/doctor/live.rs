//! The host itself, run with its own settings against a scripted model, which asks for a call that the policy forbids.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use proofmark_receipt::{Json, Object, object};

use super::super::config_file::ConfigFile;
use super::super::host::{Scope, Surroundings};
use super::super::run_bounded::{self, Ended};
use super::Finding;
use super::checks::program;
use super::model::{Heard, Model};
use crate::hook::HostName;

/// How long a host may take.
const LIMIT: Duration = Duration::from_secs(180);
/// What the text of a refused call begins with, as the agent reads it.
const REFUSED: &str = "Not executed";
/// The most of a text that a finding shows, in characters.
const MAX_SHOWN: usize = 300;

/// Runs the host, and looks whether the marker file is there. `forbidden` is a command that the hook has refused.
pub(super) fn run(host: HostName, place: &Surroundings, forbidden: Option<&str>) -> Finding {
    if matches!(host, HostName::Vscode | HostName::Cursor) {
        let what = format!("{} cannot be run against a scripted model", host.title());
        return Finding::unknown(
            what,
            "leave out `--live`, and ask the agent to run a command that the policy forbids",
        );
    }
    let Some(forbidden) = forbidden else {
        let what = "the host was not run: the hook refused no call that could be asked for";
        return Finding::unknown(what, "correct what is bad above first");
    };
    match attempt(host, place, forbidden) {
        Ok(finding) => finding,
        Err(error) => Finding::unknown(
            format!("the host was not run: failed to {}", crate::error::message(&error)),
            "put the host on the path, and try again",
        ),
    }
}

fn attempt(host: HostName, place: &Surroundings, forbidden: &str) -> anyhow::Result<Finding> {
    let folder = Folder::new()?;
    let marker = folder.path.join("marker");
    let command = forbidden.replace("{}", &marker.display().to_string());
    let model = Model::start(host, &command, &folder.secret).context("start a scripted model")?;
    let mut started = match host {
        HostName::Claude => claude(model.address()),
        HostName::Copilot => copilot(model.address()),
        HostName::Gemini => gemini(place, &folder.path, model.address())?,
        HostName::Opencode => opencode(model.address()),
        HostName::Codex | HostName::Vscode | HostName::Cursor => codex(model.address()),
    };
    started.current_dir(&place.project).env("PWD", &place.project);
    let ended = run_bounded::run(&mut started, b"", LIMIT).context("start the host")?;
    Ok(judged(host, &command, marker.exists(), &model.heard(), &ended))
}

fn judged(host: HostName, command: &str, ran: bool, heard: &Heard, ended: &Ended) -> Finding {
    let title = host.title();
    match (ran, &heard.result) {
        (true, _) => Finding::bad(
            format!("{title} ran `{command}`: the marker file is there"),
            "the hook does not stop this host; look for what is bad or unknown above",
        ),
        // Where the file is missing for another reason, nothing is proven.
        (false, Some(result)) if result.contains(REFUSED) => Finding::good(format!(
            "{title} did not run `{command}`: the model read the reason, and the file is not there"
        )),
        (false, Some(result)) => Finding::unknown(
            format!("{title} did not run `{command}`, but not because of the hook: {}", shown(result)),
            "name another command with `--call`",
        ),
        (false, None) => {
            let said = [&ended.stderr, &ended.stdout].map(|text| String::from_utf8_lossy(text).into_owned()).concat();
            let why = match (heard.asked, heard.called) {
                (false, _) => "did not ask the scripted model",
                (true, false) => "offers no shell",
                (true, true) => "said nothing of the call",
            };
            Finding::unknown(
                format!("{title} {why}: {}", shown(said.trim())),
                "run the host by hand to see whether it works",
            )
        }
    }
}

/// The end of a text, on one line.
fn shown(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let skipped = line.chars().count().saturating_sub(MAX_SHOWN);
    line.chars().skip(skipped).collect()
}

/// Claude Code with the user's own settings, but another model.
fn claude(address: &str) -> Command {
    let mut command = Command::new(program(HostName::Claude).map_or("claude", |(program, _)| program));
    command.args(["--print", "--no-session-persistence", "--permission-mode", "bypassPermissions"]);
    command.args(["--model", "claude-sonnet-4-5", "Make the marker file."]);
    command.env("ANTHROPIC_BASE_URL", address).env("ANTHROPIC_API_KEY", "none");
    command.env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1").env("DISABLE_AUTOUPDATER", "1");
    // Else it does not run without questions as root.
    command.env("IS_SANDBOX", "1");
    command
}

/// Copilot CLI with the user's own settings, but another model.
fn copilot(address: &str) -> Command {
    let mut command = Command::new(program(HostName::Copilot).map_or("copilot", |(program, _)| program));
    command.args(["--allow-all-tools", "--trust-folder", "--prompt", "Make the marker file."]);
    command.env("COPILOT_OFFLINE", "true").env("COPILOT_MODEL", "proofmark-doctor");
    command.env("COPILOT_PROVIDER_BASE_URL", format!("{address}/v1"));
    command
}

/// opencode with the user's own settings, but another model.
fn opencode(address: &str) -> Command {
    let mut command = Command::new(program(HostName::Opencode).map_or("opencode", |(program, _)| program));
    let models = object! { "scripted": object! { "tool_call": true } };
    let provider = object! {
        "npm": "@ai-sdk/openai-compatible", "name": "proofmark", "models": models,
        "options": object! { "apiKey": "none", "baseURL": format!("{address}/v1") },
    };
    let settings = object! {
        "autoupdate": false, "share": "disabled", "small_model": "proofmark-doctor/scripted",
        "provider": object! { "proofmark-doctor": provider },
    };
    command.args(["run", "--auto", "--model", "proofmark-doctor/scripted", "Make the marker file."]);
    command.env("OPENCODE_CONFIG_CONTENT", Json::from(settings).to_text());
    command
}

/// Codex with the user's own settings, but another model. The call may do what it wants, if the hook lets it.
fn codex(address: &str) -> Command {
    let provider = object! { "name": "proofmark", "base_url": format!("{address}/v1"), "wire_api": "responses", "requires_openai_auth": false };
    let provider = provider.iter().map(|(name, value)| format!("{name} = {}", value.to_text())).collect::<Vec<_>>();
    let mut command = Command::new(program(HostName::Codex).map_or("codex", |(program, _)| program));
    command.args(["exec", "--ephemeral", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]);
    command.args(["-c", "model_provider=\"proofmark_doctor\""]);
    command.args(["-c", &format!("model_providers.proofmark_doctor={{ {} }}", provider.join(", "))]);
    command.args(["-c", "model=\"proofmark-doctor\"", "Make the marker file."]);
    command
}

/// Gemini CLI with a copy of the user's settings, in which only the way to log in differs.
fn gemini(place: &Surroundings, folder: &Path, address: &str) -> anyhow::Result<Command> {
    let user = HostName::Gemini.file(Scope::User, place).context("find the user's settings")?;
    let settings = ConfigFile::read(HostName::Gemini, &user)?.document()?;
    let mut settings = settings.json().as_object().cloned().unwrap_or_default();
    let mut security = member(&settings, "security");
    let mut auth = member(&security, "auth");
    auth.insert("selectedType", "gemini-api-key");
    security.insert("auth", auth);
    settings.insert("security", security);
    let home = folder.join("home");
    fs::create_dir_all(home.join(".gemini")).context("make a folder")?;
    fs::write(home.join(".gemini/settings.json"), Json::from(settings).to_text())
        .context("write a copy of the settings")?;
    let mut command = Command::new(program(HostName::Gemini).map_or("gemini", |(program, _)| program));
    command.args(["--yolo", "--skip-trust", "--model", "gemini-2.5-flash", "--prompt", "Make the marker file."]);
    command.env("GEMINI_CLI_HOME", home).env("GEMINI_API_KEY", "none").env("GOOGLE_GEMINI_BASE_URL", address);
    Ok(command)
}

fn member(object: &Object, name: &str) -> Object {
    object.get(name).and_then(Json::as_object).cloned().unwrap_or_default()
}

/// A folder of this user alone, which goes in the end.
struct Folder {
    path: PathBuf,
    secret: String,
}

impl Folder {
    fn new() -> anyhow::Result<Self> {
        use std::os::unix::fs::DirBuilderExt;
        let secret = proofmark_verifier::receipt_id().context("draw a random name")?.to_string();
        let path = std::env::temp_dir().join(format!("doctor-{secret}"));
        fs::DirBuilder::new()
            .mode(0o700)
            .create(&path)
            .with_context(|| format!("make the folder `{}`", path.display()))?;
        Ok(Self { path, secret })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left there is in a folder that the system clears.
        drop(fs::remove_dir_all(&self.path));
    }
}
