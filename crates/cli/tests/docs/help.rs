//! The examples in the help of every command.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use proofmark_testing::{once_in_a_run, python_with, skip};

use crate::session::Session;

/// What the examples of the help find in their folder and in their home, made by these commands.
const FIXTURE: &[&str] = &[
    "proofmark examples",
    "cp examples/sort.json request.json; sed '/\"output\": {/,/}/d' examples/sort.json > suite.yaml; cp -r examples/project-python project",
    "printf 'def sort_list(xs):\\n    return sorted(xs)\\n' > solution.py",
    "cp examples/accept/workflow.yaml .; mkdir workflows; cp workflow.yaml workflows",
    "cp examples/accept/attempt2.md response.md; cp examples/accept/trace2.json trace.json",
    "printf 'name: everyone\\nclasses: {mutating: {maxAttempts: 5}}\\n' > workflow-policy.yaml",
    "cp examples/decide/policy.yaml examples/sort.json ..; sed 's,../sort.json,examples/sort.json,' examples/decide/policy.yaml > policy.yaml",
    "cp examples/decide/cases.yaml .; cp examples/commerce/job.json .",
    "for n in 1 2 3; do tr -d '\\n' < request.json | sed \"s/acp-tx-789/task-$n/\"; echo; done > requests.jsonl",
    "mkdir requests; cp request.json requests",
    "mkdir locked; echo '{\"name\": \"a\"}' > locked/package.json",
    "echo '{\"name\": \"a\", \"lockfileVersion\": 3, \"packages\": {\"\": {\"name\": \"a\"}}}' > locked/package-lock.json",
    "echo 'Write the report of the week.' > request.txt",
    "echo secret > passphrase.txt; mkdir ~/.ssh; ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519",
    "proofmark key new default; proofmark key new reviewer",
    "proofmark key show --as pem > issuer.pem; cp issuer.pem verifier.pem",
    "proofmark verify request.json --chain nightly --json > receipt.json; mkdir receipts; cp receipt.json receipts",
    "proofmark receipt head --chain nightly > head.json; proofmark x402 encode receipt.json > headers.txt",
    "sed 's/\"target\": \"production\"/\"target\": \"staging\"/' examples/decide/request.json > action.json",
    "proofmark decide action.json --policy policy.yaml --json > decision.json; test -s decision.json",
    "sed 's/\"target\": \"staging\"/\"target\": \"test\"/' action.json > granted.json",
    "proofmark decide granted.json --policy policy.yaml --json > granted-decision.json; test -s granted-decision.json",
    "proofmark decision approve granted-decision.json --key reviewer --note ok --scope pattern --json --yes > grant.json",
    "sed -n 's/.*\"receipt_id\":\"\\(........\\).*/\\1/p' grant.json > grant-id",
    "HEADER=$(sed -n 's/^X-VRF-Receipt: //p' headers.txt); echo \"HEADER='$HEADER'\" > header.sh; echo \"REQUEST_HASH=0x$(printf 1%.0s $(seq 64))\" >> header.sh",
    "sed -n 's/.*\"decision_id\":\"\\(........\\).*/\\1/p' decision.json > decision-id",
    "sed 's/count: 1/count: 2/' policy.yaml > new.yaml; cp ~/.ssh/id_ed25519.pub ~/.ssh/ann.pub",
    "PROOFMARK_HOME=../ci proofmark key new default; PROOFMARK_HOME=../ci proofmark key show --as pem > ci.pem; cp ci.pem server.pem",
    "echo 'command: [node, --test, examples/project-node/slug.test.js]' > proofmark.yaml",
    "printf '{\"session_id\":\"s1\",\"hook_event_name\":\"PreToolUse\",\"tool_name\":\"Read\",\"tool_input\":{\"file_path\":\"a\"}}' > event.json",
    "sed -n 's/.*\"receipt_id\":\"\\(........\\).*/\\1/p' receipt.json > id",
    "printf 'version: 1\\nclasses: [code_merge]\\nboundaries: [{id: a, match: {action_class: code_merge}}]\\n' > gate.yaml",
    "proofmark log init log.example.org/proofmark; proofmark log add --suite suite.yaml; proofmark log prove receipt.json > receipt.tlog-proof",
    "mkdir reviews; for name in ann bob; do PROOFMARK_HOME=../$name proofmark verify request.json --json > reviews/$name.json; echo \"reviewer $name $(PROOFMARK_HOME=../$name proofmark key show --as signer-id)\" >> reviewers.txt; done; proofmark quorum --receipts reviews --threshold 2 > quorum.jsonl",
    "{ printf 'log '; proofmark log show | sed -n 's/^  key *//p'; echo 'quorum none'; } > policy.txt; cp policy.txt logs.txt",
    "printf 'version: 1\\nrules: [{claim: groups, has: payments, role: agent, tenant: acme}]\\n' > map.yaml",
    "git init -q . && git add project && git commit -q -m one && git init -q --bare ci.git",
];

/// In the help, these are the beginnings of the ids of a receipt, of a decision, and of an approval that reaches further.
const IDS: [(&str, &str); 3] = [("3f2a9c1e", "id"), ("97473953", "decision-id"), ("5b1d0c2a", "grant-id")];

/// A server that shows its log.
const SERVED: &str = "proofmark serve --no-verify --log --policy policy.yaml 2> served.log & for n in $(seq 600); do curl -sf http://127.0.0.1:8700/log/checkpoint && break; sleep 0.1; done";

/// What these commands of the help need before, which would stop the examples of other commands.
const BEFORE: &[(&str, &str)] = &[
    (
        "proofmark run reopen",
        "printf 'reviewers: [{name: ann, key: \"%s\", roles: [owner]}]\n' \"$(proofmark key show reviewer --as signer-id)\" >> workflow.yaml; for n in 1 2 3; do proofmark workflow accept workflow.yaml --step implement --run r1 --response examples/accept/attempt1.md --trace examples/accept/trace1.json; done",
    ),
    (
        "proofmark run",
        "proofmark workflow accept workflow.yaml --step implement --run r1 --response response.md --trace trace.json",
    ),
    (
        "proofmark session",
        "proofmark guard --policy examples/guard/policy.yaml --session nightly -- python3 examples/guard/server.py < /dev/null",
    ),
    (
        "proofmark policy suggest",
        "python3 examples/guard/agent.py proofmark guard --shadow --policy examples/guard/policy.yaml --session nightly -- python3 examples/guard/server.py",
    ),
    ("proofmark gate note", "proofmark verify --dir . --tree HEAD --no-config -- python3 -m pytest project"),
    ("proofmark gate uninstall", "proofmark gate install --pre-push --policy gate.yaml"),
    ("proofmark guard wrap", "proofmark mcp config --into .mcp.json"),
    ("proofmark guard unwrap", "proofmark mcp config --into .mcp.json"),
    ("proofmark log fsck public", "proofmark log mirror public"),
    ("proofmark log mirror public --cosign-as", "proofmark key new mirror"),
    ("proofmark log witness", "proofmark key new witness"),
    ("proofmark log fsck http", SERVED),
    ("proofmark log mirror copy", SERVED),
    ("proofmark log monitor", SERVED),
    (
        "proofmark quorum --request",
        "PROOFMARK_HOME=../cid proofmark serve 2> served.log & for n in $(seq 600); do grep -q ' on http://' served.log && break; sleep 0.1; done",
    ),
    ("proofmark store copy", "proofmark verify request.json --store proofmark.db"),
    ("proofmark trust remove", "proofmark trust add ci ci.pem --for verification"),
    ("proofmark api-key list", "proofmark api-key add --api-keys keys.json support-bot agent"),
    ("proofmark api-key revoke", "proofmark api-key add --api-keys keys.json support-bot agent"),
    // Else npx fetches the package and all that it needs.
    ("npx ", "test -z \"$PROOFMARK_NODE_MODULES\" || ln -s \"$PROOFMARK_NODE_MODULES\" node_modules"),
];

/// A test of each of these commands and its subcommands.
macro_rules! examples_run {
    ($($command:ident),* $(,)?) => {
        /// The commands that have a test.
        const COMMANDS: &[&str] = &[$(stringify!($command)),*];

        mod examples_of {
            $(
                #[test]
                fn $command() {
                    super::examples_run(&stringify!($command).replace('_', "-"));
                }
            )*
        }
    };
}

examples_run!(
    acp,
    api_key,
    completions,
    decide,
    decision,
    doctor,
    env,
    examples,
    finding,
    gate,
    guard,
    hook,
    init,
    key,
    lint,
    log,
    mcp,
    policy,
    quorum,
    receipt,
    review,
    reviewer,
    run,
    serve,
    session,
    setup,
    store,
    suite,
    trust,
    verify,
    work,
    workflow,
    x402,
);

#[test]
fn every_command_has_a_test() {
    let session = Session::new();
    let help = session.run(&["proofmark --help"]).remove(0).output;
    let tested: BTreeSet<_> = COMMANDS.iter().map(|command| command.replace('_', "-")).collect();
    assert_eq!(subcommands(&help).map(str::to_owned).collect::<BTreeSet<_>>(), tested);
    for example in examples(&help) {
        assert!(tested.iter().any(|command| example.starts_with(&format!("proofmark {command} "))), "`{example}`");
    }
}

/// This command and every subcommand, as its words, with its help.
fn commands(session: &Session, command: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open = vec![command.to_owned()];
    while let Some(words) = open.pop() {
        let help = session.run(&[&format!("proofmark {words} --help")]).remove(0).output;
        open.extend(subcommands(&help).map(|name| format!("{words} {name}")));
        found.push((words, help));
    }
    found
}

/// The names of the commands that a help lists: in groups for the whole program, below `Commands:` for others.
fn subcommands(help: &str) -> impl Iterator<Item = &str> {
    let listed = help.lines().skip_while(|line| !line.starts_with("Usage:"));
    let listed = listed.take_while(|line| !["Arguments:", "Options:", "Global options:"].contains(line));
    let names = listed.filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
    names.filter(|name| !["help", "proofmark", "|"].contains(name) && name.starts_with(|c: char| c.is_lowercase()))
}

/// The commands below `Example:` or `Examples:`.
fn examples(help: &str) -> Vec<&str> {
    let after = help.lines().skip_while(|line| !matches!(*line, "Example:" | "Examples:")).skip(1);
    after.map_while(|line| line.strip_prefix("  ")).collect()
}

/// Runs every example of a command and of its subcommands, each in a copy of the fixture.
fn examples_run(command: &str) {
    if std::env::var_os("PROOFMARK_PYTHON").is_none() {
        return skip("python", "PROOFMARK_PYTHON names no Python with pytest");
    }
    if python_with("pytest", "pytest").is_none() {
        return;
    }
    let fixture = fixture();
    let ids = IDS.map(|(shown, file)| (shown, std::fs::read_to_string(fixture.join("work").join(file)).unwrap()));
    let mut count = 0;
    for (words, help) in commands(&Session::new(), command) {
        for example in examples(&help) {
            count += 1;
            let command = ids.iter().fold(example.to_owned(), |command, (shown, id)| command.replace(shown, id.trim()));
            let serves = example.starts_with("proofmark serve") && !example.contains("--check");
            let serves = serves || example.contains("--upstream") || example.starts_with("proofmark log witness");
            let works = example.starts_with("proofmark work ") || example == "proofmark work";
            let command = match (serves || works, example.contains("--watch")) {
                (true, _) => served(&command, if works { "^runs " } else { " on http://" }),
                (false, true) => interrupted(&command),
                (false, false) => command,
            };
            let before =
                BEFORE.iter().find(|(prefix, _)| example.starts_with(prefix)).map_or("true", |(_, before)| before);
            let done = Session::copy_of(&fixture).run(&[". ./header.sh", before, &command]).remove(2);
            // 0 and 1 are answers; 2 is wrong usage, a missing file, or no answer.
            assert!(
                matches!(done.code, Some(0 | 1)),
                "{words}: `{example}` exits with {:?}\n{}",
                done.code,
                done.output
            );
        }
    }
    assert!(count > 0, "`proofmark {command} --help` has no example");
}

/// A folder with what [`FIXTURE`] makes, which the tests of one run share.
fn fixture() -> PathBuf {
    once_in_a_run(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("help"), |made| {
        let session = Session::new();
        for (command, done) in FIXTURE.iter().zip(session.run(FIXTURE)) {
            // Only the decision is a no.
            assert_eq!(done.code, Some(0), "{command}: {}", done.output);
        }
        session.copy_to(made);
    })
}

/// A command that runs until Ctrl-C, which it answers with 130.
fn interrupted(example: &str) -> String {
    format!("timeout --preserve-status -s INT 15 {example}; test $? = 130")
}

/// The command, ended by SIGTERM as soon as it says that it serves.
fn served(example: &str, said: &str) -> String {
    format!(
        "{example} 2> served.log & server=$!; for n in $(seq 600); do grep -q '{said}' served.log && break; sleep 0.1; done; cat served.log; kill $server; wait $server"
    )
}
