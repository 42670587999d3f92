//! `proofmark receipt verify`.

use std::path::PathBuf;

use clap::Args;
use proofmark_evidence::Capabilities;
use proofmark_interop::cose;
use proofmark_keys::{Checked, LinkedDocument, TrustedSigners};
use proofmark_receipt::json::MAX_BYTES;
use proofmark_receipt::{ChainHead, ChainVerifier, Json, Profile, SignedEnd, object};

use super::demands::Demands;
use super::exported::{self, Exported};
use super::logged::{Logged, Proven};
use super::printing::{Cause, Printing, Shown, group, in_file, result};
use super::read::{self, Text};
use super::tiers::Reviewed;
use crate::config::Config;
use crate::error::with_help;
use crate::exit::Exit;
use crate::in_order::in_order;
use crate::input;
use crate::options::{StoreAt, Trusting};
use crate::paint::{Paint, printable};
use crate::report::{Format, Formatting, Human, Reporter, Status, Style};

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
