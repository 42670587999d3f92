//! `proofmark decide`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::anyhow;
use clap::Args;
use proofmark_boundary::{
    ActionPolicy, Admission, DecisionReceipt, NOT_COMPARED, Recomputed, Request, explain_decision,
};
use proofmark_receipt::document::Format as Notation;
use proofmark_receipt::json::MAX_BYTES;
use proofmark_receipt::{SignatureStatus, SignerId, Trust, Verification};
use proofmark_verifier::{Asked, Decided, Decider, Question, Tenant, replay, resume};

use crate::config::{self, Config};
use crate::document::{self, read_as};
use crate::error::with_help;
use crate::exit::Exit;
use crate::input;
use crate::options::{Signing, StoreAt, Trusting};
use crate::out;
use crate::paint::{Paint, printable};
use crate::report::{Case, Format, Formatting, Group, Human, Reporter, Status, Style, of_decision};
use crate::source::{Source, in_presented};

/// Decide whether an action may execute now, and how to continue if not
///
/// The decision is a signed receipt that a workflow can branch on: allow, replan, ask a human, or stop, and what would
/// change the decision. Receipts and approvals are evidence; single-use evidence is spent with the decision.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark decide examples/decide/request.json --action-policy examples/decide/policy.yaml
  proofmark decide request.json --action-policy policy.yaml --receipts ./receipts --trust verifier.pem --json
  proofmark decide request.json --action-policy policy.yaml --replay decision.json

Exit codes: 0 allowed, or the replay is `same`; 1 not allowed, or the replay differs, is invalid or untrusted;
2 not decided, or the signature of the replayed receipt cannot be verified.")]
pub(crate) struct Decide {
    /// The action and its facts, in the plain form or as `{envelope, decision_context}`; - for standard input
    #[arg(value_name = "FILE|-")]
    request: PathBuf,
    /// The action policy, which decides
    #[arg(long, alias = "policy", value_name = "FILE")]
    action_policy: PathBuf,
    /// Present the receipts in this folder of .json and .jsonl files as evidence
    #[arg(long, value_name = "DIR")]
    receipts: Option<PathBuf>,
    /// Present the approvals in this folder of .json and .jsonl files
    #[arg(long, value_name = "DIR")]
    approvals: Option<PathBuf>,
    #[command(flatten)]
    trusting: Trusting,
    /// Decide only if the conditions of this earlier decision receipt are met
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    resume: Option<PathBuf>,
    /// Make no decision: verify this decision receipt, recompute it and print differences
    ///
    /// The result is `same` only if a signer named with `--trust` signed the receipt; without `--trust`, the local key.
    #[arg(long, value_name = "FILE", conflicts_with = "format")]
    replay: Option<PathBuf>,
    #[command(flatten)]
    signing: Signing,
    #[command(flatten)]
    store: StoreAt,
    #[command(flatten)]
    formatting: Formatting,
}

impl Decide {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let policy = document::action_policy(&self.action_policy)?;
        let request = self.read_request()?;
        let trusted = self.trusting.signers()?;
        let folders: Vec<&Path> =
            [&self.receipts, &self.approvals].into_iter().flatten().map(PathBuf::as_path).collect();
        let stop = &AtomicBool::new(false);
        let folders = &folders;
        let question = Question { policy: &policy, request: &request, folders, trusted: &trusted, own: None, stop };
        // A replay must work where the decision was not made: it opens no store and creates no key.
        if let Some(path) = &self.replay {
            let own = if trusted.is_empty() { self.local_signer(config)? } else { None };
            let trusted = own.as_slice().iter().chain(&trusted).copied().collect::<Vec<_>>();
            return recompute(&Question { trusted: &trusted, ..question }, &decision_receipt(path)?);
        }
        let key = self.signing.key(config)?;
        let question = Question { own: Some(key.signer()), ..question };
        let store = self.store.open(config)?;
        if let Some(path) = &self.resume {
            let resumed = decision_receipt(path)?;
            let own = [key.signer()];
            let signers = if trusted.is_empty() { &own[..] } else { &trusted };
            // The conditions are those of the earlier decision: anyone could write one whose conditions are met.
            require_trusted(&resumed, signers, path)?;
            if let Some(reason) = not_admitted(&resume(&question, &resumed, &store).map_err(in_presented)?) {
                return self.refuse(&reason);
            }
        }
        let decider = Decider::for_command_line(Some(policy), key, store, trusted);
        let asked = Asked { request: &request, tenant: &Tenant::LOCAL, candidate: None, replayable: None, stop };
        let decided = decider.decide_presented(&asked, folders).map_err(in_presented)?;
        match self.formatting.format() {
            Format::Human => write!(out::stdout(), "{}", decision_text(decider.policy().as_deref(), &decided))?,
            format => self.report(format, &decided)?,
        }
        Ok(if decided.decision.allows() { Exit::Yes } else { Exit::No })
    }

    /// Writes the reasons as cases of the decision.
    fn report(&self, format: Format, decided: &Decided) -> anyhow::Result<()> {
        let mut reporter = Reporter::new(format, "decide", Human::new(Style::Verdicts));
        reporter.group(of_decision(&decided.receipt, &self.request))?;
        reporter.finish()
    }

    /// Says that the conditions of the earlier decision are not met.
    fn refuse(&self, reason: &str) -> anyhow::Result<Exit> {
        match self.formatting.format() {
            Format::Human | Format::Json => {
                writeln!(out::stdout(), "{}\n  {}", Paint::for_stdout().bad("not admitted"), printable(reason))?;
            }
            format => {
                let case = Case { message: Some(reason.to_owned()), ..Case::new("not admitted", Status::Fail) };
                let mut reporter = Reporter::new(format, "decide", Human::new(Style::Verdicts));
                reporter.group(Group::of_cases("not admitted", vec![case]))?;
                reporter.finish()?;
            }
        }
        Ok(Exit::No)
    }

    /// The signer of local decisions. A replay creates no key.
    fn local_signer(&self, config: &Config) -> anyhow::Result<Option<SignerId>> {
        let name = self.signing.key.as_deref().unwrap_or(config::DEFAULT_KEY);
        // A key that is named must exist. Without the default key no signer is trusted: never `same`.
        if self.signing.key.is_none() && !config.keyring().has(name) {
            return Ok(None);
        }
        let passphrase = self.signing.unlock.passphrase(config)?;
        Ok(Some(config.keyring().load(name, passphrase.as_ref())?.signer()))
    }

    fn read_request(&self) -> anyhow::Result<Request> {
        read_as(&self.request, "request", Request::read)
    }
}

fn decision_text(policy: Option<&ActionPolicy>, decided: &Decided) -> String {
    let paint = Paint::for_stdout();
    let outcome = decided.decision.outcome().to_string();
    let painted = if decided.decision.allows() { paint.good(&outcome) } else { paint.bad(&outcome) };
    let explained = policy.map(|policy| explain_decision(policy, &decided.decision)).unwrap_or_default();
    let words: String = explained.lines().map(|line| format!("  {}\n", printable(line))).collect();
    let id = decided.receipt.decision_id();
    format!("{painted}\n{words}  {}\n", paint.dim(&format!("decision {id}")))
}

/// Reads a decision receipt from a file.
pub(crate) fn decision_receipt(path: &Path) -> anyhow::Result<DecisionReceipt> {
    let text = input::read_limited(path, MAX_BYTES as u64)?;
    let label = path.display().to_string();
    let source = Source { label: &label, line: 1, text: &text, format: Notation::Json };
    DecisionReceipt::parse(&text).map_err(|error| source.error("read the decision receipt", &error))
}

/// Refuses a decision receipt that is not valid, or whose signer is not trusted.
pub(crate) fn require_trusted(receipt: &DecisionReceipt, trusted: &[SignerId], path: &Path) -> anyhow::Result<()> {
    let verification = receipt.verify(trusted);
    match (&verification.answer, verification.trust) {
        (SignatureStatus::Valid, Trust::Trusted) => Ok(()),
        (SignatureStatus::Valid, _) => Err(with_help(
            format!("use the decision receipt `{}`: its signer is not trusted", path.display()),
            "name the signer with `--trust`",
        )),
        (status, _) => Err(anyhow!(
            "use the decision receipt `{}`: it is {status} ({})",
            path.display(),
            status.cause().unwrap_or_default()
        )),
    }
}

fn not_admitted(admission: &Admission) -> Option<String> {
    match admission {
        Admission::Admitted => None,
        Admission::ConditionsUnmet(unmet) => Some(format!("these conditions are not met: {}", unmet.join("; "))),
        Admission::Refused { code, message } => Some(format!("{code}: {message}")),
    }
}

fn recompute(question: &Question<'_>, receipt: &DecisionReceipt) -> anyhow::Result<Exit> {
    let paint = Paint::for_stdout();
    let replay = replay(question, receipt).map_err(in_presented)?;
    let Verification { answer, trust, signer, .. } = &replay.verification;
    let signed = match (signer, trust) {
        (Some(signer), Trust::Trusted) => format!("signed by {signer}, which is trusted"),
        (Some(signer), Trust::Untrusted | Trust::Unknown) => {
            format!("signed by {signer}, which is not trusted; name a trusted signer with `--trust`")
        }
        (None, _) => format!("the signature is {answer}: {}", answer.cause().unwrap_or_default()),
    };
    let (word, exit) = match (&replay.recomputed, answer) {
        (Recomputed::Unreadable(what), _) => {
            return Err(with_help(
                format!("recompute the decision: its `{what}` cannot be read"),
                "give the receipt as it was issued",
            ));
        }
        // Before the differences: the exit code of an undecidable signature does not depend on unverified content.
        (_, SignatureStatus::Undecidable(_)) => (paint.bad("undecidable"), Exit::NoAnswer),
        (Recomputed::Differs(_), _) => (paint.bad("differs"), Exit::No),
        (Recomputed::Same, _) if replay.is_same() => (paint.good("same"), Exit::Yes),
        (Recomputed::Same, SignatureStatus::Invalid(_)) => (paint.bad("invalid"), Exit::No),
        (Recomputed::Same, SignatureStatus::Valid) => (paint.bad("untrusted"), Exit::No),
    };
    let mut out = out::stdout();
    writeln!(out, "{word}\n  {}", printable(&signed))?;
    match replay.recomputed {
        Recomputed::Differs(differences) => {
            for difference in differences {
                let (recorded, recomputed) = (printable(&difference.recorded), printable(&difference.recomputed));
                writeln!(out, "  {}: recorded {recorded}, recomputed {recomputed}", printable(&difference.at))?;
            }
        }
        Recomputed::Same => writeln!(out, "  the same request and policy give the same decision")?,
        Recomputed::Unreadable(_) => {}
    }
    writeln!(out, "  {}", paint.dim(&format!("not compared: {}", NOT_COMPARED.join(", "))))?;
    Ok(exit)
}
