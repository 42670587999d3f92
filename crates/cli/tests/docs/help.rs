//! The examples in the help of every command.

use std::time::Duration;

use crate::session::Session;

/// What the examples of the help find in their folder, made by these commands.
const FIXTURE: &[&str] = &["proofmark examples"];

/// Every command and subcommand, as its words.
fn commands(session: &Session) -> Vec<(Vec<String>, String)> {
    let mut found = Vec::new();
    let mut open = vec![Vec::<String>::new()];
    while let Some(words) = open.pop() {
        let help = session.run(&[&format!("proofmark {} --help", words.join(" "))]).remove(0).output;
        let listed = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
        for name in listed.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help") {
            open.push([&words[..], &[name.to_owned()]].concat());
        }
        found.push((words, help));
    }
    found
}

/// The commands below `Example:` or `Examples:`.
fn examples(help: &str) -> Vec<&str> {
    let after = help.lines().skip_while(|line| !matches!(*line, "Example:" | "Examples:")).skip(1);
    after.map_while(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with(' ')).collect()
}

#[test]
fn every_example_of_the_help_runs() {
    let fixture = Session::new();
    for (command, done) in FIXTURE.iter().zip(fixture.run(FIXTURE)) {
        assert_eq!(done.code, Some(0), "{command}: {}", done.output);
    }
    let mut failed = Vec::new();
    let mut count = 0;
    for (words, help) in commands(&fixture) {
        for example in examples(&help) {
            count += 1;
            let session = fixture.copy();
            let done = match example.starts_with("proofmark serve") && !example.contains("--check") {
                true => session.run(&[&served(example)]).remove(0),
                false => session.run(&[example]).remove(0),
            };
            // 0 and 1 are answers; 2 is wrong usage, a missing file, or no answer.
            if !matches!(done.code, Some(0 | 1)) {
                failed.push(format!("{words:?}: `{example}` exits with {:?}\n{}", done.code, done.output));
            }
        }
    }
    assert!(failed.is_empty(), "{} of {count} examples\n\n{}", failed.len(), failed.join("\n\n"));
}

/// The command, ended by SIGTERM as soon as it serves.
fn served(example: &str) -> String {
    let seconds = Duration::from_secs(60).as_secs();
    format!(
        "{example} 2> served.log & server=$!; for second in $(seq {seconds}); do grep -q 'serving on' served.log && break; sleep 1; done; cat served.log; kill $server; wait $server"
    )
}
