//! `proofmark gate`.

mod hook;
mod look;
mod note;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use clap::{Args, Subcommand};
use proofmark_boundary::DecisionReceipt;
use proofmark_decider::{Asked, Decider};
use proofmark_git::{Candidate, NOTES, Repository};
use proofmark_receipt::{Json, Receipt, object};
use proofmark_store::Tenant;
use proofmark_verifier::Presented;

use crate::absolute::stated_store;
use crate::config::Config;
use crate::decision_page;
use crate::document;
use crate::exit::Exit;
use crate::options::{Recording, Signing, StoreAt, Trusting};
use crate::out;
use crate::paint::{Paint, printable};
use crate::presenting::{Evidence, Presenting};
use look::{Found, Looking};

/// How many paths that no receipt covers are named.
const MAX_NAMED: usize = 10;
/// How many digits of an id of git are shown.
const SHORT: usize = 12;

/// Let a git tree pass only with the receipts that a policy demands for exactly this tree
///
/// The action policy decides: its rules ask for receipts whose output is `action.args.digest`, the digest of the tree's files.
/// Receipts are found in the store, in files, and in the notes of the repository. As a git hook it refuses a push.
#[derive(Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "Examples:
  proofmark gate --tree HEAD --policy gate.yaml
  proofmark gate note --tree HEAD
  proofmark gate install --pre-push --policy gate.yaml

Exit codes: 0 every tree passes; 1 at least one does not; 2 not decided: the policy, the repository, the key or the
store could not be used. In a hook, 1 and 2 refuse the push."
)]
pub(crate) struct Gate {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    what: What,
    /// With --tree: the reference that is to have the tree, as the policy's `target`
    #[arg(long = "ref", value_name = "REF", requires = "tree", conflicts_with_all = ["pre_receive", "pre_push"])]
    reference: Option<String>,
    #[command(flatten)]
    presenting: Presenting,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    recording: Recording,
    /// Print one JSON object per tree, with its decision
    #[arg(long)]
    json: bool,
}

#[derive(Subcommand)]
enum Command {
    Note(note::AddNote),
    Install(hook::Install),
    Uninstall(hook::Uninstall),
}

/// What is decided on.
#[derive(Args)]
#[group(required = true, multiple = false)]
struct What {
    /// Decide on this tree: a commit, a tag, a tree, or a folder as in HEAD:src
    #[arg(long, value_name = "TREE")]
    tree: Option<String>,
    /// Decide on the updates that git gives a `pre-receive` hook on standard input
    #[arg(long)]
    pre_receive: bool,
    /// Decide on the updates that git gives a `pre-push` hook on standard input
    #[arg(long)]
    pre_push: bool,
}

/// How it is decided. A hook has these options too.
#[derive(Args)]
struct How {
    /// The action policy, which says what is asked for
    // The policy is required, and never taken from the project: the person who pushes can write where a hook of git runs.
    #[arg(long, value_name = "FILE", required = true)]
    policy: Option<PathBuf>,
    /// The repository [default: that of the current folder]
    #[arg(long, value_name = "DIR")]
    repo: Option<PathBuf>,
    /// In a hook: decide on updates of these references, as in refs/heads/main; can be repeated; others pass
    #[arg(long, value_name = "GLOB", default_value = "refs/heads/*")]
    protect: Vec<String>,
    /// In a hook: decide on the commit that a reference is to have, or on every commit that comes with it
    #[arg(long, value_enum, default_value = "tip", value_name = "WHICH")]
    commits: Commits,
    /// The notes in which receipts are beside the tree or its commit
    #[arg(long, value_name = "REF", default_value = NOTES)]
    notes: String,
    /// Who acts, as the policy's facts name them
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    /// The environment, as the policy's facts name it
    #[arg(long, value_name = "NAME")]
    environment: Option<String>,
    #[command(flatten)]
    signing: Signing,
    #[command(flatten)]
    trusting: Trusting,
    #[command(flatten)]
    store: StoreAt,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Commits {
    Tip,
    All,
}

/// What decides, and with what.
struct Gatekeeper<'a> {
    decider: Decider,
    repository: Repository,
    evidence: Evidence<'a>,
    /// Receipts that came with the push.
    pushed: Vec<Receipt>,
    agent: Option<String>,
    environment: Option<String>,
    json: bool,
}

impl Gate {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        match self.command {
            Some(Command::Note(command)) => return command.run(config),
            Some(Command::Install(command)) => return command.run(config),
            Some(Command::Uninstall(command)) => return command.run(),
            None => {}
        }
        let config = &if self.what.pre_push || self.what.pre_receive { config.for_hook(None) } else { config.clone() };
        let Some(policy) = &self.how.policy else { return Ok(Exit::NoAnswer) };
        let policy = document::action_policy(policy)?;
        let evidence = self.presenting.read(&self.how.store, config)?;
        let key = self.how.signing.key(config)?;
        // As the key is created on first use, the signers are read after it.
        let trusted = self.how.trusting.signers(config)?;
        let decider = Decider::for_command_line(Some(policy), key, self.how.store.open(config)?, trusted);
        let gatekeeper = Gatekeeper {
            decider: decider.recording_facts(self.recording.record_facts),
            evidence,
            pushed: look::pushed_receipts(),
            agent: self.how.agent.clone(),
            environment: self.how.environment.clone(),
            json: self.json,
            repository: Repository::at(self.how.repo.as_deref()),
        };
        let mut looking = Looking::at(&gatekeeper.repository, &self.how.notes);
        let found = match &self.what.tree {
            Some(name) => vec![looking.tree(name, self.reference)?],
            None => looking.updates(self.what.pre_push, &self.how)?,
        };
        gatekeeper.decide(&found)
    }
}

impl How {
    /// Options whose values may be paths, with them. Refuses a store whose URL has a password.
    fn files(&self, config: &Config) -> anyhow::Result<Vec<(&'static str, String)>> {
        let mut files: Vec<_> = self.trusting.named().iter().map(|signer| ("--trust", signer.clone())).collect();
        files.extend(self.signing.key.iter().map(|key| ("--key", key.clone())));
        let store = match self.store.given() {
            // A path may be that of a file that does not exist yet.
            Some(place) => Some(stated_store(place)?),
            None => config.named_store().map(stated_store).transpose()?,
        };
        let passphrase_file = self.signing.unlock.file().and_then(Path::to_str);
        let paths = [("--passphrase-file", passphrase_file), ("--store", store.as_deref())];
        files.extend(paths.into_iter().filter_map(|(option, path)| Some((option, path?.to_owned()))));
        Ok(files)
    }
}

impl Gatekeeper<'_> {
    /// Decides on all. What is allowed spends what it needs, so nothing is allowed where something else is refused.
    fn decide(&self, found: &[Found]) -> anyhow::Result<Exit> {
        let mut refused = Vec::new();
        for one in found {
            if !self.would_allow(one)? {
                refused.push(one);
            }
        }
        let decided: Vec<&Found> = if refused.is_empty() { found.iter().collect() } else { refused };
        let mut exit = Exit::Yes;
        for one in decided {
            let receipt = self.ask(one)?;
            if !receipt.disposition().allows() {
                exit = Exit::No;
            }
            self.print(one, &receipt)?;
        }
        Ok(exit)
    }

    fn would_allow(&self, found: &Found) -> anyhow::Result<bool> {
        let receipts = self.receipts_for(found);
        let (request, stop) = (self.request(&found.candidate)?, AtomicBool::new(false));
        Ok(self.decider.would_allow(&asked(&request, self.evidence.with(&receipts), &stop))?)
    }

    fn ask(&self, found: &Found) -> anyhow::Result<DecisionReceipt> {
        let receipts = self.receipts_for(found);
        let (request, stop) = (self.request(&found.candidate)?, AtomicBool::new(false));
        Ok(self.decider.decide(&asked(&request, self.evidence.with(&receipts), &stop))?.receipt)
    }

    fn request(&self, candidate: &Candidate) -> anyhow::Result<proofmark_boundary::Request> {
        Ok(candidate.request(self.agent.as_deref(), self.environment.as_deref())?)
    }

    fn receipts_for(&self, found: &Found) -> Vec<Receipt> {
        self.evidence.receipts().iter().chain(&self.pushed).cloned().chain(found.noted(&self.repository)).collect()
    }

    fn print(&self, found: &Found, receipt: &DecisionReceipt) -> anyhow::Result<()> {
        let mut out = out::stdout();
        let (candidate, allows) = (&found.candidate, receipt.disposition().allows());
        let tree = candidate.tree.as_ref();
        if self.json {
            let line = object! {
                "allowed": allows,
                "ref"?: candidate.reference.as_deref(),
                "commit"?: candidate.commit.as_deref(),
                "tree"?: tree.map(|tree| tree.id.as_str()),
                "digest"?: tree.and_then(|tree| tree.digest).map(|digest| digest.to_string()),
                "decision": receipt.document().clone(),
            };
            out.json(&Json::Object(line).to_text())?;
            return Ok(());
        }
        let paint = Paint::for_stdout();
        let word = if allows { paint.good("pass") } else { paint.bad("refused") };
        writeln!(out, "{word} {}", printable(&found.name()))?;
        if let Some(tree) = tree {
            for (path, why) in &tree.left_out {
                writeln!(out, "  no receipt covers `{}`: {why}", printable(path))?;
            }
            let all: u64 = tree.left_out_counts.iter().map(|(_, count)| count).sum();
            if let Some(more) = all.checked_sub(tree.left_out.len() as u64).filter(|more| *more > 0) {
                writeln!(out, "  no receipt covers {more} more paths")?;
            }
        }
        decision_page::write(&mut out, receipt, self.decider.policy().as_deref())?;
        Ok(())
    }
}

fn asked<'a>(request: &'a proofmark_boundary::Request, presented: Presented<'a>, stop: &'a AtomicBool) -> Asked<'a> {
    Asked { presented, ..Asked::new(request, &Tenant::LOCAL, stop) }
}
