//! The pages for people in stores of a thousand rows and of a million: how long the server takes for one, how many bytes it is,
//! and how long a browser takes that sees it for the first time.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use crate::client::Client;
use crate::lists::{self, id};
use crate::server::Server;

const SIZES: [u32; 2] = [1_000, 1_000_000];
/// How long each page is asked for.
const LEAST: Duration = Duration::from_millis(500);
/// What a browser runs to see each page, with an empty cache each time.
const BROWSER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/serve/page.mjs");

struct Seen {
    page: &'static str,
    path: String,
    took: Vec<Duration>,
    /// Of the page alone, and of all files it needs, packed where the server packs them.
    bytes: (usize, usize),
    browser: Option<f64>,
}

pub(crate) fn run() -> anyhow::Result<()> {
    let mut sizes = Vec::new();
    for size in SIZES {
        let home = tempfile::tempdir()?;
        lists::fill(&home.path().join("proofmark.db"), size)?;
        eprintln!("filled {size} rows");
        sizes.push(see(home.path(), size)?);
    }
    show(&sizes);
    Ok(())
}

fn pages(rows: u32) -> Vec<(&'static str, String)> {
    let decision =
        format!("{:08x}-0000-4000-8000-{:012x}", (u64::from(rows / 2) * 2_654_435_761) & 0xffff_ffff, rows / 2);
    vec![
        ("overview", "/ui".to_owned()),
        ("overview, 30 days", "/ui?days=30".to_owned()),
        ("waiting", "/ui/waiting".to_owned()),
        ("waiting, found by text", "/ui/waiting?find=tool".to_owned()),
        ("decisions", "/ui/decisions".to_owned()),
        ("decisions, agent", "/ui/decisions?agent=agent-7".to_owned()),
        ("a decision", format!("/ui/decisions/{decision}")),
        ("receipts", "/ui/receipts".to_owned()),
        ("receipts, rare verdict", "/ui/receipts?verdict=partial".to_owned()),
        ("a receipt", format!("/ui/receipts/{}", id(rows / 20 * 10))),
        ("a chain", format!("/ui/chains/verifications?from={}", rows / 4)),
        ("runs", "/ui/runs".to_owned()),
        ("findings", "/ui/findings".to_owned()),
        ("policy", "/ui/policy".to_owned()),
    ]
}

fn see(home: &Path, rows: u32) -> anyhow::Result<Vec<Seen>> {
    let server = Server::start(home, None)?;
    let mut client = Client::connect(&server.address)?;
    let mut all = Vec::new();
    for (page, path) in pages(rows) {
        let html = get(&mut client, &path).with_context(|| format!("failed to get the page: {page}"))?;
        let mut files = html.len();
        for file in files_of(&html) {
            files += client.packed_length(&file)?;
        }
        let (begun, mut took) = (Instant::now(), Vec::new());
        while begun.elapsed() < LEAST || took.len() < 20 {
            let asked = Instant::now();
            get(&mut client, &path)?;
            took.push(asked.elapsed());
        }
        took.sort();
        all.push(Seen { page, browser: in_browser(&server.address, &path), path, took, bytes: (html.len(), files) });
    }
    Ok(all)
}

fn get(client: &mut Client, path: &str) -> anyhow::Result<String> {
    match client.get(path)? {
        (200, body) => Ok(body),
        (status, body) => bail!("{path}: {status}: {body}"),
    }
}

/// The sheet, scripts and modules that a page needs.
fn files_of(html: &str) -> BTreeSet<String> {
    let parts = html.split(" href=\"").chain(html.split(" src=\"")).filter_map(|part| part.split('"').next());
    let mut files: BTreeSet<String> = parts.filter(|part| part.starts_with("/ui/assets/")).map(str::to_owned).collect();
    if let Some(checked) = files.iter().find(|file| file.ends_with("/checked.js")).cloned() {
        let folder = checked.trim_end_matches("checked.js");
        let modules = [
            "canonical",
            "decision",
            "ed25519",
            "head",
            "json",
            "members",
            "number",
            "receipt",
            "refused",
            "session",
            "signature",
            "signer",
            "text",
            "verify",
        ];
        files.extend(modules.map(|module| format!("{folder}{module}.js")));
    }
    files
}

/// How many milliseconds a browser takes until the page is loaded; none without one.
fn in_browser(address: &str, path: &str) -> Option<f64> {
    let shown = Command::new("node").args([BROWSER, &format!("http://{address}{path}")]).output().ok()?;
    String::from_utf8(shown.stdout).ok()?.trim().parse().ok()
}

fn show(sizes: &[Vec<Seen>]) {
    println!(
        "| page | kB | kB with its files | p50 ms at 1,000 rows | p50 ms at 1,000,000 | p99 ms | ms in a browser |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|");
    let (Some(small), Some(large)) = (sizes.first(), sizes.last()) else { return };
    let millis = |seen: &Seen, share: usize| {
        let place = seen.took.get(seen.took.len() * share / 100).or(seen.took.last());
        place.map_or(0.0, |took| took.as_secs_f64() * 1e3)
    };
    for (small, large) in small.iter().zip(large) {
        let kilobytes = |bytes: usize| bytes as f64 / 1e3;
        println!(
            "| {} (`{}`) | {:.0} | {:.0} | {:.2} | {:.2} | {:.2} | {} |",
            large.page,
            large.path.split('?').next().unwrap_or_default(),
            kilobytes(large.bytes.0),
            kilobytes(large.bytes.1),
            millis(small, 50),
            millis(large, 50),
            millis(large, 99),
            large.browser.map_or_else(|| "–".to_owned(), |took| format!("{took:.0}")),
        );
    }
}
