//! `proofmark receipt verify`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use proofmark_evidence::{Capabilities, Capability};
use proofmark_interop::cose;
use proofmark_keys::{Checked, KnownSigners, LinkedDocument, TrustedSigners};
use proofmark_receipt::document;
use proofmark_receipt::json::MAX_BYTES;
use proofmark_receipt::{
    ChainHead, ChainVerifier, Json, Object, Profile, SignatureStatus, SignedEnd, SignerId, Trust, UndecidableCause,
    Verification, object,
};

use super::demands::{self, Demands, Unmet};
use super::exported::{self, Exported};
use super::logged::{Logged, Proven};
use super::read::{self, Text};
use super::tiers::{Reviewed, Tier};
use crate::config::Config;
use crate::error::with_help;
use crate::exit::Exit;
use crate::in_order::in_order;
use crate::input;
use crate::options::{StoreAt, Trusting};
use crate::out;
use crate::paint::{Paint, printable};
use crate::report::{Case, Format, Formatting, Group, Human, Reporter, Status, Style};
use crate::signed::signed_by;
use crate::source::Source;

/// How many documents one after the other may be undecidable. A file of millions of them is not one of receipts.
const MAX_OTHERS: usize = 10_000;

/// Verify receipts offline: format, hash, signature, signer
///
/// The result is valid, invalid or undecidable, with its cause. Valid means that the signer signed exactly this, and not that
/// the work passed: `--verdict pass` demands that as well. Trust in the signer is reported separately: without `--trust`,
/// your own keys and those of the trust store are trusted, and others are unknown.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark receipt verify receipt.json --trust issuer.pem --verdict pass && echo deploy
  proofmark receipt verify receipt.json --verdict pass --suite suite.yaml --output solution.py
  proofmark receipt export --chain nightly | proofmark receipt verify - --as-chain --head head.json
  proofmark receipt export --decisions | proofmark receipt verify - --as-chain
  proofmark receipt verify 3f2a9c1e
  proofmark receipt verify receipt.json --proof receipt.tlog-proof --log-policy policy.txt
  proofmark receipt verify quorum.jsonl --reviewers reviewers.txt --at-least 2

Exit codes: 0 valid; 1 invalid, the signer is not trusted, or not what is demanded; 2 undecidable.")]
pub(crate) struct Verify {
    /// Receipts: files with one receipt or one per line, ids in the store, or - for standard input
    #[arg(required = true, value_name = "FILE|ID|-")]
    receipts: Vec<String>,
    #[command(flatten)]
    trusting: Trusting,
    #[command(flatten)]
    demands: Demands,
    #[command(flatten)]
    logged: Logged,
    #[command(flatten)]
    reviewed: Reviewed,
    /// The canonical form that the issuer hashes: vrf, jcs, py-utf8 or py-ascii
    #[arg(long, default_value_t = Profile::Vrf)]
    profile: Profile,
    /// Check that the receipts, in this order, are one complete chain
    #[arg(long)]
    as_chain: bool,
    /// Compare the chain with this signed head, which shows whether receipts are missing at its end. The key that signed
    /// the head must have signed every receipt, or be trusted
    #[arg(long, value_name = "FILE", requires = "as_chain")]
    head: Option<PathBuf>,
    #[command(flatten)]
    store: StoreAt,
    #[command(flatten)]
    formatting: Formatting,
}

impl Verify {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let known = config.known_signers()?;
        let trusted = self.trusting.among_for(&known, Capabilities::ALL)?;
        let demanded = self.demands.read()?;
        if self.receipts.iter().any(|receipt| receipt == "-") && self.logged.is_from_stdin() {
            return Err(with_help("read receipts and a proof from standard input", "name a file for one of them"));
        }
        let (proofs, logs) = (self.logged.read(config)?, self.logged.logs(config)?);
        let mut has_statement = false;
        let mut tiers = self.reviewed.read(&known)?;
        let format = self.formatting.format();
        let mut reporter = Reporter::new(format, "receipt verify", Human::new(Style::Verdicts));
        // All are opened before anything is printed.
        let texts = self.receipts.iter().map(|argument| read::each_text(argument, &self.store, config));
        let texts = texts.collect::<anyhow::Result<Vec<_>>>()?;
        let (mut worst, mut others) = (Exit::Yes, 0);
        let mut chain = self.as_chain.then(Chain::default);
        let printing = Printing { format, paint: Paint::for_stdout(), known: &known, is_chain: self.as_chain };
        in_order(
            texts.into_iter().flatten(),
            |text| text.bytes.len(),
            |text: Text| {
                let exported = exported::check(&text.bytes, self.profile, &trusted, &logs);
                let (checked, said, of_export) = match exported {
                    Some(Exported { checked, said, unmet }) => (checked, said, unmet),
                    None => (trusted.check(&text.bytes, self.profile), Vec::new(), Vec::new()),
                };
                let linked = if self.as_chain { LinkedDocument::read(&text.bytes) } else { None };
                let mut unmet = demanded.unmet(&checked);
                unmet.extend(of_export);
                let proven = proofs.as_ref().and_then(|proofs| proofs.of(&text.bytes, &checked));
                let of_log = proven.as_ref().map_or(Exit::Yes, Proven::exit);
                unmet.extend(proven.iter().flat_map(|proven| proven.unmet.clone()));
                let of_demands = if unmet.is_empty() { Exit::Yes } else { Exit::No };
                let exit = Exit::from(&checked.verification).max(of_demands).max(of_log);
                (exit, linked, printing.shown(&text, &checked, &unmet, proven.as_ref(), &said), text)
            },
            |(exit, linked, shown, text)| {
                worst = worst.max(exit);
                tiers.add(&text.label, &text.bytes);
                has_statement |= cose::claimed_by(&text.bytes);
                // A document that is not a receipt is reported as undecidable, and leaves a gap in the chain.
                if let (Some(chain), Some(linked)) = (&mut chain, linked) {
                    chain.add(&linked);
                }
                shown.print(&mut reporter)?;
                others = if exit == Exit::NoAnswer { others + 1 } else { 0 };
                if others >= MAX_OTHERS {
                    let message =
                        format!("verify the rest: {MAX_OTHERS} documents one after the other are undecidable");
                    return Err(with_help(message, "name files that hold receipts, one per line"));
                }
                Ok(())
            },
        )?;
        self.logged.check(has_statement)?;
        for tier in tiers.finish() {
            worst = worst.max(tier.exit);
            printing.of_tier(&tier).print(&mut reporter)?;
        }
        if let Some(chain) = chain {
            worst = worst.max(self.check_chain(&mut reporter, chain, &printing, &trusted)?);
        }
        if format != Format::Human {
            reporter.finish()?;
        }
        Ok(worst)
    }

    fn check_chain(
        &self,
        reporter: &mut Reporter,
        chain: Chain,
        printing: &Printing<'_>,
        trusted: &TrustedSigners,
    ) -> anyhow::Result<Exit> {
        let (head, head_exit) = self.head(reporter, printing, trusted)?;
        // No signature is verified here: those of the receipts are verified in `run`, that of the head in `head`.
        let losses: Vec<String> = chain.verifier.losses().iter().map(ToString::to_string).collect();
        let signers = trusted.signers().of_head(head.as_ref().and_then(ChainHead::signed_at).as_ref());
        let checked = chain.verifier.finish(head.as_ref().map(|head| SignedEnd { head, trusted: &signers }));
        let (answer, cause) = match &checked {
            Ok(()) => ("valid", None),
            Err(error) => {
                let help = error.help().map(|help| help.to_string());
                ("invalid", Some(Cause { code: error.code(), message: error.to_string(), help }))
            }
        };
        let name = format!("chain of {}", chain.length);
        let shown = match printing.format {
            Format::Human => {
                let mut text = result(printing.paint, answer, &name, cause);
                for loss in &losses {
                    text.push_str(&format!("  {}: {}\n", printing.paint.bad("loss"), printable(loss)));
                }
                Shown::Text(text)
            }
            _ => {
                let line = object! {
                    "chain": true,
                    "length": chain.length,
                    "answer": answer,
                    "cause"?: cause.as_ref().map(|cause| cause.code),
                    "message"?: cause.as_ref().map(|cause| cause.message.as_str()),
                    "help"?: cause.as_ref().and_then(|cause| cause.help.as_deref()),
                    "losses"?: (!losses.is_empty()).then(|| losses.iter().map(|loss| Json::from(loss.as_str())).collect::<Vec<_>>()),
                };
                let status = if checked.is_ok() { Status::Pass } else { Status::Fail };
                Shown::Group(Box::new(group(&name, status, cause, Json::from(line))))
            }
        };
        shown.print(reporter)?;
        let exit = if checked.is_ok() { Exit::Yes } else { Exit::No };
        // A chain that agrees with a head is still not valid if the signature of the head is not.
        Ok(exit.max(head_exit))
    }

    /// The chain head given, and the exit code of its verification.
    fn head(
        &self,
        reporter: &mut Reporter,
        printing: &Printing<'_>,
        trusted: &TrustedSigners,
    ) -> anyhow::Result<(Option<ChainHead>, Exit)> {
        let Some(path) = &self.head else { return Ok((None, Exit::Yes)) };
        let bytes = input::read_limited(path, MAX_BYTES as u64)?;
        let text = Text { label: path.display().to_string(), bytes };
        let head =
            ChainHead::parse(&text.bytes).map_err(|error| in_file(&text).error("read the chain head", &error))?;
        let checked = Checked { kind: "chain_head", verification: trusted.check_head(&head), claims: None };
        printing.shown(&text, &checked, &[], None, &[]).print(reporter)?;
        let exit = Exit::from(&checked.verification);
        Ok((Some(head), exit))
    }
}

/// How verifications are printed.
struct Printing<'a> {
    format: Format,
    paint: Paint,
    known: &'a KnownSigners,
    /// Whether the documents are one chain, of which a line each is enough where nothing is wrong.
    is_chain: bool,
}

/// A verification as it is printed.
enum Shown {
    Text(String),
    Group(Box<Group>),
}

impl Printing<'_> {
    /// A quorum that was counted, or a judgment.
    fn of_tier(&self, tier: &Tier) -> Shown {
        if self.format == Format::Human {
            return Shown::Text(tier.shown(self.paint));
        }
        let status = match tier.exit {
            Exit::Yes => Status::Pass,
            Exit::No => Status::Fail,
            Exit::NoAnswer | Exit::Interrupted => Status::Error,
        };
        let cause = tier.code.zip(tier.message.clone());
        let cause = cause.map(|(code, message)| Cause { code, message, help: None });
        Shown::Group(Box::new(group(&tier.label, status, cause, tier.to_json())))
    }

    /// `unmet`: what was demanded of a valid document and does not hold.
    fn shown(
        &self,
        document: &Text,
        checked: &Checked,
        unmet: &[Unmet],
        proven: Option<&Proven>,
        said: &[(&'static str, String)],
    ) -> Shown {
        let label = document.label.as_str();
        let Verification { answer, trust, signer, hint } = &checked.verification;
        let help = answer.help().map(|help| help.to_string());
        let cause = answer.code().zip(answer.cause()).map(|(code, message)| Cause { code, message, help });
        if self.format != Format::Human {
            let (status, cause) = match (Exit::from(&checked.verification), cause) {
                (Exit::Yes, cause) => match unmet.first() {
                    Some(unmet) => (Status::Fail, Some(Cause::from(unmet))),
                    None => match proven.map_or(Exit::Yes, Proven::exit) {
                        Exit::Yes => (Status::Pass, cause),
                        Exit::No => (Status::Fail, Some(not_logged())),
                        Exit::NoAnswer | Exit::Interrupted => (Status::Error, Some(not_logged())),
                    },
                },
                (Exit::No, Some(cause)) => (Status::Fail, Some(cause)),
                (Exit::No, None) => (Status::Fail, Some(untrusted(signer.as_ref()))),
                (Exit::NoAnswer | Exit::Interrupted, cause) => (Status::Error, cause),
            };
            let mut line = checked.to_json(label);
            if let (Json::Object(line), false) = (&mut line, unmet.is_empty()) {
                line.insert("unmet", unmet.iter().map(Unmet::to_json).collect::<Vec<_>>());
            }
            if let (Json::Object(line), false) = (&mut line, said.is_empty()) {
                let mut of_export = Object::new();
                said.iter().for_each(|(name, value)| drop(of_export.insert(name.replace(' ', "_"), value.as_str())));
                line.insert("export", of_export);
            }
            if let (Json::Object(line), Some(proven)) = (&mut line, proven) {
                proven.add_to(line);
            }
            return Shown::Group(Box::new(group(label, status, cause, line)));
        }
        let is_plain = unmet.is_empty() && proven.is_none();
        if self.is_chain && *answer == SignatureStatus::Valid && *trust == Trust::Trusted && is_plain {
            let claims = checked.claims.as_ref().map(|claims| demands::claimed(claims, self.paint));
            let first = claims.as_deref().and_then(|claims| claims.lines().next()).unwrap_or_default();
            return Shown::Text(format!("{}{first}\n", result(self.paint, answer.as_str(), label, None).trim_end()));
        }
        let mut text = result(self.paint, answer.as_str(), label, cause);
        if let SignatureStatus::Undecidable(UndecidableCause::Malformed(error)) = answer
            && let Some(caret) = in_file(document).refusal("read the receipt", error).caret()
        {
            text.push_str(&format!("{caret}\n"));
        }
        if let Some(claims) = &checked.claims {
            text.push_str(&demands::claimed(claims, self.paint));
        }
        for Unmet { code, message } in unmet {
            text.push_str(&format!("  {}: {}\n", self.paint.bad(code), printable(message)));
        }
        for (name, value) in said {
            text.push_str(&format!("  {name}: {}\n", printable(value)));
        }
        if let Some(proven) = proven {
            text.push_str(&proven.shown(self.paint));
        }
        if let Some(profile) = hint {
            text.push_str(&format!("  help: its issuer hashes another canonical form; use `--profile {profile}`\n"));
        }
        if let Some(signer) = signer {
            text.push_str(&format!("  {}\n", printable(&signed_by(self.known, signer, *trust))));
            if *trust == Trust::Unknown {
                let kind = checked.capability().map_or("KINDS", Capability::as_str);
                let command = format!("proofmark trust add NAME {signer} --for {kind}");
                text.push_str(&format!("  help: if you know whose key it is, run `{command}`\n"));
            }
        }
        Shown::Text(text)
    }
}

impl Shown {
    fn print(self, reporter: &mut Reporter) -> anyhow::Result<()> {
        match self {
            Shown::Text(text) => Ok(out::stdout().write_all(text.as_bytes())?),
            Shown::Group(group) => reporter.group(*group),
        }
    }
}

/// The documents so far as one chain.
#[derive(Default)]
struct Chain {
    verifier: ChainVerifier,
    length: u64,
}

impl Chain {
    fn add(&mut self, linked: &LinkedDocument) {
        self.verifier.add(&linked.link());
        self.length += 1;
    }
}

fn in_file(document: &Text) -> Source<'_> {
    Source { label: &document.label, line: 1, text: &document.bytes, format: document::Format::Json }
}

/// Why a valid document does not count.
fn untrusted(signer: Option<&SignerId>) -> Cause {
    let signer = signer.map_or_else(String::new, |signer| format!(": {signer}"));
    let help = Some("name the signer with `--trust` if you trust it".to_owned());
    Cause { code: "untrusted", message: format!("the signature is valid, and its signer is not trusted{signer}"), help }
}

/// Why a valid document does not count that is not proven to be in a log.
fn not_logged() -> Cause {
    Cause { code: "not_proven", message: "the proof of the log does not hold".to_owned(), help: None }
}

/// A document as a group with one case.
fn group(label: &str, status: Status, cause: Option<Cause>, line: Json) -> Group {
    let (code, message, help) = match cause {
        Some(Cause { code, message, help }) => (Some(code.to_owned()), Some(message), help),
        None => (None, None, None),
    };
    let case = Case { code, message, help, ..Case::new(label, status) };
    Group { json: vec![line.to_text()], ..Group::of_cases(label, vec![case]) }
}

/// Why a receipt or a chain is not valid.
struct Cause {
    code: &'static str,
    message: String,
    help: Option<String>,
}

impl From<&Unmet> for Cause {
    fn from(unmet: &Unmet) -> Self {
        Self { code: unmet.code, message: unmet.message.clone(), help: None }
    }
}

/// A result and its cause, in lines of text.
fn result(paint: Paint, answer: &str, label: &str, cause: Option<Cause>) -> String {
    let painted = if answer == SignatureStatus::Valid.as_str() { paint.good(answer) } else { paint.bad(answer) };
    let mut text = format!("{painted} {}\n", printable(label));
    if let Some(Cause { code, message, help }) = cause {
        text.push_str(&format!("  {code}: {}\n", printable(&message)));
        if let Some(help) = help {
            text.push_str(&format!("  help: {}\n", printable(&help)));
        }
    }
    text
}
