//! Lists, counts and look-ups in stores of a thousand rows to a million: how long one page takes.
//!
//! Receipts are made of one template with ids, times, verdicts, issuers, tasks and outputs of their own, and stored by the store
//! itself, which checks no signatures. Decisions, findings and steps of runs are written as rows, since the tool that signs
//! them would take minutes.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use proofmark_receipt::{Receipt, ReceiptId, SignerId, Trust, Verdict};
use proofmark_store::{CountFilter, DecisionsWanted, Filter, NewReceipt, PendingEach, Store, Tenant, Write};
use rusqlite::Connection;

use crate::client::Client;
use crate::server::Server;

const SIZES: [u32; 3] = [1_000, 30_000, 1_000_000];
/// How long each question is asked.
const LEAST: Duration = Duration::from_millis(250);
/// How many rows are submitted at once.
const AT_ONCE: u32 = 2_000;

/// A question, and how long its answers took, shortest first.
struct Asked {
    question: &'static str,
    took: Vec<Duration>,
}

pub(crate) fn run() -> anyhow::Result<()> {
    let mut sizes = Vec::new();
    for size in SIZES {
        let home = tempfile::tempdir()?;
        let begun = Instant::now();
        fill(&home.path().join("proofmark.db"), size)?;
        eprintln!("filled {size} rows in {:.0} s", begun.elapsed().as_secs_f64());
        sizes.push(ask(home.path(), size)?);
    }
    show(&sizes);
    Ok(())
}

pub(crate) fn fill(path: &Path, rows: u32) -> anyhow::Result<()> {
    let store = Store::open(path)?;
    let wait = |parts: Vec<PendingEach>| {
        parts.into_iter().try_for_each(|part| match part.wait()?.into_iter().flatten().next() {
            Some(refused) => Err(anyhow::Error::from(refused)),
            None => Ok(()),
        })
    };
    let mut before = Vec::new();
    for first in (0..rows).step_by(AT_ONCE as usize) {
        let mut parts = Vec::new();
        for tenant in TENANTS {
            let own = (first..rows.min(first + AT_ONCE)).filter(|row| self::tenant(*row) == tenant);
            let writes = own.map(write).collect::<anyhow::Result<Vec<Write>>>()?;
            parts.extend(store.of(&named(tenant)).submit_each(writes));
        }
        // While these are stored, the next are made.
        wait(std::mem::replace(&mut before, parts))?;
    }
    wait(before)?;
    drop(store);
    let connection = Connection::open(path)?;
    connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -200000;")?;
    Ok(connection.execute_batch(&ROWS.replace("{rows}", &rows.to_string()))?)
}

const TENANTS: [&str; 2] = ["local", "team"];

/// One row in ten is of another tenant than the command line.
fn tenant(row: u32) -> &'static str {
    if row % 10 == 3 { "team" } else { "local" }
}

fn named(tenant: &str) -> Tenant {
    tenant.parse().unwrap_or_default()
}

pub(crate) fn id(row: u32) -> ReceiptId {
    // Spread like chance, so that the indexes of ids are.
    let high = u64::from(row).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ReceiptId::from_random_bytes(((u128::from(high) << 64) | u128::from(row)).to_be_bytes())
}

/// One of seven issuers.
fn signer(issuer: u32) -> SignerId {
    SignerId::from_bytes([issuer as u8 + 1; 32])
}

fn text(row: u32, link: &str) -> String {
    // Rarely a verdict that is listed often: a filter must not look through all the others.
    let verdict = match row % 1_000 {
        7 => "partial",
        n if n % 20 == 1 => "fail",
        _ => "pass",
    };
    let (passed, failed) = match verdict {
        "pass" => (2, 0),
        "fail" => (0, 2),
        _ => (1, 1),
    };
    let at = proofmark_receipt::Timestamp::from_unix_millis(time(row));
    let (issuer, task, output) = (row % 7, row / 5, row / 3);
    let signer = signer(issuer);
    format!(
        r#"{{"vrf_version":"1.0","receipt_id":"{}","verified_at":"{at}","tier":{},"verdict":"{verdict}","task":{{"task_id":"task-{task}","task_type":"type-{issuer}"}},"results":{{"total":2,"passed":{passed},"failed":{failed},"errors":0,"details":[]}},"hashes":{{"specification":"sha256:{output:064x}","output":"sha256:{output:064x}"}},"metadata":{{{link}"verifier":"proofmark/0.1.0","execution_ms":12,"structural":true,"sandbox":"subprocess","language":"python","runtime":"Python 3.11.2","isolation":["user-namespace","mount-namespace","pid-namespace","landlock","seccomp","rlimits","control-group"],"issuer_key":"{signer}"}},"signature":{{"algorithm":"ed25519","signer_id":"{signer}","content_hash":"{output:064x}","signature":"{output:0128x}"}}}}"#,
        id(row),
        row % 3
    )
}

/// A minute apart.
fn time(row: u32) -> i64 {
    1_700_000_000_000 + i64::from(row) * 60_000
}

fn write(row: u32) -> anyhow::Result<Write> {
    // Half of them are in one chain, a tenth was brought.
    Ok(match row % 10 {
        0..5 => NewReceipt::chained((id(row), Some(signer(row % 7))), "verifications", move |tip| {
            let link = match tip {
                None => r#""chain_position":0,"#.to_owned(),
                Some(tip) => format!(
                    r#""chain_position":{},"previous_receipt":"{}","previous_receipt_hash":"{}","#,
                    tip.position + 1,
                    tip.receipt_id,
                    tip.hash
                ),
            };
            Receipt::parse(text(row, &link).as_bytes()).map_err(|_| proofmark_receipt::SignError::TooLarge(0))
        }),
        5 => NewReceipt::received(Receipt::parse(text(row, "").as_bytes())?, Trust::Trusted),
        _ => NewReceipt::single(Receipt::parse(text(row, "").as_bytes())?),
    }
    .into())
}

const ROWS: &str = "
BEGIN;
CREATE TEMPORARY TABLE numbers AS
    WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {rows}) SELECT n FROM n;
INSERT INTO decisions (sequence, decision_id, decided_at, outcome, fingerprint, nth, position, document, tenant, agent, class,
                       tool, mode, expires_at, action, review, allowed, hash, subject, wanted)
    SELECT n, printf('%08x-0000-4000-8000-%012x', (n * 2654435761) & 0xffffffff, n), 1700000000000 + n * 60000,
           CASE WHEN n % 1000 = 7 THEN 'replan_required' ELSE 'allow' END, printf('%064x', n / 10), n % 10 + 1, n - 1,
           printf('{\"decision_id\":\"%d\",\"text\":\"%s\"}', n, printf('%.*c', 1800, 'x')),
           CASE WHEN n % 10 = 3 THEN 'team' ELSE 'local' END, 'agent-' || (n % 50), 'class-' || (n % 12),
           'tool-' || (n % 200), 'continue_downstream', 1700000000000 + n * 60000 + 600000, '{\"tool\":\"t\",\"args\":{}}',
           n % 1000 = 7, n % 1000 <> 7, randomblob(32), printf('%064x', n), 1
    FROM numbers;
INSERT INTO decision_counts
    SELECT tenant, decided_at / 3600000, outcome, mode, allowed, x'', '', count(*) FROM decisions GROUP BY 1, 2, 3, 4, 5;
INSERT INTO agent_counts
    SELECT tenant, decided_at / 86400000, coalesce(agent, ''), allowed, count(*) FROM decisions GROUP BY 1, 2, 3, 4;
INSERT INTO decision_times SELECT sequence >> 8, min(decided_at), max(decided_at) FROM decisions GROUP BY sequence >> 8;
INSERT INTO waiting (tenant, sequence, subject, first, asked)
    SELECT tenant, sequence, subject, sequence, 1 FROM decisions WHERE review AND sequence % 3000 = 7;
INSERT INTO findings (tenant, decision_id, code, message, found_at)
    SELECT CASE WHEN n % 10 = 3 THEN 'team' ELSE 'local' END, n, 'executed_twice', 'a finding', n FROM numbers;
INSERT INTO runs (tenant, begun_by, run, step, version, state, updated_at)
    SELECT 'local', 'local', 'run-' || (n / 4), 'step-' || (n % 4), 1, '{}', n FROM numbers;
COMMIT;
";

type Question<'a> = (&'static str, Box<dyn FnMut() -> anyhow::Result<()> + 'a>);

fn ask(home: &Path, rows: u32) -> anyhow::Result<Vec<Asked>> {
    let server = Server::start(home, None)?;
    let store = Store::open_existing(&home.join("proofmark.db"))?;
    let questions = by_http(&server, rows).into_iter().chain(by_command_line(&store, rows));
    questions
        .map(|(question, mut ask)| {
            // The first is not counted: it fills the caches.
            ask().with_context(|| format!("failed to ask: {question}"))?;
            let (begun, mut took) = (Instant::now(), Vec::new());
            while begun.elapsed() < LEAST || took.len() < 20 {
                let asked = Instant::now();
                ask()?;
                took.push(asked.elapsed());
            }
            took.sort();
            Ok(Asked { question, took })
        })
        .collect()
}

fn by_http(server: &Server, rows: u32) -> Vec<Question<'_>> {
    let time = |row: u32| proofmark_receipt::Timestamp::from_unix_millis(time(row)).to_string();
    let (old, older) = (time(rows / 10), time(rows / 20));
    let chained = id(rows / 20 * 10);
    let paths: Vec<(&'static str, String)> = vec![
        ("HTTP: receipts", "/v1/receipts".to_owned()),
        ("HTTP: receipts, verdict", "/v1/receipts?verdict=fail".to_owned()),
        ("HTTP: receipts, rare verdict", "/v1/receipts?verdict=partial".to_owned()),
        ("HTTP: receipts, verdict of none", "/v1/receipts?verdict=error".to_owned()),
        ("HTTP: receipts, tier", "/v1/receipts?tier=2".to_owned()),
        ("HTTP: receipts, verdict and tier", "/v1/receipts?verdict=fail&tier=2".to_owned()),
        ("HTTP: receipts, task", format!("/v1/receipts?task=task-{}", rows / 10)),
        ("HTTP: receipts, chain", "/v1/receipts?chain=verifications".to_owned()),
        ("HTTP: receipts, chain and verdict", "/v1/receipts?chain=verifications&verdict=fail".to_owned()),
        ("HTTP: receipts, since an hour", format!("/v1/receipts?since={}", time(rows - 60))),
        ("HTTP: receipts, an old period", format!("/v1/receipts?since={older}&until={old}")),
        ("HTTP: receipts, an old period and verdict", format!("/v1/receipts?since={older}&until={old}&verdict=fail")),
        ("HTTP: receipts, a far page", format!("/v1/receipts?after=s{}", rows / 2)),
        ("HTTP: a receipt", format!("/v1/receipts/{chained}")),
        ("HTTP: a page of a chain", format!("/v1/receipts/{chained}/chain?after={}", rows / 4)),
        ("HTTP: stats", "/v1/stats".to_owned()),
        ("HTTP: stats of a chain", "/v1/stats?chain=verifications".to_owned()),
        ("HTTP: stats of a type", "/v1/stats?task_type=type-3".to_owned()),
        ("HTTP: decisions", "/v1/decisions".to_owned()),
        ("HTTP: decisions, outcome", "/v1/decisions?outcome=replan_required".to_owned()),
        ("HTTP: decisions, agent", "/v1/decisions?agent=agent-7".to_owned()),
        ("HTTP: decisions, agent and outcome", "/v1/decisions?agent=agent-7&outcome=replan_required".to_owned()),
        ("HTTP: decisions, class", "/v1/decisions?class=class-3".to_owned()),
        ("HTTP: decisions, an old period", format!("/v1/decisions?since={older}&until={old}")),
        ("HTTP: reviews", "/v1/reviews".to_owned()),
        ("HTTP: findings", "/v1/findings".to_owned()),
        ("HTTP: findings, a far page", format!("/v1/findings?after=s{}", rows / 2)),
        ("HTTP: metrics", "/metrics".to_owned()),
    ];
    let get = |(question, path): (&'static str, String)| {
        let mut client = None;
        let ask = move || {
            let client = match &mut client {
                Some(client) => client,
                none => none.insert(Client::connect(&server.address)?),
            };
            match client.get(&path)? {
                (200, _) => Ok(()),
                (status, body) => bail!("{status}: {body}"),
            }
        };
        (question, Box::new(ask) as Box<dyn FnMut() -> anyhow::Result<()>>)
    };
    paths.into_iter().map(get).collect()
}

/// What only the command line asks: of all tenants.
fn by_command_line(store: &Store, rows: u32) -> Vec<Question<'_>> {
    let ours = store.of(&Tenant::LOCAL);
    let output = format!("sha256:{:064x}", rows / 6);
    let prefix = id(rows / 2).to_string().chars().take(13).collect::<String>();
    let receipts = move |filter: Filter| move || Ok(drop(store.all_tenants_receipts(&filter)?));
    let wanted = || DecisionsWanted { limit: 50, ..DecisionsWanted::default() };
    let decisions = move |wanted: DecisionsWanted| move || Ok(drop(store.all_tenants_decisions(&wanted)?));
    let (task, tool) = (Some(format!("task-{}", rows / 10)), Some("tool-7".to_owned()));
    let fail = Some(Verdict::Fail);
    let (since, until) = (Some(time(rows / 20)), Some(time(rows / 10)));
    let local = store.of(&Tenant::LOCAL);
    vec![
        ("all: receipts", Box::new(receipts(Filter::default()))),
        ("all: receipts, verdict", Box::new(receipts(Filter { verdict: fail, ..Filter::default() }))),
        ("all: receipts, task", Box::new(receipts(Filter { task_id: task, ..Filter::default() }))),
        ("all: receipts, an old period", Box::new(receipts(Filter { since, until, ..Filter::default() }))),
        ("all: decisions", Box::new(decisions(wanted()))),
        ("all: decisions, tool", Box::new(decisions(DecisionsWanted { tool, ..wanted() }))),
        ("all: decisions, waiting", Box::new(decisions(DecisionsWanted { to_review: true, ..wanted() }))),
        ("all: findings", Box::new(move || Ok(drop(store.all_tenants_findings(100, None)?)))),
        ("all: steps of runs (1,000)", Box::new(move || Ok(drop(store.all_tenants_step_runs()?)))),
        (
            "a receipt by the beginning of its id",
            Box::new(move || match store.all_tenants_find(&prefix)?.as_slice() {
                [id] => Ok(drop(store.all_tenants_receipt(id)?)),
                found => bail!("{} found", found.len()),
            }),
        ),
        ("evidence by output", Box::new(move || Ok(drop(ours.receipts_over(&output)?)))),
        (
            "history of an action",
            Box::new(move || match local.action_history(&format!("{:064x}", rows / 20))?.decided {
                0 => bail!("nothing was decided"),
                _ => Ok(()),
            }),
        ),
        (
            "counts of a signer",
            Box::new(move || {
                let signer = signer(3).to_string();
                let filter = CountFilter { signer: Some(&signer), ..CountFilter::default() };
                match store.of(&Tenant::LOCAL).verdict_counts(&filter)?.pass {
                    0 => bail!("nothing was counted"),
                    _ => Ok(()),
                }
            }),
        ),
    ]
}

fn show(sizes: &[Vec<Asked>]) {
    let millis = |took: Option<&Duration>| took.map_or(0.0, |took| took.as_secs_f64() * 1e3);
    let at = |asked: &Asked, share: usize| millis(asked.took.get(asked.took.len() * share / 100).or(asked.took.last()));
    let heads: String = SIZES.iter().map(|size| format!(" p50 ms at {size} | p99 ms |")).collect();
    println!("| question |{heads} p50 ÷ that at {} |", SIZES.first().copied().unwrap_or_default());
    println!("|---|{}---:|", "---:|---:|".repeat(SIZES.len()));
    let (Some(smallest), Some(largest)) = (sizes.first(), sizes.last()) else { return };
    for (place, (small, large)) in smallest.iter().zip(largest).enumerate() {
        let figures = sizes.iter().filter_map(|size| size.get(place));
        let figures: String = figures.map(|asked| format!(" {:.2} | {:.2} |", at(asked, 50), at(asked, 99))).collect();
        println!("| {} |{figures} {:.2} |", small.question, at(large, 50) / at(small, 50).max(1e-6));
    }
    println!(
        "\nA page has 50 rows where nothing else is said. HTTP: of one tenant, over the loopback. all: the store, of all"
    );
    println!(
        "tenants, as the command line asks it. Where the smallest store has fewer rows than a page, the page is shorter there."
    );
}
