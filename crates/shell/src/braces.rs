//! The words that braces make of one.

use crate::MAX_READINGS;
use crate::word::Part;

/// The words that braces make of one, as in `a{b,c}`. `None` for those that are not followed, as `{1..3}`, and for too many.
pub(crate) fn braces(parts: &[Part]) -> Option<Vec<Vec<Part>>> {
    if parts.iter().filter(|part| **part == Part::Plain('{')).count() > MAX_READINGS {
        return None;
    }
    let mut done: Vec<Vec<Part>> = Vec::new();
    let mut left = vec![parts.to_vec()];
    while let Some(parts) = left.pop() {
        if done.len() + left.len() > MAX_READINGS {
            return None;
        }
        let Some((open, commas, close)) = first_braces(&parts) else {
            done.push(parts);
            continue;
        };
        if commas.is_empty() {
            return None;
        }
        let ends = commas.iter().copied().chain([close]);
        let begins = [open].into_iter().chain(commas.iter().copied());
        let mut alternatives: Vec<Vec<Part>> = begins
            .zip(ends)
            .map(|(begin, end)| {
                let within = |range: (usize, usize)| parts.get(range.0..range.1).unwrap_or_default();
                [within((0, open)), within((begin + 1, end)), within((close + 1, parts.len()))].concat()
            })
            .collect();
        alternatives.reverse();
        left.extend(alternatives);
    }
    Some(done)
}

/// The first braces that are expanded: where they open and close, and the commas between. Without a comma, they are a sequence.
fn first_braces(parts: &[Part]) -> Option<(usize, Vec<usize>, usize)> {
    let opens = parts.iter().enumerate().filter(|(_, part)| **part == Part::Plain('{'));
    for (open, _) in opens {
        let (mut depth, mut commas, mut dots, mut is_sequence) = (0_usize, Vec::new(), 0, false);
        for (at, part) in parts.iter().enumerate().skip(open) {
            dots = if *part == Part::Plain('.') { dots + 1 } else { 0 };
            is_sequence |= dots == 2;
            match part {
                Part::Plain('{') => depth += 1,
                Part::Plain('}') if depth == 1 => {
                    if !commas.is_empty() || is_sequence {
                        return Some((open, commas, at));
                    }
                    break;
                }
                Part::Plain('}') => depth -= 1,
                Part::Plain(',') if depth == 1 => commas.push(at),
                _ => {}
            }
        }
    }
    None
}
