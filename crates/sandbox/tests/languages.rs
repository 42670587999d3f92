//! Requests in every language, from their text to the verdict.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use proofmark_checks::{Caps, Format, Judgment, Language, Request};
use proofmark_receipt::Verdict;
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
