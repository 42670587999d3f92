//! `proofmark receipt export`.

use std::io::{IsTerminal, Write};

use anyhow::anyhow;
use clap::{Args, ValueEnum};
use proofmark_interop::{a2a, intoto};
use proofmark_receipt::{Json, Receipt};
use proofmark_store::{Decision as StoredDecision, DecisionsWanted, Store, Tenant};

use super::exported;
use super::read::{self, Stored};
use super::response::ResponseOptions;
use crate::config::Config;
use crate::error::with_help;
use crate::exit::Exit;
use crate::options::{Signing, StoreAt};
use crate::out;

/// How many decisions a page of the store has.
const DECISIONS_AT_ONCE: usize = 1_000;

/// Print stored receipts, a chain, or all decisions
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark receipt export 3f2a9c1e > receipt.json
  proofmark receipt export 3f2a9c1e --as a2a > artifact.json
  proofmark receipt export 3f2a9c1e --as in-toto --suite-name sort > attestation.json
  proofmark receipt export 3f2a9c1e --as scitt > statement.cose
  proofmark receipt export 3f2a9c1e --as erc8004 --request-hash \"$REQUEST_HASH\"
  proofmark receipt export --chain nightly > nightly.jsonl
  proofmark receipt export --decisions > decisions.jsonl")]
pub(crate) struct Export {
    /// Ids in the store; the first digits suffice
    #[arg(required_unless_present_any = ["chain", "decisions"], conflicts_with_all = ["chain", "decisions"], value_name = "ID")]
    ids: Vec<String>,
    /// Print every receipt of this chain, in order
    #[arg(long, value_name = "NAME")]
    chain: Option<String>,
    /// The tenant of the chain: one of a server, or `local`, the command line
    #[arg(long, value_name = "TENANT", requires = "chain", default_value_t = Tenant::LOCAL)]
    tenant: Tenant,
    /// Print every decision, in order: they are one chain
    #[arg(long, conflicts_with_all = ["chain", "form"])]
    decisions: bool,
    /// The format: as it is stored, or wrapped for the readers of another one
    #[arg(long = "as", value_enum, default_value_t = Form::Vrf, value_name = "FORM")]
    form: Form,
    /// The name that a Test Result gives the suite: a receipt has its digest alone
    #[arg(long, value_name = "NAME")]
    suite_name: Option<String>,
    /// Print an attestation in a Sigstore bundle
    #[arg(long)]
    bundle: bool,
    #[command(flatten)]
    response: ResponseOptions,
    #[command(flatten)]
    signing: Signing,
    #[command(flatten)]
    store: StoreAt,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// As it is stored
    Vrf,
    /// An artifact of the Agent2Agent protocol
    A2a,
    /// A signed statement of SCITT (RFC 9943), in COSE
    Cose,
    /// The same, registered in the log of the store, with the log's receipt (RFC 9942)
    Scitt,
    /// A Test Result of in-toto, in a DSSE envelope
    InToto,
    /// A Simple Verification Result of in-toto, in a DSSE envelope
    Svr,
    /// The call that answers a request of ERC-8004's Validation Registry, for a wallet to sign and send
    Erc8004,
}

impl Form {
    fn text(self, receipt: &Receipt) -> String {
        match self {
            Form::A2a => a2a::artifact(receipt).to_text(),
            _ => receipt.to_text(),
        }
    }

    /// Whether the format has a signature of its own.
    fn is_signed(self) -> bool {
        !matches!(self, Form::Vrf | Form::A2a | Form::Erc8004)
    }
}

impl Export {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        self.options_fit_the_form()?;
        let mut out = out::stdout();
        if self.form == Form::Erc8004 {
            out.json(&self.response.call(&self.ids, &self.store, config)?.to_text())?;
            return Ok(Exit::Yes);
        }
        if self.form.is_signed() {
            return self.run_signed(config);
        }
        if !self.ids.is_empty() {
            for id in &self.ids {
                let document = read::stored(id, &self.store, config)?;
                let text = match (&document, self.form) {
                    (Stored::Receipt(receipt), form) => form.text(receipt),
                    (Stored::Decision(_), Form::Vrf) => document.to_text(),
                    (Stored::Decision(_), _) => {
                        return Err(anyhow!(
                            "export `{id}` as an artifact: it is a decision, and only receipts are artifacts"
                        ));
                    }
                };
                writeln!(out, "{text}")?;
            }
            return Ok(Exit::Yes);
        }
        let store = self.store.open_existing(config)?;
        let Some(chain) = &self.chain else {
            write_decisions(&mut out, &store)?;
            return Ok(Exit::Yes);
        };
        let receipts = store.of(&self.tenant).chain(chain)?;
        if receipts.is_empty() {
            return Err(anyhow!("export the chain `{chain}`: no chain in the store has this name"));
        }
        receipts.iter().try_for_each(|receipt| writeln!(out, "{}", self.form.text(receipt)))?;
        Ok(Exit::Yes)
    }
}

impl Export {
    /// Refuses an option that the format would ignore.
    fn options_fit_the_form(&self) -> anyhow::Result<()> {
        if self.suite_name.is_some() && self.form != Form::InToto {
            let help = "add `--as in-toto`, or leave `--suite-name` out";
            return Err(with_help("use `--suite-name`: only a Test Result names the suite", help));
        }
        if let Some(option) = self.response.given().filter(|_| self.form != Form::Erc8004) {
            let help = format!("add `--as erc8004`, or leave `{option}` out");
            return Err(with_help(format!("use `{option}`: only a response of ERC-8004 answers a request"), help));
        }
        if self.bundle && !matches!(self.form, Form::InToto | Form::Svr) {
            let help = "add `--as in-toto` or `--as svr`, or leave `--bundle` out";
            return Err(with_help("use `--bundle`: only an attestation goes into a Sigstore bundle", help));
        }
        Ok(())
    }

    /// Writes documents in formats that are signed again, by the key that signed the document.
    fn run_signed(self, config: &Config) -> anyhow::Result<Exit> {
        if self.ids.is_empty() {
            return Err(with_help("export a chain in this format: each document is a file of its own", "name one id"));
        }
        let is_binary = matches!(self.form, Form::Cose | Form::Scitt);
        if is_binary && (self.ids.len() > 1 || std::io::stdout().is_terminal()) {
            let help = "name one id, and write it to a file, as in `> statement.cose`";
            return Err(with_help("print the statement: it is binary", help));
        }
        let key = self.signing.existing_key(config)?;
        let key = key.ok_or_else(|| with_help("sign the export: this home has no key", "name one with `--key`"))?;
        let store = self.store.open_existing(config)?;
        let mut out = out::stdout();
        for id in &self.ids {
            let document = exported::document(&read::stored(id, &self.store, config)?)?;
            let attestation = match self.form {
                Form::Cose => {
                    out.write_all(&exported::statement(&document, &key)?)?;
                    continue;
                }
                Form::Scitt => {
                    let place = (&store, &self.signing.unlock, config);
                    out.write_all(&exported::transparent_statement(&document, &key, place)?)?;
                    continue;
                }
                Form::Svr => exported::svr(&document, &key)?,
                Form::InToto | Form::Vrf | Form::A2a | Form::Erc8004 => {
                    exported::test_result(&document, self.suite_name.as_deref(), &key)?
                }
            };
            let text = match (&attestation, self.bundle) {
                (Json::Object(envelope), true) => Json::from(intoto::bundle(envelope, &key.signer())).to_text(),
                _ => attestation.to_text(),
            };
            writeln!(out, "{text}")?;
        }
        Ok(Exit::Yes)
    }
}

/// Writes all decisions, oldest first. The store lists the newest first, so a first pass collects where each page begins.
/// The newest page is held in memory: decisions that other processes add meanwhile would shift it.
fn write_decisions(out: &mut impl Write, store: &Store) -> anyhow::Result<()> {
    let page = |after| {
        store.all_tenants_decisions(&DecisionsWanted { limit: DECISIONS_AT_ONCE, after, ..DecisionsWanted::default() })
    };
    let newest = page(None)?;
    let mut starts = Vec::new();
    let mut next = newest.next;
    while let Some(start) = next {
        starts.push(start);
        next = page(Some(start))?.next;
    }
    let mut write = |decisions: &[StoredDecision]| -> anyhow::Result<()> {
        decisions.iter().rev().try_for_each(|decision| Ok(writeln!(out, "{}", decision.document)?))
    };
    // Each page is read again, so that memory holds two pages and not every decision.
    for start in starts.into_iter().rev() {
        write(&page(Some(start))?.decisions)?;
    }
    write(&newest.decisions)
}
