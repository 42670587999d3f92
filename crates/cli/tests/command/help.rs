//! The help of every command, completion scripts, and what all commands have in common.

use insta::assert_snapshot;
use proofmark_receipt::Json;

use crate::run::{Place, RIGHT, project_file, request};
use crate::transcript;

/// The commands that a help lists: in groups for the whole program, below `Commands:` for others.
fn listed(help: &str) -> Vec<&str> {
    let lines = help
        .lines()
        .skip_while(|line| !line.starts_with("Usage:"))
        .take_while(|line| !["Arguments:", "Options:", "Global options:"].contains(line));
    let command =
        |line: &'_ str| line.strip_prefix("  ").is_some_and(|line| line.starts_with(|c: char| c.is_ascii_lowercase()));
    let names = lines.filter(|line| command(line)).filter_map(|line| line.split_whitespace().next());
    names.filter(|name| !["help", "proofmark"].contains(name)).collect()
}

#[test]
fn the_help_of_every_command() {
    let place = Place::new();
    let mut whole = String::new();
    let mut open = vec![Vec::<String>::new()];
    let mut number = 0;
    while let Some(command) = open.pop() {
        let words: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
        let done = place.run(&words);
        assert_eq!(done.code, 0, "{command:?}");
        number += 1;
        let inner = listed(&done.stdout);
        // A command with subcommands has its examples in their help.
        let example = done.stdout.contains("Example") && done.stdout.contains("  proofmark ");
        assert!(example || !inner.is_empty(), "{command:?}: {}", done.stdout);
        open.extend(inner.iter().rev().map(|name| [&command[..], &[(*name).to_owned()]].concat()));
        whole.push_str(&format!("$ proofmark {} --help\n{}\n", command.join(" "), done.stdout));
    }
    assert!(number > 70, "{number} commands");
    assert_snapshot!(whole);
}

#[test]
fn the_help_has_every_command_in_one_group() {
    let place = Place::new();
    let help = place.run(&["--help"]).stdout;
    let groups: Vec<&str> = ["Verify:", "Decide and review:", "Stand in the path:", "Records:", "Set up:"].to_vec();
    let found: Vec<&str> = help.lines().filter(|line| groups.contains(line)).collect();
    assert_eq!(found, groups);
    let mut names = listed(&help);
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all, "{help}");
}

#[test]
fn completions_know_commands_and_options() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let done = place.run(&["completions", shell]);
        assert_eq!(done.code, 0, "{shell}: {}", done.stderr);
        for word in ["workflow-policy", "trust-worker", "as-chain", "suite-digest", "coverage", "decision", "color"] {
            assert!(done.stdout.contains(word), "{shell} lacks {word}");
        }
    }
    // The script is one that its shell reads, and it completes.
    let script = place.file("completions.bash", place.run(&["completions", "bash"]).stdout);
    let complete = format!(
        "source {script}; COMP_WORDS=(proofmark wor); COMP_CWORD=1; _proofmark proofmark wor proofmark; echo \"${{COMPREPLY[*]}}\""
    );
    let output = std::process::Command::new("bash").args(["--norc", "-c", &complete]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "workflow work", "{output:?}");
}

#[test]
fn a_name_that_is_close_is_suggested() {
    let place = Place::new();
    for (wrong, meant) in [
        (&["decisions", "list"][..], "decision"),
        (&["sessions", "list"], "session"),
        (&["runs", "list"], "run"),
        (&["findings"], "finding"),
        (&["decision", "aprove", "1234"], "approve"),
        (&["api-key", "list", "--api-key", "keys.json"], "--api-keys"),
    ] {
        let done = place.run(wrong);
        assert!(done.code == 2 && done.stderr.contains(&format!("'{meant}'")), "{wrong:?}: {}", done.stderr);
    }
}

/// Names of a build before the first version. They would be a second spelling of each.
#[test]
fn there_is_one_name_for_each_thing() {
    let place = Place::new();
    for old in [
        &["approve", "1234", "--key", "k", "--note", "n"][..],
        &["accept", "workflow.yaml"],
        &["test", "cases.yaml"],
        &["decide", "action.json", "--action-policy", "policy.yaml"],
        &["receipt", "verify", "receipt.json", "--chain"],
        &["key", "show", "--format", "jwk"],
        &["work", "--runs", "python"],
        &["serve", "--no-verify", "--worker-key", "k"],
    ] {
        let done = place.run(old);
        assert!(
            done.code == 2 && done.stderr.contains("unexpected argument") || done.stderr.contains("unrecognized"),
            "{old:?}: {}",
            done.stderr
        );
    }
}

#[test]
fn a_duration_has_its_unit_everywhere() {
    let place = Place::new();
    for command in [
        &["verify", "--dir", ".", "--timeout"][..],
        &["decision", "approve", "1234", "--key", "k", "--note", "n", "--expires"],
        &["decision", "deny", "1234", "--key", "k", "--note", "n", "--expires"],
        &["guard", "--policy", "p.yaml", "--wait"],
        &["hook", "claude", "--policy", "p.yaml", "--deadline"],
    ] {
        for wrong in ["90", "0s", "1.5h", "9999d"] {
            let done = place.run(&[command, &[wrong]].concat());
            let help = if wrong == "9999d" {
                "the longest is"
            } else {
                "write a number with its unit, as in 90s, 5m or 1h30m"
            };
            assert!(done.code == 2 && done.stderr.contains(help), "{command:?} {wrong}: {}", done.stderr);
        }
        let help = place.run(&[&command[..1], &["--help"]].concat()).stdout;
        assert!(!help.contains("<SECONDS>") && !help.contains("<EXPIRES>"), "{help}");
    }
}

#[test]
fn colours_follow_the_option_and_then_the_environment() {
    let place = Place::new();
    let list = ["decision", "list"].as_slice();
    place.run(&[
        "decide",
        &project_file("examples/decide/request.json"),
        "--policy",
        &project_file("examples/decide/policy.yaml"),
    ]);
    let coloured = |more: &[&str], environment: &[(&str, &str)]| {
        let done = place.run_with(&[list, more].concat(), environment, b"");
        assert_eq!(done.code, 0, "{done:?}");
        done.stdout.contains("\u{1b}[")
    };
    assert!(!coloured(&[], &[]) && coloured(&["--color", "always"], &[]));
    for force in ["CLICOLOR_FORCE", "FORCE_COLOR"] {
        assert!(
            coloured(&[], &[(force, "1")]) && !coloured(&[], &[(force, "0")]) && !coloured(&[], &[(force, "")]),
            "{force}"
        );
        assert!(!coloured(&[], &[(force, "1"), ("NO_COLOR", "1")]), "{force}");
        assert!(!coloured(&["--color", "never"], &[(force, "1")]), "{force}");
    }
    assert!(coloured(&["--color=always"], &[("NO_COLOR", "1")]));
}

#[test]
fn another_folder_is_as_if_started_there() {
    let place = Place::new();

    place.file("inner/request.json", request(RIGHT));
    let inner = place.path("inner");
    let done = place.run(&["-C", inner.to_str().unwrap(), "verify", "request.json"]);
    assert_eq!(done.code, 0, "{done:?}");
    let absent = place.run(&["verify", "request.json", "-C", "absent"]);
    assert!(absent.code == 2 && absent.stderr.contains("run in the folder `absent`"), "{absent:?}");
}

#[test]
fn the_doctor_names_levels_and_runtimes() {
    let place = Place::new();
    let text = place.run(&["doctor"]);
    let json = place.run(&["doctor", "--json"]);
    let report = Json::parse(json.stdout.as_bytes()).unwrap();
    let report = report.as_object().unwrap();
    let objects =
        |name: &str| report.get(name).and_then(Json::as_array).unwrap().iter().map(|item| item.as_object().unwrap());
    let word =
        |object: &proofmark_receipt::Object, name: &str| object.get(name).and_then(Json::as_str).map(str::to_owned);
    let mut level_holds = false;
    for level in objects("levels") {
        let holds = level.get("holds") == Some(&Json::from(true));
        level_holds |= holds;
        let state =
            if holds { "available".to_owned() } else { format!("unavailable: {}", word(level, "lacking").unwrap()) };
        let line = format!("  level {}  {state}\n", word(level, "level").unwrap());
        assert!(text.stdout.contains(&line), "{line}: {}", text.stdout);
    }
    let runtimes: Vec<String> = objects("runtimes")
        .map(|runtime| {
            let [language, name, version, path] =
                ["language", "runtime", "version", "path"].map(|name| word(runtime, name).unwrap());
            format!("  {language:<11} {name} {version} ({path})")
        })
        .collect();
    for line in &runtimes {
        assert!(text.stdout.contains(line), "{line}: {}", text.stdout);
    }
    assert_eq!((text.code, json.code), if level_holds && !runtimes.is_empty() { (0, 0) } else { (2, 2) });
    assert_snapshot!(transcript::doctor(&place.snapshot(&text)));
}
