//! `proofmark decide`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use anyhow::{Context, bail};
use clap::Args;
use proofmark_boundary::{Admission, DecisionReceipt, NOT_COMPARED, Policy, Recomputed, Request, explain_decision};
use proofmark_receipt::json::MAX_BYTES;
use proofmark_receipt::{SignatureStatus, SignerId, Trust, Verification};
use proofmark_verifier::{Asked, Decided, Decider, Passphrase, Question, Store, Tenant, replay, resume};

use crate::config::{self, Config};
use crate::document::{self, read_as};
use crate::exit::Exit;
use crate::input;
use crate::out;
use crate::paint::{Paint, tame};

/// Decide whether an action may execute now, and how to go on if not
///
/// The decision is a signed receipt the workflow can branch on: allow, replan, ask a human, or stop, with what would
/// change it. Receipts and approvals count as evidence; one that counts once is spent with the decision.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark decide examples/decide/request.json --policy examples/decide/policy.yaml
  proofmark decide request.json --policy policy.yaml --receipts ./receipts --trust verifier.pem --json
  proofmark decide request.json --policy policy.yaml --replay decision.json

Exit codes: 0 allowed (or the replay is `same`); 1 not allowed, or the replay differs, is invalid or untrusted;
2 nothing could be decided, or the replayed receipt has no signature that can be checked.")]
pub(crate) struct Decide {
    /// The action and the facts: the plain form, or `{envelope, decision_context}`; - for standard input
    #[arg(value_name = "FILE|-")]
    request: PathBuf,
    /// The policy of boundaries
    #[arg(long, value_name = "FILE")]
    policy: PathBuf,
    /// Receipts presented as evidence: a folder of .json and .jsonl files
    #[arg(long, value_name = "DIR")]
    receipts: Option<PathBuf>,
    /// Approvals presented: a folder of .json and .jsonl files
    #[arg(long, value_name = "DIR")]
    approvals: Option<PathBuf>,
    /// Trust this signer: a signer id, or a public key file (PEM, JWK, JWK set)
    #[arg(long, value_name = "KEY")]
    trust: Vec<String>,
    /// Admit the request only if the conditions of this decision receipt hold
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    resume: Option<PathBuf>,
    /// Decide nothing: verify and recompute this decision receipt, and say where it differs
    ///
    /// It is `same` only if a signer named with `--trust` signed it; without `--trust`, this machine's own key.
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// Sign the decision with this key: a name, or the path of a key file
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// The passphrase of the key is in this file
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// Keep decisions, and what they spend, in this database
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Print the decision receipt, on one line
    #[arg(long)]
    json: bool,
}

impl Decide {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let policy = document::boundary(&self.policy)?;
        let request = self.read_request()?;
        let trusted = config::trusted(&self.trust)?;
        let folders: Vec<&Path> =
            [&self.receipts, &self.approvals].into_iter().flatten().map(PathBuf::as_path).collect();
        let stop = &AtomicBool::new(false);
        let folders = &folders;
        let question = Question { policy: &policy, request: &request, folders, trusted: &trusted, own: None, stop };
        let passphrase = config.passphrase(self.passphrase_file.as_deref())?;
        if let Some(path) = &self.replay {
            let own = if trusted.is_empty() { self.own_signer(config, passphrase.as_ref())? } else { None };
            let trusted = own.as_slice().iter().chain(&trusted).copied().collect::<Vec<_>>();
            return recompute(&Question { trusted: &trusted, ..question }, &decision_receipt(path)?);
        }
        let key = config.signing_key(self.key.as_deref(), passphrase.as_ref())?;
        let question = Question { own: Some(key.signer()), ..question };
        let store = Store::open(&config.store_path(self.store.as_deref()))?;
        if let Some(path) = &self.resume {
            let resumed = decision_receipt(path)?;
            let own = [key.signer()];
            let signers = if trusted.is_empty() { &own[..] } else { &trusted };
            genuine(&resumed, signers, path)?;
            if let Some(why) = not_admitted(&resume(&question, &resumed, &store)?) {
                writeln!(out::stdout(), "{} {}", Paint::for_stdout().bad("not admitted"), tame(&why))?;
                return Ok(Exit::No);
            }
        }
        let decider = Decider::for_command_line(Some(policy), key, store, trusted);
        let asked = Asked { request: &request, tenant: &Tenant::LOCAL, candidate: None, replayable: None, stop };
        let decided = decider.decide_presented(&asked, folders)?;
        let mut out = out::stdout();
        match self.json {
            true => writeln!(out, "{}", decided.receipt.to_text())?,
            false => write!(out, "{}", shown(decider.policy(), &decided))?,
        }
        Ok(if decided.decision.allows() { Exit::Yes } else { Exit::No })
    }

    /// The signer of this machine's own decisions, where it has a key. None is made to look at others'.
    fn own_signer(&self, config: &Config, passphrase: Option<&Passphrase>) -> anyhow::Result<Option<SignerId>> {
        let name = self.key.as_deref().unwrap_or(config::DEFAULT_KEY);
        match self.key.is_some() || config.keyring().has(name) {
            true => Ok(Some(config.keyring().load(name, passphrase)?.signer())),
            false => Ok(None),
        }
    }

    fn read_request(&self) -> anyhow::Result<Request> {
        if self.request != Path::new("-") {
            return read_as(&self.request, "request", Request::read);
        }
        let bytes = input::read_stdin(MAX_BYTES as u64)?;
        let json = proofmark_receipt::Json::parse(&bytes).context("read the request")?;
        Request::read(&json).context("read the request")
    }
}

fn shown(policy: Option<&Policy>, decided: &Decided) -> String {
    let paint = Paint::for_stdout();
    let outcome = decided.decision.outcome().to_string();
    let painted = if decided.decision.allows() { paint.good(&outcome) } else { paint.bad(&outcome) };
    let explained = policy.map(|policy| explain_decision(policy, &decided.decision)).unwrap_or_default();
    let words: String = explained.lines().map(|line| format!("  {}\n", tame(line))).collect();
    let id = decided.receipt.decision_id();
    format!("{painted}\n{words}  {}\n", paint.faint(&format!("decision {id}")))
}

/// Reads a decision receipt from a file.
pub(crate) fn decision_receipt(path: &Path) -> anyhow::Result<DecisionReceipt> {
    let bytes = input::read_limited(path, MAX_BYTES as u64)?;
    DecisionReceipt::parse(&bytes).with_context(|| format!("read the decision receipt `{}`", path.display()))
}

/// Whether somebody trusted signed the receipt as it is.
pub(crate) fn genuine(receipt: &DecisionReceipt, trusted: &[SignerId], path: &Path) -> anyhow::Result<()> {
    let verification = receipt.verify(trusted);
    match (&verification.answer, verification.trust) {
        (SignatureStatus::Valid, Trust::Trusted) => Ok(()),
        (SignatureStatus::Valid, _) => {
            bail!("use the decision receipt `{}`: its signer is not trusted; name it with `--trust`", path.display())
        }
        (answer, _) => bail!(
            "use the decision receipt `{}`: it is {answer} ({})",
            path.display(),
            answer.cause().unwrap_or_default()
        ),
    }
}

fn not_admitted(admission: &Admission) -> Option<String> {
    match admission {
        Admission::Admitted => None,
        Admission::ConditionsUnmet(unmet) => Some(format!("these conditions do not hold: {}", unmet.join("; "))),
        Admission::Refused { code, message } => Some(format!("{code}: {message}")),
    }
}

fn recompute(question: &Question<'_>, receipt: &DecisionReceipt) -> anyhow::Result<Exit> {
    let paint = Paint::for_stdout();
    let replay = replay(question, receipt)?;
    let Verification { answer, trust, signer, .. } = &replay.verification;
    let signed = match (signer, trust) {
        (Some(signer), Trust::Trusted) => format!("signed by {signer}, who is trusted"),
        (Some(signer), Trust::Untrusted | Trust::Unknown) => {
            format!("signed by {signer}, who is not trusted; name the issuer with `--trust`")
        }
        (None, _) => format!("the signature is {answer}: {}", answer.cause().unwrap_or_default()),
    };
    let (word, exit) = match (&replay.recomputed, answer) {
        (Recomputed::Unreadable(what), _) => {
            bail!("recompute the decision: its `{what}` cannot be read; give the receipt as it was issued")
        }
        (_, SignatureStatus::Undecidable(_)) => (paint.bad("undecidable"), Exit::NoAnswer),
        (Recomputed::Differs(_), _) => (paint.bad("differs"), Exit::No),
        (Recomputed::Same, _) if replay.is_same() => (paint.good("same"), Exit::Yes),
        (Recomputed::Same, SignatureStatus::Invalid(_)) => (paint.bad("invalid"), Exit::No),
        (Recomputed::Same, SignatureStatus::Valid) => (paint.bad("untrusted"), Exit::No),
    };
    let mut out = out::stdout();
    writeln!(out, "{word}\n  {}", tame(&signed))?;
    match replay.recomputed {
        Recomputed::Differs(differences) => {
            for one in differences {
                let (at, recorded, recomputed) = (tame(&one.at), tame(&one.recorded), tame(&one.recomputed));
                writeln!(out, "  {at}: recorded {recorded}, recomputed {recomputed}")?;
            }
        }
        Recomputed::Same => writeln!(out, "  the same request and policy come to the same decision")?,
        Recomputed::Unreadable(_) => {}
    }
    writeln!(out, "  {}", paint.faint(&format!("not compared: {}", NOT_COMPARED.join(", "))))?;
    Ok(exit)
}
