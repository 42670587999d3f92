//! What a project's command runs in, and where its results are read.

use proofmark_checks::limits::MAX_FOLDERS;
use proofmark_checks::{
    Caps, CaseOutcome, Checks, Command, End, Fault, Format, HostFolder, MAX_FILES, Need, Outcome, PROJECT_SETTINGS,
    Program, Project, Report, ReportForm, Request, RequestError, Runner, Written, check_settings, file_content,
};
use proofmark_receipt::document::Field;
use proofmark_receipt::{Json, Verdict};
use serde_json::{Value, json};

fn request(files: Value, verification: Value) -> Result<Request, RequestError> {
    let mut all = json!({"kind": "test_suite", "mode": "command"});
    all.as_object_mut().unwrap().extend(verification.as_object().unwrap().clone());
    let text = json!({"output": {"files": files}, "verification": all}).to_string();
    Request::read(text.as_bytes(), Format::Json, None)
}

fn command(words: &[&str], more: Value) -> Result<Command, RequestError> {
    let mut verification = json!({"command": words});
    verification.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    match request(json!({"a": ""}), verification)?.checks {
        Checks::Command(command) => Ok(*command),
        other => panic!("{other:?}"),
    }
}

fn project(request: &Request) -> Project {
    match request.plan(&Caps::default()).unwrap().submission.unwrap().program {
        Program::Command(project) => *project,
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_command_and_the_request_say_where_the_results_are() {
    let file = |name: &str| Report::File(name.to_owned());
    let (tap, junit) = (Report::Stdout(ReportForm::Tap), Report::Stdout(ReportForm::JUnit));
    let (pytest, node) = (Some(Runner::Pytest), Some(Runner::NodeTest));
    let own = || file(".proofmark-report.xml");
    let table: [(&[&str], Value, _, Report); 26] = [
        (&["pytest"], json!({}), pytest, own()),
        (&["python3", "-m", "pytest", "-q"], json!({}), pytest, own()),
        (&["python3", "-X", "dev", "-Bm", "pytest"], json!({}), pytest, own()),
        (&["python3", "-W", "error", "-mpytest"], json!({}), pytest, own()),
        (&["pytest", "--junitxml=r.xml"], json!({}), pytest, file("r.xml")),
        (&["pytest", "--junit-xml", "r.xml"], json!({}), pytest, file("r.xml")),
        (&["pytest", "--junitxml=/tmp/r.xml"], json!({}), pytest, own()),
        (&["pytest"], json!({"report": "r.xml"}), pytest, file("r.xml")),
        (&["python3", "a.py", "-m", "pytest"], json!({}), None, Report::ExitStatus),
        (&["python3", "-c", "1", "-m", "pytest"], json!({}), None, Report::ExitStatus),
        (&["python3", "-m", "unittest"], json!({"report": "r.xml"}), None, file("r.xml")),
        (&["node", "--test"], json!({}), node, tap.clone()),
        (&["node", "--test", "--test-reporter", "junit"], json!({}), node, junit.clone()),
        (&["node", "--test", "--test-reporter=spec"], json!({"report": "r.tap"}), node, file("r.tap")),
        (&["node", "a.js"], json!({}), None, Report::ExitStatus),
        (&["node", "a.js", "--test"], json!({}), None, Report::ExitStatus),
        (&["node", "-e", "1", "--test"], json!({}), None, Report::ExitStatus),
        (&["node", "--no-warnings", "--import", "./a.js", "--test", "b.js"], json!({}), node, tap.clone()),
        (&["bash", "a.sh"], json!({}), None, Report::ExitStatus),
        (&["rspec", "a.sh"], json!({}), Some(Runner::Rspec), file(".proofmark-report.tap")),
        (&["ruby", "-Itest", "a.sh"], json!({}), Some(Runner::Minitest), file(".proofmark-report.tap")),
        (&["ruby", "-Itest", "a.sh"], json!({"report": "stdout:tap"}), None, tap.clone()),
        (&["ruby", "a.sh"], json!({}), None, Report::ExitStatus),
        (&["bats", "a.sh"], json!({}), Some(Runner::Bats), tap.clone()),
        (&["bash", "a.sh"], json!({"report": "stdout:tap"}), None, tap),
        (&["bash", "a.sh"], json!({"report": "stdout:junit"}), None, junit),
    ];
    for (words, more, runner, report) in table {
        let read = command(words, more.clone()).unwrap();
        assert_eq!((read.runner, read.report), (runner, report), "{words:?} {more}");
    }
    let unittest = command(&["python3", "-B", "-m", "unittest", "-v"], json!({})).unwrap();
    assert_eq!((unittest.runner, unittest.report), (Some(Runner::Unittest), file(".proofmark-report.tap")));
    let [first, code, script, last] = unittest.arguments.as_slice() else { panic!("{:?}", unittest.arguments) };
    assert_eq!((first.as_str(), code.as_str(), last.as_str()), ("-B", "-c", "-v"));
    assert!(script.contains("unittest.main"));
}

#[test]
fn a_reporter_that_cannot_be_read_is_refused() {
    let table: [&[&str]; 3] = [
        &["node", "--test", "--test-reporter=./own.js"],
        &["node", "--test", "--test-reporter=tap", "--test-reporter-destination=r.tap"],
        &["node", "--test", "--test-reporter=tap", "--test-reporter=spec"],
    ];
    for words in table {
        let error = command(words, json!({})).unwrap_err();
        assert_eq!(error.code(), "invalid_value", "{words:?}");
        assert!(error.help().is_some_and(|help| help.contains("`report`")), "{error}");
    }
}

/// Scripts of `package.json` often name how their tests are shown.
#[test]
fn a_reporter_for_people_gives_way_to_one_that_is_read() {
    for (words, without) in [
        (&["node", "--test", "--test-reporter", "spec", "t.js"][..], &["node", "--test", "t.js"][..]),
        (&["node", "--test", "--test-reporter=dot", "--test-reporter-destination=stdout"], &["node", "--test"]),
        (&["mocha", "spec", "-R", "spec"], &["mocha", "spec"]),
        (&["mocha", "--reporter=dot", "spec"], &["mocha", "spec"]),
        (&["tap", "-R", "min", "test"], &["tap", "test"]),
    ] {
        let (shown, plain) = (command(words, json!({})).unwrap(), command(without, json!({})).unwrap());
        assert_eq!((shown.arguments, shown.report), (plain.arguments, plain.report), "{words:?}");
    }
}

#[test]
fn a_report_that_was_submitted_is_not_there_before_the_run() {
    let stale = json!({".proofmark-report.xml": "<x/>", "a.py": ""});
    let project_of = |files: Value, more: Value| project(&request(files, more).unwrap());
    let paths = |project: &Project| project.files.iter().map(|file| file.path.clone()).collect::<Vec<_>>();
    assert_eq!(paths(&project_of(stale, json!({"command": ["pytest"]}))), ["a.py"]);
    let table = [json!({"r.xml": "", "a": ""}), json!({"r.xml/x": "", "a": ""}), json!({"a": ""})];
    for files in table {
        let more = json!({"command": ["bash", "a"], "report": "r.xml", "files": {"r.xml": ""}});
        assert_eq!(paths(&project_of(files, more)), ["a"]);
    }
}

#[test]
fn files_that_cannot_be_laid_out_are_the_submissions_fault() {
    let many: serde_json::Map<String, Value> =
        (0..=MAX_FOLDERS / 2).map(|index| (format!("{index}/a/b"), json!(""))).collect();
    let large = json!({"a": "x".repeat(1 << 20), "b": ""});
    let own = json!({"command": ["bash", "run.sh"], "files": {"run.sh": "true", "in/y": ""}});
    let table = [
        (json!({"run.sh/x": ""}), own.clone(), "`run.sh/x`"),
        (json!({"in": ""}), own, "`in`"),
        (Value::Object(many), json!({"command": ["bash", "a"]}), "folders"),
        (large, json!({"command": ["bash", "a"], "limits": {"disk_mb": 1}, "files": {"c": "x"}}), "disk"),
    ];
    for (files, verification, words) in table {
        let request = request(files, verification).unwrap();
        assert_eq!(request.plan(&Caps::default()).unwrap().submission, None, "{words}");
        let judgment = request.judge(None, None);
        assert_eq!((judgment.verdict, judgment.fault), (Verdict::Fail, Some(Fault::Submission)), "{words}");
        let message = judgment.results.details.first().unwrap().message.clone().unwrap();
        assert!(message.contains(words), "{message}");
    }
    let error = request(json!({format!("{:256}", "x"): ""}), json!({"command": ["bash", "a"]})).unwrap_err();
    assert_eq!(error.code(), "invalid_value");
    let error = request(
        json!({"a": ""}),
        json!({"command": ["bash", "a"], "limits": {"disk_mb": 1}, "files": {"c": "x".repeat((1 << 20) + 1)}}),
    )
    .unwrap_err();
    assert_eq!(error.code(), "too_many");
}

#[test]
fn a_host_without_the_runner_is_not_the_submissions_fault() {
    let request = request(json!({"a": ""}), json!({"command": ["pytest"]})).unwrap();
    assert_eq!(project(&request).needs, Some(Need::Package("pytest")));
    let end = End::Unavailable("failed to find the package `pytest`".to_owned());
    let cases = vec![CaseOutcome {
        end,
        elapsed: std::time::Duration::ZERO,
        timeout: std::time::Duration::ZERO,
        written: Written::default(),
        inside: None,
    }];
    let judgment =
        request.judge(Some(&Outcome { runtime: "python3.11".to_owned(), cases, ..Outcome::default() }), None);
    assert_eq!((judgment.verdict, judgment.fault), (Verdict::Error, Some(Fault::Verifier)));
}

#[test]
fn a_command_may_be_one_line() {
    let words = |line: &str| command(&[], json!({"command": line})).map(|command| command.words);
    assert_eq!(words("pytest -q  'a b' x\"y z\"w ''").unwrap(), ["pytest", "-q", "a b", "xy zw", ""]);
    assert_eq!(words("pytest -k 'a|b && $c'").unwrap(), ["pytest", "-k", "a|b && $c"]);
    for line in ["pytest | tee x", "pytest && true", "pytest $X", "pytest 'open", "", "pytest tests/*.py", "a\\ b"] {
        assert_eq!(words(line).unwrap_err().code(), "invalid_value", "{line}");
    }
    assert_eq!(words("make test").unwrap_err().code(), "unsupported");
    assert_eq!(command(&[], json!({"command": 1})).unwrap_err().code(), "wrong_type");
}

#[test]
fn runners_of_node_are_made_to_report() {
    let (xml, tap) =
        (Report::File(".proofmark-report.xml".to_owned()), Report::File(".proofmark-report.tap".to_owned()));
    let stdout = Report::Stdout(ReportForm::Tap);
    let table: [(&[&str], _, _, &str); 12] = [
        (&["npx", "vitest", "run"], Runner::Vitest, xml.clone(), "node_modules/vitest/vitest.mjs"),
        (&["npx", "--no-install", "vitest"], Runner::Vitest, xml.clone(), "node_modules/vitest/vitest.mjs"),
        (&["node", "node_modules/.bin/vitest"], Runner::Vitest, xml.clone(), "node_modules/vitest/vitest.mjs"),
        (&["node", "./node_modules/vitest/vitest.mjs"], Runner::Vitest, xml.clone(), "node_modules/vitest/vitest.mjs"),
        (&["mocha", "--", "x"], Runner::Mocha, xml, "node_modules/mocha/bin/mocha.js"),
        (&["jest", "--ci"], Runner::Jest, tap.clone(), "node_modules/jest/bin/jest.js"),
        (&["npx", "jest"], Runner::Jest, tap.clone(), "node_modules/jest/bin/jest.js"),
        (&["node", "node_modules/jest/bin/jest.js"], Runner::Jest, tap, "node_modules/jest/bin/jest.js"),
        (&["tap", "--disable-coverage"], Runner::Tap, stdout.clone(), "node_modules/tap/dist/esm/run.mjs"),
        (&["tape", "test/*.js"], Runner::Tape, stdout.clone(), "node_modules/tape/bin/tape"),
        (&["npx", "ava"], Runner::Ava, stdout.clone(), "node_modules/ava/entrypoints/cli.mjs"),
        (&["ava", "--tap"], Runner::Ava, stdout.clone(), "node_modules/ava/entrypoints/cli.mjs"),
    ];
    for (words, runner, report, script) in table {
        let read = command(words, json!({})).unwrap();
        assert_eq!(
            (read.runner, read.report, read.script.as_deref()),
            (Some(runner), report, Some(script)),
            "{words:?}"
        );
        let has_reporter = read.files.iter().any(|file| file.path == ".proofmark-jest.cjs" && file.content.bytes() > 0);
        assert_eq!(has_reporter, runner == Runner::Jest, "{words:?}");
    }
    let own = command(&["npx", "vitest", "--reporter=junit", "--outputFile=r.xml"], json!({})).unwrap();
    assert_eq!((own.report, own.arguments.len()), (Report::File("r.xml".to_owned()), 3));
    let asked = command(&["jest"], json!({"report": "r.xml"})).unwrap();
    assert_eq!((asked.report, asked.arguments.len()), (Report::File("r.xml".to_owned()), 1));
    let other = command(&["node", "node_modules/.bin/uvu"], json!({})).unwrap();
    assert_eq!(
        (other.runner, other.report, other.script.as_deref()),
        (None, Report::ExitStatus, Some("node_modules/.bin/uvu"))
    );
    assert_eq!(command(&["vitest", "--outputFile=x.json"], json!({})).unwrap_err().code(), "invalid_value");
    // The reporter is Proofmark's, whatever the project has at its path.
    let request = request(json!({".proofmark-jest.cjs": "forged"}), json!({"command": ["jest"]})).unwrap();
    assert!(project(&request).files.iter().all(|file| file.content.here() != Some(b"forged".as_slice())));
}

#[test]
fn a_program_that_cannot_be_run_has_another_in_its_place() {
    let package = json!({"package.json": r#"{"scripts": {"test": "vitest run"}}"#});
    let help = |words: &[&str]| {
        let error = request(package.clone(), json!({"command": words})).unwrap_err();
        assert_eq!(error.code(), "unsupported", "{words:?}");
        error.help().unwrap()
    };
    let table: [(&[&str], &str); 10] = [
        (&["npm", "test"], "`vitest run`"),
        (&["npm", "run", "test"], "`vitest run`"),
        (&["yarn", "lint"], "`node --test`"),
        (&["uv", "run", "pytest", "-q"], "`pytest -q`"),
        (&["npx", "tsc"], "node_modules/.bin/tsc"),
        (&["make", "test"], "the rule runs"),
        (&["cargo", "test"], "no compilers"),
        (&["python3.12", "-m", "pytest"], "`runtime: python3.12`"),
        (&["PYTHONPATH=src", "pytest"], "`env`"),
        (&["zsh"], "`bash`"),
    ];
    for (words, part) in table {
        assert!(help(words).contains(part), "{words:?}: {}", help(words));
    }
}

#[test]
fn files_that_are_not_text_are_in_base64() {
    let files = json!({"a": "", "b": {"base64": "AAH/"}});
    let bytes = project(&request(files, json!({"command": ["bash", "a"]})).unwrap()).files;
    assert_eq!(bytes.last().unwrap().content.here().unwrap(), [0, 1, 255]);
    assert_eq!(file_content(&vec![0, 1, 255].into()).to_text(), r#"{"base64":"AAH/"}"#);
    assert_eq!(file_content(&b"text".to_vec().into()).to_text(), r#""text""#);
    let table = [
        (json!({"base64": "AAH"}), "invalid_value"),
        (json!({"base64": "A A H /"}), "invalid_value"),
        (json!({"base64": 1}), "wrong_type"),
        (json!({}), "missing_field"),
        (json!({"base64": "", "x": 1}), "unknown_field"),
        (json!(1), "wrong_type"),
    ];
    for (content, code) in table {
        assert_eq!(request(json!({"b": content}), json!({"command": ["bash", "b"]})).unwrap_err().code(), code);
    }
    // What `sha256sum` prints of the bytes.
    let digest = |bytes: &[u8]| proofmark_receipt::Sha256Digest::of(bytes);
    let line = format!("{}  b\n", digest(&[0, 1, 255]).bare_hex());
    let request = request(json!({"b": {"base64": "AAH/"}}), json!({"command": ["bash", "b"]})).unwrap();
    assert_eq!(request.hashes.output, digest(line.as_bytes()));
}

#[test]
fn a_file_that_the_command_names_and_nobody_gave_is_found_before_the_run() {
    let files = json!({"a.py": "", "tests/test_a.py": "", "src/index.js": "", "run.sh": ""});
    let unusable = |words: &[&str], own: Value| {
        let request = request(files.clone(), json!({"command": words, "files": own})).unwrap();
        match &request.checks {
            Checks::Command(command) => (command.unusable.clone(), request.plan(&Caps::default()).unwrap().submission),
            other => panic!("{other:?}"),
        }
    };
    let missing: [&[&str]; 10] = [
        &["pytest", "-q", "tests/test_b.py"],
        &["pytest", "tests/test_b.py::test_x[1/2]"],
        &["pytest", "--verbose", "test"],
        &["python3", "-m", "pytest", "-k", "x", "nowhere"],
        &["python3", "-X", "dev", "b.py"],
        &["python3", "-m", "unittest", "tests/test_b.py"],
        &["node", "--test", "b.test.js"],
        &["node", "b.js"],
        &["bash", "b.sh"],
        &["bash", "./b.sh", "argument"],
    ];
    for words in missing {
        let (unusable, job) = unusable(words, json!({}));
        let unusable = unusable.unwrap_or_else(|| panic!("{words:?}"));
        assert!(job.is_none() && unusable.missing.is_some() && !unusable.by_request, "{words:?}");
    }
    let there: [&[&str]; 17] = [
        &["pytest", "-q", "tests"],
        &["pytest", "./tests/test_a.py::test_x", "tests/"],
        &["pytest", "-k", "nowhere", "-m", "slow", "-n", "4", "--rootdir", "x", "."],
        &["pytest", "--pyargs", "package"],
        &["pytest", "--junitxml=out/r.xml", "--cov", "package"],
        &["pytest", "/tmp/project/x.py", "tests/../b.py"],
        &["python3", "-c", "1", "b.py"],
        &["python3", "a.py", "b.py"],
        &["python3", "-m", "unittest", "discover", "-s", "x/y"],
        &["python3", "-m", "unittest", "tests.test_b"],
        &["node", "--test"],
        &["node", "--test", "--import", "x", "src/*.js", "src"],
        &["node", "src/index"],
        &["node", "-e", "1", "x"],
        &["node", "node_modules/.bin/x", "y"],
        &["bash", "-euo", "pipefail", "run.sh"],
        &["bash", "-c", "x"],
    ];
    for words in there {
        assert_eq!(unusable(words, json!({})).0, None, "{words:?}");
    }
    // A request that brings its own files brings the tests.
    assert_eq!(unusable(&["pytest", "tests/own.py"], json!({"tests/own.py": ""})).0, None);
    let of_request = unusable(&["pytest", "tests/owm.py"], json!({"tests/own.py": ""})).0.unwrap();
    assert!(of_request.by_request);
    assert_eq!(of_request.missing.unwrap().nearest.as_deref(), Some("tests/own.py"));
    let verification = json!({"command": ["pytest", "tests/owm.py"], "files": {"tests/own.py": ""}});
    let judgment = request(files.clone(), verification).unwrap().judge(None, None);
    assert_eq!((judgment.verdict, judgment.fault), (Verdict::Error, Some(Fault::Verifier)));
    // Hidden are the words of the command and the names of its files, too.
    let hidden = json!({"reveal": "none", "salt": "0123456789abcdef", "command": ["pytest", "tests/owm.py"], "files": {"tests/own.py": ""}});
    let judgment = request(files, hidden).unwrap().judge(None, None);
    assert_eq!(judgment.results.details[0].message.as_deref(), Some("the command names a file that is not there"));
}

#[test]
fn installed_packages_are_shown_to_those_who_ask() {
    let folder = HostFolder { host: "/x/node_modules".into(), at: "node_modules".to_owned() };
    let caps = Caps { packages: vec![folder.clone()], ..Caps::default() };
    let plan = |verification: Value| request(json!({"a.js": ""}), verification).unwrap().plan(&caps);
    let folders = |verification: Value| match plan(verification).unwrap().submission.unwrap().program {
        Program::Command(project) => project.folders,
        other => panic!("{other:?}"),
    };
    assert_eq!(folders(json!({"command": ["node", "a.js"], "packages": true})), [folder]);
    assert_eq!(folders(json!({"command": ["node", "a.js"]})), []);
    // A report that was there before the run is not read.
    let report = json!({"command": ["node", "a.js"], "packages": true, "report": "node_modules/.cache/r.xml"});
    assert_eq!(plan(report).unwrap_err().code(), "conflicting_fields");
    // A request that is not of a folder has nothing installed for it.
    for lock in [json!("lock"), json!({"lock": "package-lock.json"})] {
        let error = request(json!({"a.js": ""}), json!({"command": ["node", "a.js"], "packages": lock})).unwrap_err();
        assert_eq!(error.code(), "unsupported", "{error}");
    }
}

#[test]
fn variables_of_the_environment_are_plain() {
    let env = |env: Value| command(&["bash", "a"], json!({"env": env}));
    assert_eq!(env(json!({"CI": "1", "_x": ""})).unwrap().env.len(), 2);
    let many: serde_json::Map<_, _> = (0..65).map(|index| (format!("A{index}"), json!(""))).collect();
    for (wrong, code) in [
        (json!({"A=B": "1"}), "invalid_value"),
        (json!({"": "1"}), "invalid_value"),
        (json!({"1A": "1"}), "invalid_value"),
        (json!({"A": 1}), "wrong_type"),
        (json!({"A": "\u{0}"}), "invalid_value"),
        (json!({"A": "x".repeat(40_000)}), "too_many"),
        (Value::Object(many), "too_many"),
    ] {
        assert_eq!(env(wrong.clone()).unwrap_err().code(), code, "{wrong}");
    }
}

#[test]
fn settings_outside_of_a_request_are_those_of_its_schema() {
    let schema: Value = serde_json::from_str(include_str!("../../../../schemas/project.schema.json")).unwrap();
    let mut properties: Vec<&str> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    let mut settings = [PROJECT_SETTINGS.as_slice(), &["exclude", "include", "policy", "tests"]].concat();
    properties.sort_unstable();
    settings.sort_unstable();
    assert_eq!(properties, settings);
    let validator = jsonschema::validator_for(&schema).unwrap();
    let read = |document: &Value| {
        let json = proofmark_receipt::Json::parse(document.to_string().as_bytes()).unwrap();
        check_settings(&Field::root(&json).fields().unwrap())
    };
    for right in [
        json!({}),
        json!({"command": "pytest -q", "skipped": "ignore", "limits": {"timeout_ms": 1}, "env": {"A": "b"}}),
        json!({"command": ["node", "--test"], "report": "stdout:tap", "runtime": "node20", "packages": false}),
        json!({"reveal": "failures", "readable": ["/usr/share"]}),
        json!({"counter_run": false}),
        json!({"packages": "lock"}),
        json!({"packages": {"lock": "requirements/test.txt"}}),
        json!({"counter_run": {"except": ["tests.test_a::test_b"]}}),
    ] {
        assert!(read(&right).is_ok() && validator.is_valid(&right), "{right}");
    }
    for wrong in [
        json!({"command": 1}),
        json!({"packages": "locked"}),
        json!({"packages": {}}),
        json!({"packages": {"lock": true}}),
        json!({"skipped": "never"}),
        json!({"limits": {"timeout_ms": 0}}),
        json!({"limits": {"timeout": 1}}),
        json!({"env": {"a b": ""}}),
        json!({"env": []}),
        json!({"packages": "yes"}),
        json!({"reveal": "some"}),
        json!({"counter_run": "no"}),
        json!({"counter_run": {}}),
        json!({"counter_run": {"except": [1]}}),
    ] {
        assert!(read(&wrong).is_err() && !validator.is_valid(&wrong), "{wrong}");
    }
}

#[test]
fn a_project_may_have_more_files_than_a_request_and_none_outside_of_it() {
    let document: Json = proofmark_receipt::document::parse(
        br#"{"verification": {"kind": "test_suite", "mode": "command", "command": ["bash", "a"]}}"#,
        Format::Json,
    )
    .unwrap();
    let read = |files: Vec<String>| {
        Request::from_project(files.into_iter().map(|path| (path, b"x".to_vec().into())).collect(), &[], &document)
    };
    let many = (0..=MAX_FILES).map(|number| number.to_string()).chain(["a".to_owned()]).collect();
    assert_eq!(project(&read(many).unwrap()).files.len(), MAX_FILES + 2);
    for path in ["../a", "/a", "a/../../b", "a//b", ""] {
        assert_eq!(read(vec![path.to_owned()]).unwrap_err().code(), "invalid_value", "{path}");
    }
}
