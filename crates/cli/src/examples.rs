//! `proofmark examples`.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use proofmark_receipt::{Json, object};

use crate::error::with_help;
use crate::exit::Exit;
use crate::new_files::{NewFiles, Written};
use crate::out;
use crate::paint::printable;

/// Write the examples that the documentation and the help use
///
/// The examples are part of this program. Files that exist are left alone.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark examples
  proofmark verify examples/sort.json

Exit codes: 0 every example is there; 2 one could not be written.")]
pub(crate) struct Examples {
    #[arg(value_name = "DIR", help = format!("The folder to write them to, which is created if it is missing [default: {FOLDER}]"))]
    folder: Option<PathBuf>,
    /// Print the result as one JSON object
    #[arg(long)]
    json: bool,
}

/// The folder, unless one is named.
const FOLDER: &str = "examples";

macro_rules! example_files {
    ($($path:literal),+ $(,)?) => {
        &[$(($path, include_str!(concat!("../../../examples/", $path)))),+]
    };
}

/// Each file of the folder `examples`, below it, with its content.
const FILES: &[(&str, &str)] = example_files!(
    "accept/README.md",
    "accept/attempt1.md",
    "accept/attempt2.md",
    "accept/cases.yaml",
    "accept/trace1.json",
    "accept/trace2.json",
    "accept/workflow.yaml",
    "agent/README.md",
    "agent/agent.py",
    "agent/policy.yaml",
    "agent/protect.py",
    "agent/requirements.txt",
    "agent/reviewer.py",
    "commerce/evaluator.py",
    "commerce/job.json",
    "commerce/paid_resource.py",
    "decide/README.md",
    "decide/cases.yaml",
    "decide/policy.yaml",
    "decide/request.json",
    "fizzbuzz.yaml",
    "guard/agent.py",
    "guard/dispatchers.yaml",
    "guard/origins.yaml",
    "guard/policy.yaml",
    "guard/server.py",
    "hooks/agent-cases.yaml",
    "hooks/agent.yaml",
    "hooks/allowlist-cases.yaml",
    "hooks/allowlist.yaml",
    "median.yaml",
    "policies/banking.yaml",
    "policies/slack.yaml",
    "profile.yaml",
    "project-node/slug.js",
    "project-node/slug.test.js",
    "project-python/calc.py",
    "project-python/tests/test_calc.py",
    "runs/attacked/agentdojo.json",
    "runs/good/anthropic.json",
    "runs/good/langgraph.json",
    "runs/good/openai.json",
    "runs/policy.yaml",
    "sort.json",
);

impl Examples {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        // Somebody else may have put the link there, to have files written where it leads.
        if self.folder.is_none() && Path::new(FOLDER).is_symlink() {
            return Err(with_help(
                format!("write the examples to `{FOLDER}`: it is a link"),
                "name the folder to write them to, as in `proofmark examples DIR`",
            ));
        }
        let folder = self.folder.as_deref().unwrap_or(Path::new(FOLDER));
        let shown = folder.display().to_string();
        let folder = NewFiles::below(folder, false).with_context(|| format!("write the examples to `{shown}`"))?;
        let files: Vec<(&str, Written)> =
            FILES.iter().map(|(path, content)| (*path, folder.write(path, content))).collect();
        let mut has_failed = false;
        for (path, written) in &files {
            if let Written::Failed(reason) = written {
                has_failed = true;
                out::report(&anyhow::anyhow!("write `{shown}/{path}`: {reason}"));
            }
        }
        if self.json {
            let files = files.iter().map(|(path, written)| Json::from(written.object(path)));
            let object = object! { "folder": shown, "files": files.collect::<Vec<_>>() };
            out::stdout().json(&Json::from(object).to_text())?;
        } else {
            let count = |state: &Written| files.iter().filter(|(_, written)| written == state).count();
            let exist = count(&Written::Exists);
            let left = if exist == 0 { String::new() } else { format!(" ({exist} existed and were left alone)") };
            writeln!(out::stdout(), "wrote {} files to `{}`{left}", count(&Written::Created), printable(&shown))?;
        }
        Ok(if has_failed { Exit::NoAnswer } else { Exit::Yes })
    }
}
