//! Lines of bounded length.

use std::io::{self, BufRead};

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
    let (mut line, mut is_too_long, mut any) = (Vec::new(), false, false);
    loop {
        let bytes = match from.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            bytes => bytes?,
        };
        any |= !bytes.is_empty();
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let part = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
        is_too_long |= line.len() + part.len() > limit;
        if is_too_long {
            line = Vec::new();
        } else {
            line.extend_from_slice(part);
        }
        let (is_last, length) = (end.is_some() || bytes.is_empty(), end.map_or(bytes.len(), |end| end + 1));
        from.consume(length);
        if is_last {
            return Ok(any.then_some(if is_too_long { Line::TooLong } else { Line::Whole(line) }));
        }
    }
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
