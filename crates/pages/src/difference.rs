//! What is different between an expected text and the one that came.

use super::text::Shown;

/// The most words of a text that are compared one by one; of longer ones only the beginning and the end.
const MAX_WORDS: usize = 400;

/// A part of a text, and whether the other text does not have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) text: Shown,
    pub(crate) differs: bool,
}

/// Both texts in parts.
pub(crate) fn parts(expected: &str, came: &str) -> (Vec<Part>, Vec<Part>) {
    let (one, other) = (words(expected), words(came));
    // What both begin and end with is set apart first: most texts differ in one place, and the table below grows with
    // the square.
    let head = one.iter().zip(&other).take_while(|(one, other)| one == other).count();
    // The end must not reach back into the beginning, as in `a a` and `a a a`.
    let rest = one.len().min(other.len()).saturating_sub(head);
    let tail = one.iter().rev().zip(other.iter().rev()).take(rest).take_while(|(one, other)| one == other).count();
    let middle = |words: &[&str]| head..words.len().saturating_sub(tail);
    let (in_one, in_other) = (middle(&one), middle(&other));
    let (first, second) = (one.get(in_one.clone()).unwrap_or(&[]), other.get(in_other.clone()).unwrap_or(&[]));
    let (same_first, same_second) = common(first, second);
    let mark = |words: &[&str], range: std::ops::Range<usize>, same: &[bool]| {
        joined(words.iter().enumerate().map(|(index, word)| {
            let is_same = index.checked_sub(range.start).and_then(|place| same.get(place)).copied();
            (*word, range.contains(&index) && !is_same.unwrap_or_default())
        }))
    };
    (mark(&one, in_one, &same_first), mark(&other, in_other, &same_second))
}

/// The words of a text, the spaces between them, and every other character by itself.
fn words(text: &str) -> Vec<&str> {
    let kind = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' || c == '.' => 1,
        c if c.is_whitespace() => 2,
        _ => 0,
    };
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let of = kind(first);
        let end = match of {
            0 => first.len_utf8(),
            _ => rest.find(|c| kind(c) != of).unwrap_or(rest.len()),
        };
        let (word, after) = rest.split_at(end);
        words.push(word);
        rest = after;
    }
    words
}

/// For each word of either list whether it is in their longest common subsequence. Long lists have none.
fn common(one: &[&str], other: &[&str]) -> (Vec<bool>, Vec<bool>) {
    let mut marks = (vec![false; one.len()], vec![false; other.len()]);
    // The table has a cell for each pair of words, and the texts are the submission's.
    if one.len() > MAX_WORDS || other.len() > MAX_WORDS {
        return marks;
    }
    let width = other.len() + 1;
    let mut lengths = vec![0_u32; (one.len() + 1) * width];
    let at = |row: usize, column: usize| row * width + column;
    for (row, word) in one.iter().enumerate().rev() {
        for (column, candidate) in other.iter().enumerate().rev() {
            let get = |place: usize| lengths.get(place).copied().unwrap_or_default();
            let longest = if word == candidate {
                get(at(row + 1, column + 1)) + 1
            } else {
                get(at(row + 1, column)).max(get(at(row, column + 1)))
            };
            if let Some(cell) = lengths.get_mut(at(row, column)) {
                *cell = longest;
            }
        }
    }
    let get = |place: usize| lengths.get(place).copied().unwrap_or_default();
    let (mut row, mut column) = (0, 0);
    while let (Some(word), Some(candidate)) = (one.get(row), other.get(column)) {
        if word == candidate {
            marks.0.get_mut(row).into_iter().chain(marks.1.get_mut(column)).for_each(|mark| *mark = true);
            (row, column) = (row + 1, column + 1);
        } else if get(at(row + 1, column)) >= get(at(row, column + 1)) {
            row += 1;
        } else {
            column += 1;
        }
    }
    marks
}

/// Neighbours of one kind together.
fn joined<'a>(words: impl Iterator<Item = (&'a str, bool)>) -> Vec<Part> {
    let mut parts: Vec<(String, bool)> = Vec::new();
    for (word, differs) in words {
        match parts.last_mut() {
            Some((text, last)) if *last == differs => text.push_str(word),
            _ => parts.push((word.to_owned(), differs)),
        }
    }
    parts.into_iter().map(|(text, differs)| Part { text: text.into(), differs }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(expected: &str, came: &str) -> (String, String) {
        let (one, other) = parts(expected, came);
        let show = |parts: Vec<Part>| -> String {
            let part =
                |part: Part| if part.differs { format!("[{}]", part.text.raw()) } else { part.text.raw().to_owned() };
            parts.into_iter().map(part).collect()
        };
        (show(one), show(other))
    }

    #[test]
    fn what_differs_is_marked_and_nothing_is_lost() {
        let expected = r#"{"EUR": 7}"#;
        assert_eq!(marked(expected, r#"{"EUR": 4}"#), (r#"{"EUR": [7]}"#.into(), r#"{"EUR": [4]}"#.into()));
        assert_eq!(marked("a b c", "a x b c"), ("a b c".into(), "a [x ]b c".into()));
        assert_eq!(marked("", "x"), (String::new(), "[x]".into()));
        assert_eq!(marked("same", "same"), ("same".into(), "same".into()));
        let long: String = (0..5_000).map(|number| format!("{number} ")).collect();
        let (one, other) = parts(&long, &format!("{long}more"));
        let text = |parts: &[Part]| parts.iter().map(|part| part.text.raw()).collect::<String>();
        assert_eq!((text(&one), text(&other)), (long.clone(), format!("{long}more")));
    }
}
