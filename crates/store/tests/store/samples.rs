use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use proofmark_receipt::{
    ChainEnd, Draft, Hashes, Object, Prepared, Receipt, ReceiptId, Results, Sha256Digest, SignerId, SigningKey, Task,
    Timestamp, Verdict, object,
};
use proofmark_store::{DecisionIndex, NewDecision, NewReceipt, Place, Store, Tenant, TenantStore};
use proofmark_testing::postgres::{self, Database};
use rusqlite::Connection;
use tempfile::TempDir;
use tokio::runtime::{self, Runtime};
use tokio_postgres::{Client, NoTls};

/// Tells a test that is run as a child which store to use.
pub(crate) const CHILD: &str = "PROOFMARK_TEST_STORE";

/// The rows of the command line.
pub(crate) trait Local {
    fn local(&self) -> TenantStore<'_>;
}

impl Local for Store {
    fn local(&self) -> TenantStore<'_> {
        self.of(&Tenant::LOCAL)
    }
}

/// Where the store of a test is.
pub(crate) enum Home {
    File(TempDir),
    Database(Database),
}

/// Keeps every writer of a store waiting.
pub(crate) enum Hold {
    File(Connection),
    Database(Session),
}

/// A connection to the database of a test.
pub(crate) struct Session {
    runtime: Runtime,
    client: Client,
}

impl Home {
    /// A place for a store in SQLite.
    pub(crate) fn file() -> Self {
        Self::File(tempfile::tempdir().unwrap())
    }

    /// A place for a store in PostgreSQL; `None` after a skip.
    pub(crate) fn database() -> Option<Self> {
        postgres::database().map(Self::Database)
    }

    /// The path, or the URL.
    pub(crate) fn place(&self) -> OsString {
        match self {
            Self::File(folder) => folder.path().join("proofmark.db").into(),
            Self::Database(database) => database.url().into(),
        }
    }

    pub(crate) fn open(&self) -> Store {
        Store::open(self.place()).unwrap()
    }

    pub(crate) fn open_existing(&self) -> Store {
        Store::open_existing(self.place()).unwrap()
    }

    /// Changes the database behind the store's back.
    pub(crate) fn sql(&self, sql: &str) {
        match self {
            Self::File(_) => Connection::open(self.place()).unwrap().execute_batch(sql).unwrap(),
            Self::Database(database) => Session::open(database).run(sql),
        }
    }

    /// Keeps every writer waiting until it is released.
    pub(crate) fn hold(&self) -> Hold {
        match self {
            Self::File(_) => {
                let connection = Connection::open(self.place()).unwrap();
                connection.execute_batch("BEGIN IMMEDIATE").unwrap();
                Hold::File(connection)
            }
            Self::Database(database) => {
                let session = Session::open(database);
                session.run("BEGIN; SELECT latest FROM clock FOR UPDATE");
                Hold::Database(session)
            }
        }
    }
}

impl Hold {
    pub(crate) fn release(self) {
        match self {
            Self::File(connection) => connection.execute_batch("COMMIT").unwrap(),
            Self::Database(session) => session.run("COMMIT"),
        }
    }
}

impl Session {
    pub(crate) fn open(database: &Database) -> Self {
        // The connection is driven by a thread of the runtime, also while the test does other things.
        let runtime = runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let client = runtime.block_on(async {
            let (client, connection) = tokio_postgres::connect(&database.url(), NoTls).await.unwrap();
            tokio::spawn(connection);
            client
        });
        Self { runtime, client }
    }

    pub(crate) fn run(&self, sql: &str) {
        self.runtime.block_on(self.client.batch_execute(sql)).unwrap();
    }
}

pub(crate) fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proofmark.db");
    (folder, path)
}

/// The id whose first four bytes are `number`, and whose next four are `family`.
pub(crate) fn id(family: u32, number: u32) -> ReceiptId {
    let bytes = (u128::from(number) << 96) | (u128::from(family) << 64);
    ReceiptId::from_random_bytes(bytes.to_be_bytes())
}

pub(crate) fn draft(id: ReceiptId) -> Draft {
    let mut metadata = Object::new();
    metadata.insert("verifier", "proofmark/1.0 \u{7f} ünïcode \u{1F980} \"quoted\" \\ \u{1}");
    Draft {
        receipt_id: id,
        verified_at: Timestamp::from_unix_millis(1_771_461_960_123),
        tier: 0,
        verdict: Verdict::Error,
        task: Some(Task { task_id: Some("acp-tx-789".to_owned()), task_type: None, description: None }),
        results: Results::default(),
        hashes: Hashes {
            specification: Sha256Digest::of(b"specification"),
            output: Sha256Digest::of(b"output"),
            tests: None,
        },
        metadata,
    }
}

pub(crate) fn sign(draft: Draft) -> Receipt {
    draft.sign(&SigningKey::from_seed([7; 32])).unwrap()
}

/// Who signs with [`sign`].
pub(crate) fn signer() -> SignerId {
    SigningKey::from_seed([7; 32]).signer()
}

pub(crate) fn single(id: ReceiptId) -> NewReceipt {
    NewReceipt::single(sign(draft(id)))
}

/// A receipt that is linked to the tip of this chain when it is stored.
pub(crate) fn chained(id: ReceiptId, chain: &str) -> NewReceipt {
    NewReceipt::chained(id, Some(signer()), chain, move |tip| Ok(linked(id, tip)))
}

/// A receipt that is linked to this end.
pub(crate) fn linked<'a>(id: ReceiptId, end: impl Into<ChainEnd<'a>>) -> Receipt {
    let mut draft = draft(id);
    draft.link(end);
    sign(draft)
}

/// The id of the decision with this number.
pub(crate) fn decision_id(number: u64) -> String {
    format!("6f1c1c62-7d1a-4d4e-9c1a-{number:012}")
}

/// The nth decision on the action `action`, with this number.
pub(crate) fn decision(number: u64, action: &str, nth: u64, allowed: bool) -> NewDecision {
    let id = decision_id(number);
    NewDecision {
        decision_id: id.parse().unwrap(),
        decided_at: 1,
        outcome: if allowed { "allow" } else { "replan_required" }.to_owned(),
        allowed,
        fingerprint: action.to_owned(),
        nth,
        after: None,
        about: DecisionIndex { subject: action.to_owned(), ..DecisionIndex::default() },
        sign: Box::new(move |tip| {
            let (id, key) = (id.parse().unwrap(), SigningKey::from_seed([1; 32]));
            Prepared::new(id, object! { "decision_id": id.to_string() }, &key)?.sign(tip, &key)
        }),
    }
}

/// A store with these many single receipts, closed again.
pub(crate) fn closed_store(place: impl Into<Place>, receipts: u32) {
    let store = Store::open(place).unwrap();
    let pending: Vec<_> = (0..receipts).map(|number| store.local().submit(single(id(0, number)))).collect();
    pending.into_iter().for_each(|one| drop(one.wait().unwrap()));
}

/// Runs the test `name` of this binary as a process of its own, with the same store.
pub(crate) fn child(name: &str, home: &Home, argument: &str) -> Child {
    child_at(name, &home.place(), argument)
}

/// As [`child`], with the store at this place.
pub(crate) fn child_at(name: &str, place: &OsStr, argument: &str) -> Child {
    child_of(Command::new(std::env::current_exe().unwrap()), name, place, argument)
}

/// As [`child_at`], by a command that runs this binary.
pub(crate) fn child_of(mut binary: Command, name: &str, place: &OsStr, argument: &str) -> Child {
    binary
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(CHILD, place)
        .env("PROOFMARK_TEST_ARGUMENT", argument)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The store and argument this process is to use, when it is a child.
pub(crate) fn as_child() -> Option<(Store, String)> {
    let place = std::env::var_os(CHILD)?;
    let argument = std::env::var("PROOFMARK_TEST_ARGUMENT").unwrap();
    Some((Store::open(place).unwrap(), argument))
}
