//! `proofmark gate install` and `uninstall`.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use proofmark_git::Repository;
use proofmark_receipt::{Json, Object};

use super::{Commits, How};
use crate::absolute::{absolute_file, absolute_value, names_file};
use crate::config::Config;
use crate::document;
use crate::error::with_help;
use crate::exit::Exit;
use crate::input;
use crate::out;
use crate::paint::printable;
use crate::shell_words::quoted;

/// How a hook begins that was written here.
const HEAD: &str = "#!/bin/sh\n# Written by `proofmark gate install`; `proofmark gate uninstall` removes it.\n";
/// How its two lines begin.
const LINES: [&str; 2] = ["export PROOFMARK_HOME=", "exec "];
/// The longest hook that is read, in bytes.
const MAX_HOOK: u64 = 64 << 10;

/// Write a git hook that lets only trees pass that the policy allows
///
/// The hook names this program, the policy and the folder of keys by their absolute paths. A hook that exists is never overwritten.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark gate install --pre-push --policy gate.yaml
  proofmark gate install --pre-receive --repo ci.git --policy gate.yaml")]
pub(crate) struct Install {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    how: How,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Remove the hook that `proofmark gate install` wrote
#[derive(Args)]
#[command(after_help = "Example:
  proofmark gate uninstall --pre-push")]
pub(crate) struct Uninstall {
    #[command(flatten)]
    which: Which,
    /// The repository [default: that of the current folder]
    #[arg(long, value_name = "DIR")]
    repo: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Which hook.
#[derive(Args)]
#[group(required = true, multiple = false)]
struct Which {
    /// Where pushes arrive: the hook refuses pushes of everyone
    #[arg(long)]
    pre_receive: bool,
    /// Where pushes begin: the hook only reminds, because `git push --no-verify` skips it
    #[arg(long)]
    pre_push: bool,
}

impl Which {
    fn name(&self) -> &'static str {
        if self.pre_push { "pre-push" } else { "pre-receive" }
    }
}

impl Install {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let Some(policy) = &self.how.policy else { return Ok(Exit::NoAnswer) };
        let words = self.words(policy, config)?;
        // A hook with a policy that cannot be read refuses every push.
        document::action_policy(policy)?;
        let path = path(self.how.repo.as_deref(), self.which.name())?;
        let program = std::env::current_exe().context("find the path of this program")?;
        if let Some(word) = words.iter().find(|word| word.chars().any(char::is_control)) {
            let message = format!("write `{}` into a hook: it has control characters", printable(word));
            return Err(with_help(message, "give it another name"));
        }
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        let text = format!(
            "{HEAD}export PROOFMARK_HOME={}\nexec {} gate --{} {}\n",
            quoted(&absolute_file(&config.home)?),
            quoted(&absolute_file(&program)?),
            self.which.name(),
            words.join(" "),
        );
        let context = || format!("write the hook `{}`", path.display());
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(context)?;
        }
        let created = OpenOptions::new().write(true).create_new(true).mode(0o755).open(&path);
        let mut file = match created {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                return Err(with_help(
                    format!("{}: there is a hook already", context()),
                    format!("remove it, or have it call `proofmark gate --{}`", self.which.name()),
                ));
            }
            opened => opened.with_context(context)?,
        };
        file.write_all(text.as_bytes()).with_context(context)?;
        print("wrote", &path, self.json)
    }

    /// The options of the hook's command, whose paths lead to the same files from every folder.
    fn words(&self, policy: &Path, config: &Config) -> anyhow::Result<Vec<String>> {
        let how = &self.how;
        let mut words = vec!["--policy".to_owned(), absolute_file(policy)?];
        let mut add = |option: &str, value: &str| words.extend([option.to_owned(), value.to_owned()]);
        how.protect.iter().for_each(|glob| add("--protect", glob));
        if how.commits == Commits::All {
            add("--commits", "all");
        }
        add("--notes", &how.notes);
        how.agent.iter().for_each(|agent| add("--agent", agent));
        how.environment.iter().for_each(|environment| add("--environment", environment));
        for (option, value) in how.files(config)? {
            // The store has its path already.
            let is_path = option != "--store" && names_file(option, &value, config);
            let value = if is_path { absolute_value(option, &value)? } else { value };
            words.extend([option.to_owned(), value]);
        }
        Ok(words)
    }
}

impl Uninstall {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        let path = path(self.repo.as_deref(), self.which.name())?;
        let text = input::read_limited(&path, MAX_HOOK)?;
        if !is_ours(&text) {
            return Err(with_help(
                format!("remove the hook `{}`: it is not as `proofmark gate install` wrote it", path.display()),
                "remove it, or the line of it that calls `proofmark gate`, by hand",
            ));
        }
        fs::remove_file(&path).with_context(|| format!("remove the hook `{}`", path.display()))?;
        print("removed", &path, self.json)
    }
}

/// Prints what was done with the hook.
fn print(done: &str, path: &Path, json: bool) -> anyhow::Result<Exit> {
    let (mut out, path) = (out::stdout(), path.display().to_string());
    if json {
        let mut line = Object::new();
        line.insert(done, path);
        out.json(&Json::from(line).to_text())?;
    } else {
        writeln!(out, "{done} {}", printable(&path))?;
    }
    Ok(Exit::Yes)
}

/// Where the hook belongs. A folder of hooks that other repositories share is left alone.
fn path(repo: Option<&Path>, name: &str) -> anyhow::Result<PathBuf> {
    let (used, own) = Repository::at(repo).hook_folders()?;
    if used != own {
        return Err(with_help(
            format!(
                "use the hooks in `{}`: `core.hooksPath` names them, and other repositories may use them too",
                used.display()
            ),
            "add the line to them by hand, or remove the setting",
        ));
    }
    Ok(own.join(name))
}

/// Whether a hook was written here and not changed since.
fn is_ours(text: &[u8]) -> bool {
    let Some(rest) = std::str::from_utf8(text).ok().and_then(|text| text.strip_prefix(HEAD)) else { return false };
    let lines: Vec<&str> = rest.lines().collect();
    lines.len() == LINES.len() && lines.iter().zip(LINES).all(|(line, begin)| line.starts_with(begin))
}
