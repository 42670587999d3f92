//! What connections do when questions are long, and when they or their servers fail.

use std::fs::{self, Permissions};
use std::ops::ControlFlow;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proofmark_testing::postgres::{self as server, Cluster, Proxy};

use crate::engine::clock::Clock;
use crate::engine::db::Db;
use crate::engine::postgres::{Database, Role, Session, Writing, make};
use crate::error::StoreError;
use crate::fault::Fault;
use crate::insert::Insert;
use crate::place::Place;
use crate::statement::{Question, Statement, question, row};
use crate::store::Store;
use crate::tables::ASKED;
use crate::value::values;

fn database(url: &str) -> Arc<Database> {
    match Place::parse(url) {
        Place::Database(url) => Arc::new(Database::at(&url).unwrap()),
        Place::File(_) => panic!("{url}"),
    }
}

fn session(url: &str) -> Session {
    Session::new(database(url))
}

fn number(session: &Session, sql: &str) -> Result<i64, Fault> {
    Db::Postgres(session).only(sql, &[], |row| row.get(0))
}

/// A connection that writes to a new store in `theirs`.
fn writing(theirs: &server::Database) -> Writing {
    let database = database(&theirs.url());
    let connection = make(&database).unwrap();
    Writing::open(database, connection, Arc::new(Clock::default())).unwrap()
}

static ASKING: Insert = Insert::into(&ASKED);

fn insert(name: &str) -> Statement {
    Statement::Insert { insert: &ASKING, row: row!(ASKED { decision_id: name, facts: "" }) }
}

fn stored(theirs: &server::Database) -> String {
    theirs.psql("SELECT string_agg(decision_id, ' ' ORDER BY decision_id) FROM asked")
}

fn unreachable(fault: &Fault) -> bool {
    matches!(fault, Fault::Passing(StoreError::Unreachable { .. }))
}

#[test]
fn a_long_answer_comes_in_portions_and_can_be_left() {
    let Some(theirs) = server::database() else { return };
    let session = session(&theirs.url());
    let long = "SELECT n, repeat('x', 1000) FROM generate_series(1, 5000) AS n";
    let mut sum = 0;
    session
        .each(long, &[], |row| {
            sum += row.get::<_, i32>(0);
            Ok(ControlFlow::Continue(()))
        })
        .unwrap();
    assert_eq!(sum, 5000 * 5001 / 2);
    session.each(long, &[], |_| Ok(ControlFlow::Break(()))).unwrap();
    let nested = session.each(long, &[], |_| number(&session, "SELECT 1").map(|_| ControlFlow::Continue(())));
    assert!(matches!(nested, Err(Fault::Changed(_))), "{nested:?}");
    assert_eq!(number(&session, "SELECT CAST(2 AS bigint)").unwrap(), 2);
}

/// Nobody counts the rows of a new store for a minute, and connections keep the plans that they made meanwhile.
#[test]
fn in_a_new_store_each_question_is_answered_by_the_index_that_finds_the_fewest_rows() {
    let Some(theirs) = server::database() else { return };
    drop(writing(&theirs));
    for (question, index) in [
        ("SELECT max(nth) FROM decisions WHERE tenant = 'a' AND fingerprint = 'b'", "decisions_by_action"),
        ("SELECT max(nth) FROM decisions WHERE tenant = 'a' AND fingerprint = 'b' AND allowed", "decisions_allowed"),
        (
            "SELECT document FROM decisions WHERE tenant = 'a' AND subject = 'b' ORDER BY sequence DESC LIMIT 1",
            "decisions_by_subject",
        ),
        ("SELECT document FROM decisions WHERE tenant = 'a' AND decision_id = 'b'", "decisions_decision_id_key"),
        ("SELECT 1 FROM waiting WHERE tenant = 'a' AND subject = 'b'", "waiting_on"),
        (
            "SELECT sequence FROM receipts WHERE output = 'a' AND tenant = 'b' AND superseded_by IS NULL",
            "receipts_by_output",
        ),
        ("SELECT sequence FROM receipts WHERE chain_id = 1 ORDER BY position DESC LIMIT 1", "receipts_by_position"),
        (
            "SELECT hash FROM receipts WHERE tenant = 'a' AND receipt_id = 'b' AND issuer = 'c'",
            "receipts_tenant_receipt_id_issuer_key",
        ),
        (
            "SELECT hash FROM session_entries WHERE tenant = 'a' AND session = 'b' ORDER BY position DESC LIMIT 1",
            "session_entries_tenant_session_position_key",
        ),
    ] {
        let plan = theirs.psql(&format!("EXPLAIN (COSTS OFF) {question}"));
        assert!(plan.contains(&format!("using {index} on")), "{question}:\n{plan}");
    }
}

#[test]
fn the_questions_of_a_moment_see_the_same_rows() {
    let Some(theirs) = server::database() else { return };
    let mut writing = writing(&theirs);
    let reader = session(&theirs.url());
    let count = || number(&reader, "SELECT count(*) FROM asked");
    let seen = reader.moment(|| {
        let before = count()?;
        writing.begin_with(&[])?;
        writing.tell(vec![insert("a"), insert("b")])?;
        writing.commit()?;
        Ok((before, reader.moment(count)?))
    });
    assert_eq!(seen.unwrap(), (0, 0));
    assert_eq!(count().unwrap(), 2);
    let refused = number(&reader, "SELECT CAST(1 / (SELECT count(*) - 2 FROM asked) AS bigint)");
    assert!(refused.is_err());
    // A reader cannot write, and an error within a moment does not outlive it.
    let written = reader.moment(|| number(&reader, "DELETE FROM asked RETURNING CAST(1 AS bigint)"));
    assert!(written.is_err());
    assert_eq!(count().unwrap(), 2);
}

#[test]
fn a_question_is_asked_again_on_a_new_connection() {
    let Some(theirs) = server::database() else { return };
    let session = session(&theirs.url());
    let own = "SELECT CAST(pg_backend_pid() AS bigint)";
    let end = |pid: i64| drop(theirs.psql(&format!("SELECT pg_terminate_backend({pid}, 5000)")));
    let first = number(&session, own).unwrap();
    end(first);
    let second = number(&session, own).unwrap();
    assert_ne!(first, second);
    // Not within a moment, whose earlier answers it would not fit.
    let torn = session.moment(|| {
        end(number(&session, own)?);
        number(&session, own)
    });
    assert!(torn.as_ref().is_err_and(unreachable), "{torn:?}");
    number(&session, own).unwrap();
}

#[test]
fn the_outcome_of_a_commit_is_told_by_its_marker() {
    let Some(theirs) = server::database() else { return };
    let mut ours = writing(&theirs);
    ours.begin_with(&[]).unwrap();
    ours.tell(vec![insert("a")]).unwrap();
    ours.commit().unwrap();
    let soon = || Instant::now() + Duration::from_secs(5);
    ours.look_for_marker(soon()).unwrap();
    // A group that was on its way when its connection was lost. It has the lock, as every group has before it commits.
    let mut late = writing(&theirs);
    late.be(&ours);
    late.begin_with(&[]).unwrap();
    late.tell(vec![insert("b")]).unwrap();
    ours.be(&late);
    let gone = ours.look_for_marker(soon()).unwrap_err();
    assert!(unreachable(&gone), "{gone:?}");
    late.commit().unwrap_err();
    late.roll_back();
    assert_eq!(stored(&theirs), "a");
    // The marker of each group takes the place of the one before.
    for name in ["c", "d"] {
        ours.begin_with(&[]).unwrap();
        ours.tell(vec![insert(name)]).unwrap();
        ours.commit().unwrap();
    }
    assert_eq!(stored(&theirs), "a c d");
    assert_eq!(theirs.psql("SELECT count(*) FROM groups"), "1");
}

#[test]
fn a_commit_with_a_warning_is_looked_for() {
    let Some(theirs) = server::database() else { return };
    let mut ours = writing(&theirs);
    ours.begin_with(&[]).unwrap();
    let warn = "DO $$ BEGIN RAISE WARNING 'canceling wait for synchronous replication due to user request'; END $$";
    ours.tell(vec![insert("a"), Statement::other(warn, [])]).unwrap();
    ours.commit().unwrap();
    assert_eq!(stored(&theirs), "a");
}

#[test]
fn a_group_that_fails_leaves_nothing() {
    let Some(theirs) = server::database() else { return };
    let mut ours = writing(&theirs);
    ours.begin_with(&[]).unwrap();
    ours.tell(vec![insert("a"), insert("a")]).unwrap();
    let refused = ours.commit().unwrap_err();
    assert!(matches!(refused, Fault::Told(StoreError::Damaged { .. })), "{refused:?}");
    ours.roll_back();
    assert_eq!(stored(&theirs), "");
    ours.begin_with(&[]).unwrap();
    ours.tell(vec![insert("b")]).unwrap();
    ours.commit().unwrap();
    assert_eq!(stored(&theirs), "b");
}

#[test]
fn a_group_that_gives_way_says_so_whatever_comes_behind() {
    type Behind = fn(&mut Writing) -> Result<(), Fault>;
    const GIVE_WAY: &str = "DO $$ BEGIN RAISE 'could not serialize' USING ERRCODE = '40001'; END $$";
    let Some(theirs) = server::database() else { return };
    // What the server has not prepared yet, and does not prepare after an error.
    let behind: [Behind; 3] = [
        |ours| ours.ask(&[Question::alone("SELECT 7", [])]).map(drop),
        |ours| ours.tell((0..40).map(|number| insert(&number.to_string())).collect()),
        Writing::commit,
    ];
    for behind in behind {
        let mut ours = writing(&theirs);
        ours.begin_with(&[]).unwrap();
        ours.tell((0..40).map(|_| Statement::other(GIVE_WAY, [])).collect()).unwrap();
        let fault = behind(&mut ours).unwrap_err();
        assert!(matches!(fault, Fault::Passing(_)), "{fault:?}");
        ours.roll_back();
    }
    assert_eq!(stored(&theirs), "");
}

#[test]
fn questions_that_travel_together_are_answered_as_each_by_itself() {
    let Some(theirs) = server::database() else { return };
    let mut ours = writing(&theirs);
    ours.begin_with(&[]).unwrap();
    // More than one portion, so that the questions come behind what is on its way.
    ours.tell((0..40).map(|number| insert(&format!("{number:02}"))).collect()).unwrap();
    let one = |name: &str| {
        question!(
            "SELECT decision_id, CASE WHEN {facts} = 1 THEN facts END FROM asked WHERE decision_id >= {name}
             ORDER BY decision_id LIMIT 3",
            name: name,
            facts: 1_i64,
        )
    };
    let text = |name: &str| question!("SELECT EXISTS (SELECT 1 FROM asked WHERE decision_id = {name})", name: name);
    let change =
        |name: &str| Question::alone("DELETE FROM asked WHERE decision_id = $1 RETURNING decision_id", values![name]);
    let questions =
        [one("38"), text("05"), one("00"), one("nothing"), text("'"), Question::alone("SELECT 1", []), text("39")];
    let together = ours.ask(&questions).unwrap();
    let singly: Vec<_> =
        questions.iter().flat_map(|question| ours.ask(std::slice::from_ref(question)).unwrap()).collect();
    assert_eq!(together, singly);
    assert_eq!(together.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1, 3, 0, 1, 1, 1]);
    let gone = ours.ask(&[change("01"), change("02"), one("00")]).unwrap();
    assert_eq!(gone.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 3]);
    // What failed on its way is the error of what comes after it.
    ours.tell((0..20).map(|_| insert("05")).collect()).unwrap();
    let failed = ours.ask(&questions).unwrap_err();
    assert!(matches!(failed, Fault::Told(StoreError::Damaged { .. })), "{failed:?}");
    ours.roll_back();
    let answered = ours.begin_with(&questions).unwrap();
    assert_eq!(answered.iter().map(Vec::len).collect::<Vec<_>>(), [0, 1, 0, 0, 1, 1, 1]);
    ours.commit().unwrap();
}

#[test]
fn a_holder_that_is_cut_off_keeps_nobody_waiting() {
    let Some(theirs) = server::database() else { return };
    let proxy = Proxy::to(&theirs.url());
    let mut other = writing(&theirs);
    let cut_off = database(&proxy.url());
    let connection = make(&cut_off).unwrap();
    let mut holder = Writing::open(cut_off, connection, Arc::new(Clock::default())).unwrap();
    holder.begin_with(&[]).unwrap();
    proxy.cut();
    let started = Instant::now();
    other.begin_with(&[]).unwrap();
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
    other.tell(vec![insert("a")]).unwrap();
    other.commit().unwrap();
    proxy.heal();
    holder.tell(vec![insert("b")]).unwrap();
    let gone = holder.commit().unwrap_err();
    assert!(unreachable(&gone), "{gone:?}");
    assert_eq!(stored(&theirs), "a");
}

#[test]
fn errors_name_what_is_wrong_without_the_password() {
    let Some(theirs) = server::database() else { return };
    let url = theirs.url();
    let (user, rest) = url.split_once("://").unwrap().1.split_once(':').unwrap();
    let (_, rest) = rest.split_once('@').unwrap();
    let (address, name) = rest.split_once('/').unwrap();
    let refused = |url: String| {
        let error = Store::open(Place::parse(&url)).err().unwrap();
        let all = format!("{error} {error:?} {:?}", error.help());
        assert!(!all.contains("s3cret"), "{all}");
        error
    };
    let denied = refused(format!("postgres://{user}:s3cret@{rest}"));
    assert!(matches!(denied, StoreError::Denied { .. }), "{denied}");
    let nameless = refused(format!("postgres://{user}:s3cret@{rest}?application_name=\u{7}"));
    assert!(matches!(nameless, StoreError::Denied { .. }), "{nameless}");
    // Nothing listens on port 1.
    let away = refused(format!("postgres://{user}:s3cret@127.0.0.1:1/{name}"));
    assert!(matches!(&away, StoreError::Unreachable { reason, .. } if reason.contains("127.0.0.1:1")), "{away}");
    let plain = refused(format!("postgres://{user}:s3cret@{rest}?sslmode=require"));
    assert!(matches!(plain, StoreError::Unreachable { .. }), "{plain}");
    let unknown = refused(format!("postgres://{user}:s3cret@{rest}?passwort=s3cret"));
    assert!(matches!(unknown, StoreError::Url { .. }), "{unknown}");
    // The second host is asked when the first is not there.
    let (_, password) =
        url.split_once("://").unwrap().1.split_once('@').map(|(user, _)| user).unwrap().split_once(':').unwrap();
    drop(Store::open(Place::parse(&format!("postgres://{user}:{password}@127.0.0.1:1,{address}/{name}"))).unwrap());
}

#[test]
fn a_database_that_may_lose_what_it_stored_is_not_written_to() {
    let Some(cluster) = Cluster::start() else { return };
    let url = cluster.create_database();
    drop(Store::open(Place::parse(&url)).unwrap());
    for setting in ["full_page_writes", "fsync"] {
        cluster.set(setting, "off");
        let refused = Store::open(Place::parse(&url)).err().unwrap();
        assert!(matches!(&refused, StoreError::Unfit { reason, .. } if reason.contains(setting)), "{refused}");
        cluster.set(setting, "on");
    }
    cluster.set("default_transaction_read_only", "on");
    let standby = Store::open(Place::parse(&url)).err().unwrap();
    assert!(matches!(&standby, StoreError::Unreachable { .. }), "{standby}");
}

/// Makes a certificate for `localhost`, by an authority of its own, and a key that the server may read; the authority's
/// certificate.
fn certify(folder: &Path) -> String {
    let at = |name: &str| folder.join(name).display().to_string();
    let (key, certificate) = (at("server.key"), at("server.crt"));
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"])
        .args(["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"])
        .args(["-addext", "basicConstraints=critical,CA:FALSE"])
        .args(["-keyout", &key, "-out", &certificate])
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let owner = fs::metadata(folder).unwrap();
    for file in [&key, &certificate] {
        chown(file, Some(owner.uid()), Some(owner.gid())).unwrap();
        fs::set_permissions(file, Permissions::from_mode(0o600)).unwrap();
    }
    certificate
}

#[test]
fn a_server_shows_a_certificate_for_its_name() {
    if !proofmark_testing::has_program("openssl", "openssl") {
        return;
    }
    let Some(cluster) = Cluster::start() else { return };
    let authority = certify(cluster.folder());
    for (setting, file) in [("ssl_cert_file", "server.crt"), ("ssl_key_file", "server.key")] {
        cluster.set(setting, &cluster.folder().join(file).display().to_string());
    }
    cluster.set("ssl", "on");
    let url = cluster.create_database();
    let open = |host: &str, settings: &str| {
        let database = database(&format!("{}?{settings}", url.replace("127.0.0.1", host)));
        database.connect(Role::Reader).map(drop).map_err(|trouble| trouble.error)
    };
    let trusted = format!("sslmode=verify-full&sslrootcert={authority}");
    open("localhost", &trusted).unwrap();
    open("localhost", "sslmode=disable").unwrap();
    // The certificate is for another name, and by somebody unknown.
    for (host, settings) in [("127.0.0.1", trusted.as_str()), ("localhost", "sslmode=require")] {
        let refused = open(host, settings).unwrap_err();
        assert!(
            matches!(&refused, StoreError::Unreachable { reason, .. } if reason.contains("certificate")),
            "{refused}"
        );
    }
}
