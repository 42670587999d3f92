//! `proofmark x402`.

use std::io::Write;

use anyhow::{Context, anyhow};
use clap::{Args, Subcommand};
use proofmark_interop::x402::{Carried, HEADER, MAX_HEADER, decode, header, path};
use proofmark_receipt::{Json, Object, Profile, verify};

use crate::config::Config;
use crate::error::with_help;
use crate::exit::Exit;
use crate::input;
use crate::options::StoreAt;
use crate::out;
use crate::receipt::read;

/// Carry receipts in the headers of paid responses (x402)
#[derive(Subcommand)]
pub(crate) enum X402 {
    /// Print the headers that carry a receipt
    Encode(Encode),
    /// Print the receipt that a header carries
    Decode(Decode),
}

impl X402 {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        match self {
            X402::Encode(command) => command.run(config),
            X402::Decode(command) => command.run(),
        }
    }
}

/// Print the headers that carry a receipt
///
/// A header holds a receipt of at most 3500 bytes in base64; of a longer one it holds the id, and a link. The signature must
/// be valid. The client decides whom it trusts, and whether the receipt is about the work that it paid for.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark x402 encode receipt.json
  proofmark verify examples/sort.json --json | proofmark x402 encode -")]
pub(crate) struct Encode {
    /// One receipt: a file, an id in the store, or - for standard input
    #[arg(default_value = "-", value_name = "FILE|ID|-")]
    receipt: String,
    #[command(flatten)]
    store: StoreAt,
    /// Print the headers as one JSON object
    #[arg(long)]
    json: bool,
}

impl Encode {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let texts = read::texts(&self.receipt, &self.store, config)?;
        let [text] = texts.as_slice() else {
            return Err(anyhow!(
                "encode `{}`: it holds {} receipts, and a header carries one",
                self.receipt,
                texts.len()
            ));
        };
        // White space around the receipt belongs to the file.
        let bytes = text.bytes.trim_ascii();
        let label = &text.label;
        let context = || format!("read the receipt `{label}`");
        let text = std::str::from_utf8(bytes).with_context(context)?;
        let fields = header(text).with_context(context)?.fields();
        // The client pays for the signature: a header never carries a receipt without a valid one.
        if let Some(cause) = verify(bytes, Profile::Vrf, &[]).answer.cause() {
            return Err(anyhow!("encode the receipt `{label}`, whose signature must be valid: {cause}"));
        }
        let mut out = out::stdout();
        if self.json {
            let mut headers = Object::new();
            for (name, value) in fields {
                headers.insert(name, value);
            }
            out.json(&Json::from(headers).to_text())?;
        } else {
            fields.iter().try_for_each(|(name, value)| writeln!(out, "{name}: {value}"))?;
        }
        Ok(Exit::Yes)
    }
}

/// Print the receipt that a header carries, byte for byte
///
/// The signature is not verified: pipe the output into `proofmark receipt verify -`.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark x402 decode \"$HEADER\" | proofmark receipt verify -
  proofmark x402 decode - < headers.txt

Exit codes: 0 printed; 2 there is no receipt, or only its id.")]
pub(crate) struct Decode {
    /// The value of the header, lines of headers that include it, or - for standard input
    #[arg(default_value = "-", value_name = "HEADER|-")]
    header: String,
}

/// The most bytes of headers read: the longest value, and other headers.
const MAX_LINES: u64 = 4 * MAX_HEADER as u64;

impl Decode {
    fn run(self) -> anyhow::Result<Exit> {
        // Other headers may have any bytes; this one is refused unless it is ASCII, so a lossy text is enough.
        let text = match self.header.as_str() {
            "-" => String::from_utf8_lossy(&input::read_stdin(MAX_LINES)?).into_owned(),
            header => header.to_owned(),
        };
        match decode(value(&text))? {
            Carried::Receipt { text, .. } => {
                writeln!(out::stdout(), "{text}")?;
                Ok(Exit::Yes)
            }
            Carried::Id(id) => Err(with_help(
                "print the receipt: the header carries only its id",
                format!("fetch `{}` from the server that sent the header, or export {id} from your store", path(&id)),
            )),
        }
    }
}

/// The value of the header in lines of headers; else the whole text.
fn value(text: &str) -> &str {
    let mut fields = text.lines().filter_map(|line| line.split_once(':'));
    let field = fields.find(|(name, _)| name.trim().eq_ignore_ascii_case(HEADER));
    field.map_or(text, |(_, value)| value).trim()
}
