//! What shells run is compared with what was read.
#![expect(clippy::unwrap_used, reason = "helpers of tests, which may fail by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use proofmark_shell::read;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// Each writes its name and its arguments to the record, at once, and nothing else.
const PROGRAM: &str = "#!/bin/sh\nprintf '%s\\036' \"${0##*/}\" \"$@\" '\u{1d}' >> \"$RECORD\"\n";
const PROGRAMS: [&str; 4] = ["p0", "p1", "p2", "p3"];

/// Pieces that texts are put together from.
const PIECES: &[&str] = &[
    "p0",
    "p1",
    "p2",
    "p3",
    " ",
    " ",
    " ",
    " ",
    "\n",
    ";",
    "; ",
    " && ",
    " || ",
    " | ",
    " & ",
    "|&",
    "(",
    ")",
    "{ ",
    "; }",
    "'",
    "\"",
    "\\",
    "\\\n",
    "$(",
    "`",
    ")",
    "${x:-",
    "}",
    "$x",
    "\"$x\"",
    "x=p1",
    "x=",
    "a",
    "b c",
    "'a b'",
    "\"a b\"",
    "\\ ",
    "#",
    " # ",
    "<<E\n",
    "<<'E'\n",
    "\nE\n",
    "<<-E\n",
    "\tE\n",
    " > f",
    " 2>&1",
    " >> f",
    " < /dev/null",
    " &> f",
    "<(",
    "if ",
    "then ",
    "else ",
    "fi",
    "; fi",
    "for i in a b",
    "; do ",
    "do ",
    "; done",
    "case a in ",
    "a) ",
    "*) ",
    ";;",
    " esac",
    "! ",
    "time ",
    "f() ",
    "function g ",
    "f",
    "g",
    "[[ ",
    " ]]",
    "[[ -n a",
    "$((",
    "1+1",
    "))",
    "((",
    "i++",
    "~",
    "*",
    "{a,b}",
    "{1..2}",
    "$'a\\tb'",
    "$\"a\"",
    "=",
    "+=",
    "x=(",
    "$#",
    "$@",
    "eval ",
    "command ",
    "env ",
    "exec ",
    "sh -c 'p2 ",
    "' ",
    "<<<",
    "a=b ",
    "until ",
    "\t",
    "=p0",
    "${#x}",
    "${x}",
    "\\'",
    "\\\"",
    " >&",
    " <&",
    "'$(p2)'",
    "'a[$(p2)]'",
    "-v ",
    "-eq ",
    "test ",
    "printf ",
    "read ",
    "set -- ",
    "$*",
    "OPTIND=",
    "RANDOM=",
    "x='-v a[$(p2)]'",
];

/// The commands that a shell ran of a text: program and arguments.
fn ran(shell: &str, text: &str, folder: &Path) -> BTreeSet<Vec<String>> {
    // One of its own: what runs in the background may write later.
    let folder_of_run = tempfile::tempdir_in(folder).unwrap();
    let (work, record) = (folder_of_run.path().join("work"), folder_of_run.path().join("record"));
    fs::create_dir(&work).unwrap();
    fs::write(&record, "").unwrap();
    let mut child = Command::new(shell);
    child
        .args(["-c", text])
        .env_clear()
        .env("PATH", folder.join("bin"))
        .env("RECORD", &record)
        .env("HOME", "~")
        .current_dir(&work);
    child.stdin(Stdio::null());
    // Its output ends when all of them have ended.
    child.output().unwrap();
    let text = String::from_utf8_lossy(&fs::read(&record).unwrap()).into_owned();
    let one = |line: &str| line.split_terminator('\u{1e}').map(str::to_owned).collect();
    text.split_terminator("\u{1d}\u{1e}").map(one).collect()
}

fn check(shells: &[&str], text: &str, folder: &Path) -> Result<bool, TestCaseError> {
    let commands = read(text, Some("/repo"));
    // What fails would be tried for ever.
    let may_fail = ["test ", "printf ", "read ", "set ", "OPTIND", "RANDOM", ">&", "<&"];
    let repeats = text.contains("until ") && may_fail.iter().any(|name| text.contains(name));
    if repeats || commands.iter().any(|command| !command.opaque.is_empty()) {
        return Ok(false);
    }
    for shell in shells {
        for command in ran(shell, text, folder) {
            let (program, args) = command.split_first().unwrap();
            let is_known = commands
                .iter()
                .any(|known| known.program.as_deref() == Some(program) && (!known.exact || words(known) == args));
            prop_assert!(is_known, "{shell} ran {command:?}\nof {text:?}\nread as {commands:#?}");
        }
    }
    Ok(true)
}

/// The words of a command. A quoted `~` is told as a file, so that it is not taken for the folder of the user.
fn words(known: &proofmark_shell::Command) -> Vec<&str> {
    let is_quoted_home = |word: &&str| word.starts_with('~');
    known.args.iter().map(|arg| arg.strip_prefix("./").filter(is_quoted_home).unwrap_or(arg)).collect()
}

fn installed() -> Vec<&'static str> {
    ["/bin/bash", "/bin/dash", "/bin/zsh", "/bin/busybox-sh"]
        .into_iter()
        .filter(|shell| Path::new(shell).exists())
        .collect()
}

#[test]
fn no_shell_runs_a_command_that_was_not_read() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("bin")).unwrap();
    for program in PROGRAMS {
        let path = folder.path().join("bin").join(program);
        fs::write(&path, PROGRAM).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let shells = installed();
    assert!(!shells.is_empty(), "failed to find a shell");
    let pieces = prop::collection::vec(prop::sample::select(PIECES), 1..14);
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(600);
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    let known = std::cell::Cell::new(0_u32);
    let result = runner.run(&pieces, |pieces| {
        let text = format!("p0 {}", pieces.concat());
        if check(&shells, &text, folder.path())? {
            known.set(known.get() + 1);
        }
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    eprintln!("{} of {cases} texts were read", known.get());
    assert!(known.get() * 10 > cases, "only {} of {cases} texts were read", known.get());
}
