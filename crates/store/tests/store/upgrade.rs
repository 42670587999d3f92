use proofmark_receipt::SigningKey;
use proofmark_store::{Filter, Store, TallyOf};
use rusqlite::Connection;

use crate::samples::{closed_store, folder, id};

/// Takes away what the fourth migration and those after it add.
const BEFORE_JOBS: &str = "
DROP INDEX receipts_by_tenant;
DROP INDEX receipts_by_signer;
DROP INDEX receipts_by_output;
DROP INDEX receipts_by_time;
DROP INDEX answers_by_time;
ALTER TABLE receipts DROP COLUMN tenant;
ALTER TABLE receipts DROP COLUMN signer;
ALTER TABLE receipts DROP COLUMN task_type;
ALTER TABLE receipts DROP COLUMN output;
ALTER TABLE receipts DROP COLUMN trust;
ALTER TABLE receipts DROP COLUMN superseded_by;
DROP TABLE requests;
DROP TABLE jobs;
DROP TABLE awaited;
DROP TABLE probe;
PRAGMA user_version = 3;
";

#[test]
fn receipts_of_an_earlier_version_get_their_signers() {
    let (_folder, path) = folder();
    closed_store(&path, 3);
    let earlier = Connection::open(&path).unwrap();
    earlier.execute_batch(BEFORE_JOBS).unwrap();
    drop(earlier);
    let store = Store::open(&path).unwrap();
    let signer = SigningKey::from_seed([7; 32]).signer().to_string();
    let page = store.list(&Filter { signer: Some(signer.clone()), ..Filter::default() }).unwrap();
    assert_eq!(page.receipts.len(), 3);
    assert!(page.receipts.iter().all(|kept| kept.tenant.is_empty() && kept.trust.is_none() && !kept.spent));
    let tally = store.tally("", &TallyOf { signer: Some(&signer), ..TallyOf::default() }).unwrap();
    assert_eq!(tally.error, 3);
    assert_eq!(store.job(&id(0, 0)).unwrap(), None);
}
