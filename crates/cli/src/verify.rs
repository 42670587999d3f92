//! `proofmark verify`.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;

use anyhow::{Context, bail};
use clap::Args;
use proofmark_receipt::Receipt;
use proofmark_verifier::{Caps, Format, Host, Level, Outside, Request, Sealer, Store, project_request};

use crate::batch::{self, Batch};
use crate::config::Config;
use crate::exit::{self, Exit};
use crate::input;
use crate::paint::Paint;
use crate::summary;

/// Run submissions against their tests and strike a receipt of each
///
/// A request is a JSON or YAML document: a submission, and the suite it must pass (docs/requests.md). A `.jsonl` holds
/// one request a line; a folder stands for every request in it. Receipts are kept in the store and printed once they
/// are on disk.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark verify examples/sort.json
  proofmark verify suite.yaml --submission solution.py
  proofmark verify requests.jsonl --json --out receipts.jsonl --jobs 4
  proofmark verify request.json --chain nightly
  proofmark verify --dir ./project -- pytest -q

Exit codes: 0 all pass; 1 a submission fails or is partial; 2 something could not be answered.")]
pub(crate) struct Verify {
    /// Requests: files, folders, .jsonl files, or - for standard input
    #[arg(required_unless_present = "dir", conflicts_with = "dir", value_name = "FILE|DIR|-")]
    requests: Vec<PathBuf>,
    /// Verify this project by the command after --: its tests run in a copy of it
    #[arg(long, value_name = "DIR", requires = "command", conflicts_with = "submission")]
    dir: Option<PathBuf>,
    /// Let commands that ask for it read this path of the host
    #[arg(long, value_name = "PATH")]
    readable: Vec<PathBuf>,
    /// The command that tests the project of --dir
    #[arg(last = true, requires = "dir", value_name = "COMMAND")]
    command: Vec<String>,
    /// The submission: fills `output.content` of the request
    #[arg(long, value_name = "FILE")]
    submission: Option<PathBuf>,
    /// Sign with this key: a name, or the path of a key file
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// Do not sign: the receipts are claims
    #[arg(long, conflicts_with_all = ["key", "chain"])]
    unsigned: bool,
    /// Write the receipts to this file as well, one a line
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the receipts, one compact line each, in the order of the requests
    #[arg(long)]
    json: bool,
    /// How many requests run at a time [default: one a core]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Demand this isolation level: A, B or C [default: the strongest there is]
    #[arg(long, value_name = "LEVEL")]
    isolation: Option<Level>,
    /// Continue this chain in the store
    #[arg(long, value_name = "NAME", conflicts_with = "no_store")]
    chain: Option<String>,
    /// Keep the receipts in this database
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Keep the receipts nowhere
    #[arg(long, conflicts_with = "store")]
    no_store: bool,
    /// The passphrase of the key is in this file
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
}

impl Verify {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let (labels, requests, mut worst) = self.read_requests()?;
        if requests.is_empty() {
            return Ok(Exit::NoAnswer);
        }
        let mut output = Output::open(&self)?;
        let sealer = self.sealer(config)?;
        let host = Host::probe(self.isolation);
        let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let batch = Batch {
            host: &host,
            caps: Caps { readable: self.readable.clone(), ..Caps::default() },
            jobs: self.jobs.map_or_else(cores, NonZeroUsize::get),
        };
        let answered = batch::run(&batch, &requests, &sealer, |index, sealed| match sealed {
            Ok(receipt) => {
                worst = worst.max(receipt.verdict().into());
                output.receipt(labels.get(index).map_or("", String::as_str), &receipt)
            }
            Err(error) => {
                let label = labels.get(index).map_or("", String::as_str);
                worst = exit::report(&error.context(format!("verify `{label}`")));
                Ok(())
            }
        });
        answered?;
        output.finish(requests.len())?;
        Ok(worst)
    }

    /// Every readable request with its label; what can not be read is reported, and the others go on.
    fn read_requests(&self) -> anyhow::Result<(Vec<String>, Vec<Request>, Exit)> {
        let submission = self.submission.as_deref().map(input::submission).transpose()?;
        let (mut labels, mut requests, mut worst) = (Vec::new(), Vec::new(), Exit::Yes);
        if let Some(folder) = &self.dir {
            let project = project_request(folder, &self.command)?;
            for path in &project.left_out {
                eprintln!("left out `{path}`: it is no UTF-8 text");
            }
            let label = folder.display().to_string();
            let read = Request::read(project.text.as_bytes(), Format::Json, None);
            requests.push(read.with_context(|| format!("read the project `{label}`"))?);
            labels.push(label);
        }
        for argument in &self.requests {
            let sources = match input::sources(argument) {
                Ok(sources) => sources,
                Err(error) => {
                    worst = exit::report(&error);
                    continue;
                }
            };
            for source in sources {
                let file = |named: &str| input::beside(&source.path, named);
                let outside = Outside { submission: submission.as_deref(), file: &file };
                match Request::read_with(&source.bytes, source.format, &outside) {
                    Ok(request) => {
                        labels.push(source.label);
                        requests.push(request);
                    }
                    Err(error) => {
                        let error = anyhow::Error::from(error).context(format!("read the request `{}`", source.label));
                        worst = exit::report(&error);
                    }
                }
            }
        }
        Ok((labels, requests, worst))
    }

    fn sealer(&self, config: &Config) -> anyhow::Result<Sealer> {
        let passphrase = config.passphrase(self.passphrase_file.as_deref())?;
        let key = match self.unsigned {
            true => None,
            false => Some(config.signing_key(self.key.as_deref(), passphrase.as_ref())?),
        };
        let store = match self.no_store {
            true => None,
            false => Some(Store::open(&config.store_path(self.store.as_deref()))?),
        };
        match (key, store, &self.chain) {
            (Some(key), Some(store), Some(chain)) => Ok(Sealer::on_chain(key, store, chain.clone())?),
            (key, store, None) => Ok(Sealer::new(key, store)),
            (_, _, Some(chain)) => bail!("continue the chain `{chain}`: it needs a key and a store"),
        }
    }
}

/// Where receipts are shown and written.
struct Output {
    json: bool,
    paint: Paint,
    copy: Option<BufWriter<File>>,
}

impl Output {
    fn open(arguments: &Verify) -> anyhow::Result<Output> {
        let create = |path: &PathBuf| {
            let file = File::create(path).with_context(|| format!("write `{}`", path.display()))?;
            anyhow::Ok(BufWriter::new(file))
        };
        Ok(Output {
            json: arguments.json,
            paint: Paint::for_stdout(),
            copy: arguments.out.as_ref().map(create).transpose()?,
        })
    }

    fn receipt(&mut self, label: &str, receipt: &Receipt) -> anyhow::Result<()> {
        let text = receipt.to_text();
        if let Some(copy) = &mut self.copy {
            writeln!(copy, "{text}").context("write the receipts")?;
        }
        let mut stdout = io::stdout().lock();
        match self.json {
            true => writeln!(stdout, "{text}")?,
            false => summary::write(&mut stdout, label, receipt, self.paint)?,
        }
        Ok(())
    }

    fn finish(mut self, requests: usize) -> anyhow::Result<()> {
        if let Some(copy) = &mut self.copy {
            copy.flush().context("write the receipts")?;
            copy.get_ref().sync_all().context("write the receipts")?;
        }
        if requests > 1 && !self.json {
            writeln!(io::stdout().lock(), "{requests} requests verified")?;
        }
        Ok(())
    }
}
