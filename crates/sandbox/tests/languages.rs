//! Requests in every language, from their text to the verdict.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use std::sync::OnceLock;

use proofmark_checks::{Caps, Checks, Fault, Format, Judgment, Language, Request};
use proofmark_receipt::{Status, Verdict};
use proofmark_sandbox::Host;

/// A suite with a submission that passes it, and one that gives a wrong answer.
struct Suite {
    language: Language,
    /// The fields of the verification, in YAML.
    verification: &'static str,
    right: &'static str,
    wrong: &'static str,
}

const SUITES: &[Suite] = &[
    Suite {
        language: Language::Python,
        verification: "entrypoint: f, tests: [{name: a, input: [[3, 1]], expected_output: {items: [1, 3], m: null}}]",
        right: "def f(xs):\n    return {'items': tuple(sorted(xs)), 'm': None}\n",
        wrong: "def f(xs):\n    return {'items': xs, 'm': None}\n",
    },
    Suite {
        language: Language::Python,
        verification: "tests: [{name: a, input: 'f(2)', expected_output: '(2 + 2, \"x\")'}]",
        right: "def f(x):\n    return (x * 2, 'x')\n",
        wrong: "def f(x):\n    return [x * 2, 'x']\n",
    },
    Suite {
        language: Language::Python,
        verification: "mode: stdio, tests: [{name: a, input: '7', expected_output: '49'}]",
        right: "print(int(input()) ** 2)\n",
        wrong: "print(int(input()) * 2)\n",
    },
    Suite {
        language: Language::JavaScript,
        verification: "entrypoint: f, tests: [{name: a, input: [[3, 1]], expected_output: {items: [1, 3], m: null}}]",
        right: "const f = xs => ({ m: undefined, items: xs.sort() })\n",
        wrong: "const f = xs => ({ m: 0, items: xs.sort() })\n",
    },
    Suite {
        language: Language::JavaScript,
        verification: "tests: [{name: a, input: 'f(2)', expected_output: 'new Map([[2, \"x\"]])'}]",
        right: "const f = x => new Map([[x, 'x']])\n",
        wrong: "const f = x => ({ [x]: 'x' })\n",
    },
    Suite {
        language: Language::JavaScript,
        verification: "mode: stdio, tests: [{name: a, input: '7', expected_output: '49'}]",
        right: "console.log(require('fs').readFileSync(0, 'utf8') ** 2)\n",
        wrong: "console.log(require('fs').readFileSync(0, 'utf8') * 2)\n",
    },
    Suite {
        language: Language::JavaScript,
        verification: "entrypoint: f, tests: [{name: a, input: [3], expected: x3}]",
        right: "import { basename } from 'path'\nexport default function (n) { return basename('/a/x') + n }\n",
        wrong: "import { basename } from 'path'\nexport const f = n => basename('/a/y') + n\n",
    },
    Suite {
        language: Language::TypeScript,
        verification: "entrypoint: Total.add, construct: [2], tests: [{name: a, input: [3], expected: 5}]",
        right: "export class Total { n: number\n constructor (n: number) { this.n = n }\n add (m: number): number { return this.n + m } }\n",
        wrong: "class Total { n?: number\n add (m: number): number { return m } }\n",
    },
    Suite {
        language: Language::TypeScript,
        verification: "tests: [{name: a, input: 'f({ x: 1 })', expected_output: 'new Map([[\"x\", 1]])'}]",
        right: "interface P { x: number }\nconst f = (p: P): Map<string, number> => new Map(Object.entries(p))\n",
        wrong: "interface P { x: number }\nconst f = (p: P): P => p\n",
    },
    Suite {
        language: Language::TypeScript,
        verification: "mode: stdio, tests: [{name: a, input: '7', expected: '49'}]",
        right: "import { readFileSync } from 'node:fs'\nconst n: number = Number(readFileSync(0, 'utf8'))\nconsole.log(n * n)\n",
        wrong: "import { readFileSync } from 'node:fs'\nconst n: number = Number(readFileSync(0, 'utf8'))\nconsole.log(n * 2)\n",
    },
    Suite {
        language: Language::Bash,
        verification: "tests: [{name: a, input: '7', expected_output: '49'}]",
        right: "read -r x; echo $((x * x))\n",
        wrong: "read -r x; echo $((x + x))\n",
    },
    Suite {
        language: Language::Ruby,
        verification: "entrypoint: f, tests: [{name: a, input: [[3, 1]], expected_output: {items: [1, 3], m: null}}]",
        right: "def f(xs) = { items: xs.sort, m: nil }\n",
        wrong: "def f(xs) = { items: xs, m: nil }\n",
    },
    Suite {
        language: Language::Ruby,
        verification: "tests: [{name: a, input: 'even?(2)', expected_output: '[2 == 2, :yes, 2**70, 1.0]'}]",
        right: "def even?(x) = [x.even?, :yes, 2**70, 1]\n",
        wrong: "def even?(x) = [x.even?, 'yes', 2**70, 1]\n",
    },
    Suite {
        language: Language::Ruby,
        verification: "mode: stdio, tests: [{name: a, input: '7', expected_output: '49'}]",
        right: "puts gets.to_i ** 2\n",
        wrong: "puts gets.to_i * 2\n",
    },
];

fn judge(host: &Host, suite: &Suite, submission: &str) -> Judgment {
    let text = format!("verification: {{kind: test_suite, language: {}, {}}}", suite.language, suite.verification);
    let request = Request::read(text.as_bytes(), Format::Yaml, Some(submission)).unwrap();
    let plan = request.plan(&Caps::default()).unwrap();
    let mut worker = host.worker();
    let [submission, expected] = [plan.submission, plan.expected].map(|job| job.map(|job| worker.run(&job)));
    request.judge(submission.as_ref(), expected.as_ref())
}

#[test]
fn every_language_is_verified_in_each_of_its_modes() {
    let host = Host::probe(None);
    if let Err(why) = host.level() {
        return proofmark_testing::skip("isolation", why);
    }
    let installed: Vec<Language> = host.runtimes().iter().map(|runtime| runtime.language).collect();
    for language in Language::ALL {
        assert!(SUITES.iter().any(|suite| suite.language == language), "{language}");
        if !installed.contains(&language) {
            proofmark_testing::skip(language.as_str(), &format!("{language} is not installed"));
        }
    }
    for suite in SUITES.iter().filter(|suite| installed.contains(&suite.language)) {
        let right = judge(&host, suite, suite.right);
        assert_eq!(right.verdict, Verdict::Pass, "{}: {right:?}", suite.right);
        let wrong = judge(&host, suite, suite.wrong);
        assert_eq!((wrong.verdict, wrong.fault), (Verdict::Fail, None), "{}: {wrong:?}", suite.wrong);
    }
}

/// The statuses of the tests of a suite.
fn statuses(host: &Host, language: Language, verification: &str, submission: &str) -> Vec<Status> {
    let text = format!("verification: {{kind: test_suite, language: {language}, {verification}}}");
    let request = Request::read(text.as_bytes(), Format::Yaml, Some(submission)).unwrap();
    let plan = request.plan(&Caps::default()).unwrap();
    let mut worker = host.worker();
    let [submission, expected] = [plan.submission, plan.expected].map(|job| job.map(|job| worker.run(&job)));
    let judgment = request.judge(submission.as_ref(), expected.as_ref());
    judgment.results.details.iter().map(|detail| detail.status).collect()
}

/// The host, where it has an interpreter of the language.
fn host_of(language: Language) -> Option<&'static Host> {
    static HOST: OnceLock<Host> = OnceLock::new();
    let host = HOST.get_or_init(|| Host::probe(None));
    if let Err(why) = host.level() {
        proofmark_testing::skip("isolation", why);
        return None;
    }
    if host.runtimes().iter().any(|runtime| runtime.language == language) {
        return Some(host);
    }
    proofmark_testing::skip(language.as_str(), &format!("{language} is not installed"));
    None
}

/// The submission of [`ACCOUNTS`] in each language with classes.
const ACCOUNT: [(Language, &str); 3] = [
    (
        Language::Python,
        "class Account:\n    def __init__(self, balance=0):\n        if balance < 0:\n            raise ValueError('below zero')\n\
        \x20       self.balance = balance\n    def deposit(self, amount):\n        if amount < 0:\n            raise ValueError('negative')\n\
        \x20       self.balance += amount\n        return self.balance\n    @classmethod\n    def rate(cls, n): return [cls.__name__, n]\n",
    ),
    (
        Language::JavaScript,
        "class ValueError extends RangeError {}\nclass Account {\n  constructor (balance = 0) { if (balance < 0) throw new ValueError('below zero'); this.balance = balance }\n\
        deposit (amount) { if (amount < 0) throw new ValueError('negative'); return this.balance += amount }\n\
        static rate (n) { return [this.name, n] }\n}\n",
    ),
    (
        Language::Ruby,
        "class ValueError < RangeError; end\nclass Account\n  def initialize(balance = 0)\n    raise ValueError, 'below zero' if balance < 0\n\
        @balance = balance\n  end\n  def deposit(amount)\n    raise ValueError, 'negative' if amount < 0\n    @balance += amount\n  end\n\
        def self.rate(n) = [name, n]\nend\n",
    ),
];

/// The fields of a suite and the statuses of its tests.
const ACCOUNTS: [(&str, &[Status]); 4] = [
    (
        "entrypoint: Account.deposit, construct: [100], tests: [
            {input: [5], expected: 105},
            {input: [5], construct: [1], expected: 6},
            {input: [-5], raises: ValueError},
            {input: [-5], raises: {type: ValueError, contains: neg}},
            {input: [-5], raises: {type: ValueError, contains: other}},
            {input: [-5], raises: TypeError},
            {input: [5], raises: ValueError},
            {input: [5], construct: [-1], raises: ValueError}]",
        &[
            Status::Pass,
            Status::Pass,
            Status::Pass,
            Status::Pass,
            Status::Fail,
            Status::Fail,
            Status::Fail,
            Status::Error,
        ],
    ),
    ("entrypoint: Account.deposit, tests: [{input: [5], expected: 5}]", &[Status::Pass]),
    ("entrypoint: Account.rate, tests: [{input: [5], expected: [Account, 5]}]", &[Status::Pass]),
    (
        "entrypoint: Account, tests: [{input: [5], expected: 5}, {input: [-5], raises: ValueError}]",
        &[Status::Error, Status::Pass],
    ),
];

#[test]
fn methods_are_called_on_the_object_that_the_suite_constructs() {
    for (language, submission) in ACCOUNT {
        let Some(host) = host_of(language) else { continue };
        for (verification, expected) in ACCOUNTS {
            assert_eq!(statuses(host, language, verification, submission), expected, "{language}: {verification}");
        }
    }
}

#[test]
fn an_exception_counts_only_where_the_call_itself_raised_it() {
    for (language, kind, loads, lacks, base) in [
        (
            Language::Python,
            "NameError",
            "raise NameError('x')\ndef f(): pass\n",
            "x = 1\n",
            "def f(): raise KeyError('x')\n",
        ),
        (
            Language::JavaScript,
            "ReferenceError",
            "throw new ReferenceError('x')\nfunction f () {}\n",
            "const x = 1\n",
            "async function f () { await null; throw new (class extends TypeError {})('x') }\n",
        ),
        (Language::Ruby, "NameError", "raise NameError, 'x'\ndef f = 1\n", "x = 1\n", "def f = raise(KeyError, 'x')\n"),
    ] {
        let Some(host) = host_of(language) else { continue };
        let call = format!("entrypoint: f, tests: [{{input: [], raises: {kind}}}]");
        let expression = format!("tests: [{{input: 'f()', raises: {kind}}}]");
        for verification in [&call, &expression] {
            assert_eq!(statuses(host, language, verification, loads), [Status::Error], "{language}");
        }
        assert_eq!(statuses(host, language, &call, lacks), [Status::Error], "{language}");
        let kinds = match language {
            Language::Python => ["KeyError", "LookupError", "Exception"],
            Language::JavaScript => ["TypeError", "TypeError", "Error"],
            _ => ["KeyError", "IndexError", "StandardError"],
        };
        for kind in kinds {
            for verification in [
                call.replace("NameError", kind).replace("ReferenceError", kind),
                expression.replace("NameError", kind).replace("ReferenceError", kind),
            ] {
                assert_eq!(statuses(host, language, &verification, base), [Status::Pass], "{language}: {kind}");
            }
        }
        // An expression that cannot be read raised nothing.
        let broken = "tests: [{input: 'f(', raises: SyntaxError}]";
        assert_eq!(statuses(host, language, broken, base), [Status::Error], "{language}");
    }
}

#[test]
fn arguments_are_given_by_their_names() {
    for (language, submission) in [
        (Language::Python, "def f(a, *, currency='EUR', **more):\n    return [a, currency, sorted(more)]\n"),
        (Language::Ruby, "def f(a, currency: 'EUR', **more) = [a, currency, more.keys.map(&:to_s).sort]\n"),
    ] {
        let Some(host) = host_of(language) else { continue };
        let verification = "entrypoint: f, tests: [
            {input: [1], expected: [1, EUR, []]},
            {input: [1], kwargs: {currency: USD}, expected: [1, USD, []]},
            {input: [{b: 2}], kwargs: {c: 1, b: 2}, expected: [{b: 2}, EUR, [b, c]]},
            {kwargs: {currency: USD}, expected: 1}]";
        let expected = [Status::Pass, Status::Pass, Status::Pass, Status::Error];
        assert_eq!(statuses(host, language, verification, submission), expected, "{language}");
    }
}

#[test]
fn a_module_shows_its_names_to_the_suite() {
    let Some(host) = host_of(Language::JavaScript) else { return };
    let submission = "import fs, { readFileSync as read } from 'node:fs'\nimport * as path from 'path'\n\
        const hidden = x => x + late\nexport const shown = async x => [hidden(x), typeof (await import('os')).cpus, typeof read, fs.readFileSync === read, path.sep]\n\
        const late = await Promise.resolve(40)\nexport class Counter { static of (n) { return n } }\nexport { hidden as 'an odd name' }";
    let pass = [Status::Pass];
    for verification in [
        "entrypoint: hidden, tests: [{input: [2], expected: 42}]",
        "entrypoint: shown, tests: [{input: [2], expected: [42, function, function, true, /]}]",
        "entrypoint: Counter.of, tests: [{input: [2], expected: 2}]",
        "tests: [{input: 'hidden(1) + late', expected: 81}]",
        "tests: [{input: 'shown(1)', expected_output: '[41, \"function\", \"function\", true, \"/\"]'}]",
        "tests: [{input: 'typeof require', expected_output: '\"undefined\"'}]",
        "tests: [{input: 'lodash', raises: ReferenceError}]",
    ] {
        assert_eq!(statuses(host, Language::JavaScript, verification, submission), pass, "{verification}");
    }
    let default = "export default { f: x => x, g: 2 }\n";
    assert_eq!(
        statuses(host, Language::JavaScript, "entrypoint: f, tests: [{input: [2], expected: 2}]", default),
        pass
    );
    assert_eq!(statuses(host, Language::JavaScript, "tests: [{input: 'f(g)', expected: 2}]", default), pass);
    for wrong in ["import x from 'lodash'\nexport const f = 1\n", "export const f = (\n", "import './a.js'\n"] {
        let verification = "tests: [{input: '1', expected: 1}]";
        assert_eq!(statuses(host, Language::JavaScript, verification, wrong), [Status::Error], "{wrong}");
    }
}

#[test]
fn a_byte_order_mark_and_markdown_are_no_part_of_the_program() {
    for (language, program) in [
        (Language::Python, "print(1)\n"),
        (Language::JavaScript, "console.log(1)\n"),
        (Language::Ruby, "puts 1\n"),
        (Language::Bash, "echo 1\n"),
    ] {
        let Some(host) = host_of(language) else { continue };
        let verification = "mode: stdio, tests: [{input: '', expected: '1'}]";
        assert_eq!(statuses(host, language, verification, &format!("\u{feff}{program}")), [Status::Pass], "{language}");
        let markdown = format!("\u{feff}```{language}\n{program}```\n");
        assert_eq!(statuses(host, language, &format!("strip_fences: true, {verification}"), &markdown), [Status::Pass]);
    }
}

/// The reference shows suites with submissions that pass them.
#[test]
fn every_suite_of_the_reference_passes() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/requests.md");
    let text = std::fs::read_to_string(path).unwrap();
    let examples = text.split("```json\n").skip(1).filter_map(|rest| rest.split("\n```\n").next());
    let mut ran = 0;
    for example in examples.filter(|example| example.contains("verification")) {
        let request = Request::read(example.as_bytes(), Format::Json, None).unwrap();
        let Checks::Suite(suite) = &request.checks else { continue };
        let Some(host) = host_of(suite.language) else { continue };
        let plan = request.plan(&Caps::default()).unwrap();
        let mut worker = host.worker();
        let [submission, expected] = [plan.submission, plan.expected].map(|job| job.map(|job| worker.run(&job)));
        let judgment = request.judge(submission.as_ref(), expected.as_ref());
        let lacks_package = !suite.packages.is_empty() && judgment.fault == Some(Fault::Verifier);
        assert!(judgment.verdict == Verdict::Pass || lacks_package, "{example}: {judgment:?}");
        ran += 1;
    }
    assert!(ran >= 8, "{ran}");
}

/// Each program writes to both streams and fails on its sixth line, for a cause of its own; the second one does not load, because of its third line.
const FAILING: [(Language, [&str; 2], &str); 3] = [
    (
        Language::Python,
        [
            "import sys\ndef f(x):\n    print('out'); sys.stderr.write('err'); g(x)\ndef g(x):\n    try: {}['k']\n    except KeyError as e: raise ValueError('bad') from e\n",
            "def f(x):\n    return (x\nprint(]\n",
        ],
        "ValueError: bad\ncaused by KeyError: 'k'",
    ),
    (
        Language::JavaScript,
        [
            "function f (x) {\n  console.log('out'); process.stderr.write('err')\n  g(x)\n}\nfunction g (x) {\n  throw new TypeError('bad', { cause: new Error('k') })\n}\n",
            "function f (x) {\n  return x\n]\n",
        ],
        "TypeError: bad\ncaused by Error: k",
    ),
    (
        Language::Ruby,
        [
            "def f(x)\n  print 'out'; $stderr.write 'err'\n  g(x)\nend\ndef g(x)\n  begin; {}.fetch(:k); rescue KeyError; raise ArgumentError, 'bad'; end\nend\n",
            "def f(x)\n  x\n]\nend\n",
        ],
        "ArgumentError: bad\ncaused by KeyError: key not found: :k",
    ),
];

#[test]
fn what_a_failing_submission_wrote_and_its_line_come_back() {
    let host = Host::probe(None);
    if let Err(why) = host.level() {
        return proofmark_testing::skip("isolation", why);
    }
    let installed: Vec<Language> = host.runtimes().iter().map(|runtime| runtime.language).collect();
    for (language, [raises, does_not_load], message) in FAILING {
        if !installed.contains(&language) {
            proofmark_testing::skip(language.as_str(), &format!("{language} is not installed"));
            continue;
        }
        let suite = Suite {
            language,
            verification: "entrypoint: f, tests: [{name: a, input: [1], expected_output: 1}, {name: b, input: [2], expected_output: 2}]",
            right: "",
            wrong: "",
        };
        let details = judge(&host, &suite, raises).results.details;
        assert_eq!(details[0].message.as_deref(), Some(message), "{language}");
        assert!(details[0].location.as_deref().unwrap().ends_with(":6"), "{:?}", details[0]);
        for detail in &details {
            assert_eq!(
                (detail.stdout.as_deref().map(str::trim), detail.stderr.is_some()),
                (Some("out"), detail.name == "a")
            );
        }
        let details = judge(&host, &suite, does_not_load).results.details;
        assert!(details[0].location.as_deref().is_some_and(|location| location.ends_with(":3")), "{:?}", details[0]);
        assert_eq!(details[1].message.as_deref(), Some("same error as `a`"), "{language}");
    }
}
