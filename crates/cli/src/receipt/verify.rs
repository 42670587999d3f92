//! `proofmark receipt verify`.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use proofmark_boundary::DecisionReceipt;
use proofmark_receipt::json::MAX_BYTES;
use proofmark_receipt::{
    ChainHead, Json, Link, Object, Profile, Receipt, ReceiptId, SignatureStatus, SignedEnd, SignerId, Verification,
    verify_links,
};
use proofmark_verifier::{Checked, check_document};

use super::read::{self, Text};
use crate::config::{self, Config};
use crate::exit::Exit;
use crate::input;
use crate::out;
use crate::paint::{Paint, tame};

/// Check receipts offline: format, hash, signature, signer
///
/// The answer is valid, invalid or undecidable, with its cause. Whether the signer is trusted is said apart from that,
/// and is unknown as long as no trusted key is given.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark receipt verify receipt.json --trust issuer.pem
  proofmark receipt export --chain nightly | proofmark receipt verify - --chain --head head.json
  proofmark receipt export --decisions | proofmark receipt verify - --chain
  proofmark receipt verify 3f2a9c1e

Exit codes: 0 valid; 1 invalid, or signed by somebody not trusted; 2 undecidable.")]
pub(crate) struct Verify {
    /// Receipts: files of one, or of one a line; ids in the store; - for standard input
    #[arg(required = true, value_name = "FILE|ID|-")]
    receipts: Vec<String>,
    /// Trust this signer: a signer id, or a public key file (PEM, JWK, JWK set)
    #[arg(long, value_name = "KEY")]
    trust: Vec<String>,
    /// The canonical form the issuer hashes: vrf, jcs, py-utf8 or py-ascii
    #[arg(long, default_value_t = Profile::Vrf)]
    profile: Profile,
    /// Check that the receipts, in this order, are one whole chain
    #[arg(long)]
    chain: bool,
    /// The signed head of the chain, so that a chain cut short shows: by the key that signed every receipt, or a trusted one
    #[arg(long, value_name = "FILE", requires = "chain")]
    head: Option<PathBuf>,
    /// Look ids up in this database
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Print one JSON object a line
    #[arg(long)]
    json: bool,
}

impl Verify {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let trusted = config::trusted(&self.trust)?;
        let mut texts = Vec::new();
        for argument in &self.receipts {
            texts.extend(read::texts(argument, self.store.as_deref(), config)?);
        }
        let mut worst = Exit::Yes;
        for text in &texts {
            let checked = check_document(&text.bytes, self.profile, &trusted);
            worst = worst.max(Exit::from(&checked.verification));
            self.print(&text.label, &checked)?;
        }
        if self.chain {
            worst = worst.max(self.check_chain(&texts, &trusted)?);
        }
        Ok(worst)
    }

    fn check_chain(&self, texts: &[Text], trusted: &[SignerId]) -> anyhow::Result<Exit> {
        // What is no receipt was reported as undecidable, and leaves a gap here.
        let receipts: Vec<Linked> = texts.iter().filter_map(|text| Linked::read(&text.bytes)).collect();
        let links: Vec<Link<'_>> = receipts.iter().map(Linked::link).collect();
        let (head, head_exit) = self.head(trusted)?;
        let checked = verify_links(&links, head.as_ref().map(|head| SignedEnd { head, trusted }));
        let (answer, code, cause) = match &checked {
            Ok(()) => ("valid", None, None),
            Err(error) => ("invalid", Some(error.code()), Some(error.to_string())),
        };
        let label = format!("chain of {}", receipts.len());
        match self.json {
            true => {
                let mut line = Object::new();
                line.insert("chain", true);
                line.insert("length", receipts.len() as u64);
                line.insert("answer", answer);
                insert_cause(&mut line, code, cause.as_deref());
                writeln!(out::stdout(), "{}", Json::from(line).to_text())?;
            }
            false => write_line(answer, &label, code, cause.as_deref())?,
        }
        let exit = if checked.is_ok() { Exit::Yes } else { Exit::No };
        Ok(exit.max(head_exit))
    }

    /// The chain's head, when one is given and its signature is valid.
    fn head(&self, trusted: &[SignerId]) -> anyhow::Result<(Option<ChainHead>, Exit)> {
        let Some(path) = &self.head else { return Ok((None, Exit::Yes)) };
        let bytes = input::read_limited(path, MAX_BYTES as u64)?;
        let head = ChainHead::parse(&bytes).with_context(|| format!("read the chain head `{}`", path.display()))?;
        let checked = Checked { kind: "chain_head", verification: head.verify(trusted) };
        self.print(&path.display().to_string(), &checked)?;
        let exit = Exit::from(&checked.verification);
        Ok((Some(head), exit))
    }

    fn print(&self, label: &str, checked: &Checked) -> anyhow::Result<()> {
        if self.json {
            let line = checked.to_json(label).to_text();
            writeln!(out::stdout(), "{line}")?;
            return Ok(());
        }
        let Verification { answer, trust, signer, hint } = &checked.verification;
        write_line(answer.as_str(), label, answer.code(), answer.cause().as_deref())?;
        let mut out = out::stdout();
        if let Some(profile) = hint {
            writeln!(out, "  it would verify under `--profile {profile}`: its issuer hashes another canonical form")?;
        }
        if let Some(signer) = signer {
            writeln!(out, "  signer {trust}: {signer}")?;
        }
        Ok(())
    }
}

/// A document that can be a link of a chain.
enum Linked {
    Receipt(Box<Receipt>),
    Decision(ReceiptId, Object),
}

impl Linked {
    fn read(bytes: &[u8]) -> Option<Self> {
        if let Ok(receipt) = Receipt::parse(bytes) {
            return Some(Self::Receipt(Box::new(receipt)));
        }
        let decision = DecisionReceipt::parse(bytes).ok()?.document().clone();
        let id = decision.get("decision_id").and_then(Json::as_str)?.parse().ok()?;
        Some(Self::Decision(id, decision))
    }

    fn link(&self) -> Link<'_> {
        match self {
            Self::Receipt(receipt) => receipt.link(),
            Self::Decision(id, document) => Link { id: *id, document },
        }
    }
}

fn insert_cause(line: &mut Object, code: Option<&str>, cause: Option<&str>) {
    if let Some(code) = code {
        line.insert("cause", code);
    }
    if let Some(cause) = cause {
        line.insert("message", cause);
    }
}

fn write_line(answer: &str, label: &str, code: Option<&str>, cause: Option<&str>) -> anyhow::Result<()> {
    let paint = Paint::for_stdout();
    let painted = if answer == SignatureStatus::Valid.as_str() { paint.good(answer) } else { paint.bad(answer) };
    let mut out = out::stdout();
    writeln!(out, "{painted} {}", tame(label))?;
    if let (Some(code), Some(cause)) = (code, cause) {
        writeln!(out, "  {code}: {}", tame(cause))?;
    }
    Ok(())
}
