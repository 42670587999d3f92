//! `proofmark x402`.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use proofmark_interop::x402::{Carried, HEADER, MAX_HEADER, decode, header, path};
use proofmark_receipt::{Profile, verify};

use crate::config::Config;
use crate::exit::Exit;
use crate::input;
use crate::out;
use crate::receipt::read;

/// Put receipts into the headers of paid answers (x402), and take them out
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
/// A receipt of at most 3500 bytes in base64 is whole in the header; of a longer one there is the id, and a link. Its
/// signature has to be valid. Who receives it decides whose signature counts, and whether it is about the work paid for.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark x402 encode receipt.json
  proofmark verify examples/sort.json --json | proofmark x402 encode -")]
pub(crate) struct Encode {
    /// One receipt: a file, an id in the store, or - for standard input
    #[arg(default_value = "-", value_name = "FILE|ID|-")]
    receipt: String,
    /// Look ids up in this database
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

impl Encode {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let texts = read::texts(&self.receipt, self.store.as_deref(), config)?;
        let [text] = texts.as_slice() else {
            bail!("encode `{}`: it holds {} receipts; a header carries one", self.receipt, texts.len());
        };
        // White space around it is the file's, not the receipt's.
        let bytes = text.bytes.trim_ascii();
        let label = &text.label;
        let context = || format!("read the receipt `{label}`");
        let text = std::str::from_utf8(bytes).with_context(context)?;
        let fields = header(text).with_context(context)?.fields();
        // What is sold is the signature: a claim that nobody signed, or that was changed, is nothing to be paid for.
        if let Some(cause) = verify(bytes, Profile::Vrf, &[]).answer.cause() {
            bail!("encode the receipt `{label}`: {cause}; a header carries only a receipt whose signature is valid");
        }
        let mut out = out::stdout();
        for (name, value) in fields {
            writeln!(out, "{name}: {value}")?;
        }
        Ok(Exit::Yes)
    }
}

/// Print the receipt that a header carries, byte for byte
///
/// The signature is not checked: pipe what is printed into `proofmark receipt verify -`.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark x402 decode \"$HEADER\" | proofmark receipt verify -
  curl -si https://api.example/paid | proofmark x402 decode -

Exit codes: 0 a receipt; 2 none, or only its id.")]
pub(crate) struct Decode {
    /// The header's value, lines of headers with it among them, or - for standard input
    #[arg(default_value = "-", value_name = "HEADER|-")]
    header: String,
}

/// Headers with the longest value, and others beside it, in bytes.
const MAX_LINES: u64 = 4 * MAX_HEADER as u64;

impl Decode {
    fn run(self) -> anyhow::Result<Exit> {
        let text = match self.header.as_str() {
            "-" => String::from_utf8_lossy(&input::read_stdin(MAX_LINES)?).into_owned(),
            header => header.to_owned(),
        };
        match decode(value(&text))? {
            Carried::Receipt { text, .. } => {
                writeln!(out::stdout(), "{text}")?;
                Ok(Exit::Yes)
            }
            Carried::Id(id) => bail!(
                "print the receipt: the header carries only its id; fetch `{}` from the server that sent it, or export {id} from your store",
                path(&id)
            ),
        }
    }
}

/// The header's value among lines of headers; else the whole text.
fn value(text: &str) -> &str {
    let named = |line: &&str| line.split_once(':').is_some_and(|(name, _)| name.trim().eq_ignore_ascii_case(HEADER));
    let line = text.lines().find(named).and_then(|line| line.split_once(':'));
    line.map_or(text, |(_, value)| value).trim()
}
