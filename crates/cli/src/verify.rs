//! `proofmark verify`.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use proofmark_evidence::suite_digest;
use proofmark_receipt::{Json, Receipt, object};
use proofmark_verifier::{
    Batch, Caps, Host, Issuer, Level, MAX_REQUEST_BYTES, Outside, Request, SuiteHashes, project_request,
};

use crate::batch;
use crate::config::Config;
use crate::document;
use crate::error::with_help;
use crate::exit::Exit;
use crate::input::{self, Source, Sources};
use crate::options::{Signing, StoreAt};
use crate::out;
use crate::paint::Paint;
use crate::summary;

/// Run submissions against their tests and issue a signed receipt for each
///
/// A request is a JSON or YAML document with a submission and the suite that it must pass (docs/requests.md). A `.jsonl`
/// file has one request per line; a folder means every request in it. Receipts are stored, and printed once they are on
/// disk.
#[derive(Args)]
#[command(after_help = "Examples:
  proofmark verify examples/sort.json
  proofmark verify suite.yaml --submission solution.py
  proofmark verify requests.jsonl --json --out receipts.jsonl --jobs 4
  proofmark verify request.json --chain nightly
  proofmark verify --dir ./project -- pytest -q
  proofmark verify --suite-digest suite.yaml

Exit codes: 0 all pass; 1 a submission fails or is partial; 2 a request is invalid, or could not be verified.")]
pub(crate) struct Verify {
    /// Requests: files, folders, .jsonl files, or - for standard input
    #[arg(required_unless_present_any = ["dir", "suite_digest"], conflicts_with_all = ["dir", "suite_digest"], value_name = "FILE|DIR|-")]
    requests: Vec<PathBuf>,
    /// Verify this project: run the command after -- in a copy of it
    #[arg(long, value_name = "DIR", requires = "command", conflicts_with = "submission")]
    dir: Option<PathBuf>,
    /// Allow commands to read this path of the host, if their request asks for it; can be repeated
    #[arg(long, value_name = "PATH")]
    readable: Vec<PathBuf>,
    /// Run nothing: print the digest of the suite in this file, which receipt rules name as `suite`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["dir", "submission", "chain", "out"])]
    suite_digest: Option<PathBuf>,
    /// The command that tests the project of --dir
    #[arg(last = true, requires = "dir", value_name = "COMMAND")]
    command: Vec<String>,
    /// Read the submission from this file, in place of `output.content` of the request
    #[arg(long, value_name = "FILE")]
    submission: Option<PathBuf>,
    #[command(flatten)]
    signing: Signing,
    /// Leave receipts unsigned
    #[arg(long, conflicts_with_all = ["key", "chain"])]
    unsigned: bool,
    /// Also write the receipts to this file, one per line
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the receipts as JSON, one per line, in the order of the requests
    #[arg(long)]
    json: bool,
    /// How many requests run at a time [default: the number of cores]
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Require this isolation level [default: the strongest available]
    ///
    /// A: namespaces prepared by root, Landlock, a system-call filter and resource limits. B: the same through
    /// unprivileged user namespaces. C: without namespaces. See `proofmark doctor`.
    #[arg(long, value_name = "LEVEL")]
    isolation: Option<Level>,
    /// Append the receipts to this chain in the store
    #[arg(long, value_name = "NAME", conflicts_with = "no_store")]
    chain: Option<String>,
    #[command(flatten)]
    store: StoreAt,
    /// Do not store receipts
    #[arg(long, conflicts_with = "store")]
    no_store: bool,
}

impl Verify {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        if let Some(path) = &self.suite_digest {
            return self.print_suite(path);
        }
        // The order matters: without a readable request no key and no store are created, and a file of `--out` that
        // cannot be written is found before anything runs.
        let mut reader = RequestReader::new(&self)?;
        let mut window = reader.next_window();
        if window.is_empty() {
            return Ok(Exit::NoAnswer);
        }
        let mut output = Output::open(&self)?;
        let issuer = self.issuer(config)?;
        let host = Host::probe(self.isolation);
        let cores = || std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let workers = self.jobs.map_or_else(cores, NonZeroUsize::get);
        let caps = Caps { readable: self.readable.clone(), ..Caps::default() };
        let batch = Batch::new(&host, &caps, workers, &issuer);
        let batch = match &self.chain {
            Some(chain) => batch.on_chain(chain.clone())?,
            None => batch,
        };
        // A window is empty only at the end: requests that cannot be read do not fill it.
        let (mut worst, mut requests) = (Exit::Yes, 0);
        while !window.is_empty() {
            let label = |index: usize| window.labels.get(index).map_or("", String::as_str);
            batch::run(&batch, &window.requests, |index, receipt| match receipt {
                Ok(receipt) => {
                    worst = worst.max(receipt.verdict().into());
                    output.receipt(label(index), &receipt)
                }
                Err(error) => {
                    let error = anyhow::Error::from(error).context(format!("verify `{}`", label(index)));
                    // The worst exit code there is, so no later receipt changes it.
                    worst = out::report(&error);
                    Ok(())
                }
            })?;
            requests += window.requests.len();
            window = reader.next_window();
        }
        output.finish(requests)?;
        Ok(worst.max(reader.worst))
    }

    fn print_suite(&self, path: &Path) -> anyhow::Result<Exit> {
        let SuiteHashes { specification, tests } = document::suite(path)?;
        let suite = suite_digest(&specification, &tests).to_string();
        let text = match self.json {
            true => Json::from(object! {
                "suite": suite,
                "specification": specification.to_string(),
                "tests": tests.to_string(),
            })
            .to_text(),
            false => suite,
        };
        writeln!(out::stdout(), "{text}")?;
        Ok(Exit::Yes)
    }

    fn issuer(&self, config: &Config) -> anyhow::Result<Issuer> {
        let key = if self.unsigned { None } else { Some(self.signing.key(config)?) };
        let store = if self.no_store { None } else { Some(self.store.open(config)?) };
        match (&key, &store, &self.chain) {
            (Some(_), Some(_), _) | (_, _, None) => Ok(Issuer::new(key, store)),
            (_, _, Some(chain)) => Err(with_help(
                format!("append to the chain `{chain}`: it needs a key and a store"),
                "leave `--unsigned` and `--no-store` out",
            )),
        }
    }
}

/// The requests that run together. All of them are read before the first one runs.
#[derive(Default)]
struct Window {
    labels: Vec<String>,
    requests: Vec<Request>,
}

impl Window {
    fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }
}

/// The most requests of a window.
// The requests of a window run side by side; the next window begins when all of them have ended.
const WINDOW_REQUESTS: usize = 256;
/// A window that has this many bytes of requests takes no more.
const WINDOW_BYTES: usize = MAX_REQUEST_BYTES;

/// Reads requests window by window, so that a batch of any length needs the memory of one window.
struct RequestReader {
    submission: Option<String>,
    project: Option<(String, Request)>,
    sources: Sources,
    /// The worst exit code of the requests that could not be read.
    worst: Exit,
}

impl RequestReader {
    fn new(arguments: &Verify) -> anyhow::Result<RequestReader> {
        let submission = arguments.submission.as_deref().map(input::submission).transpose()?;
        let project = arguments.dir.as_deref().map(|folder| project(folder, &arguments.command)).transpose()?;
        let requests = arguments.requests.clone();
        let sources = Box::new(requests.into_iter().flat_map(|argument| input::sources(&argument)));
        Ok(RequestReader { submission, project, sources, worst: Exit::Yes })
    }

    /// The next requests; none at the end. A request that cannot be read is reported, and the others continue.
    fn next_window(&mut self) -> Window {
        let mut window = Window::default();
        let mut bytes = 0;
        // Taken once: the project is part of the first window only.
        if let Some((label, request)) = self.project.take() {
            window.labels.push(label);
            window.requests.push(request);
        }
        while window.requests.len() < WINDOW_REQUESTS && bytes < WINDOW_BYTES {
            let Some(source) = self.sources.next() else { break };
            match source.and_then(|source| self.read(source, &mut bytes)) {
                Ok((label, request)) => {
                    window.labels.push(label);
                    window.requests.push(request);
                }
                Err(error) => self.worst = out::report(&error),
            }
        }
        window
    }

    fn read(&self, source: Source, bytes: &mut usize) -> anyhow::Result<(String, Request)> {
        let file = |named: &str| input::beside(&source.path, named);
        let outside = Outside { submission: self.submission.as_deref(), file: &file };
        let request = document::request(&source, &outside)?;
        *bytes += source.bytes.len() + self.submission.as_ref().map_or(0, String::len);
        Ok((source.label, request))
    }
}

/// A folder as a request.
fn project(folder: &Path, command: &[String]) -> anyhow::Result<(String, Request)> {
    let project = project_request(folder, command)?;
    for path in &project.left_out {
        out::note(format_args!(
            "left out `{path}`: its content or its path is not UTF-8 text, or its path is too long"
        ));
    }
    let label = folder.display().to_string();
    let outside = Outside { submission: None, file: &|_| Err("a project names no files".to_owned()) };
    let request = Request::from_document(&project.document, &outside);
    Ok((label.clone(), request.with_context(|| format!("read the project `{label}`"))?))
}

/// Where receipts are printed and written.
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
        self.copy(|copy| writeln!(copy, "{text}"));
        let mut stdout = out::stdout();
        match self.json {
            true => writeln!(stdout, "{text}")?,
            false => summary::write(&mut stdout, label, receipt, self.paint)?,
        }
        Ok(())
    }

    /// Writes to the copy. A failure is reported once, and the requests continue.
    fn copy(&mut self, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) {
        if let Some(copy) = &mut self.copy
            && let Err(error) = write(copy)
        {
            out::report_incomplete(&anyhow::Error::new(error).context("write the receipts to the file of `--out`"));
            // Nothing more is written to it: a copy with a gap would look complete.
            self.copy = None;
        }
    }

    fn finish(mut self, requests: usize) -> anyhow::Result<()> {
        self.copy(|copy| {
            copy.flush()?;
            match copy.get_ref().sync_all() {
                // A pipe or a device has nothing to sync (fsync(2)).
                Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => Ok(()),
                synced => synced,
            }
        });
        if requests > 1 && !self.json {
            writeln!(out::stdout(), "{requests} requests verified")?;
        }
        Ok(())
    }
}
