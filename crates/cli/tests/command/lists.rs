//! Lists: their headers, what is said of an empty one, and how one that is cut off goes on.

use proofmark_receipt::Json;

use crate::run::{Done, Place, RIGHT, project_file, request};

/// A place with two decisions, two runs, two receipts more, and no session.
fn filled() -> Place {
    let place = Place::new();
    let decide = |name: &str| project_file(&format!("examples/decide/{name}"));
    let accept = |name: &str| project_file(&format!("examples/accept/{name}"));
    let (action, policy) = (decide("request.json"), decide("policy.yaml"));
    let (workflow, response, trace) = (accept("workflow.yaml"), accept("attempt1.md"), accept("trace1.json"));
    for run in ["r1", "r2"] {
        place.run(&["decide", &action, "--policy", &policy]);
        let step = ["--step", "implement", "--run", run, "--response", &response, "--trace", &trace];
        let judged = place.run(&[&["workflow", "accept", &workflow][..], &step].concat());
        assert_eq!(judged.code, 1, "{judged:?}");
        place.receipt(&request(RIGHT), &[]);
    }
    place
}

#[test]
fn every_list_has_a_header_and_an_empty_one_a_sentence() {
    let place = filled();
    let signer = "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=";
    place.run(&["trust", "add", "ci", signer, "--for", "verification"]);
    place.run(&["api-key", "add", "--api-keys", "keys.json", "bot", "agent"]);
    for (list, header) in [
        (&["decision", "list"][..], "DECISION"),
        (&["run", "list"], "CHANGED"),
        (&["receipt", "list"], "RECEIPT"),
        (&["key", "list"], "KEY"),
        (&["trust", "list"], "NAME"),
        (&["api-key", "list", "--api-keys", "keys.json"], "ID"),
    ] {
        let done = place.run(list);
        let lines: Vec<&str> = done.stdout.lines().collect();
        assert!(lines.len() > 1 && lines[0].split_whitespace().next() == Some(header), "{list:?}: {done:?}");
        assert!(lines.iter().all(|line| *line == line.trim_end()), "{done:?}");
        let json = place.run(&[list, &["--json"]].concat()).stdout;
        assert!(
            json.lines().all(|line| Json::parse(line.as_bytes()).is_ok()) && json.contains('{'),
            "{list:?}: {json}"
        );
    }
    let empty = Place::new();
    empty.run(&["verify", &empty.file("request.json", request(RIGHT)), "--unsigned"]);
    empty.run(&["api-key", "add", "--api-keys", "keys.json", "bot", "agent"]);
    empty.run(&["api-key", "revoke", "--api-keys", "keys.json", "bot"]);
    for (list, sentence) in [
        (&["decision", "list"][..], "no decisions: `proofmark decide`"),
        (&["decision", "list", "--waiting"], "no decision waits for a review"),
        (&["session", "list"], "no sessions: `proofmark guard` and `proofmark hook` record them"),
        (&["run", "list"], "no runs: `proofmark workflow accept` begins them"),
        (&["finding", "list"], "no findings: "),
        (&["receipt", "list", "--verdict", "error"], "no receipts: `proofmark verify` issues one"),
        (&["trust", "list"], "no trusted signers: `proofmark trust add` adds one"),
        (&["api-key", "list", "--api-keys", "keys.json"], "no API keys: `proofmark api-key add` makes one"),
        (&["guard", "pin", "list"], "no definitions: `proofmark guard` pins"),
    ] {
        let done = empty.run(list);
        assert!(done.code == 0 && done.stdout.is_empty() && done.stderr.contains(sentence), "{list:?}: {done:?}");
        let json = empty.run(&[list, &["--json"]].concat());
        assert_eq!((json.code, json.stdout.as_str(), json.stderr.as_str()), (0, "", ""), "{list:?}");
    }
}

/// The rest of the list, by the command that it said.
fn rest(place: &Place, done: &Done) -> Done {
    let said = done.stderr.split("there are more: continue with `").nth(1).unwrap_or_else(|| panic!("{done:?}"));
    let command = said.split('`').next().unwrap();
    let words: Vec<&str> = command.split(' ').collect();
    assert_eq!(words[0], "proofmark");
    place.run(&words[1..])
}

#[test]
fn a_list_that_is_cut_off_says_the_command_that_goes_on() {
    let place = filled();
    for list in [&["decision", "list"][..], &["receipt", "list", "--since", "1h"], &["run", "list"]] {
        for limit in [&["--limit", "1"][..], &["-n", "1"], &["--limit=1"]] {
            let mut shown = place.run(&[list, limit].concat());
            let all = place.run(list).stdout;
            let mut found: Vec<String> = shown.stdout.lines().skip(1).map(str::to_owned).collect();
            while shown.stderr.contains("there are more") {
                shown = rest(&place, &shown);
                found.extend(shown.stdout.lines().skip(1).map(str::to_owned));
            }
            let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            let found: Vec<_> = found.iter().map(|line| words(line)).collect();
            let all: Vec<_> = all.lines().skip(1).map(words).collect();
            assert_eq!(found, all, "{list:?} {limit:?}");
        }
    }
}

#[test]
fn lists_are_of_a_time_and_of_a_tenant() {
    let place = filled();
    for list in ["decision", "run", "receipt"] {
        let all = place.run(&[list, "list", "--since", "1h"]).stdout;
        assert!(all.lines().count() > 2, "{all}");
        let none = [&["--since", "2999-01-01"][..], &["--tenant", "acme"]];
        for none in none {
            let done = place.run(&[&[list, "list"], none].concat());
            assert!(
                done.code == 0 && done.stdout.is_empty() && done.stderr.contains("no "),
                "{list} {none:?}: {done:?}"
            );
        }
    }
}

#[test]
fn what_is_done_is_said_as_json_on_request() {
    let place = Place::new();
    let decide = |name: &str| project_file(&format!("examples/decide/{name}"));
    let signer = "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=";
    for (command, member) in [
        (&["policy", "explain", &decide("policy.yaml")][..], "lines"),
        (&["policy", "coverage", &decide("cases.yaml")], "hit"),
        (&["key", "new"], "fingerprint"),
        (&["trust", "add", "ci", signer, "--for", "approval"], "for"),
        (&["trust", "remove", "ci"], "signers"),
        (&["api-key", "add", "--api-keys", "keys.json", "bot", "agent"], "key"),
        (&["api-key", "revoke", "--api-keys", "keys.json", "bot"], "revoked"),
    ] {
        let done = place.run(&[command, &["--json"]].concat());
        assert_eq!(done.code, 0, "{command:?}: {done:?}");
        for line in done.stdout.lines() {
            let json = Json::parse(line.as_bytes()).unwrap_or_else(|error| panic!("{error}: {done:?}"));
            assert!(json.as_object().unwrap().contains(member), "{command:?}: {line}");
        }
    }
}
