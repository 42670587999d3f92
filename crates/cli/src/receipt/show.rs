//! `proofmark receipt show`.

use std::io::Write;

use clap::Args;
use proofmark_boundary::DecisionReceipt;
use proofmark_keys::TrustedSigners;
use proofmark_receipt::document::Format;
use proofmark_receipt::{ChainHead, Json, Profile, Receipt};

use super::page::Page;
use super::read::{self, Text};
use crate::config::Config;
use crate::exit::Exit;
use crate::options::StoreAt;
use crate::out;
use crate::paint::Paint;
use crate::source::Source;

/// Show a signed document as a page: a receipt, an approval, a decision, a chain head
///
/// The page says whether the signature is valid. A document with an invalid signature is shown, too; the exit code of
/// `proofmark receipt verify` says whether the signature is valid.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark receipt show 3f2a9c1e
  proofmark receipt show decision.json
  proofmark receipt show 3f2a9c1e --raw > receipt.json")]
pub(crate) struct Show {
    /// A file with one document or one per line, an id in the store (the first digits suffice), or - for standard input
    #[arg(value_name = "FILE|ID|-")]
    receipt: String,
    #[command(flatten)]
    store: StoreAt,
    /// Print the document as JSON, on one line
    #[arg(long)]
    json: bool,
    /// Print the bytes of the document as they are
    #[arg(long, conflicts_with = "json")]
    raw: bool,
}

/// What can be shown.
enum Document {
    Receipt(Box<Receipt>),
    Decision(Box<DecisionReceipt>),
    Head(Box<ChainHead>),
}

impl Show {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let mut out = out::stdout();
        let known = config.known_signers()?;
        let trusted = known.trusted(&[])?;
        let page = Page { paint: Paint::for_stdout(), known: &known };
        let texts = read::texts(&self.receipt, &self.store, config)?;
        for (index, text) in texts.iter().enumerate() {
            let document = Document::read(text)?;
            if self.raw {
                out.write_all(&text.bytes)?;
                // A document of its own line in the file stays on one.
                if texts.len() > 1 || !text.bytes.ends_with(b"\n") {
                    writeln!(out)?;
                }
            } else if self.json {
                out.json(&document.to_text())?;
            } else {
                if index > 0 {
                    writeln!(out)?;
                }
                document.write(&mut out, text, &page, &trusted)?;
            }
        }
        Ok(Exit::Yes)
    }
}

impl Document {
    fn read(text: &Text) -> anyhow::Result<Document> {
        let source = Source { label: &text.label, line: 1, text: &text.bytes, format: Format::Json };
        let json = Json::parse(&text.bytes).map_err(|error| source.error("read the document", &error))?;
        let member = |name: &str| json.as_object().and_then(|object| object.get(name));
        if json.as_object().is_some_and(DecisionReceipt::claimed_by) {
            let decision = DecisionReceipt::parse(&text.bytes);
            let decision = decision.map_err(|error| source.error("read the decision receipt", &error))?;
            return Ok(Document::Decision(Box::new(decision)));
        }
        // A receipt has no member of this name.
        if member("format").is_some() && member("vrf_version").is_none() {
            let head = ChainHead::parse(&text.bytes).map_err(|error| source.error("read the chain head", &error))?;
            return Ok(Document::Head(Box::new(head)));
        }
        let receipt = Receipt::from_document(json).map_err(|error| source.error("read the receipt", &error))?;
        Ok(Document::Receipt(Box::new(receipt)))
    }

    fn to_text(&self) -> String {
        match self {
            Document::Receipt(receipt) => receipt.to_text(),
            Document::Decision(decision) => decision.to_text(),
            Document::Head(head) => head.to_text(),
        }
    }

    fn write(
        &self,
        out: &mut impl Write,
        text: &Text,
        page: &Page<'_>,
        trusted: &TrustedSigners,
    ) -> anyhow::Result<()> {
        let checked = || trusted.check(&text.bytes, Profile::Vrf).verification;
        match self {
            Document::Receipt(receipt) => page.receipt(out, &text.label, receipt, &checked())?,
            Document::Decision(decision) => page.decision(out, decision, &checked())?,
            Document::Head(head) => page.head(out, head, &trusted.check_head(head))?,
        }
        Ok(())
    }
}
