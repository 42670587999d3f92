//! `proofmark acp`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::{Args, Subcommand};
use proofmark_checks::{Caps, Format, Request};
use proofmark_decider::{Evaluation, Subject, Worth, evaluation};
use proofmark_evidence::Signers;
use proofmark_interop::acp::evaluation_request;
use proofmark_receipt::document::{self, DocumentError, MAX_DOCUMENT_BYTES};
use proofmark_receipt::{Json, Receipt};
use proofmark_sandbox::Host;
use proofmark_verifier::{Batch, Issuer, prepare};

use crate::config::Config;
use crate::error::with_help;
use crate::exit::Exit;
use crate::input;
use crate::options::{Signing, StoreAt};
use crate::out;
use crate::paint::{Paint, printable};
use crate::report::{Human, Places, Style, of_receipt};
use crate::source::{STDIN, Source};

/// Evaluate jobs of the Agent Commerce Protocol (Virtuals)
#[derive(Subcommand)]
pub(crate) enum Acp {
    /// Run a job's tests against its deliverable, and print what to sign
    Evaluate(Evaluate),
}

impl Acp {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        match self {
            Acp::Evaluate(command) => command.run(config),
        }
    }
}

/// Run a job's tests against its deliverable, and print what to sign
///
/// A job is `{"job_id", "requirements", "deliverable"}` (docs/commerce.md). The receipt is stored, and `reason` names it.
/// Without a verdict there is no reason, and neither an approval nor a rejection may be signed.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark acp evaluate examples/commerce/job.json
  proofmark acp evaluate - --json < job.json

Exit codes: 0 approve; 1 reject; 2 no verdict: sign nothing.")]
pub(crate) struct Evaluate {
    /// The job, in JSON, or - for standard input
    #[arg(value_name = "FILE|-")]
    job: PathBuf,
    #[command(flatten)]
    signing: Signing,
    #[command(flatten)]
    store: StoreAt,
    /// Print the evaluation as one JSON object
    #[arg(long)]
    json: bool,
}

impl Evaluate {
    fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let (request, text) = self.request()?;
        let key = self.signing.key(config)?;
        let store = self.store.open(config)?;
        let signer = key.signer();
        let receipt = verified(request, &Issuer::new(Some(key), Some(store)))?;
        // The key that has just signed is the only trusted signer: nobody else issued this receipt.
        let worth = Worth::of_issued(&receipt, &Signers::of_any_kind([signer]));
        let evaluation = evaluation(&receipt, &worth, Some(&text), &Subject::default());
        let mut out = out::stdout();
        if self.json {
            out.json(&evaluation.document.to_text())?;
        } else {
            print(&mut out, &self.job.display().to_string(), &receipt, &evaluation)?;
        }
        Ok(match evaluation.approved {
            Some(true) => Exit::Yes,
            Some(false) => Exit::No,
            None => Exit::NoAnswer,
        })
    }

    /// The job as a request, and the text of the request.
    fn request(&self) -> anyhow::Result<(Request, String)> {
        let limit = MAX_DOCUMENT_BYTES as u64;
        let bytes =
            if self.job == Path::new("-") { input::read_stdin(limit)? } else { input::read_limited(&self.job, limit)? };
        let label = if self.job == Path::new("-") { STDIN.to_owned() } else { self.job.display().to_string() };
        let source = Source { label: &label, line: 1, text: &bytes, format: Format::Json };
        let failed = |error: DocumentError| source.error("read the job", &error);
        let job = document::parse(&bytes, Format::Json).map_err(failed)?;
        // `evaluation` compares the receipt with this text, so the checks are read from the text and not from the job.
        let text = evaluation_request(&job).map_err(failed)?.to_text();
        let request = Request::read(text.as_bytes(), Format::Json, None)
            .with_context(|| format!("read the checks of the job `{label}`"))?;
        Ok((request, text))
    }
}

fn verified(request: Request, issuer: &Issuer) -> anyhow::Result<Receipt> {
    let (host, caps, mut answer) = (Host::untested(None), Caps::default(), None);
    let requests = [request];
    prepare(&host, &requests);
    Batch::new(&host, &caps, 1, issuer).run(&requests, |_, receipt| {
        answer = Some(receipt?);
        anyhow::Ok(())
    })?;
    answer.ok_or_else(|| with_help("verify the deliverable: it was not run", "try again"))
}

fn print(out: &mut impl Write, label: &str, receipt: &Receipt, evaluation: &Evaluation) -> io::Result<()> {
    let paint = Paint::for_stdout();
    let document = evaluation.document.as_object();
    let text = |name: &str| {
        printable(document.and_then(|document| document.get(name)).and_then(Json::as_str).unwrap_or_default())
    };
    Human::new(Style::Verdicts).group(out, &of_receipt(label, receipt, &Places::default()))?;
    match evaluation.approved {
        Some(true) => writeln!(out, "{} with the reason: {}", paint.good("approve"), text("reason")),
        Some(false) => writeln!(out, "{} with the reason: {}", paint.bad("reject"), text("reason")),
        None => writeln!(out, "{}: {}", paint.bad("sign nothing"), text("why")),
    }
}
