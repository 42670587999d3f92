//! What the command of a project finds of folders of the host that it may read, and that it has a machine.

#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop anywhere, and shares its helpers with others"
)]

#[path = "support/levels.rs"]
mod levels;

use std::fs::{self, File, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::Path;
use std::time::Duration;

use proofmark_checks::{Case, End, Job, Language, Limits, Program, Project, ProjectFile};
use proofmark_sandbox::{Host, Level};

const PATIENCE: Duration = Duration::from_secs(100);

/// Runs a program of Python as the command of a project, at each level that has commands; how it ended.
fn run(source: &str, readable: &[&Path]) -> Vec<(Level, End)> {
    let content = source.as_bytes().to_vec();
    let project = Project {
        files: vec![ProjectFile { path: "run.py".to_owned(), content: content.into() }],
        arguments: vec!["run.py".to_owned()],
        readable: readable.iter().map(|path| path.to_str().unwrap().to_owned()).collect(),
        ..Project::default()
    };
    let job = Job {
        language: Language::Python,
        runtime: None,
        packages: vec![],
        program: Program::Command(Box::new(project)),
        cases: vec![Case { input: String::new(), timeout: PATIENCE }],
        limits: Limits { memory_mb: 256, total_timeout: PATIENCE, output_bytes: 1 << 16, processes: 64, disk_mb: 16 },
    };
    let levels = levels::available().into_iter().filter(|level| *level != Level::C);
    levels.map(|level| (level, Host::probe(Some(level)).worker().run(&job).cases.remove(0).end)).collect()
}

/// What each run wrote to its standard output.
fn written(source: &str, readable: &[&Path]) -> Vec<(Level, String)> {
    let ends = run(source, readable).into_iter();
    ends.map(|(level, end)| match end {
        End::Ran { status: 0, output, .. } => (level, String::from_utf8(output).unwrap()),
        other => panic!("{level}: {other:?}"),
    })
    .collect()
}

/// Not below `/tmp`, which a command has of its own, and where this repository may be.
fn folder_of_the_host() -> tempfile::TempDir {
    let folder = tempfile::tempdir_in("/var/tmp").unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    folder
}

#[test]
fn sockets_pipes_and_locks_of_a_folder_that_it_may_read_are_not_the_hosts() {
    let folder = folder_of_the_host();
    let at = |name: &str| folder.path().join(name);
    let stream = UnixListener::bind(at("stream")).unwrap();
    let datagrams = UnixDatagram::bind(at("datagrams")).unwrap();
    stream.set_nonblocking(true).unwrap();
    datagrams.set_nonblocking(true).unwrap();
    fs::write(at("text"), "readable").unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), 0o666.into()).unwrap();
    // Open at both ends, so that a reader of the same pipe would find what waits in it.
    let mut pipe = File::options().read(true).write(true).open(at("pipe")).unwrap();
    std::io::Write::write_all(&mut pipe, b"of the host").unwrap();
    for name in ["stream", "datagrams", "text", "pipe"] {
        fs::set_permissions(at(name), Permissions::from_mode(0o777)).unwrap();
    }
    let source = r#"
import fcntl, os, socket
os.chdir("FOLDER")
print(open("text").read())
def says(work):
    try:
        print(work())
    except OSError as error:
        print(error.strerror)
says(lambda: socket.socket(socket.AF_UNIX).connect("stream"))
says(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", "datagrams"))
says(lambda: os.read(os.open("pipe", os.O_RDONLY | os.O_NONBLOCK), 100))
says(lambda: open("text", "w"))
says(lambda: open("new", "w"))
fcntl.flock(open("text"), fcntl.LOCK_EX | fcntl.LOCK_NB)
"#;
    let source = source.replace("FOLDER", folder.path().to_str().unwrap());
    let locked = File::open(at("text")).unwrap();
    rustix::fs::flock(&locked, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let refused = "Connection refused\nConnection refused\nb''\nRead-only file system\nRead-only file system\n";
    for (level, text) in written(&source, &[folder.path()]) {
        assert_eq!(text, format!("readable\n{refused}"), "{level}");
    }
    assert_eq!(stream.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    assert_eq!(datagrams.recv(&mut [0; 1]).unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn a_socket_cannot_be_made_readable() {
    let folder = folder_of_the_host();
    let socket = folder.path().join("stream");
    let _listener = UnixListener::bind(&socket).unwrap();
    for (level, end) in run("print('ran')", &[&socket]) {
        let End::Unavailable(why) = end else { panic!("{level}: {end:?}") };
        assert!(why.contains("is neither a file nor a folder"), "{level}: {why}");
    }
}

#[test]
fn it_has_the_machine_that_test_suites_know() {
    let source = r#"
import asyncio, multiprocessing, os, pwd, socket, subprocess, tempfile, threading, zoneinfo
def out(*words, **more):
    return subprocess.run(words, check=True, capture_output=True, text=True, **more).stdout.strip()
async def echoes():
    async def answer(reader, writer):
        writer.write(await reader.read(10))
        writer.close()
    server = await asyncio.start_server(answer, "localhost", 0)
    reader, writer = await asyncio.open_connection("localhost", server.sockets[0].getsockname()[1])
    writer.write(b"echo")
    return (await reader.read(10)).decode()
print(asyncio.run(echoes()))
print(multiprocessing.Pool(2).map(abs, [-1, -2]), multiprocessing.Value("i", 3).value)
print(out("sed", "s/a/b/", input="a"), out("python3", "-c", "print(1 + 1)"))
print(out("bash", "-c", "cat <(echo process) /dev/stdin", input="input"))
print(zoneinfo.ZoneInfo("Europe/Paris"), socket.gethostbyname(socket.gethostname()))
print(pwd.getpwuid(os.getuid()).pw_dir == os.path.expanduser("~") and os.access(os.path.expanduser("~"), os.W_OK))
a, b = socket.socketpair()
a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
socket.socket(socket.AF_INET6).setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
threads = [threading.Thread(target=threading.Event().wait, args=[0.1]) for _ in range(40)]
[thread.start() for thread in threads]
os.chmod("run.py", 0o600)
os.openpty()
"#;
    let expected = "echo\n[1, 2] 3\nb 2\nprocess\ninput\nEurope/Paris 127.0.0.1\nTrue\n";
    for (level, text) in written(source, &[]) {
        assert_eq!(text, expected, "{level}");
    }
    let git = "import subprocess
script = 'cd /tmp && git init -q r && cd r && touch f && git add f && git commit -qm m && git log --format=%an'
print(subprocess.run(['sh', '-c', script], check=True, capture_output=True, text=True).stdout)";
    assert!(written(git, &[]).iter().all(|(_, text)| text.trim() == "sandbox"));
}
