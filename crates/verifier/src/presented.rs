//! Receipts as evidence: read from files or looked up in the store, verified here, and turned into facts.

mod proofs;

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use proofmark_evidence::{ApprovalFact, Logged, ReceiptFact, ReceiptKind, Signers, Sought};
use proofmark_passkey::{Approved, approved};
use proofmark_quorum::{Quorum, Votes};
use proofmark_receipt::json::MAX_BYTES;
use proofmark_receipt::{Profile, Receipt, ReceiptError, verify_receipt};
use proofmark_store::{Spend, StoreError, Tenant, TenantStore};

pub use proofs::{MAX_PROOFS_BYTES, PresentedProof, ProofError, Proofs};

/// The most files of receipts one folder may hold.
const MAX_FILES: usize = 1_000;
/// The most bytes the files of one folder may have together: all of them are held and verified before anything is judged.
const MAX_FOLDER_BYTES: u64 = 64 << 20;
/// The most quorums of one request whose members are counted: each of them verifies its members again.
const MAX_QUORUMS: usize = 8;
/// What the names of files with a proof end in.
const PROOF: &str = "tlog-proof";

/// Receipts that are presented as evidence, beside what the store has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Presented<'a> {
    /// Folders of receipts, approvals, and proofs that receipts are in a log.
    pub folders: &'a [&'a Path],
    pub receipts: &'a [Receipt],
    pub proofs: &'a [PresentedProof],
}

/// What was presented, read.
#[derive(Debug, Default)]
pub struct Documents {
    pub receipts: Vec<Receipt>,
    pub proofs: Vec<PresentedProof>,
}

impl Presented<'_> {
    /// All that is presented.
    pub fn read(&self) -> Result<Documents, PresentedError> {
        let mut all = Documents { receipts: self.receipts.to_vec(), proofs: self.proofs.to_vec() };
        for folder in self.folders {
            all.take_from(folder)?;
        }
        proofs::check_count(&all.proofs)?;
        Ok(all)
    }
}

/// Why presented receipts cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum PresentedError {
    /// The file system refused.
    #[error("read the receipts in `{}` ({error})", path.display())]
    Io { path: PathBuf, error: io::Error },
    /// More than is read.
    #[error(
        "read the receipts in `{}`: it holds more than {MAX_FILES} files or {MAX_FOLDER_BYTES} bytes, or a receipt is longer than \
         {MAX_BYTES} bytes",
        .0.display()
    )]
    TooMany(PathBuf),
    /// A file that holds something else.
    #[error("read the receipt `{}:{line}`: {error}", path.display())]
    NoReceipt {
        path: PathBuf,
        /// The line at which it begins, from 1.
        line: u64,
        /// Its text.
        text: Box<[u8]>,
        error: Box<ReceiptError>,
    },
    /// A proof that is none, or of no receipt.
    #[error(transparent)]
    Proof(#[from] ProofError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl PresentedError {
    /// What to do about it.
    #[must_use]
    pub fn help(&self) -> Option<String> {
        match self {
            Self::Io { .. } => None,
            Self::TooMany(_) => Some("name a smaller folder".to_owned()),
            Self::NoReceipt { .. } => {
                Some("give it with the bytes that were issued, or take it out of the folder".to_owned())
            }
            Self::Proof(error) => Some(error.help().to_owned()),
            Self::Store(error) => error.help(),
        }
    }
}

impl Documents {
    /// Adds those of a folder: receipts, `.json` with one and `.jsonl` with one a line, and proofs, `.tlog-proof`.
    fn take_from(&mut self, folder: &Path) -> Result<(), PresentedError> {
        for path in files(folder)? {
            let bytes = fs::read(&path).map_err(|error| PresentedError::Io { path: path.clone(), error })?;
            if path.extension().is_some_and(|extension| extension == PROOF) {
                self.proofs.push(PresentedProof::parse(path.display().to_string(), bytes)?);
            } else {
                self.receipts.extend(receipts(&path, &bytes)?);
            }
        }
        Ok(())
    }
}

/// The receipts of a file.
fn receipts(path: &Path, bytes: &[u8]) -> Result<Vec<Receipt>, PresentedError> {
    let lines = path.extension().is_some_and(|extension| extension == "jsonl");
    let texts: Vec<&[u8]> = if lines { bytes.split(|byte| *byte == b'\n').collect() } else { vec![bytes] };
    let texts = (1..).zip(texts).filter(|(_, text)| !lines || !text.trim_ascii().is_empty());
    let read = texts.map(|(line, text)| {
        Receipt::parse(text).map_err(|error| {
            let (path, text, error) = (path.to_owned(), text.into(), Box::new(error));
            PresentedError::NoReceipt { path, line, text, error }
        })
    });
    read.collect()
}

/// The facts of presented receipts. Those that another supersedes are left out, as they are of the store's own: work that was
/// run again counts by its newer verdict. A quorum is counted again from its members, which have to be among the receipts, or all
/// in the store.
pub fn facts(
    receipts: &[Receipt],
    trusted: &Signers,
    store: Option<&TenantStore<'_>>,
    proofs: &Proofs<'_>,
) -> Result<Vec<ReceiptFact>, StoreError> {
    let mut current = Vec::new();
    for receipt in receipts {
        let superseded = store.map(|store| store.is_superseded(&Spend::of(receipt))).transpose()?.unwrap_or(false);
        // A proof of one that is superseded is of a presented receipt all the same.
        let logged = proofs.of(receipt);
        if !superseded {
            current.push((receipt, logged));
        }
    }
    let members: Vec<&Receipt> = current.iter().map(|(receipt, _)| *receipt).collect();
    let mut quorums = 0;
    let mut facts = Vec::new();
    for (receipt, logged) in current {
        let mut fact = with(logged, fact(receipt, trusted, store)?);
        if fact.kind == Some(ReceiptKind::Quorum) && quorums < MAX_QUORUMS {
            quorums += 1;
            // One that cannot be counted has no votes, and so meets no rule.
            fact.votes = Votes::count(receipt, &members).ok();
            if let (None, Some(store)) = (&fact.votes, store) {
                fact.votes = votes_in(store, receipt)?;
            }
        }
        facts.push(fact);
    }
    Ok(facts)
}

/// The fact with what proofs show. Of an approval no rule asks for it.
fn with(logged: Option<Logged>, fact: ReceiptFact) -> ReceiptFact {
    ReceiptFact { logged: logged.filter(|_| fact.approval.is_none()), ..fact }
}

/// The facts of a receipt: whether it verifies, who signed it, and whether it is spent in the store. An approval is spent,
/// too, once the action was allowed after the decision that it approves: one decision is approved for one execution, however
/// many people approve it.
pub fn fact(receipt: &Receipt, trusted: &Signers, store: Option<&TenantStore<'_>>) -> Result<ReceiptFact, StoreError> {
    let approved = approved(receipt);
    let spend = spend_of(receipt, approved.as_ref().ok().and_then(Option::as_ref));
    let spent = store.map(|store| store.is_spent(&spend)).transpose()?.unwrap_or(false);
    let by = match (store, spent) {
        (Some(store), true) => store.spent_by(&spend)?,
        // A grant allows further actions: only its end spends it.
        (Some(_), false) if is_grant(receipt) => None,
        (Some(store), false) => of_decision(receipt).map(|id| store.allowed_since(id)).transpose()?.flatten(),
        (None, _) => None,
    };
    let fact = trusted.judged(verify_receipt(receipt, Profile::Vrf, &trusted.of_receipt(receipt)));
    let fact = ReceiptFact::new(receipt, &fact, spent || by.is_some());
    let trust = match fact.kind {
        Some(ReceiptKind::Approval | ReceiptKind::Judgment) => trusted.in_approver(fact.trust, fact.signer.as_ref()),
        _ => fact.trust,
    };
    let fact = ReceiptFact { spent_by: by, trust, ..fact };
    Ok(match approved {
        Ok(Some(approved)) => fact.with_passkey(approved),
        Ok(None) => fact,
        // The passkey that it names has not signed it.
        Err(_) => ReceiptFact { valid: false, ..fact },
    })
}

/// What spending a receipt is recorded by. What a passkey signed is spent as that, whoever signed a receipt around it.
fn spend_of(receipt: &Receipt, approved: Option<&Approved>) -> Spend {
    match approved {
        Some(approved) => Spend { receipt_id: receipt.receipt_id(), content: approved.statement },
        None => Spend::of(receipt),
    }
}

/// How the store spends a stored receipt.
#[must_use]
pub fn spend_of_stored(receipt: &Receipt) -> Spend {
    spend_of(receipt, approved(receipt).ok().flatten().as_ref())
}

/// The facts of the receipts of the store over one of these digests that may count for its tenant: its own, and those of the
/// command line. Of very many, those that are sought, and the newest of the others. Every rule that can use receipts of the store finds them here.
pub fn stored(
    store: &TenantStore<'_>,
    outputs: &BTreeSet<String>,
    sought: &Sought,
    trusted: &Signers,
    proofs: &Proofs<'_>,
) -> Result<Vec<ReceiptFact>, StoreError> {
    let mut facts = Vec::new();
    let mut quorums = 0;
    for output in outputs {
        for receipt in
            store.receipts_over(output, &|receipt| sought.may_be(receipt, trusted).then(|| spend_of_stored(receipt)))?
        {
            if is_of_other_tenant(&receipt, store)? {
                continue;
            }
            let mut fact = with(proofs.of(&receipt), fact(&receipt, trusted, Some(store))?);
            if fact.kind == Some(ReceiptKind::Quorum) && quorums < MAX_QUORUMS && sought.may_be(&receipt, trusted) {
                quorums += 1;
                fact.votes = votes_in(store, &receipt)?;
            }
            facts.push(fact);
        }
    }
    Ok(facts)
}

/// The votes of a quorum whose members the store has; `None` where it has not all of them, or they do not come to its verdict.
fn votes_in(store: &TenantStore<'_>, receipt: &Receipt) -> Result<Option<Votes>, StoreError> {
    let Ok(quorum) = Quorum::read(receipt) else { return Ok(None) };
    let mut members = Vec::new();
    for review in &quorum.reviews {
        let stored = store.receipt_by(&review.receipt_id, &review.signer.to_string())?;
        // What a newer one took the place of does not count here either.
        members.extend(stored.filter(|stored| stored.superseded_by.is_none()).map(|stored| stored.receipt));
    }
    Ok(Votes::count(receipt, &members.iter().collect::<Vec<_>>()).ok())
}

/// An approval is of one tenant's decision and does not count for another tenant; other receipts are about bytes, which
/// belong to no tenant. The command line finds only receipts of its own.
fn is_of_other_tenant(receipt: &Receipt, store: &TenantStore<'_>) -> Result<bool, StoreError> {
    if *store.tenant() == Tenant::LOCAL {
        return Ok(false);
    }
    let Some(decision) = of_decision(receipt) else { return Ok(false) };
    // Also true where the decision is stored nowhere: an approval of no decision of this tenant counts for nothing.
    Ok(store.decision(decision)?.is_none())
}

/// Whether it is an approval that reaches beyond one action.
fn is_grant(receipt: &Receipt) -> bool {
    receipt.metadata().get("approval").and_then(ApprovalFact::read).is_some_and(|approval| approval.scope.is_some())
}

/// The decision that an approval approves.
fn of_decision(receipt: &Receipt) -> Option<&str> {
    receipt.metadata().get("approval")?.as_object()?.get("decision_id")?.as_str()
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, PresentedError> {
    let failed = |error| PresentedError::Io { path: folder.to_owned(), error };
    let mut found = Vec::new();
    let mut bytes: u64 = 0;
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let kind = path.extension().and_then(|extension| extension.to_str());
        if path.is_file() && matches!(kind, Some("json" | "jsonl" | PROOF)) {
            let length = fs::metadata(&path).map_err(failed)?.len();
            let longest = match kind {
                Some("json") => MAX_BYTES as u64,
                Some(PROOF) => MAX_PROOFS_BYTES as u64,
                _ => MAX_FOLDER_BYTES,
            };
            bytes = bytes.saturating_add(length);
            if found.len() == MAX_FILES || length > longest || bytes > MAX_FOLDER_BYTES {
                return Err(PresentedError::TooMany(folder.to_owned()));
            }
            found.push(path);
        }
    }
    // Folders have no order: of several bad files the same one is named each time.
    found.sort();
    Ok(found)
}

/// How the store spends a document.
#[must_use]
pub fn spend(spend: &proofmark_evidence::Spend) -> Option<proofmark_store::Spend> {
    // The id is that of a receipt that was parsed, so none is dropped here.
    Some(proofmark_store::Spend { receipt_id: spend.receipt_id.parse().ok()?, content: spend.content })
}

#[cfg(test)]
mod tests {
    use proofmark_evidence::{ReceiptDemand, SoughtReceipt, suite_digest};
    use proofmark_receipt::document::Field;
    use proofmark_receipt::{Draft, Hashes, Object, Results, Sha256Digest, SigningKey, Verdict};
    use proofmark_store::{NewReceipt, Store};

    use super::*;
    use crate::clock;

    fn receipt(verdict: Verdict) -> Receipt {
        receipt_for(b"x", verdict, Object::new())
    }

    fn receipt_for(tests: &[u8], verdict: Verdict, metadata: Object) -> Receipt {
        let digest = Sha256Digest::of(b"x");
        let draft = Draft {
            receipt_id: clock::receipt_id().unwrap(),
            verified_at: clock::now(),
            tier: 1,
            verdict,
            task: None,
            results: Results::default(),
            hashes: Hashes { specification: digest, output: digest, tests: Some(Sha256Digest::of(tests)) },
            metadata,
        };
        draft.sign(&SigningKey::from_seed([3; 32])).unwrap()
    }

    #[test]
    fn a_superseded_receipt_is_no_evidence_presented_or_stored() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store.db")).unwrap();
        let ours = store.of(&Tenant::LOCAL);
        let (older, newer) = (receipt(Verdict::Pass), receipt(Verdict::Fail));
        let submit = |receipt: &Receipt, supersedes| {
            let receipt = NewReceipt { supersedes, ..NewReceipt::single(receipt.clone()) };
            ours.submit(receipt).wait().unwrap();
        };
        let both = [older.clone(), newer.clone()];
        submit(&older, None);
        let verdicts = || {
            let facts = facts(&both, &Signers::default(), Some(&ours), &Proofs::default()).unwrap();
            facts.iter().map(|fact| fact.verdict).collect::<Vec<_>>()
        };
        assert_eq!(verdicts(), [Verdict::Pass, Verdict::Fail]);
        submit(&newer, Some(older.receipt_id()));
        assert_eq!(verdicts(), [Verdict::Fail]);
        let wanted = BTreeSet::from([older.hashes().output.to_string()]);
        let stored = stored(&ours, &wanted, &Sought::default(), &Signers::default(), &Proofs::default()).unwrap();
        assert_eq!(stored.iter().map(|fact| fact.verdict).collect::<Vec<_>>(), [Verdict::Fail]);
        assert_eq!(
            facts(&both, &Signers::default(), None, &Proofs::default()).unwrap().len(),
            2,
            "without a store nothing is known of that"
        );
    }

    #[test]
    fn a_receipt_that_counts_is_found_behind_any_number_of_others() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(folder.path().join("store.db")).unwrap();
        let ours = store.of(&Tenant::LOCAL);
        let good = receipt(Verdict::Pass);
        let output = good.hashes().output.to_string();
        ours.submit(NewReceipt::single(good.clone())).wait().unwrap();
        // By the same trusted key, over the same bytes, for tests of somebody's choice; together longer than what is read at a time.
        for _ in 0..9 {
            let filler = proofmark_receipt::object! { "filler": "x".repeat(1_000_000) };
            ours.submit(NewReceipt::single(receipt_for(b"own tests", Verdict::Pass, filler))).wait().unwrap();
        }
        let suite = suite_digest(&good.hashes().specification, &good.hashes().tests.unwrap());
        let field = format!(r#"{{"suite": "{suite}", "comparison": "in_process"}}"#);
        let field = proofmark_receipt::Json::parse(field.as_bytes()).unwrap();
        let demand = ReceiptDemand::read(&Field::root(&field).fields().unwrap(), None).unwrap();
        let sought: Sought = [SoughtReceipt { demand, output: Some(output.clone()), specification: None, roles: None }]
            .into_iter()
            .collect();
        let trusted = Signers::of_any_kind([SigningKey::from_seed([3; 32]).signer()]);
        let wanted = BTreeSet::from([output]);
        let found = |trusted: &Signers| {
            let facts = stored(&ours, &wanted, &sought, trusted, &Proofs::default()).unwrap();
            facts.iter().filter(|fact| fact.receipt_id == good.receipt_id().to_string()).count()
        };
        assert_eq!(found(&trusted), 1);
        assert_eq!(found(&Signers::default()), 0, "of a stranger it would not count");
    }

    #[test]
    fn a_folder_holds_no_more_than_its_limit_together() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a.jsonl", "b.jsonl"] {
            let file = fs::File::create(folder.path().join(name)).unwrap();
            file.set_len(MAX_FOLDER_BYTES / 2 + 1).unwrap();
        }
        let read = || Documents::default().take_from(folder.path());
        assert!(matches!(read(), Err(PresentedError::TooMany(_))));
        fs::remove_file(folder.path().join("b.jsonl")).unwrap();
        assert!(matches!(read(), Err(PresentedError::NoReceipt { .. })));
    }
}
