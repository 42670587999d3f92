//! `proofmark doctor`.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use proofmark_checks::Language;
use proofmark_pages::check_page_digest;
use proofmark_receipt::document::counted;
use proofmark_receipt::{Json, Object, Timestamp, object};
use proofmark_sandbox::{Host, Level, Runtime};
use proofmark_store::{MAX_CLOCK_SKEW, Store, StoreError, StoredWorker};
use proofmark_verifier::clock_behind;

use crate::config::{Config, DEFAULT_KEY};
use crate::exit::Exit;
use crate::options::StoreAt;
use crate::out;
use crate::paint::{Paint, printable};
use crate::progress::{Progress, Work};
use crate::remote::{HOW_APART, NOT_APART};

/// Report supported languages and isolation levels
#[derive(Args)]
#[command(after_help = "Example:
  proofmark doctor

Exit codes: 0 submissions can run on this host; 2 they cannot.")]
pub(crate) struct Doctor {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    store: StoreAt,
}

/// What to do on a host without any isolation level.
const NO_LEVEL: &str = "  help: run as root for level A, or enable unprivileged user namespaces for level B
        (sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0;
        in a container: --security-opt seccomp=unconfined)";

/// What it means that the kernel does not limit memory.
const NO_GROUPS: &str = "           This is all right: memory limits hold, and a program that exceeds one is stopped. The kernel would stop it
           at once; without control groups it can exceed the limit for a moment.";

/// The package that runs the tests of most projects of Python.
const PYTEST: &str = "pytest";

/// The state of this host.
struct Findings {
    levels: Vec<(Level, Option<String>)>,
    /// The folder of control groups, or the reason why there are none and memory is summed up.
    groups: Result<PathBuf, String>,
    runtimes: Vec<Runtime>,
    key: Result<bool, String>,
    store: Result<bool, String>,
    /// How far the clock is behind the latest time in the store, in milliseconds, if that is more than the permitted skew.
    clock_behind: Option<i64>,
    /// The processes that share the store and live.
    workers: Vec<StoredWorker>,
}

impl Doctor {
    pub(crate) fn run(self, config: &Config) -> anyhow::Result<Exit> {
        let progress = Progress::new(Work::Whole("testing the isolation of this host"));
        let findings = Findings::gather(config, &self.store);
        drop(progress);
        if self.json {
            out::stdout().json(&Json::from(findings.object(config)).to_text())?;
        } else {
            findings.print(config)?;
        }
        let isolated = findings.levels.iter().any(|(_, lacking)| lacking.is_none());
        let sound = isolated && !findings.runtimes.is_empty() && findings.key.is_ok() && findings.store.is_ok();
        Ok(if sound { Exit::Yes } else { Exit::NoAnswer })
    }
}

impl Findings {
    fn gather(config: &Config, at: &StoreAt) -> Findings {
        let levels = Host::survey();
        let strongest = levels.iter().find(|(_, lacking)| lacking.is_none()).map(|(level, _)| *level);
        // The doctor changes nothing: it opens the store only where there is one, and creates no key.
        let store = match Store::open_existing(at.place(config)) {
            Err(StoreError::Missing { .. }) => None,
            opened => Some(opened.and_then(|store| store.keep_ends(&config.ends()))),
        };
        // A store that cannot be read is reported as `store`; how late the clock is then remains unknown.
        let behind = store.as_ref().and_then(|store| clock_behind(store.as_ref().ok()?).ok());
        let workers = store.as_ref().and_then(|store| store.as_ref().ok()?.workers().ok()).unwrap_or_default();
        // With its level named, the probe does not repeat the self-tests of stronger levels, which have just failed.
        let host = Host::probe(strongest);
        Findings {
            runtimes: host.runtimes(),
            groups: host.control_groups().map(Path::to_owned),
            key: Ok(config.keyring().has(DEFAULT_KEY)),
            store: store.map_or(Ok(false), |store| {
                let usable = store.and_then(|store| store.require_current().and_then(|()| store.require_whole()));
                usable.map(|()| true).map_err(|error| error.to_string())
            }),
            clock_behind: behind.filter(|behind| *behind > MAX_CLOCK_SKEW),
            workers: workers.into_iter().filter(|worker| worker.is_alive).collect(),
            levels,
        }
    }

    fn print(&self, config: &Config) -> anyhow::Result<()> {
        let paint = Paint::for_stdout();
        let mut out = out::stdout();
        writeln!(out, "isolation")?;
        for (level, lacking) in &self.levels {
            match lacking {
                None => writeln!(out, "  level {level}  {}", paint.good("available"))?,
                Some(why) => writeln!(out, "  level {level}  {} {why}", paint.bad("unavailable:"))?,
            }
        }
        if self.levels.iter().all(|(_, lacking)| lacking.is_some()) {
            writeln!(out, "{NO_LEVEL}")?;
        }
        match &self.groups {
            Ok(folder) => {
                writeln!(out, "  memory   limited by the kernel, in control groups below {}", folder.display())?
            }
            Err(why) => {
                writeln!(out, "  memory   summed up over processes every 20 ms, without control groups: {why}")?;
                writeln!(out, "{NO_GROUPS}")?;
            }
        }
        writeln!(out, "runtimes")?;
        for language in Language::ALL {
            let mut found = self.runtimes.iter().filter(|runtime| runtime.language == language).peekable();
            if found.peek().is_none() {
                writeln!(
                    out,
                    "  {language:<11} {}: install {}",
                    paint.bad("missing"),
                    Runtime::debian_package(language)
                )?;
            }
            for runtime in found {
                writeln!(
                    out,
                    "  {:<11} {} {} ({}){}",
                    language.as_str(),
                    runtime.name,
                    runtime.version,
                    runtime.path.display(),
                    pytest(runtime)
                )?;
            }
        }
        writeln!(out, "home")?;
        writeln!(out, "  folder      {}", config.home.display())?;
        writeln!(out, "  key         {}", state(&self.key, "present", "none yet, created on first use"))?;
        writeln!(out, "  store       {}", state(&self.store, "readable", "none yet, created on first use"))?;
        if let Some(place) = config.named_store() {
            writeln!(out, "  database    {}", printable(&place.to_string()))?;
        }
        if let Some(behind) = self.clock_behind {
            let seconds = behind / 1_000;
            let clock = paint.bad("behind:");
            writeln!(out, "  clock       {clock} {seconds} s before the latest time in the store; set the clock")?;
        }
        writeln!(out, "guards and hooks without --server")?;
        writeln!(out, "  {NOT_APART}")?;
        writeln!(out, "  {HOW_APART}")?;
        writeln!(out, "pages")?;
        writeln!(out, "  /ui/check   {}", check_page_digest())?;
        if !self.workers.is_empty() {
            writeln!(out, "processes that share the store")?;
        }
        for StoredWorker { presence, .. } in &self.workers {
            let what = match (&presence.runs, &presence.admits) {
                (Some(runs), _) => format!("runs {}", printable(&shown_runs(runs))),
                (None, Some(admits)) => {
                    let signers = counted(admits.len() as u64, "signer");
                    format!("leaves jobs to workers, takes receipts of {signers}")
                }
                (None, None) => "runs nothing yet".to_owned(),
            };
            let (signer, jobs) = (printable(&presence.signer), presence.progress.len());
            writeln!(out, "  {signer}  {what}; {} run", counted(jobs as u64, "job"))?;
        }
        Ok(())
    }

    fn object(&self, config: &Config) -> Object {
        let level = |(level, lacking): &(Level, Option<String>)| level_object(*level, lacking.as_deref());
        object! {
            "levels": self.levels.iter().map(level).collect::<Vec<_>>(),
            "memory": memory_object(&self.groups),
            "runtimes": self.runtimes.iter().map(runtime_object).collect::<Vec<_>>(),
            "home": config.home.display().to_string(),
            "key": state(&self.key, "there", "none"),
            "store": state(&self.store, "sound", "none"),
            "database"?: config.named_store().map(ToString::to_string),
            "clock_behind_ms"?: self.clock_behind,
            "workers": self.workers.iter().map(worker_object).collect::<Vec<_>>(),
            "check_page": check_page_digest().to_string(),
            "separation": NOT_APART,
        }
    }
}

/// What a process runs, for a person: the interpreters, or that it runs none.
fn shown_runs(runs: &[String]) -> String {
    let interpreters: Vec<&str> = runs.iter().map(String::as_str).filter(|name| name.contains(' ')).collect();
    if interpreters.is_empty() { "constraints alone".to_owned() } else { interpreters.join(", ") }
}

fn worker_object(worker: &StoredWorker) -> Json {
    let texts = |texts: &[String]| texts.iter().map(|text| Json::from(text.as_str())).collect::<Vec<_>>();
    let StoredWorker { presence, seen_at, .. } = worker;
    object! {
        "owner": presence.owner.as_str(),
        "signer": presence.signer.as_str(),
        "runs"?: presence.runs.as_deref().map(texts),
        "admits"?: presence.admits.as_deref().map(texts),
        "jobs": presence.progress.len() as u64,
        "seen_at": Timestamp::from_unix_millis(*seen_at).as_str(),
    }
    .into()
}

fn state(found: &Result<bool, String>, there: &str, none: &str) -> String {
    match found {
        Ok(true) => there.to_owned(),
        Ok(false) => none.to_owned(),
        Err(error) => format!("failed to {error}"),
    }
}

/// Whether projects can use pytest with this Python.
fn pytest(runtime: &Runtime) -> &'static str {
    match runtime.has_package(PYTEST) {
        None => "",
        Some(true) => ", with pytest",
        Some(false) => ", without pytest: python3 -m pip install pytest",
    }
}

fn level_object(level: Level, lacking: Option<&str>) -> Json {
    object! { "level": level.as_str(), "holds": lacking.is_none(), "lacking"?: lacking }.into()
}

fn memory_object(groups: &Result<PathBuf, String>) -> Json {
    match groups {
        Ok(folder) => object! { "counted_by": "control-groups", "folder": folder.display().to_string() }.into(),
        Err(why) => object! { "counted_by": "sum", "lacking": why.as_str() }.into(),
    }
}

fn runtime_object(runtime: &Runtime) -> Json {
    object! {
        "language": runtime.language.as_str(),
        "runtime": runtime.name.as_str(),
        "version": runtime.version.as_str(),
        "path": runtime.path.display().to_string(),
        "pytest"?: runtime.has_package(PYTEST),
    }
    .into()
}
