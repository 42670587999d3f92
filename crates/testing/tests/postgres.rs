//! Servers of PostgreSQL for tests do what the tests of the store rely on.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail by panicking")]

use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use proofmark_testing::postgres::{Cluster, Moment, Proxy, SHARED, database};

#[test]
fn rows_outlive_a_kill_and_nothing_else_outlives_the_test() {
    let Some(cluster) = Cluster::start() else { return };
    let folder = cluster.folder().to_owned();
    assert_eq!(cluster.psql("CREATE TABLE t (n int); INSERT INTO t VALUES (1), (2); SELECT * FROM t"), "1\n2");
    cluster.kill();
    assert!(cluster.try_psql("SELECT 1").is_err());
    cluster.restart();
    cluster.stop();
    cluster.restart();
    cluster.set("idle_in_transaction_session_timeout", "2s");
    assert_eq!(cluster.psql("SHOW idle_in_transaction_session_timeout; SELECT sum(n) FROM t"), "2s\n3");
    cluster.pause();
    drop(cluster);
    assert!(!folder.exists());
    assert!(!has_process_in(&folder));
}

#[test]
fn a_server_ends_with_a_process_that_is_killed() {
    const CHILD: &str = "PROOFMARK_TEST_KILLED";
    if std::env::var_os(CHILD).is_some() {
        let Some(cluster) = Cluster::start() else { return };
        println!("\nfolder {}", cluster.folder().display());
        thread::sleep(Duration::from_secs(600));
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "a_server_ends_with_a_process_that_is_killed", "--nocapture"]);
    let mut child = child.env(CHILD, "1").stdout(Stdio::piped()).spawn().unwrap();
    let lines = std::io::BufRead::lines(std::io::BufReader::new(child.stdout.take().unwrap()));
    let folder =
        lines.map_while(Result::ok).find_map(|line| line.strip_prefix("folder ").map(std::path::PathBuf::from));
    child.kill().unwrap();
    let ended = child.wait().unwrap();
    let Some(folder) = folder else {
        // Without PostgreSQL the child has listed the skip.
        return assert!(ended.success(), "{ended}");
    };
    let since = Instant::now();
    while folder.exists() || has_process_in(&folder) {
        assert!(since.elapsed() < Duration::from_secs(30), "{} is still there", folder.display());
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_database_is_its_tests_own() {
    let (Some(one), Some(other)) = (database(), database()) else { return };
    assert_ne!(one.url(), other.url());
    assert_eq!(
        one.psql("CREATE TABLE t (name text); INSERT INTO t VALUES ('B'), ('a'); SELECT * FROM t ORDER BY name"),
        "a\nB"
    );
    assert_eq!(other.psql("SELECT count(*) FROM pg_class WHERE relname = 't'"), "0");
    let name = one.url().rsplit_once('/').unwrap().1.to_owned();
    drop(one);
    assert_eq!(other.psql(&format!("SELECT count(*) FROM pg_database WHERE datname = '{name}'")), "0");
}

#[test]
fn a_database_is_made_without_its_pages_in_the_log() {
    let Some(cluster) = Cluster::start() else { return };
    let before = cluster.psql("SELECT pg_current_wal_lsn()");
    let url = cluster.create_database();
    let name = url.rsplit_once('/').unwrap().1;
    let written = cluster.psql(&format!("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '{before}')"));
    let size = cluster.psql(&format!("SELECT pg_database_size('{name}')"));
    let [written, size] = [written, size].map(|bytes| bytes.parse::<u64>().unwrap());
    assert!(written < size / 4, "{written} bytes for a database of {size}");
}

#[test]
fn tests_share_the_server_that_the_variable_names() {
    let Some(cluster) = Cluster::start() else { return };
    let mut test = Command::new(std::env::current_exe().unwrap());
    test.args(["--exact", "a_database_is_its_tests_own"]).env(SHARED, cluster.superuser_url());
    test.stdout(Stdio::null()).stderr(Stdio::null());
    assert!(test.status().unwrap().success());
    assert_eq!(cluster.psql("SELECT count(*) FROM pg_database WHERE datname LIKE 'test%'"), "0");
    cluster.stop();
    assert!(!test.status().unwrap().success());
}

#[test]
fn a_synchronous_standby_has_what_was_answered_and_becomes_primary() {
    let Some(primary) = Cluster::start() else { return };
    let standby = Cluster::standby_of(&primary, true);
    standby.pause();
    thread::scope(|scope| {
        let waiting = scope.spawn(|| primary.psql("CREATE TABLE waited ()"));
        thread::sleep(Duration::from_millis(300));
        assert!(!waiting.is_finished());
        standby.resume();
        waiting.join().unwrap();
    });
    assert_eq!(primary.psql("CREATE TABLE t (n int); INSERT INTO t VALUES (1); SELECT n FROM t"), "1");
    primary.kill();
    assert_eq!(standby.psql("SELECT pg_is_in_recovery()"), "t");
    standby.promote();
    standby.set("synchronous_standby_names", "");
    assert_eq!(standby.psql("INSERT INTO t VALUES (2); SELECT n FROM t ORDER BY n"), "1\n2");
}

#[test]
fn a_proxy_delays_cuts_and_refuses() {
    let Some(database) = database() else { return };
    let proxy = Proxy::to(&database.url());
    let ask = |sql: &str| psql(&proxy.url(), sql).wait_with_output().unwrap();
    assert_eq!(String::from_utf8(ask("CREATE TABLE t (n int); SELECT 7").stdout).unwrap(), "7\n");

    proxy.delay(Duration::from_millis(100));
    let since = Instant::now();
    assert!(ask("SELECT 1").status.success());
    assert!(since.elapsed() > Duration::from_millis(400), "{:?}", since.elapsed());
    proxy.delay(Duration::ZERO);

    assert!(ask("INSERT INTO t SELECT 1 WHERE false").status.success());
    for (moment, rows) in [(Moment::After, "1"), (Moment::Before, "1")] {
        proxy.cut_at("INSERT", moment);
        let mut waiting = psql(&proxy.url(), "INSERT INTO t VALUES (1); SELECT 8");
        assert!(proxy.wait_for_cut(Duration::from_secs(30)));
        thread::sleep(Duration::from_millis(300));
        assert!(waiting.try_wait().unwrap().is_none(), "{moment:?}");
        let (count, since) = (|| database.psql("SELECT count(*) FROM t"), Instant::now());
        // The server has what was sent, and may still be at it.
        while count() != rows && since.elapsed() < Duration::from_secs(60) {
            thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(count(), rows, "{moment:?}");
        proxy.heal();
        assert_eq!(String::from_utf8(waiting.wait_with_output().unwrap().stdout).unwrap(), "8\n", "{moment:?}");
    }
    assert_eq!(database.psql("SELECT count(*) FROM t"), "2");

    proxy.refuse();
    assert!(!ask("SELECT 1").status.success());
    proxy.heal();
    assert!(ask("SELECT 1").status.success());
}

/// The client that Debian has in `PATH`, asked through this URL.
fn psql(url: &str, sql: &str) -> std::process::Child {
    let mut psql = Command::new("psql");
    psql.args(["--no-psqlrc", "--no-align", "--tuples-only", "--quiet", "--dbname", url, "--command", sql]);
    psql.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
}

fn has_process_in(folder: &std::path::Path) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut folders = processes.filter_map(|process| std::fs::read_link(process.path().join("cwd")).ok());
    folders.any(|current| current.starts_with(folder))
}
