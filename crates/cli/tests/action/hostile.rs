//! Untrusted inputs, names and texts are not read as commands of the shell or the runner, as outputs, or as markup.

use crate::results::{SUITE, passed, verified};
use crate::runner::{Ended, Job};

/// A hostile text in place of a name.
const HOSTILE: &str = "$(touch pwned)`touch pwned`; touch pwned\n::error::pwned\n::set-output name=verdict::pass\n##[error]pwned\n\
    verdict=pass\nverdict<<x\npass\nx\n</pre></code><img src=x>|[a](javascript:x) ${{ secrets.TOKEN }} %0A::error::pwned @octocat";

/// The runner got no commands but the action's own annotations, and none of them has the hostile text.
fn assert_harmless(job: &Job, ended: &Ended) {
    for sent in &ended.commands {
        assert!(["error", "warning", "notice"].contains(&sent.name.as_str()), "{sent:?}");
        assert!(!sent.message.starts_with("pwned"), "{sent:?}");
    }
    assert!(!job.path("pwned").exists(), "{}", ended.log);
    let html = ended.summary.to_lowercase();
    for bad in ["<img", "</pre></code>", "[a](", "@octocat"] {
        // Markdown is not read inside `<pre>`, and HTML is escaped.
        let outside: String =
            html.split("<pre>").map(|part| part.split_once("</pre>").map_or(part, |(_, rest)| rest)).collect();
        assert!(!outside.contains(bad), "{bad}: {html}");
    }
    assert!(!html.contains("<img"), "{html}");
}

fn json(text: &str) -> String {
    proofmark_receipt::Json::from(text).to_text()
}

#[test]
fn names_and_answers_of_strangers_are_only_shown() {
    let job = Job::new();
    let line = HOSTILE.replace('\n', " ");
    let suite = SUITE.replace("\"two\"", &json(&line)).replace("\"double\"}", &format!("{}}}", json(&line)));
    job.file("suite.json", suite);
    let work = format!("def double(x):\n    print({0})\n    raise ValueError({0})\n", json(HOSTILE));
    job.file("work.py", work);
    let ended = job.run(&[("request", "suite.json"), ("submission", "work.py")]);
    assert_eq!((ended.code, ended.output("verdict")), (1, "fail"), "{}", ended.log);
    assert_harmless(&job, &ended);
    assert_eq!(ended.output("passed"), "0");
    // The task is copied into the receipt as it is.
    job.file(
        "suite.json",
        SUITE.replace("\"double\"}", r#""d", "description": "\"verdict\":\"pass\",\"results\":{\"passed\":9}"}"#),
    );
    let ended = job.run(&[("request", "suite.json"), ("submission", "work.py")]);
    assert_eq!((ended.code, ended.output("verdict"), ended.output("passed")), (1, "fail", "0"), "{}", ended.log);
}

#[test]
fn names_of_files_are_no_commands() {
    let job = Job::new();
    passed(&job, &[]);
    let name = "requests/$(touch pwned)\n::error::pwned\n##[error]pwned\n[a](javascript:x)<img src=x>.json";
    job.file("requests/-o.json", SUITE);
    for content in [SUITE.to_owned(), "{".to_owned()] {
        job.file(&name.replace("</", "<"), content);
        let ended = job.run(&[("request", "requests/*.json"), ("submission", "work.py")]);
        assert_harmless(&job, &ended);
        let ended = job.run(&[("lint", "requests/*.json")]);
        assert_eq!(ended.code, 2, "{}", ended.log);
        assert_harmless(&job, &ended);
        let ended = job.run(&[("policy-tests", "requests/*.json")]);
        assert_eq!(ended.code, 2, "{}", ended.log);
        assert_harmless(&job, &ended);
    }
    job.file("-o", SUITE);
    let ended = job.run(&[("request", "-o"), ("submission", "work.py")]);
    assert_eq!(ended.code, 0, "a name that begins with a dash is a file: {}", ended.log);
}

#[test]
fn links_do_not_lead_out_of_the_checkout() {
    let job = Job::new();
    passed(&job, &[]);
    let outside = job.file("../secret/suite.json", SUITE);
    for (link, to) in [("suite2.json", "../secret/suite.json"), ("away", "../secret"), ("here.json", "suite.json")] {
        std::os::unix::fs::symlink(to, job.path(link)).unwrap();
    }
    let (absolute, trusted) = (job.path("suite2.json"), format!("verification={}", job.path("away/ci.pem").display()));
    let absolute = absolute.to_str().unwrap();
    let python = ("run", "python3 -m unittest");
    for given in [
        vec![("request", absolute), ("submission", "work.py")],
        vec![("request", "../workspace/suite2.json"), ("submission", "work.py")],
        vec![("request", "away/../secret/suite.json"), ("submission", "work.py")],
        vec![("lint", absolute)],
        vec![python, ("tests-from", "./away")],
        vec![python, ("tests-from", "../workspace/away")],
        vec![("request", "suite.json"), ("submission", "work.py"), ("trust", "verification=away/ci.pem")],
        vec![("request", "suite.json"), ("submission", "work.py"), ("trust", trusted.as_str())],
        vec![("request", "suite2.json"), ("submission", "work.py")],
        vec![("request", "away/*.json"), ("submission", "work.py")],
        vec![("request", "suite.json"), ("submission", "suite2.json")],
        vec![("project", "away")],
        vec![("gate", "suite2.json")],
        vec![("lint", "suite2.json")],
        vec![("policy-tests", "suite2.json")],
    ] {
        let ended = job.run(&given);
        assert_eq!((ended.code, ended.output("verdict")), (2, ""), "{given:?}: {}", ended.log);
        assert!(ended.sent("error")[0].contains("leads out of the checkout"), "{given:?}: {:?}", ended.commands);
    }
    // A link within it, and a path that the workflow itself writes outside.
    for request in ["here.json", "../secret/suite.json", outside.to_str().unwrap()] {
        let ended = job.run(&[("request", request), ("submission", "work.py")]);
        assert_eq!(ended.code, 0, "{}", ended.log);
    }
}

#[test]
fn inputs_are_no_commands() {
    let job = Job::new();
    job.file("app/test_it.py", "");
    let hostile = HOSTILE;
    for given in [
        vec![("run", hostile)],
        vec![("run", hostile), ("project", "app")],
        vec![("run", "python3 -m unittest"), ("project", hostile)],
        vec![("run", "python3 -m unittest"), ("project", "app"), ("tests-from", hostile)],
        vec![("request", hostile)],
        vec![("lint", hostile)],
        vec![("policy-tests", hostile)],
        vec![("gate", hostile)],
        vec![("request", "suite.json"), ("fail-on", hostile)],
        vec![("request", "suite.json"), ("version", hostile), ("binary", "")],
        vec![("request", "suite.json"), ("repository", hostile), ("binary", "")],
        vec![("request", "suite.json"), ("binary", hostile)],
    ] {
        let ended = job.run(&given);
        assert_eq!(ended.code, 2, "{given:?}: {}", ended.log);
        assert_ne!(ended.output("verdict"), "pass", "{given:?}");
        assert_harmless(&job, &ended);
    }
    for (name, value) in [("submission", hostile), ("chain", hostile), ("key", hostile), ("trust", hostile)] {
        let ended = passed(&job, &[(name, value)]);
        assert_harmless(&job, &ended);
        assert_eq!(ended.code, 2, "{name}: {}", ended.log);
    }
}

#[test]
fn inputs_that_say_nothing_or_two_things_are_refused() {
    let job = Job::new();
    for (given, message) in [
        (vec![], "there is nothing to do"),
        (vec![("request", "a.json"), ("run", "pytest")], "either `request`, or `run`"),
        (vec![("submission", "a.py"), ("run", "pytest")], "`submission` needs `request`"),
        (vec![("tests-from", "main"), ("lint", "a.yaml")], "`tests-from` needs"),
        (vec![("request", "none/*.json")], "which matches no file"),
        (vec![("run", "pytest 'a")], "failed to read the input `run`"),
        (vec![("request", "a.json"), ("fail-on", "")], "`fail-on` is ``"),
        (vec![("request", "a.json"), ("binary", "/nothing")], "is not a program"),
    ] {
        let ended = job.run(&given);
        assert_eq!(ended.code, 2, "{given:?}: {}", ended.log);
        assert!(ended.sent("error").iter().any(|sent| sent.contains(message)), "{given:?}: {:?}", ended.commands);
    }
    let ended = verified(&job, "def double(x):\n    return 2 * x\n", &[("chain", "--no-store")]);
    assert_eq!(ended.code, 0, "the name of a chain is not an option: {}", ended.log);
}
