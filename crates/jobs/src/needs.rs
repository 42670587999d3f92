//! What a job needs and what a process runs, as texts that the store compares.
//!
//! A process that runs nothing but constraints says the empty text; one that runs code also says each language, each language
//! with the version of an interpreter, and [`CODE`] unless it runs some languages alone. A job needs one of these.

use std::collections::BTreeSet;

use proofmark_checks::{Checks, Language, Request};
use proofmark_receipt::document::shown;
use proofmark_sandbox::Runtime;
use proofmark_store::StoredWorker;

/// What a job needs that runs nothing.
pub(super) const NOTHING: &str = "";
/// What a job needs that any process which runs code may have: to answer that it has no such interpreter.
pub(super) const CODE: &str = "code";

/// What a process says that has these interpreters, of these languages alone where they are named.
pub(super) fn of_host(runtimes: &[(Language, String)], only: Option<&[Language]>) -> Vec<String> {
    let chosen = runtimes.iter().filter(|(language, _)| only.is_none_or(|only| only.contains(language)));
    let names = chosen.flat_map(|(language, version)| [language.to_string(), format!("{language} {version}")]);
    let names: BTreeSet<String> = names.collect();
    let any = only.is_none().then_some(CODE);
    std::iter::once(NOTHING).chain(any).map(str::to_owned).chain(names).collect()
}

/// What the job of a request needs, given the processes that are known.
pub(super) fn of_request(request: &Request, known: &[StoredWorker]) -> String {
    let (language, demand) = match &request.checks {
        Checks::Suite(suite) => (suite.language, &suite.runtime),
        Checks::Command(command) => (command.language, &command.runtime),
        Checks::Constraints { .. } => return NOTHING.to_owned(),
    };
    let word = language.to_string();
    let runs = known.iter().filter_map(|worker| worker.presence.runs.as_ref()).flatten();
    let runs: BTreeSet<&str> = runs.map(String::as_str).filter(|name| *name != NOTHING).collect();
    // Where one may come that has the language, the job waits for it. Where processes are known that run whatever they can, and
    // none has the language, one of them says so.
    if runs.contains(CODE) && !runs.contains(word.as_str()) {
        return CODE.to_owned();
    }
    let Some(demand) = demand else { return word };
    let of_language = format!("{word} ");
    let versions: Vec<&str> = runs.iter().filter_map(|name| name.strip_prefix(of_language.as_str())).collect();
    let fits = |version: &&str| Runtime::satisfies(language, version, demand);
    match versions.iter().copied().find(fits) {
        Some(version) if !versions.iter().all(fits) => format!("{of_language}{version}"),
        Some(_) | None => word,
    }
}

/// Why no process that lives runs a job with this need; none where one does. `known` are the processes that live, and those that
/// did not long ago.
pub(super) fn lacking(need: &str, known: &[StoredWorker]) -> Option<String> {
    let fronts: Vec<&Vec<String>> =
        known.iter().filter(|one| one.is_alive).filter_map(|one| one.presence.admits.as_ref()).collect();
    // One that a server does not admit claims nothing.
    let claims = |one: &&StoredWorker| one.is_alive && fronts.iter().all(|front| front.contains(&one.presence.signer));
    let runs = |one: &StoredWorker| one.presence.runs.clone();
    let living: Vec<Vec<String>> = known.iter().filter(claims).filter_map(runs).collect();
    let is_run = |by: &[String]| by.iter().any(|name| name == need);
    if living.iter().any(|runs| is_run(runs)) {
        return None;
    }
    // What nobody runs is claimed by those that run whatever they can, and by servers without isolation: to say so.
    let is_for_any = !known.iter().filter_map(runs).any(|runs| is_run(&runs));
    let takes_any = |runs: &Vec<String>| runs.len() == 1 || runs.iter().any(|name| name == CODE);
    if is_for_any && living.iter().any(takes_any) {
        return None;
    }
    Some(match (living.is_empty(), need) {
        (true, _) => "no worker lives".to_owned(),
        (false, CODE) => "no worker lives that runs code of every language".to_owned(),
        (false, need) => format!("no worker lives that runs {}", shown(need)),
    })
}

/// The languages that processes run who say this.
pub(super) fn languages(runs: &[String]) -> impl Iterator<Item = Language> {
    Language::ALL.into_iter().filter(|language| runs.contains(&language.to_string()))
}

#[cfg(test)]
mod tests {
    use proofmark_checks::Format;
    use proofmark_store::Presence;

    use super::*;

    fn worker(runtimes: &[(Language, &str)], only: Option<&[Language]>) -> StoredWorker {
        let runtimes: Vec<_> = runtimes.iter().map(|(language, version)| (*language, (*version).to_owned())).collect();
        let runs = Some(of_host(&runtimes, only));
        StoredWorker { presence: Presence { runs, ..Presence::default() }, is_alive: true, seen_at: 0 }
    }

    fn needs(runtime: Option<&str>, known: &[StoredWorker]) -> String {
        let runtime = runtime.map(|runtime| format!("\"runtime\": \"{runtime}\",")).unwrap_or_default();
        let text = format!(
            r#"{{"output": {{"content": "def f(x): return x"}}, "verification": {{"kind": "test_suite", {runtime}
                "language": "python", "mode": "call", "entrypoint": "f", "tests": [
                {{"name": "one", "input": [1], "expected_output": 1}}]}}}}"#
        );
        of_request(&Request::read(text.as_bytes(), Format::Json, None).unwrap(), known)
    }

    #[test]
    fn a_job_needs_what_the_known_processes_tell_apart() {
        let (old, new) = (worker(&[(Language::Python, "3.11.7")], None), worker(&[(Language::Python, "3.12.1")], None));
        let node =
            worker(&[(Language::JavaScript, "20.1.0"), (Language::Python, "3.11.7")], Some(&[Language::JavaScript]));
        let ruby = worker(&[(Language::Ruby, "3.1.2")], None);
        assert_eq!(node.presence.runs.clone().unwrap(), ["", "javascript", "javascript 20.1.0"]);
        assert_eq!(ruby.presence.runs.clone().unwrap(), ["", "code", "ruby", "ruby 3.1.2"]);
        for (runtime, known, expected) in [
            (None, vec![], "python"),
            (None, vec![&old, &node], "python"),
            (None, vec![&node], "python"),
            (None, vec![&node, &ruby], "code"),
            (Some("python3.12"), vec![], "python"),
            (Some("python3.12"), vec![&old, &new], "python 3.12.1"),
            (Some("3.11.7"), vec![&old, &new], "python 3.11.7"),
            (Some("python3"), vec![&old, &new], "python"),
            // One that has Python says that it has no such version.
            (Some("python2.1"), vec![&old, &new], "python"),
        ] {
            let known: Vec<_> = known.into_iter().cloned().collect();
            assert_eq!(needs(runtime, &known), expected, "{runtime:?}");
        }
        let dead = |worker: &StoredWorker| StoredWorker { is_alive: false, ..worker.clone() };
        for (need, known, why) in [
            ("python", vec![], Some("no worker lives")),
            ("", vec![node.clone()], None),
            ("javascript", vec![node.clone()], None),
            ("python", vec![node.clone()], Some("no worker lives that runs python")),
            // One that runs whatever it can says that it cannot run this; but not where one may come back that can.
            ("javascript", vec![old.clone()], None),
            ("javascript", vec![old.clone(), dead(&node)], Some("no worker lives that runs javascript")),
            ("python 3.12.1", vec![old.clone(), dead(&new)], Some("no worker lives that runs python 3.12.1")),
            ("code", vec![node.clone()], Some("no worker lives that runs code of every language")),
            ("javascript", vec![dead(&node)], Some("no worker lives")),
        ] {
            assert_eq!(lacking(need, &known).as_deref(), why, "{need}");
        }
        let admits = |signers: &[&str]| {
            let admits = Some(signers.iter().map(|&signer| signer.to_owned()).collect());
            StoredWorker { presence: Presence { admits, ..Presence::default() }, is_alive: true, seen_at: 0 }
        };
        assert_eq!(lacking("python", &[old.clone(), admits(&[""])]), None);
        assert_eq!(lacking("python", &[old.clone(), admits(&[""]), admits(&[])]).unwrap(), "no worker lives");
        assert_eq!(languages(node.presence.runs.as_deref().unwrap()).collect::<Vec<_>>(), [Language::JavaScript]);
    }
}
