//! `proofmark verify`.

mod derive;
mod filter;
mod locked;
mod output;
mod reader;
mod tally;
mod watch;

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::iter::Peekable;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::Duration;
use std::vec::IntoIter;

use anyhow::Context;
use clap::Args;
use proofmark_checks::{Caps, Request, SuiteHashes};
use proofmark_decider::tell_verdict;
use proofmark_evidence::suite_digest;
use proofmark_otlp::OtlpEndpoint;
use proofmark_receipt::{Json, Timestamp, object};
use proofmark_sandbox::{Host, Level};
use proofmark_verifier::sync::lock;
use proofmark_verifier::{Batch, BatchWatch, Issuer, StrengthWatch, Survivor, case_count, now, prepare};

use crate::config::Config;
use crate::document;
use crate::error::with_help;
use crate::exit::Exit;
use crate::input;
use crate::interrupt::Interrupt;
use crate::options::{Signing, StoreAt};
use crate::out;
use crate::paint::printable;
use crate::progress::{Progress, Work};
use crate::project::ProjectOptions;
use crate::report::{self, AlsoOption, Format, Formatting};
use crate::serve::concurrency;
use crate::suite::strength_time;
use crate::telling::tell_only;
use filter::Filter;
use output::{Output, Verbosity};
use reader::{Named, Projects, Reader, Refused, Window};
use watch::Seen;

/// Run submissions against their tests and issue a signed receipt for each
///
/// A request is a JSON or YAML document with a submission and the suite that it must pass (docs/requests.md). A `.jsonl`
/// file has one request per line; a folder means every request in it. Receipts are stored, and printed once they are on
/// disk. The format JSON has one line for each request, in their order: a receipt, or an error where there is none.
#[derive(Args)]
#[command(
    override_usage = "proofmark verify [OPTIONS] <FILE|DIR|->...
       proofmark verify [OPTIONS] --dir <DIR> [-- <COMMAND>...]
       proofmark verify --suite-digest <FILE>",
    after_help = "Examples:
  proofmark verify examples/sort.json
  proofmark verify suite.yaml --submission solution.py
  proofmark verify suite.yaml --submission solution.py --watch
  proofmark verify requests.jsonl --json --out receipts.jsonl --jobs 4
  proofmark verify requests.jsonl --fail-fast --filter 'task-1*'
  proofmark verify requests/ --format junit > report.xml
  proofmark verify requests/ --format github --also sarif=report.sarif
  proofmark verify request.json --chain nightly
  proofmark verify --dir ./project -- pytest -q
  proofmark verify --dir ./project --timeout 120s --skipped ignore -- pytest -q
  proofmark verify suite.yaml --submission solution.py --strength=10s
  proofmark verify --dir ./project --tests-from HEAD -- node --test
  proofmark verify --suite-digest suite.yaml

Exit codes: 0 all pass; 1 a submission fails or is partial; 2 a request is invalid, or could not be verified;
130 ended by Ctrl-C."
)]
pub(crate) struct Verify {
    /// Requests: files, folders, .jsonl files, or - for standard input
    #[arg(required_unless_present_any = ["dir", "repo", "tasks", "suite_digest"], conflicts_with_all = ["dir", "repo", "tasks", "suite_digest"], value_name = "FILE|DIR|-")]
    requests: Vec<PathBuf>,
    /// Allow commands to read this path of the host, if their request asks for it; can be repeated
    #[arg(long, value_name = "PATH")]
    readable: Vec<PathBuf>,
    /// Run nothing: print the digest of the suite in this file, which receipt rules name as `suite`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["dir", "submission", "chain", "out"])]
    suite_digest: Option<PathBuf>,
    /// Read the submission from this file, in place of `output.content` of the request
    #[arg(long, value_name = "FILE")]
    submission: Option<PathBuf>,
    #[command(flatten)]
    signing: Signing,
    /// Leave receipts unsigned
    #[arg(long, conflicts_with_all = ["key", "chain"])]
    unsigned: bool,
    /// Also write the receipts, and only them, to this file, one per line; a file that exists is overwritten
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    formatting: Formatting,
    #[command(flatten)]
    also: AlsoOption,
    /// Print only failures and the summary
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,
    /// Print passes too; on a terminal, those of larger batches are only counted
    #[arg(short, long)]
    verbose: bool,
    /// Start no further request after the first that does not pass
    #[arg(long)]
    fail_fast: bool,
    /// Run only the requests whose file name or task id has this part, or matches this pattern with * and ?
    #[arg(long, value_name = "NAME")]
    filter: Option<String>,
    /// Run again each time the requests, the submission or the project change
    #[arg(long)]
    watch: bool,
    /// Measure the strength of the suites whose submissions pass: for so long, mutants of the submission run through its own suite
    /// [default: 30s]
    #[arg(long, value_name = "DURATION", num_args = 0..=1, require_equals = true, default_missing_value = "30s", value_parser = strength_time)]
    strength: Option<Duration>,
    /// How many requests, and checks of one request, run at a time [default: the number of cores]
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
    /// Export each verdict to this OpenTelemetry collector, over OTLP/HTTP
    #[arg(long, value_name = "URL")]
    otlp: Option<OtlpEndpoint>,
    #[command(flatten)]
    store: StoreAt,
    /// Do not store receipts
    #[arg(long, conflicts_with = "store")]
    no_store: bool,
    #[command(flatten)]
    project: Box<ProjectOptions>,
}

impl Verify {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        if let Some(path) = &self.suite_digest {
            return self.print_suite(path);
        }
        self.check()?;
        if self.project.explain {
            self.project.print_explanation(self.formatting.format() == Format::Json)?;
            return Ok(Exit::Yes);
        }
        if let Some(folder) = &self.project.patch.derive_lists {
            return self.derive_lists(config, folder);
        }
        // It has a name, because `_` would drop it at once; the last verdicts are exported at the end.
        let _telling = tell_only(self.otlp.as_ref())?;
        let mut session = None;
        if self.watch { self.run_on_change(config, &mut session) } else { self.run_once(config, &mut session).0 }
    }

    /// Refuses options that do not go together, which depends on their values.
    fn check(&self) -> anyhow::Result<()> {
        if self.formatting.format() != Format::Human && (self.quiet || self.verbose) {
            return Err(with_help(
                "choose what is printed: only the format `human` is shorter or longer on request",
                "leave `--quiet` and `--verbose` out",
            ));
        }
        if self.watch && self.requests.iter().any(|path| path == Path::new("-")) {
            return Err(with_help("watch standard input: it is read once", "name files"));
        }
        Ok(())
    }

    /// Runs again each time a file changes, until it is interrupted.
    fn run_on_change(&self, config: &Config, session: &mut Option<Session>) -> anyhow::Result<Exit> {
        let mut paths: Vec<PathBuf> =
            self.requests.iter().chain(self.project.paths()).chain(&self.submission).cloned().collect();
        loop {
            let seen = watch::look(&paths);
            if io::stdout().is_terminal() && self.formatting.format() == Format::Human {
                // This erases the display and what has scrolled off it (ECMA-48).
                write!(out::stdout(), "\x1b[H\x1b[2J\x1b[3J")?;
            }
            let (exit, files) = self.run_once(config, session);
            if exit.unwrap_or_else(|error| out::report(&error)) == Exit::Interrupted {
                return Ok(Exit::Interrupted);
            }
            let new: Vec<PathBuf> = files.into_iter().filter(|path| !paths.contains(path)).collect();
            let seen = Seen::from_iter(seen.into_iter().chain(watch::look(&new)));
            paths.extend(new);
            out::stdout().flush()?;
            out::note("waiting for files to change; Ctrl-C ends");
            watch::wait(&paths, &seen);
        }
    }

    /// Runs all requests. Returns the files that they name, too.
    fn run_once(&self, config: &Config, session: &mut Option<Session>) -> (anyhow::Result<Exit>, Vec<PathBuf>) {
        let mut reader = match self.reader() {
            Ok(reader) => reader,
            Err(error) => return (Err(error), Vec::new()),
        };
        let exit = self.run_all(&mut reader, config, session);
        (exit, reader.into_files())
    }

    fn reader(&self) -> anyhow::Result<Reader> {
        let projects: Projects = match self.project.tasks()? {
            Some(tasks) => Box::new(tasks.into_projects()),
            None => {
                let project = self.project.read(self.verbose)?;
                Box::new(project.into_iter().map(|project| (project.folder.display().to_string(), Ok(project))))
            }
        };
        let reader = Reader::new(self.requests.clone(), self.submission.as_ref())?;
        Ok(reader.with_projects(projects).with_filter(self.filter.clone().map(Filter)))
    }

    fn run_all(&self, reader: &mut Reader, config: &Config, session: &mut Option<Session>) -> anyhow::Result<Exit> {
        let all = self.count();
        let mut output = Output::new(self.formatting.format(), self.verbosity(), all, &self.also)?;
        // How many the filter selects is not known before they are read.
        let all = all.filter(|_| self.filter.is_none());
        let since = now();
        let mut progress = None;
        let mut interrupted = false;
        while let Some(window) = reader.next_window() {
            if window.requests.is_empty() {
                show_refused(&mut output, &mut window.refused.into_iter().peekable(), usize::MAX)?;
                if self.fail_fast {
                    output.tally.not_run = Some((0, !reader.ended));
                    break;
                }
                continue;
            }
            // The order matters: without a readable request no key and no store are created, and a file of `--out` that
            // cannot be written is found before anything runs.
            if progress.is_none() {
                self.out.as_ref().map_or(Ok(()), |path| output.copy_to(path))?;
            }
            let session = match session {
                Some(session) => session,
                None => session.insert(Session::open(self, config, &window.requests)?),
            };
            let progress = progress.get_or_insert_with(|| Progress::new(work(&window, all)));
            let end = session.interrupt.during(|| self.run_window(session, window, &mut output, progress))?;
            match end {
                WindowEnd::Complete => output.flush(),
                WindowEnd::Stopped(left) => {
                    output.tally.not_run = Some((left, !reader.ended));
                    interrupted = session.interrupt.is_set();
                    break;
                }
            }
        }
        drop(progress);
        output.tally.filtered = reader.filtered;
        let verified = output.tally.verified();
        if verified == 0 && reader.filtered > 0 && output.worst == Exit::Yes && !interrupted {
            let filter = self.filter.as_deref().unwrap_or_default();
            let others = report::count(reader.filtered, "request");
            return Err(with_help(
                format!("select requests: `--filter {filter}` selects none of {others}"),
                "write a part of a file name or of a task id, or a pattern with `*` for all of it",
            ));
        }
        let worst = output.finish()?;
        if interrupted {
            self.say_interrupted(verified, all, &since);
        }
        Ok(if interrupted { Exit::Interrupted } else { worst })
    }

    /// Runs the requests of a window, and prints them and what could not be read in their order.
    fn run_window(
        &self,
        session: &Session,
        window: Window,
        output: &mut Output,
        progress: &Progress,
    ) -> anyhow::Result<WindowEnd> {
        let Window { mut requests, mut names, packages, origin, mut refused } = window;
        let all = requests.len();
        // Of a window, only the first request can be of a project.
        let locked =
            requests.first().map(|first| locked::locked(&session.cache, &session.host, &session.issuer, first));
        let locked = match locked.transpose() {
            Ok(locked) => locked.flatten(),
            Err(error) => {
                drop(requests.remove(0));
                let label = names.remove(0).label;
                refused.insert(0, Refused { before: 0, label, error });
                None
            }
        };
        if let Some(first) = refused.first().filter(|_| self.fail_fast) {
            requests.truncate(first.before);
        }
        let caps = Caps { readable: self.readable.clone(), packages, locked, origin, ..Caps::default() };
        let workers = concurrency(self.jobs);
        let ran = |_, _| progress.checked();
        let watch = BatchWatch { fail_fast: self.fail_fast, cancelled: &session.interrupt.set, ran: &ran };
        let batch = Batch::new(&session.host, &caps, workers, &session.issuer).watched(watch);
        let batch = batch.with_cache(&session.cache);
        let batch = match &self.chain {
            Some(chain) => batch.on_chain(chain.clone())?,
            None => batch,
        };
        let survivors = Mutex::new(BTreeMap::new());
        let note = |index, of_request: Vec<Survivor>| drop(lock(&survivors).insert(index, of_request));
        let batch = match self.strength {
            Some(time) => batch.with_strength(StrengthWatch { time, survivors: &note }),
            None => batch,
        };
        let mut refused = refused.into_iter().peekable();
        let mut shown = 0;
        let unnamed = Named::default();
        batch.run(&requests, |index, receipt| {
            progress.verified();
            progress.suspend(|| {
                show_refused(output, &mut refused, index)?;
                shown += 1;
                let name = names.get(index).unwrap_or(&unnamed);
                match receipt {
                    Ok(receipt) => {
                        tell_verdict(&receipt);
                        output.receipt(name, &receipt)?;
                        output.survivors(&lock(&survivors).remove(&index).unwrap_or_default())?;
                    }
                    Err(error) => output.unverified(name, error)?,
                }
                progress.failed(output.tally.failed());
                anyhow::Ok(())
            })
        })?;
        let complete = shown == requests.len() && !session.interrupt.is_set();
        if complete && !(self.fail_fast && output.worst != Exit::Yes) {
            // With `--fail-fast`, too: the first that cannot be read is a failure.
            let shown_at_end = if self.fail_fast { requests.len() } else { usize::MAX };
            show_refused(output, &mut refused, shown_at_end)?;
        }
        let stopped = !complete || (self.fail_fast && output.worst != Exit::Yes);
        Ok(if stopped { WindowEnd::Stopped(all - shown) } else { WindowEnd::Complete })
    }

    /// How many requests there are, where that is known before they are read.
    fn count(&self) -> Option<u64> {
        if self.project.tasks.is_given() {
            return None;
        }
        self.requests
            .iter()
            .map(|path| input::count(path))
            .sum::<Option<u64>>()
            .map(|all| all + u64::from(self.project.folder().is_some()))
    }

    fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            (false, false) => Verbosity::Normal,
        }
    }

    fn say_interrupted(&self, verified: usize, all: Option<u64>, since: &Timestamp) {
        let of_all = all.map_or_else(String::new, |all| format!(" of {all}"));
        let kept = match (self.no_store, &self.chain) {
            (true, _) => "receipts are not stored".to_owned(),
            (false, Some(chain)) => {
                let chain = printable(chain);
                format!("their receipts are stored: list them with `proofmark receipt list --chain {chain}`")
            }
            (false, None) => {
                format!("their receipts are stored: list them with `proofmark receipt list --since {since}`")
            }
        };
        out::note(format_args!("interrupted: {verified}{of_all} requests verified; {kept}"));
    }

    fn print_suite(&self, path: &Path) -> anyhow::Result<Exit> {
        let SuiteHashes { specification, tests } = document::suite(path)?;
        let suite = suite_digest(&specification, &tests).to_string();
        let text = if self.formatting.format() == Format::Json {
            Json::from(object! {
                "suite": suite,
                "specification": specification.to_string(),
                "tests": tests.to_string(),
            })
            .to_text()
        } else {
            suite
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

/// What requests run with, opened once.
struct Session {
    issuer: Issuer,
    host: Host,
    interrupt: Interrupt,
    /// The folder of what can be made again.
    cache: PathBuf,
}

impl Session {
    /// Opens it for requests of which these are the first.
    fn open(arguments: &Verify, config: &Config, requests: &[Request]) -> anyhow::Result<Session> {
        let host = Host::untested(arguments.isolation);
        let issuer = thread::scope(|scope| {
            scope.spawn(|| prepare(&host, requests));
            arguments.issuer(config)
        })?;
        Ok(Session {
            issuer,
            host,
            interrupt: Interrupt::handle().context("handle interrupts")?,
            cache: config.cache(),
        })
    }
}

/// How a window ended.
enum WindowEnd {
    /// All of its requests were run.
    Complete,
    /// So many were not.
    Stopped(usize),
}

/// What the display counts.
fn work(window: &Window, all: Option<u64>) -> Work {
    match (window.requests.as_slice(), all) {
        ([request], Some(1)) => match case_count(request) {
            0 => Work::Whole("running the tests"),
            checks => Work::Checks(checks as u64),
        },
        (_, all) => Work::Requests(all),
    }
}

/// Prints what could not be read before the request with this index.
fn show_refused(output: &mut Output, refused: &mut Peekable<IntoIter<Refused>>, index: usize) -> anyhow::Result<()> {
    while let Some(Refused { label, error, .. }) = refused.next_if(|refused| refused.before <= index) {
        output.refused(&label, &error)?;
    }
    Ok(())
}
