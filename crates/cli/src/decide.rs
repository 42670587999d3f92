//! `proofmark decide`.

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use anyhow::anyhow;
use clap::Args;
use proofmark_boundary::{
    Admission, Decision, DecisionReceipt, Difference, ENGINE, NOT_COMPARED, Recomputed, Replay, Request, RuleStatus,
    explain_decision, other_engine,
};
use proofmark_decider::{Asked, Decided, Decider, replay};
use proofmark_keys::{KnownSigners, TrustedSigners, verify_decision};
use proofmark_receipt::{SignatureStatus, Trust, Verification};
use proofmark_store::Tenant;

use crate::config::Config;
use crate::decision_page;
use crate::document::{self, read_as};
use crate::error::with_help;
use crate::exit::Exit;
use crate::options::{Recording, Signing, StoreAt, Trusting};
use crate::out;
use crate::paint::{Paint, printable};
use crate::policy_option::PolicyOption;
use crate::presenting::Presenting;
use crate::receipt::read;
use crate::report::{Case, Format, Formatting, Group, Human, Reporter, Status, Style, of_decision};
use crate::signed::signed_by;
use crate::source::in_presented;

/// Decide whether an action may execute now, and how to continue if not
///
/// The decision is a signed receipt that a workflow can branch on: allow, replan, ask a human, or stop, and what would
/// change the decision. Receipts and approvals are evidence; single-use evidence is spent with the decision.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark decide examples/decide/request.json --policy examples/decide/policy.yaml
  proofmark decide action.json --policy policy.yaml --receipt ./receipts --trust verification=verifier.pem --json
  proofmark decide action.json --policy policy.yaml --replay 97473953

Exit codes: 0 allowed, or the replay is `same`; 1 not allowed, or the replay differs, is invalid or untrusted;
2 not decided, or the signature of the replayed receipt cannot be verified.")]
pub(crate) struct Decide {
    /// The action and its facts, in the plain form or as `{envelope, decision_context}`, as JSON or YAML; - for standard
    /// input
    #[arg(value_name = "FILE|-")]
    request: PathBuf,
    #[command(flatten)]
    policy: PolicyOption,
    #[command(flatten)]
    presenting: Presenting,
    #[command(flatten)]
    trusting: Trusting,
    /// Decide only if the conditions of this earlier decision are met: an id, the file of its receipt, or -
    #[arg(long, value_name = "FILE|ID|-", conflicts_with = "replay")]
    resume: Option<String>,
    /// Make no decision: verify this decision (an id, the file of its receipt, or -), recompute it and print differences
    ///
    /// The result is `same` only if a trusted signer signed the receipt.
    #[arg(long, value_name = "FILE|ID|-", conflicts_with = "format")]
    replay: Option<String>,
    /// Print every rule of the policy, also those that do not apply, with its evidence
    #[arg(short, long, conflicts_with_all = ["json", "replay", "format"])]
    verbose: bool,
    #[command(flatten)]
    signing: Signing,
    #[command(flatten)]
    store: StoreAt,
    #[command(flatten)]
    recording: Recording,
    #[command(flatten)]
    formatting: Formatting,
}

impl Decide {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let policy = document::action_policy(&self.policy.file(config)?)?;
        let request = self.read_request()?;
        let known = config.known_signers()?;
        let trusted = self.trusting.among(&known)?;
        let evidence = self.presenting.read(&self.store, config)?;
        let presented = evidence.presented();
        let stop = &AtomicBool::new(false);
        // A replay must work where the decision was not made: it opens no store to write, and creates no key.
        if let Some(argument) = &self.replay {
            let receipt = read::decision(argument, &self.store, config)?;
            let trusted = self.with_named_key(trusted, config)?;
            let replay = replay(&receipt, &request, &policy, presented, trusted.signers()).map_err(in_presented)?;
            return recompute(&replay, &receipt, &known);
        }
        let resumed = self.resume.as_ref().map(|argument| read::decision(argument, &self.store, config)).transpose()?;
        let key = self.signing.key(config)?;
        let trusted = trusted.with_own(key.signer());
        let store = self.store.open(config)?;
        let decider = Decider::for_command_line(Some(policy), key, store, trusted);
        let decider = decider.recording_facts(self.recording.record_facts);
        let asked = Asked { presented, ..Asked::new(&request, &Tenant::LOCAL, stop) };
        if let (Some(receipt), Some(argument)) = (&resumed, &self.resume) {
            // The conditions are those of the earlier decision: anyone could write one whose conditions are met.
            require_trusted(receipt, &decider.trusted(), argument)?;
            if let Some(reason) = not_admitted(&decider.admits(&asked, receipt).map_err(in_presented)?) {
                return self.refuse(&reason);
            }
        }
        let decided = decider.decide(&asked).map_err(in_presented)?;
        match self.formatting.format() {
            Format::Human => self.print(&decider, &decided)?,
            format => self.report(format, &decider, &decided)?,
        }
        Ok(if decided.receipt.disposition().allows() { Exit::Yes } else { Exit::No })
    }

    /// Writes the reasons as cases of the decision.
    fn report(&self, format: Format, decider: &Decider, decided: &Decided) -> anyhow::Result<()> {
        let mut reporter = Reporter::new(format, "decide", Human::new(Style::Verdicts));
        reporter.group(of_decision(&decided.receipt, &self.request, decider.policy().as_deref()))?;
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

    fn print(&self, decider: &Decider, decided: &Decided) -> anyhow::Result<()> {
        let mut out = out::stdout();
        let policy = decider.policy();
        decision_page::write(&mut out, &decided.receipt, policy.as_deref())?;
        // It was made here, so it is known.
        let Some(decision) = &decided.decision else { return Ok(()) };
        if !self.verbose && !decision.allows() {
            for boundary in without_effect(decision) {
                writeln!(out, "  `{}` matches, but its `when` is false", printable(boundary))?;
            }
        }
        if let (true, Some(policy)) = (self.verbose, &policy) {
            writeln!(out, "  every rule:")?;
            let explained = explain_decision(policy, decision);
            explained.lines().try_for_each(|line| writeln!(out, "    {}", printable(line)))?;
        }
        Ok(())
    }

    /// With the key named with `--key`, which need not be in the keyring.
    fn with_named_key(&self, trusted: TrustedSigners, config: &Config) -> anyhow::Result<TrustedSigners> {
        let Some(name) = &self.signing.key else { return Ok(trusted) };
        Ok(trusted.with_own(self.signing.unlock.load(config, name)?.signer()))
    }

    fn read_request(&self) -> anyhow::Result<Request> {
        read_as(&self.request, "request", Request::read)
    }
}

/// The boundaries that match the action and do not apply to it, where none applies.
fn without_effect(decision: &Decision) -> impl Iterator<Item = &str> {
    let of_boundaries = || decision.findings().iter().filter(|finding| !finding.boundary.is_empty());
    let none_applies = of_boundaries().all(|finding| finding.status == RuleStatus::NotApplicable);
    of_boundaries().filter(move |_| none_applies).map(|finding| &*finding.boundary)
}

/// Refuses a decision receipt that is not valid, or whose signer is not trusted.
pub(crate) fn require_trusted(
    receipt: &DecisionReceipt,
    trusted: &TrustedSigners,
    argument: &str,
) -> anyhow::Result<()> {
    let verification = verify_decision(receipt, trusted.signers());
    match (&verification.answer, verification.trust) {
        (SignatureStatus::Valid, Trust::Trusted) => Ok(()),
        (SignatureStatus::Valid, _) => Err(with_help(
            format!("use the decision receipt `{argument}`: its signer is not trusted"),
            "name the signer with `--trust decision=SIGNER`, or add it with `proofmark trust add --for decision`",
        )),
        (status, _) => Err(anyhow!(
            "use the decision receipt `{argument}`: it is {status} ({})",
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

fn recompute(replay: &Replay, receipt: &DecisionReceipt, known: &KnownSigners) -> anyhow::Result<Exit> {
    let paint = Paint::for_stdout();
    let Verification { answer, trust, signer, .. } = &replay.verification;
    let signed = match signer {
        Some(signer) if *trust == Trust::Trusted => signed_by(known, signer, *trust),
        Some(signer) => {
            format!("{}; name a trusted signer with `--trust decision=SIGNER`", signed_by(known, signer, *trust))
        }
        None => format!("the signature is {answer}: {}", answer.cause().unwrap_or_default()),
    };
    let (word, exit) = match (&replay.recomputed, answer) {
        (Recomputed::Unreadable(what), _) => {
            return Err(with_help(
                format!("recompute the decision: its `{what}` cannot be read"),
                "give the receipt that was issued",
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
    match &replay.recomputed {
        Recomputed::Differs(differences) => {
            let cause = cause(differences, receipt).map_or_else(String::new, |cause| format!(": {cause}"));
            writeln!(out, "{word}{}\n  {}", printable(&cause), printable(&signed))?;
            for difference in differences {
                let (recorded, recomputed) = (printable(&difference.recorded), printable(&difference.recomputed));
                writeln!(out, "  {}: recorded {recorded}, recomputed {recomputed}", printable(&difference.at))?;
            }
        }
        Recomputed::Same => {
            writeln!(out, "{word}\n  {}", printable(&signed))?;
            writeln!(out, "  the same request and policy give the same decision")?;
        }
        Recomputed::Unreadable(_) => {}
    }
    if let Some(engine) = other_engine(receipt) {
        let words = format!("{engine} made the decision, and this is {ENGINE}: texts for people are not compared");
        writeln!(out, "  {}", printable(&words))?;
    }
    writeln!(out, "  {}", paint.dim(&format!("not compared: {}", NOT_COMPARED.join(", "))))?;
    Ok(exit)
}

/// What explains most of the differences: another action, other facts, another policy or another engine.
fn cause(differences: &[Difference], receipt: &DecisionReceipt) -> Option<String> {
    let differs = |member: &str| differences.iter().any(|difference| difference.at == format!("binding.{member}"));
    let mut causes: Vec<String> = Vec::new();
    if differs("action_hash") {
        causes.push("this is another request (action_hash differs)".to_owned());
    } else if differs("environment") || differs("agent") {
        causes.push("this is the request of another agent or environment".to_owned());
    } else if differs("facts_hash") {
        causes.push("the request has other facts (facts_hash differs)".to_owned());
    }
    if differs("policy_hash") {
        causes.push("this is another policy (policy_hash differs)".to_owned());
    }
    if causes.is_empty() && other_engine(receipt).is_some() {
        causes.push("another engine made the decision".to_owned());
    }
    (!causes.is_empty()).then(|| causes.join(", and "))
}
