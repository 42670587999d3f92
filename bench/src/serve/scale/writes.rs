//! Receipts and decisions, as their clients hand them over.

use std::path::Path;

use anyhow::{Context, bail};
use measure::{Contender, Turn, in_turns};
use proofmark_receipt::{
    ChainEnd, ChainTip, Draft, Hashes, Object, Prepared, ReceiptId, Results, Sha256Digest, SigningKey, Timestamp, Verdict, object,
};
use proofmark_store::{DecisionIndex, NewDecision, NewReceipt, Store, Tenant};

use super::{MANY, THREE, TURNS, show, turn};
use crate::client::Client;
use crate::server::Server;

/// How many lines of evidence a receipt has: its document is as long as that of a suite of some tests.
const LINES: u64 = 12;

/// Receipts that continue chains, each client at one of the servers.
pub(super) fn receipts(servers: &[Store], clients: usize, chains: u64) -> anyhow::Result<Turn> {
    let key = SigningKey::from_seed([7; 32]);
    turn(
        clients,
        || Ok(()),
        |(), number| {
            let server = servers.get(number as usize % servers.len()).context("a server")?;
            let (id, key) = (id()?, key.clone());
            let (draft, chain) = (draft(id), format!("chain {}", number % chains));
            let new = NewReceipt::chained((id, Some(key.signer())), chain, move |tip| {
                let mut draft = draft.clone();
                draft.link(tip);
                draft.sign(&key)
            });
            server.of(&Tenant::LOCAL).submit(new).wait()?;
            Ok(())
        },
    )
}

/// Decisions, each on an action of its own.
pub(super) fn decisions(servers: &[Store], clients: usize) -> anyhow::Result<Turn> {
    let key = SigningKey::from_seed([1; 32]);
    turn(
        clients,
        || Ok(()),
        |(), number| {
            let server = servers.get(number as usize % servers.len()).context("a server")?;
            let (id, key) = (id()?, key.clone());
            let document = object! { "decision_id": id.to_string(), "reasons": evidence(id) };
            let prepared = Prepared::new(id, document, &key)?;
            let new = NewDecision {
                decision_id: id,
                decided_at: 1,
                outcome: "allow".to_owned(),
                allowed: true,
                fingerprint: id.to_string(),
                nth: 1,
                about: DecisionIndex { subject: id.to_string(), ..DecisionIndex::default() },
                sign: Box::new(move |end: ChainEnd<'_>| prepared.sign(end, &key)),
            };
            server.of(&Tenant::LOCAL).submit(new).wait()?;
            Ok(())
        },
    )
}

/// Three servers of the binary on one file, which all continue one chain; beside those of the binary `PROOFMARK_BASE`.
pub(super) fn over_http(home: &Path) -> anyhow::Result<()> {
    const OURS: &str = "SQLite, 3 processes";
    const CHECK: &str = r#"{"output": {"content": "[]"}, "verification": {"kind": "schema_check", "checks": [{"name": "short", "constraint": "length <= 1000"}]}}"#;
    let Some(base) = std::env::var_os("PROOFMARK_BASE") else {
        println!(
            "Three processes on one file as they were before are not measured: PROOFMARK_BASE names no program.\n"
        );
        return Ok(());
    };
    let ours = std::env::var_os("PROOFMARK_BIN").context("name the program to measure in PROOFMARK_BIN")?;
    let served = |binary: &Path, home: &Path| {
        let servers = (0..THREE).map(|_| Server::of(binary, home, None)).collect::<anyhow::Result<Vec<_>>>()?;
        anyhow::Ok(move || {
            let begin =
                || servers.iter().map(|server| Client::connect(&server.address)).collect::<anyhow::Result<Vec<_>>>();
            turn(MANY, begin, |clients, number| {
                let client = clients.get_mut(number as usize % THREE).context("a server")?;
                // Before, a receipt was refused where another process had extended the chain first.
                loop {
                    match client.post("/v1/verifications", CHECK)? {
                        (200 | 201, _) => return Ok(()),
                        (409 | 500..=599, _) => {}
                        (status, body) => bail!("answered {status}: {body}"),
                    }
                }
            })
        })
    };
    let all = vec![
        Contender::new(OURS, served(Path::new(&ours), &home.join("ours"))?),
        Contender::new("as PROOFMARK_BASE does", served(Path::new(&base), &home.join("base"))?),
    ];
    show("verifications over HTTP, one chain, 64 clients", OURS, "receipts", &in_turns(TURNS, all)?);
    Ok(())
}

pub(super) fn id() -> anyhow::Result<ReceiptId> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(ReceiptId::from_random_bytes(bytes))
}

pub(super) fn draft(id: ReceiptId) -> Draft {
    let mut metadata = Object::new();
    metadata.insert("verifier", "proofmark");
    metadata.insert("evidence", evidence(id));
    Draft {
        receipt_id: id,
        verified_at: Timestamp::from_unix_millis(1_771_461_960_123),
        tier: 0,
        verdict: Verdict::Error,
        task: None,
        results: Results::default(),
        hashes: Hashes {
            specification: Sha256Digest::of(b"specification"),
            output: Sha256Digest::of(id.as_bytes()),
            tests: None,
        },
        metadata,
    }
}

/// Text that a database can compress as little as real evidence.
fn evidence(id: ReceiptId) -> String {
    let line = |number: u64| format!("test {number} {}; ", Sha256Digest::of(format!("{id}{number}").as_bytes()));
    (0..LINES).map(line).collect()
}

/// The document of a receipt, as it is stored.
pub(super) fn document() -> anyhow::Result<Vec<u8>> {
    Ok(draft(id()?).sign(&SigningKey::from_seed([7; 32]))?.to_text().into_bytes())
}
