//! Who decides the value of an expression.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use proofmark_checks::{Caps, Format, Judgment, Language, Request};
use proofmark_receipt::{DecidedBy, Json, Status};
use proofmark_sandbox::Host;

/// Expressions with their values, and two submissions: one that is right, and one that is wrong and puts functions of its own in
/// the place of those that the expressions use.
struct Spellings {
    language: Language,
    right: &'static str,
    cheat: &'static str,
    values: &'static [(&'static str, &'static str)],
}

const SPELLINGS: [Spellings; 3] = [
    Spellings {
        language: Language::Python,
        right: "def sq(n):\n    return n * n\ndef sqs(n):\n    return [sq(i + 1) for i in range(n)]\n",
        cheat: include_str!("expressions/cheat.py"),
        values: &[
            ("math.isclose(sq(7), 49)", "True"),
            ("operator.eq(sq(7), 49)", "True"),
            ("isinstance(sq(7), int)", "True"),
            ("len(sqs(3))", "3"),
            ("sorted(sqs(3))", "[1, 4, 9]"),
            ("list(reversed(sqs(3)))", "[9, 4, 1]"),
            ("str(sq(7))", "'49'"),
            ("repr(sqs(3))", "'[1, 4, 9]'"),
            ("sum(sqs(3))", "14"),
            ("max(sqs(3))", "9"),
            ("min(sqs(3))", "1"),
            ("set(sqs(3))", "{1, 4, 9}"),
            ("tuple(sqs(3))", "(1, 4, 9)"),
            ("json.dumps(sqs(3))", "'[1, 4, 9]'"),
            ("int(sq(7))", "49"),
            ("float(sq(7))", "49.0"),
            ("abs(sq(7))", "49"),
            ("round(sq(7) / 10)", "5"),
            ("type(sq(7)).__name__", "'int'"),
            ("statistics.mean(sqs(2))", "2.5"),
            ("functools.reduce(lambda a, b: a + b, sqs(3))", "14"),
            ("dict(enumerate(sqs(2)))", "{0: 1, 1: 4}"),
            ("list(zip(sqs(2), 'ab'))", "[(1, 'a'), (4, 'b')]"),
            ("list(map(str, sqs(2)))", "['1', '4']"),
            ("'{}'.format(sq(7))", "'49'"),
            ("f'{sq(7)}'", "'49'"),
            ("'%d' % sq(7)", "'49'"),
            ("divmod(sq(7), 10)", "(4, 9)"),
            ("pow(sq(2), 2)", "16"),
            ("bin(sq(2))", "'0b100'"),
            ("all(isinstance(x, int) for x in sqs(3))", "True"),
            ("[sq(i) for i in range(3)]", "[0, 1, 4]"),
            ("sq(2) + sq(3)", "13"),
            ("sq(7).__eq__(49)", "True"),
            ("sq(7) is not None", "True"),
        ],
    },
    Spellings {
        language: Language::JavaScript,
        right: "function sq (n) { return n * n }\nfunction sqs (n) { return Array.from({ length: n }, (_, i) => sq(i + 1)) }\n",
        cheat: include_str!("expressions/cheat.js"),
        values: &[
            ("JSON.stringify(sqs(3))", "'[1,4,9]'"),
            ("JSON.stringify(sqs(3)) === '[1,4,9]'", "true"),
            ("require('util').isDeepStrictEqual(sqs(3), [1, 4, 9])", "true"),
            ("require('assert').deepStrictEqual(sqs(3), [1, 4, 9])", "undefined"),
            ("Object.is(sq(7), 49)", "true"),
            ("Number.isInteger(sq(7))", "true"),
            ("Array.isArray(sqs(3))", "true"),
            ("sqs(3).includes(9)", "true"),
            ("sqs(3).every(x => Number.isInteger(x))", "true"),
            ("sqs(3).some(x => x === 9)", "true"),
            ("sqs(3).join(',')", "'1,4,9'"),
            ("sqs(3).map(String)", "['1', '4', '9']"),
            ("String(sq(7))", "'49'"),
            ("sqs(3).toString()", "'1,4,9'"),
            ("Math.abs(sq(7))", "49"),
            ("Math.max(...sqs(3))", "9"),
            ("parseInt(sq(7), 10)", "49"),
            ("sq(7).toFixed(1)", "'49.0'"),
            ("new Set(sqs(3)).size", "3"),
            ("Object.keys(sqs(3)).length", "3"),
            ("sqs(3).reduce((a, b) => a + b)", "14"),
            ("sqs(3).indexOf(4)", "1"),
            ("sqs(3).at(-1)", "9"),
            ("[...sqs(3)].sort((a, b) => b - a)", "[9, 4, 1]"),
            ("Number(sq(7))", "49"),
            ("BigInt(sq(7))", "49n"),
            ("[1, 2, 3].map(sq)", "[1, 4, 9]"),
            ("[1, 2].map(x => sq(x))", "[1, 4]"),
            ("sq(7) === 49", "true"),
            ("structuredClone(sqs(2))", "[1, 4]"),
        ],
    },
    Spellings {
        language: Language::Ruby,
        right: "def sq(n) = n * n\ndef sqs(n) = (1..n).map { |i| sq(i) }\n",
        cheat: include_str!("expressions/cheat.rb"),
        values: &[
            ("sqs(3).include?(9)", "true"),
            ("sqs(3).sum", "14"),
            ("sqs(3).max", "9"),
            ("sqs(3).sort", "[1, 4, 9]"),
            ("sqs(3).length", "3"),
            ("sqs(3).join(',')", "'1,4,9'"),
            ("sqs(3).inspect", "'[1, 4, 9]'"),
            ("sqs(3).first", "1"),
            ("sqs(3).reverse", "[9, 4, 1]"),
            ("sqs(3).all?(Integer)", "true"),
            ("sqs(3).eql?([1, 4, 9])", "true"),
            ("sq(7).eql?(49)", "true"),
            ("sq(7).to_s", "'49'"),
            ("sq(7).is_a?(Integer)", "true"),
            ("sq(7).between?(48, 50)", "true"),
            ("Integer(sq(7))", "49"),
            ("format('%d', sq(7))", "'49'"),
            ("[1, 2, 3].map { |x| sq(x) }", "[1, 4, 9]"),
            ("sq(2) + sq(3)", "13"),
            ("\"#{sq(7)}\"", "'49'"),
        ],
    },
];

/// The host, where it has an interpreter of the language.
fn host_of(language: Language) -> Option<&'static Host> {
    static HOST: OnceLock<Host> = OnceLock::new();
    let host = HOST.get_or_init(|| Host::probe(None));
    if let Err(why) = host.level() {
        proofmark_testing::skip("isolation", why);
        return None;
    }
    let is_installed = host.runtimes().iter().any(|runtime| runtime.language == language);
    if !is_installed {
        proofmark_testing::skip(language.as_str(), &format!("{language} is not installed"));
    }
    is_installed.then_some(host)
}

fn judge(host: &Host, language: Language, more: &str, tests: &[(&str, &str)], submission: &str) -> Judgment {
    let quoted = |text: &str| Json::from(text).to_text();
    let tests = tests
        .iter()
        .map(|(input, expected)| format!("{{\"input\":{},\"expected_output\":{}}}", quoted(input), quoted(expected)));
    let tests = tests.collect::<Vec<_>>().join(",");
    let text = format!(r#"{{"verification":{{"kind":"test_suite","language":"{language}",{more}"tests":[{tests}]}}}}"#);
    let request = Request::read(text.as_bytes(), Format::Json, Some(submission)).unwrap();
    let plan = request.plan(&Caps::default()).unwrap();
    let mut worker = host.worker();
    let [submission, expected] = [plan.submission, plan.expected].map(|job| job.map(|job| worker.run(&job)));
    request.judge(submission.as_ref(), expected.as_ref())
}

#[test]
fn the_verifier_decides_what_a_submission_would_decide_otherwise() {
    let count: usize = SPELLINGS.iter().map(|spellings| spellings.values.len()).sum();
    assert!(count >= 80, "{count} spellings");
    for Spellings { language, right, cheat, values } in &SPELLINGS {
        let Some(host) = host_of(*language) else { continue };
        let judged = judge(host, *language, "", values, right);
        for (detail, (input, _)) in judged.results.details.iter().zip(*values) {
            let answer = (detail.status, detail.decided);
            assert_eq!(answer, (Status::Pass, Some(DecidedBy::Verifier)), "{language}: {input}: {detail:?}");
        }
        assert_eq!(judged.decided, DecidedBy::Verifier, "{language}");
        let judged = judge(host, *language, "", values, cheat);
        let details = judged.results.details.iter().zip(*values);
        let passed = details
            .filter(|(detail, _)| detail.status == Status::Pass && detail.decided != Some(DecidedBy::Submission));
        // `is not None` says nothing of the value.
        let fooled: Vec<_> = passed.filter(|(_, (input, _))| !input.contains("is not None")).collect();
        assert!(fooled.is_empty(), "{language}: {fooled:?}");
    }
}

const PYTHON: &str = "
class Point:
    x = 1
class Same(list):
    def __eq__(self, other):
        return True
LIMIT = 5
total = 0
def add(n):
    global total
    total += n
    return total
def sort(xs):
    xs.sort()
    return xs
def isclose(a, b):
    return True
def f(x):
    return x * x
def point():
    return Point()
def same(x):
    return Same()
def deep():
    xs = []
    xs.append(xs)
    return xs
def fails(x):
    raise KeyError(x)
async def later(x):
    return x + 1
def pow(a, b):
    return a - b
";

#[test]
fn a_check_says_where_the_submission_decides() {
    let Some(host) = host_of(Language::Python) else { return };
    let (verifier, submission) = (DecidedBy::Verifier, DecidedBy::Submission);
    for (input, expected, status, decided) in [
        ("f(3)", "9", Status::Pass, verifier),
        ("f(3) + 0", "9", Status::Pass, verifier),
        ("[add(1), add(2), add(3)]", "[1, 3, 6]", Status::Pass, verifier),
        ("add(1) and add(2) and add(3)", "6", Status::Pass, verifier),
        ("sort([3, 1])[0]", "1", Status::Pass, verifier),
        ("later(1)", "2", Status::Pass, verifier),
        ("(later(1))", "2", Status::Pass, verifier),
        ("f(x=3) - 1", "8", Status::Pass, verifier),
        ("[f(1), fails('x')]", "1", Status::Error, verifier),
        ("f(1) / 0", "1", Status::Error, verifier),
        ("deep()[0][0]", "1", Status::Error, submission),
        ("LIMIT", "5", Status::Pass, submission),
        ("LIMIT + f(1)", "6", Status::Pass, submission),
        ("point().x", "1", Status::Pass, submission),
        ("Point.x", "1", Status::Pass, submission),
        ("[*same(1)]", "[]", Status::Pass, submission),
        ("(lambda xs: (sort(xs), xs))([2, 1])", "([1, 2], [1, 2])", Status::Pass, submission),
        ("list(map(f, [1, 2]))", "[1, 4]", Status::Pass, submission),
        ("isclose(f(7), 50)", "True", Status::Pass, submission),
        ("[isclose(y + 0, 50) for y in [f(7)]]", "[True]", Status::Pass, submission),
        ("pow(2, 1) * 1", "1", Status::Pass, submission),
        ("1 + 1", "2", Status::Pass, submission),
        ("[f(i) for i in range(70)][2]", "4", Status::Pass, submission),
    ] {
        let judged = judge(host, Language::Python, "", &[(input, expected)], PYTHON);
        let detail = &judged.results.details[0];
        assert_eq!((detail.status, detail.decided), (status, Some(decided)), "{input}: {detail:?}");
        assert_eq!(judged.decided, decided, "{input}");
        // A suite can demand that the verifier decides.
        let demanded = judge(host, Language::Python, r#""decided":"verifier","#, &[(input, expected)], PYTHON);
        let detail = &demanded.results.details[0];
        if decided == verifier {
            assert_eq!(detail.status, status, "{input}: {detail:?}");
        } else {
            assert_eq!(detail.status, Status::Error, "{input}: {detail:?}");
            let message = detail.message.as_deref().unwrap_or_default();
            assert!(message.starts_with("the submission would decide it: "), "{input}: {message}");
        }
    }
}

#[test]
fn a_submission_cannot_write_the_value_of_an_expression() {
    let Some(host) = host_of(Language::Python) else { return };
    let write = |bytes: &str| format!("import os\nos.write(4, {bytes})\nos._exit(0)\n");
    let frames = [
        r#"b'V80\n'"#,
        r#"b'LV80\n'"#,
        r#"b'MLV80\n'"#,
        r#"b'AV80\n'"#,
        r#"b'V80\tV80\tV80\n'"#,
        r#"b'V80\nV80\n'"#,
        r#"b'V80'"#,
        r#"b'V80\xff\n'"#,
        r#"b'V"\xff"\n'"#,
        r#"b'V{"x":"int"}\n'"#,
        r#"b'V{"d":[[[],1]]}\n'"#,
        r#"b'V' + b'[' * 100000 + b'\n'"#,
        r#"b'B\n'"#,
        r#"b'C1\tV80\n'"#,
        r#"b'S\n'"#,
        r#"b'Sr\n'"#,
        r#"b'\n'"#,
        r#"b'E\n'"#,
        r#"b'LE4b 4b 0 4b6579\n'"#,
        r#"b'V' + b'1' * (3 << 20) + b'\n'"#,
    ];
    for frame in frames {
        let judged = judge(host, Language::Python, "", &[("f(9) - 1", "80")], &write(frame));
        let detail = &judged.results.details[0];
        assert_ne!(detail.status, Status::Pass, "{frame}: {detail:?}");
    }
    // What a call returns is the submission's to say, and no more than that.
    let judged = judge(host, Language::Python, "", &[("f(9) - 1", "80")], &write(r#"b'V81\n'"#));
    assert_eq!(judged.results.details[0].status, Status::Pass);
}

#[test]
fn the_limits_of_a_case_hold_for_all_that_its_expression_takes() {
    let Some(host) = host_of(Language::Python) else { return };
    let more = r#""limits":{"timeout_ms":1500,"output_bytes":100000},"#;
    let slow = "import time\ndef f(x):\n    time.sleep(0.4)\n    return x\n";
    let odd = "class Odd(Exception):\n    def __str__(self):\n        raise SystemExit\nOdd.__name__ = 'x' * 9999\n\
        def f(x):\n    raise Odd()\n";
    for (submission, words) in [
        ("def f(x):\n    while True: pass\n", "no answer within"),
        ("while True: pass\n", "no answer within"),
        // Each call that turns out to be false leads to the next, and those before it are made again.
        (slow, "no answer within"),
        ("def f(x):\n    return 'x' * 1000000\n", "output limit"),
        ("def f(x):\n    return [0] * (1 << 40)\n", "memory limit"),
        ("def f(x):\n    import os\n    os._exit(9)\n", "exit status 9"),
        ("raise ValueError('not loaded')\n", "not loaded"),
        (odd, "an exception that cannot be shown"),
    ] {
        let started = Instant::now();
        let tests = [("f(0) or f(0) or f(0) or f(0) or f(0)", "0")];
        let judged = judge(host, Language::Python, more, &tests, submission);
        let detail = &judged.results.details[0];
        let message = detail.message.as_deref().unwrap_or_default();
        assert_eq!((detail.status, message.contains(words)), (Status::Error, true), "{submission}: {detail:?}");
        assert_eq!(detail.decided, Some(DecidedBy::Verifier), "{submission}");
        assert!(started.elapsed() < Duration::from_secs(30), "{submission}");
    }
}
