//! TAP versions 13 and 14 (testanything.org), as node's test runner writes it. Tests inside of tests are counted by the
//! outermost line that reports them.

use proofmark_receipt::Status;

use super::{BadReport, Reported, bad};

pub(super) fn read(text: &str) -> Result<Vec<Reported>, BadReport> {
    let mut tests: Vec<Reported> = Vec::new();
    let mut plan: Option<usize> = None;
    let mut in_block = false;
    for line in text.lines() {
        let indented = line.starts_with(' ') || line.starts_with('\t');
        let trimmed = line.trim();
        // A block of YAML belongs to the test before it.
        match (in_block, trimmed) {
            (false, "---") if indented => in_block = true,
            (true, "...") => in_block = false,
            (true, _) => note(&mut tests, trimmed),
            (false, _) if indented => {}
            (false, _) => {
                if let Some(why) = trimmed.strip_prefix("Bail out!") {
                    return Err(bad(format!("the tests gave up:{}", why.chars().take(200).collect::<String>())));
                }
                if let Some(count) = trimmed.strip_prefix("1..") {
                    let digits = count.split_whitespace().next().unwrap_or_default();
                    let count = digits.parse().map_err(|_| bad("the plan of the report is no number"))?;
                    if plan.replace(count).is_some() {
                        return Err(bad("the report contradicts itself: it has two plans"));
                    }
                }
                tests.extend(test(trimmed));
            }
        }
    }
    match plan {
        None => Err(bad("the report is cut: it has no plan (`1..n`)")),
        Some(plan) if plan != tests.len() => {
            Err(bad(format!("the report is cut or contradicts itself: it plans {plan} tests and holds {}", tests.len())))
        }
        Some(_) => Ok(tests),
    }
}

fn test(line: &str) -> Option<Reported> {
    let (ok, rest) = match (line.strip_prefix("ok"), line.strip_prefix("not ok")) {
        (Some(rest), _) => (true, rest),
        (None, Some(rest)) => (false, rest),
        (None, None) => return None,
    };
    if !(rest.is_empty() || rest.starts_with(' ')) {
        return None;
    }
    let (description, directive) = rest.split_once(" # ").unwrap_or((rest, ""));
    let name = description.trim().trim_start_matches(|c: char| c.is_ascii_digit()).trim().trim_start_matches("- ");
    let directive = directive.trim().to_ascii_lowercase();
    let left_out = directive.starts_with("skip") || directive.starts_with("todo");
    let (status, message) = match (ok, left_out) {
        (_, true) => (Status::Error, Some(format!("skipped: {directive}"))),
        (true, false) => (Status::Pass, None),
        (false, false) => (Status::Fail, None),
    };
    Some(Reported { name: name.to_owned(), status, message, elapsed_ms: None })
}

/// Takes the time and the error from a line of a test's block.
fn note(tests: &mut [Reported], line: &str) {
    let Some(test) = tests.last_mut() else { return };
    let Some((key, value)) = line.split_once(':') else { return };
    let value = value.trim().trim_matches(['\'', '"']);
    match key.trim() {
        "duration_ms" => test.elapsed_ms = value.parse::<f64>().ok().map(|time| time.clamp(0.0, 1e12) as u64),
        "error" | "message" if test.message.is_none() && test.status == Status::Fail && !value.is_empty() => {
            test.message = Some(value.to_owned());
        }
        _ => {}
    }
}
