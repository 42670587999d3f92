//! The help of every command, completion scripts, and spellings of earlier versions.

use insta::assert_snapshot;
use proofmark_receipt::Json;

use crate::run::{Place, RIGHT, project_file, request};
use crate::transcript;

const COMMANDS: &[&[&str]] = &[
    &[],
    &["init"],
    &["examples"],
    &["verify"],
    &["accept"],
    &["decide"],
    &["approve"],
    &["deny"],
    &["decisions"],
    &["decisions", "list"],
    &["decisions", "show"],
    &["serve"],
    &["work"],
    &["mcp"],
    &["mcp", "config"],
    &["api-key"],
    &["api-key", "add"],
    &["api-key", "list"],
    &["api-key", "revoke"],
    &["findings"],
    &["policy"],
    &["policy", "test"],
    &["policy", "explain"],
    &["policy", "coverage"],
    &["policy", "diff"],
    &["policy", "suggest"],
    &["workflow"],
    &["workflow", "test"],
    &["lint"],
    &["runs"],
    &["runs", "list"],
    &["runs", "show"],
    &["receipt"],
    &["receipt", "verify"],
    &["receipt", "show"],
    &["receipt", "list"],
    &["receipt", "export"],
    &["store"],
    &["store", "copy"],
    &["store", "check"],
    &["acp"],
    &["acp", "evaluate"],
    &["x402"],
    &["x402", "encode"],
    &["x402", "decode"],
    &["key"],
    &["key", "new"],
    &["key", "show"],
    &["key", "import"],
    &["key", "list"],
    &["trust"],
    &["trust", "add"],
    &["trust", "list"],
    &["trust", "remove"],
    &["guard"],
    &["guard", "pins"],
    &["guard", "pins", "list"],
    &["guard", "pins", "approve"],
    &["guard", "wrap"],
    &["guard", "unwrap"],
    &["gate"],
    &["gate", "note"],
    &["gate", "install"],
    &["gate", "uninstall"],
    &["hook"],
    &["hook", "install"],
    &["hook", "uninstall"],
    &["hook", "doctor"],
    &["sessions"],
    &["sessions", "list"],
    &["sessions", "show"],
    &["sessions", "export"],
    &["doctor"],
    &["completions"],
];

#[test]
fn the_help_of_every_command() {
    let place = Place::new();
    let mut whole = String::new();
    for command in COMMANDS {
        let done = place.run(&[command, &["--help"][..]].concat());
        assert_eq!(done.code, 0, "{command:?}");
        // A command with subcommands has its examples in their help.
        let example = done.stdout.contains("Example") && done.stdout.contains("  proofmark ");
        assert!(example || done.stdout.contains("Commands:"), "{command:?}: {}", done.stdout);
        whole.push_str(&format!("$ proofmark {} --help\n{}\n", command.join(" "), done.stdout));
    }
    // The list above has every command.
    let listed = whole.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    for name in listed.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help") {
        assert!(COMMANDS.iter().any(|command| command.first() == Some(&name)), "{name}");
    }
    assert_snapshot!(whole);
}

#[test]
fn completions_know_commands_and_options_and_no_old_spelling() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let done = place.run(&["completions", shell]);
        assert_eq!(done.code, 0, "{shell}: {}", done.stderr);
        for word in ["workflow-policy", "action-policy", "as-chain", "suite-digest", "coverage"] {
            assert!(done.stdout.contains(word), "{shell} lacks {word}");
        }
        let old = done.stdout.lines().find(|line| line.contains("--policy") || line.contains("-l policy"));
        assert_eq!(old, None, "{shell}");
    }
    // The script is one that its shell reads, and it completes.
    let script = place.file("completions.bash", place.run(&["completions", "bash"]).stdout);
    let complete = format!(
        "source {script}; COMP_WORDS=(proofmark acc); COMP_CWORD=1; _proofmark proofmark acc proofmark; echo \"${{COMPREPLY[*]}}\""
    );
    let output = std::process::Command::new("bash").args(["--norc", "-c", &complete]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), "accept", "{output:?}");
}

/// Each command in its current and in its old spelling.
#[test]
fn old_spellings_work_and_are_not_in_the_help() {
    let place = Place::new();
    let accept = |name: &str| project_file(&format!("examples/accept/{name}"));
    let decide = |name: &str| project_file(&format!("examples/decide/{name}"));
    let (workflow, response) = (accept("workflow.yaml"), accept("attempt1.md"));
    let policy =
        place.file("policy.yaml", "name: house\nrequirements:\n  - class: mutating\n    minEvidence: observed\n");
    let (cases, action, action_policy) = (accept("cases.yaml"), decide("request.json"), decide("policy.yaml"));
    let action_cases = decide("cases.yaml");
    let receipt = place.file("receipt.json", place.receipt(&request(RIGHT), &["--chain", "c"]).to_text());
    let pairs: [(&[&str], &[&str]); 7] = [
        (&["workflow", "test", &cases], &["test", &cases]),
        (
            &["accept", &workflow, "--step", "implement", "--response", &response, "--workflow-policy", &policy],
            &["accept", &workflow, "--step", "implement", "--response", &response, "--policy", &policy],
        ),
        (&["lint", &workflow, "--workflow-policy", &policy], &["lint", &workflow, "--policy", &policy]),
        (&["decide", &action, "--action-policy", &action_policy], &["decide", &action, "--policy", &action_policy]),
        (
            &["policy", "test", &action_cases, "--action-policy", &action_policy],
            &["policy", "test", &action_cases, "--policy", &action_policy],
        ),
        (&["receipt", "verify", &receipt, "--as-chain"], &["receipt", "verify", &receipt, "--chain"]),
        (&["serve", "--action-policy", "absent.yaml"], &["serve", "--policy", "absent.yaml"]),
    ];
    for (current, old) in pairs {
        let (expected, found) = (place.run(current), place.run(old));
        assert_eq!(place.snapshot(&found), place.snapshot(&expected), "{old:?}");
        assert!(!found.stderr.contains("unexpected argument"), "{old:?}: {found:?}");
        let command: Vec<&str> = current.iter().copied().take_while(|word| !word.contains(['.', '/'])).collect();
        let help = place
            .run(
                &[&command.iter().copied().filter(|word| !word.starts_with('-')).collect::<Vec<_>>()[..], &["--help"]]
                    .concat(),
            )
            .stdout;
        assert!(!help.contains("--policy") && !help.contains("  --chain "), "{command:?}");
    }
    let main = place.run(&["--help"]).stdout;
    assert!(!main.lines().any(|line| line.starts_with("  test ")), "{main}");
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
