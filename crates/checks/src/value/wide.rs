//! Strings with lone surrogates.

/// The code points of UTF-8 that may hold surrogates (Python's `surrogatepass`), or `None` where the bytes are neither.
pub(crate) fn code_points(bytes: &[u8]) -> Option<Vec<u32>> {
    let mut points = Vec::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        points.extend(chunk.valid().chars().map(u32::from));
        points.extend(surrogate_byte(chunk.invalid())?);
    }
    join(points)
}

/// `utf8_chunks` hands out the three bytes of a surrogate one by one; they are marked here and joined below.
const MARK: u32 = 0x8000_0000;

fn surrogate_byte(invalid: &[u8]) -> Option<Vec<u32>> {
    invalid.iter().map(|byte| matches!(byte, 0x80..=0xbf | 0xed).then_some(MARK | u32::from(*byte))).collect()
}

fn join(points: Vec<u32>) -> Option<Vec<u32>> {
    let mut joined = Vec::with_capacity(points.len());
    let mut rest = points.into_iter();
    while let Some(point) = rest.next() {
        if point & MARK == 0 {
            joined.push(point);
            continue;
        }
        // A plain code point gets the mark from `^`, which the ranges below refuse.
        let (second, third) = (rest.next()? ^ MARK, rest.next()? ^ MARK);
        let surrogate = point ^ MARK == 0xed && matches!(second, 0xa0..=0xbf) && matches!(third, 0x80..=0xbf);
        joined.push(surrogate.then_some(0xd000 | (second & 0x3f) << 6 | third & 0x3f)?);
    }
    Some(joined)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn surrogates_are_code_points_and_other_bytes_are_refused() {
        assert_eq!(code_points(b"a\xed\xa0\x80\xc3\xa9"), Some(vec![0x61, 0xd800, 0xe9]));
        assert_eq!(code_points(b"\xed\xbf\xbf\xed\xa0\x80"), Some(vec![0xdfff, 0xd800]));
        for bytes in [&b"\xff"[..], b"\x80", b"\xed\xa0", b"\xed", b"\xed\xa0a", b"\xc3", b"\xed\xed\xa0\x80"] {
            assert_eq!(code_points(bytes), None, "{bytes:?}");
        }
    }
}
