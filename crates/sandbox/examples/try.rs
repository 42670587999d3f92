#![allow(missing_docs, clippy::unwrap_used)]
use proofmark_checks::*;
use proofmark_sandbox::*;
use std::time::*;
fn main() {
    let level = std::env::args().nth(1).and_then(|l| l.parse::<Level>().ok());
    println!("{:?}", Host::survey());
    let host = Host::probe(level);
    println!(
        "{:?} {:?}",
        host.level(),
        host.runtimes().iter().map(|r| (r.to_string(), r.path.clone())).collect::<Vec<_>>()
    );
    let mut w = host.worker();
    let limits = Limits {
        memory_mb: 256,
        total_timeout: Duration::from_secs(60),
        output_bytes: 1 << 20,
        processes: 16,
        disk_mb: 0,
    };
    let case = |i: &str| Case { input: i.into(), timeout: Duration::from_secs(3) };
    let job = |language, program, input: &str| Job {
        language,
        runtime: None,
        program,
        cases: vec![case(input)],
        limits: limits.clone(),
    };
    let src = "import os\ndef f(xs):\n    return sorted(xs)\ndef boom(x):\n    return 1/0\ndef spin(x):\n    while True: pass\ndef mem(x):\n    return len(bytearray(1<<30))\ndef env(x):\n    return (dict(os.environ), os.listdir('/'), os.getpid(), os.getuid(), os.listdir('/dev/'))\n";
    for (e, i) in
        [("f", "[[3,1,2]]"), ("boom", "[1]"), ("spin", "[1]"), ("mem", "[1]"), ("env", "[1]"), ("nope", "[1]")]
    {
        let o = w.run(&job(Language::Python, Program::Call { source: src.into(), entrypoint: e.into() }, i));
        for c in &o.cases {
            match &c.end {
                End::Value(v) => println!("{e}: {} {:?}", String::from_utf8_lossy(v), c.elapsed),
                x => println!("{e}: {x:?} {:?}", c.elapsed),
            }
        }
    }
    let o = w.run(&Job {
        language: Language::Python,
        runtime: None,
        program: Program::Pristine,
        cases: vec![case("[1,2]"), case("1/0"), case("{'a':(1,2.5)}")],
        limits: limits.clone(),
    });
    println!("{o:?}");
    let o = w.run(&job(
        Language::JavaScript,
        Program::Call { source: "function f(xs){return xs.sort()}".into(), entrypoint: "f".into() },
        "[[3,1,2]]",
    ));
    println!("{o:?}");
    let o = w.run(&job(
        Language::JavaScript,
        Program::Expression { source: "const a={x:new Map([[1,2]]),y:new Set([3])}".into() },
        "a",
    ));
    println!("{:?}", o.cases);
    let o = w.run(&job(
        Language::Bash,
        Program::Stdio {
            source: "read x; echo hello $x; ls / /dev /tmp; id; cat /etc/passwd; awk 'BEGIN{print 1+1}' < /dev/null"
                .into(),
        },
        "world\n",
    ));
    for c in &o.cases {
        match &c.end {
            End::Text(v) => println!("{}", String::from_utf8_lossy(v)),
            x => println!("{x:?}"),
        }
        println!("{:?}", c.elapsed)
    }
    let o = w.run(&job(Language::Python, Program::Stdio { source: "print(input()[::-1])".into() }, "world\n"));
    println!("{:?}", o.cases);
    let n = 2000;
    let t = Instant::now();
    for _ in 0..n {
        let o =
            w.run(&job(Language::Python, Program::Call { source: src.into(), entrypoint: "f".into() }, "[[3,1,2]]"));
        assert!(matches!(o.cases[0].end, End::Value(_)), "{o:?}");
    }
    println!("{} cases/s", n as f64 / t.elapsed().as_secs_f64());
}
