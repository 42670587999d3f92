/// The line and column of a byte, both from 1, the column in characters.
pub fn line_and_column(text: &[u8], offset: usize) -> (u64, u64) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.split(|byte| *byte == b'\n').count();
    let last = before.rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
    // A character is counted at its first byte: the others are continuation bytes of UTF-8.
    let column = last.iter().filter(|byte| **byte & 0xC0 != 0x80).count();
    (line as u64, column as u64 + 1)
}
