#![allow(clippy::all, missing_docs)]
use proofmark_boundary::*;
use proofmark_receipt::document::{Format, parse};
use proofmark_receipt::*;
#[test]
fn bench() {
    let mut p = String::from("version: 1\nboundaries:\n");
    for i in 0..20 {
        p += &format!(
            "  - id: b{i}\n    match: {{action_class: record_mutation, tool: 'update_{}'}}\n    when: 'action.args.status == \"resolved\"'\n    require:\n      - fact: 'facts.exists(f, f.payload.ticket_id == action.target && f.payload.approved_by != \"\")'\n    deny:\n      - {{when: 'taint.exists(t, t.signal == \"injection\")', reason: {{code: d, message: D.}}}}\n",
            if i % 4 == 0 { "*".to_string() } else { format!("x{i}") }
        );
    }
    let policy = Policy::read(&parse(p.as_bytes(), Format::Yaml).unwrap()).unwrap();
    for facts in ["[{\"payload\": {\"ticket_id\": \"T-1\", \"approved_by\": \"ann\"}}]", "[]"] {
        let req = format!(
            r#"{{"action": {{"tool": "update_ticket", "class": "record_mutation", "target": "T-1", "args": {{"status": "resolved", "patch": "diff"}}}}, "facts": {facts}, "taint": [], "context_fill_pct": 0.3}}"#
        );
        let key = SigningKey::from_seed([1; 32]);
        let moment = Moment { now: "2026-03-01T12:00:00Z".parse().unwrap(), history: History::default() };
        let n = 5000;
        for sign in [false, true] {
            let t = std::time::Instant::now();
            for _ in 0..n {
                let request = Request::read(&parse(req.as_bytes(), Format::Json).unwrap()).unwrap();
                let d = decide(&policy, &request, &Evidence::default(), &moment);
                let r = DecisionReceipt::draft(&d, &request, ReceiptId::from_random_bytes([1; 16]), None);
                let r = if sign { r.sign(&key).unwrap() } else { r };
                std::hint::black_box(r.to_text());
            }
            eprintln!("{} sign={sign}: {:.1} us", facts.len(), t.elapsed().as_secs_f64() * 1e6 / n as f64);
        }
    }
}
