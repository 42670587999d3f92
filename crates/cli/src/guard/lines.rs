//! Lines of bounded length.

use std::io::{self, BufRead, Read};

/// One line, without its end.
pub(super) enum Line {
    Whole(Vec<u8>),
    /// It was longer than the limit, and is dropped.
    TooLong,
}

/// The next line; `None` at the end.
///
/// # Errors
/// When it cannot be read.
pub(super) fn next(from: &mut impl BufRead, limit: usize) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    // With its end it may be one byte longer.
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    if from.by_ref().take(most).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    if line.pop_if(|byte| *byte == b'\n').is_some() || line.len() <= limit {
        return Ok(Some(Line::Whole(line)));
    }
    from.skip_until(b'\n')?;
    Ok(Some(Line::TooLong))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded() {
        let mut input = io::BufReader::with_capacity(3, &b"one\n\ntoo long\nlast"[..]);
        let mut seen = Vec::new();
        while let Some(line) = next(&mut input, 4).unwrap() {
            seen.push(match line {
                Line::Whole(line) => String::from_utf8(line).unwrap(),
                Line::TooLong => "-".to_owned(),
            });
        }
        assert_eq!(seen, ["one", "", "-", "last"]);
    }
}
