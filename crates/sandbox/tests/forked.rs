//! A case that is forked off a warm interpreter ends as one whose interpreter was started for it.

use std::time::Duration;

use proofmark_checks::{Case, CaseOutcome, End, Job, Language, Limits, Program};
use proofmark_sandbox::{Host, Worker};

/// What a submission may do that a fork could change.
const CALLS: &[&str] = &[
    "1 + 1",
    "console.log('out'), console.error('err')",
    "new Promise(resolve => setTimeout(resolve, 5, 'later'))",
    "require('fs').promises.readFile('/dev/null', 'utf8')",
    "require('util').promisify(require('crypto').pbkdf2)('a', 'b', 10, 8, 'sha256').then(key => key.toString('hex'))",
    "crypto.subtle.digest('SHA-256', new Uint8Array(3)).then(hash => hash.byteLength)",
    "require('zlib').gunzipSync(require('zlib').gzipSync('text')).toString()",
    "WebAssembly.compile(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])).then(String)",
    "import('node:path').then(path => path.basename('/a/b'))",
    "order()",
    "structuredClone({ a: new Map([[1, 2]]) })",
    "new Promise((resolve, reject) => { const { port1, port2 } = new MessageChannel(); port2.onmessage = e => { resolve(e.data); port1.close() }; port1.postMessage('sent') })",
    "Object.keys(globalThis).join()",
    "[typeof module, typeof exports, typeof require, typeof gc, process.argv.length, process.execArgv.length, process.pid]",
    "[typeof __filename, process.listenerCount('exit'), process.listenerCount('uncaughtException'), process.title]",
    "new (require('worker_threads').Worker)('postMessage', { eval: true }).threadId",
    "new Promise((resolve, reject) => new (require('worker_threads').Worker)('1', { eval: true }).on('exit', resolve))",
    "new Promise(resolve => require('child_process').execFile(process.execPath, ['-p', '6 * 7'], (error, out) => resolve(String(error ?? out))))",
    "Number.isFinite(Math.random()) && Math.random.name",
    "deep(0)",
    "missing",
    "(() => { throw new RangeError('x', { cause: new Error('y') }) })()",
    "Promise.reject(new TypeError('rejected'))",
    "new Promise(() => setTimeout(() => { throw new Error('uncaught') }, 1))",
    "(Promise.reject(new Error('unhandled')), new Promise(() => setTimeout(() => {}, 100)))",
    "new Promise(() => {})",
    "process.exit(0)",
    "process.exit(3)",
    "process.abort()",
    "process.kill(process.pid, 'SIGTERM')",
    "process.kill(process.pid, 'SIGKILL')",
    "new Promise(resolve => { process.on('SIGUSR2', resolve); process.kill(process.pid, 'SIGUSR2') })",
    "(process.on('exit', code => console.log('exit', code)), process.exitCode = 4, new Promise(() => {}))",
];

const SOURCE: &str = "const ordered = []
process.nextTick(() => ordered.push('tick'))
Promise.resolve().then(() => ordered.push('micro'))
setTimeout(() => ordered.push('timer'))
const order = () => new Promise(resolve => setTimeout(() => resolve(ordered.join()), 20))
const deep = n => { try { return deep(n + 1) } catch (error) { return error.name + (n > 1000) } }
";

fn job(cases: &[&str]) -> Job {
    Job {
        language: Language::JavaScript,
        runtime: None,
        packages: vec![],
        program: Program::Expression { source: SOURCE.to_owned() },
        cases: cases
            .iter()
            .map(|input| Case { input: (*input).to_owned(), timeout: Duration::from_secs(10) })
            .collect(),
        limits: Limits {
            memory_mb: 512,
            total_timeout: Duration::from_secs(120),
            output_bytes: 1 << 16,
            processes: 16,
            disk_mb: 0,
        },
    }
}

fn one(worker: &mut Worker, call: &str) -> CaseOutcome {
    worker.run(&job(&[call])).cases.remove(0)
}

/// The end, and what was written without what differs from process to process.
fn seen(outcome: &CaseOutcome) -> (String, String, String) {
    let text = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        // The frames of a crash have addresses.
        text.split("----- Native stack trace").next().unwrap_or_default().trim_end().to_owned()
    };
    (format!("{:?}", outcome.end), text(&outcome.written.stdout.bytes), text(&outcome.written.stderr.bytes))
}

#[test]
fn a_forked_case_ends_as_a_started_one_does() {
    let host = Host::probe(None);
    if let Err(why) = host.level() {
        return proofmark_testing::skip("isolation", why);
    }
    if !host.runtimes().iter().any(|runtime| runtime.language == Language::JavaScript) {
        return proofmark_testing::skip("javascript", "javascript is not installed");
    }
    let mut warm = host.worker();
    warm.run(&job(&["1"; 8]));
    let mut differences = Vec::new();
    for call in CALLS {
        let started = one(&mut host.worker(), call);
        let forked = one(&mut warm, call);
        if seen(&started) != seen(&forked) {
            differences.push(format!("{call}\n  started {:?}\n  forked  {:?}", seen(&started), seen(&forked)));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn forked_cases_share_no_random_numbers_and_leave_nothing_for_the_next() {
    let host = Host::probe(None);
    if host.level().is_err() || !host.runtimes().iter().any(|runtime| runtime.language == Language::JavaScript) {
        return proofmark_testing::skip("javascript", "javascript or isolation is not available");
    }
    let mut worker = host.worker();
    worker.run(&job(&["1"; 8]));
    // The parent of a leaf is outside of its namespace. An interpreter that failed its trial is not forked.
    assert_eq!(one(&mut worker, "process.ppid").end, End::Value(b"0".to_vec()));
    let calls = [
        "Math.random()",
        "require('crypto').randomUUID()",
        "crypto.getRandomValues(new Uint32Array(4)).join()",
        "(globalThis.left ??= 0, globalThis.left++)",
    ];
    let mut values = Vec::new();
    for call in calls {
        let ends: Vec<End> = worker.run(&job(&[call; 3])).cases.into_iter().map(|case| case.end).collect();
        values.push(ends.iter().map(|end| format!("{end:?}")).collect::<std::collections::BTreeSet<_>>().len());
    }
    assert_eq!(values, [3, 3, 3, 1]);
}
