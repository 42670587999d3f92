//! Recorded runs in files.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::Args;
use proofmark_decider::RunSettings;
use proofmark_evidence::Signers;
use proofmark_evidence::trace::{self, FORMS, MAX_TRACE_BYTES, Trace, TraceFault};
use proofmark_receipt::document::Format;

use crate::error::with_help;
use crate::input;
use crate::out;
use crate::session;
use crate::source::Source;

/// The most files of runs.
const MAX_RUN_FILES: usize = 100_000;
/// How deep their folder may nest.
const MAX_FOLDER_DEPTH: usize = 16;

/// What the records of runs do not say.
#[derive(Args)]
pub(super) struct RunDetails {
    /// The server whose tools the runs call, where their records name none
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// The agent
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// The environment
    #[arg(long, value_name = "NAME")]
    environment: Option<String>,
}

/// The files of runs.
struct RunFiles {
    /// Sorted: the system lists a folder in any order.
    files: Vec<PathBuf>,
    /// How many files have other names.
    others: usize,
}

impl RunDetails {
    pub(super) fn settings(&self) -> RunSettings {
        let (server, agent) = (self.server.clone(), self.agent.clone());
        RunSettings { server, agent, environment: self.environment.clone() }
    }
}

/// The files of runs in a folder, or the one that is named; says how many others there are.
pub(super) fn files(runs: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let mut found = RunFiles { files: Vec::new(), others: 0 };
    if runs.is_dir() {
        found.add(runs, 0)?;
        found.files.sort();
    } else {
        found.files.push(runs.to_owned());
    }
    if found.files.is_empty() {
        return Err(anyhow!("find runs in the folder `{}`: it holds no .json or .jsonl file", runs.display()));
    }
    if found.others > 0 {
        let others = proofmark_receipt::document::counted(found.others as u64, "file");
        out::note(format_args!("not read: {others} with another name than .json or .jsonl"));
    }
    Ok(found.files)
}

impl RunFiles {
    fn add(&mut self, folder: &Path, depth: usize) -> anyhow::Result<()> {
        let context = || format!("read the folder `{}`", folder.display());
        if depth > MAX_FOLDER_DEPTH {
            let message = format!("{}: it is more than {MAX_FOLDER_DEPTH} folders deep", context());
            return Err(with_help(message, "name a folder within it"));
        }
        for entry in fs::read_dir(folder).with_context(context)? {
            let entry = entry.with_context(context)?;
            let path = entry.path();
            // A link to a folder may lead back.
            if entry.file_type().with_context(context)?.is_dir() {
                self.add(&path, depth + 1)?;
                continue;
            }
            let extension = path.extension().map(OsStr::to_ascii_lowercase);
            match extension.as_deref().and_then(OsStr::to_str) {
                Some("json" | "jsonl") => self.files.push(path),
                _ => self.others += 1,
            }
            if self.files.len() > MAX_RUN_FILES {
                return Err(with_help(format!("{}: more than {MAX_RUN_FILES} runs", context()), "split the folder"));
            }
        }
        Ok(())
    }
}

/// Reads a run. An export of a session has to be signed by a trusted signer, and whole.
pub(super) fn read(path: &Path, trusted: &Signers) -> anyhow::Result<Trace> {
    let label = path.display().to_string();
    let bytes = input::read_limited(path, MAX_TRACE_BYTES as u64)?;
    let source = Source { label: &label, line: 1, text: &bytes, format: Format::Json };
    let read = trace::read(&bytes).map_err(|error| {
        let mut read = source.refusal("read the run", &error);
        // Of a record of no known form, the help names the forms.
        if error.fault != TraceFault::UnknownForm {
            read.help = Some(error.help().map_or_else(forms, |help| format!("{help}; {}", forms())));
        }
        read
    })?;
    session::check_export(&bytes, trusted).with_context(|| format!("read the run `{label}`"))?;
    Ok(read)
}

fn forms() -> String {
    let names: Vec<_> = FORMS.iter().map(|form| format!("`{}`", form.as_str())).collect();
    format!("runs are read in the forms {}", names.join(", "))
}
