//! Two texts side by side, line by line, with what is equal folded.

use std::collections::{HashMap, VecDeque};

use super::Difference;
use super::align::{MAX_ALIGNED, Step, align};
use super::page::{Page, Sign};
use super::show::window;
use super::trail::{alike, common};
use crate::render::{is_blank, is_unseen};
use crate::suite::TextRule;
use crate::words::{tokens, trimmed};

/// Equal lines that are shown next to one that differs.
const CONTEXT: usize = 2;

/// How many bytes of a line are looked at to show it, before and after its first difference.
const LINE_BYTES: [usize; 2] = [256, 512];

/// The longest text that says itself how it differs from another one, in characters.
const MAX_PLAIN_CHARS: usize = 60;

/// How an output that is not the expected text differs from it.
pub(super) fn of(expected: &[u8], answer: &[u8], rule: TextRule) -> Difference {
    let [left, right] = match rule {
        TextRule::Exact | TextRule::Tokens => [expected, answer],
        TextRule::Trimmed => [expected, answer].map(trimmed),
    };
    let pieces = match rule {
        TextRule::Tokens if has_same_shape(left, right) => Pieces::token_lines(left, right),
        TextRule::Tokens => Pieces::words(left, right),
        TextRule::Exact | TextRule::Trimmed => Pieces::lines(left, right),
    };
    let [expected_at, answer_at] = pieces.at;
    // The answer is shown as text, where a byte that is not UTF-8 takes three.
    let answer_at = String::from_utf8_lossy(answer.get(..answer_at).unwrap_or_default()).len();
    let text = (!is_plain(left, right)).then(|| pieces.page(left, right, rule));
    Difference { text, expected_at, answer_at }
}

/// Whether two short texts, each on a line of its own, say all there is to say.
fn is_plain(expected: &[u8], answer: &[u8]) -> bool {
    let plain = |text: &[u8]| {
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        let ends = [b' ', b'\t'].iter().any(|space| text.ends_with(&[*space]));
        let text = std::str::from_utf8(text).unwrap_or("\0");
        !text.is_empty()
            && !ends
            && text.chars().nth(MAX_PLAIN_CHARS).is_none()
            && text.chars().all(|char| char.is_ascii() && !char.is_control())
    };
    plain(expected) && plain(answer) && expected.ends_with(b"\n") == answer.ends_with(b"\n")
}

/// Whether two texts have as many words on each line, so that lines can be compared though only words count.
fn has_same_shape(expected: &[u8], answer: &[u8]) -> bool {
    let counts = |text| lines(trimmed(text)).map(|line| tokens(line).count());
    counts(expected).eq(counts(answer))
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> + Clone {
    text.split(|byte| *byte == b'\n')
}

/// Lines or words of two texts, from the first that differs on.
struct Pieces<'a> {
    /// What they are called in the place of the first difference.
    unit: &'static str,
    /// How many equal ones are before them, and the last of those.
    skipped: usize,
    before: VecDeque<&'a [u8]>,
    expected: Vec<&'a [u8]>,
    answer: Vec<&'a [u8]>,
    /// How many equal ones are behind them.
    behind: usize,
    /// Whether there are more that are not compared.
    is_cut: bool,
    /// What of a piece counts.
    key: fn(&[u8]) -> Vec<u8>,
    /// The byte of the first difference in each text.
    at: [usize; 2],
}

impl<'a> Pieces<'a> {
    fn lines(expected: &'a [u8], answer: &'a [u8]) -> Pieces<'a> {
        let same = expected.iter().zip(answer).take_while(|(left, right)| left == right).count();
        let prefix = expected.get(..same).unwrap_or_default();
        let start = prefix.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let prefix = prefix.get(..start).unwrap_or_default();
        let [left, right] = [expected, answer].map(|text| text.get(start..).unwrap_or_default());
        let behind = if [left, right].iter().any(|text| lines(text).nth(MAX_ALIGNED).is_some()) {
            equal_end(left, right)
        } else {
            0
        };
        let until = |text: &'a [u8]| text.get(..text.len() - behind).unwrap_or_default();
        let count = |text: &[u8]| text.iter().filter(|byte| **byte == b'\n').count();
        let ended = expected.get(expected.len() - behind..).map_or(0, count);
        let skipped = prefix.strip_suffix(b"\n").unwrap_or_default();
        let before: VecDeque<_> = if prefix.is_empty() {
            VecDeque::new()
        } else {
            skipped.rsplit(|byte| *byte == b'\n').take(CONTEXT).collect()
        };
        Pieces {
            unit: "line",
            skipped: count(prefix),
            before: before.into_iter().rev().collect(),
            behind: ended,
            at: [same, same],
            key: <[u8]>::to_vec,
            ..Pieces::taken(lines(until(left)), lines(until(right)))
        }
    }

    /// Lines of texts that have as many words on each.
    fn token_lines(expected: &'a [u8], answer: &'a [u8]) -> Pieces<'a> {
        let key = |line: &[u8]| tokens(line).collect::<Vec<_>>().join(&b' ');
        Pieces {
            unit: "line",
            key,
            ..Pieces::since(lines(trimmed(expected)), lines(trimmed(answer)), [expected, answer], key)
        }
    }

    fn words(expected: &'a [u8], answer: &'a [u8]) -> Pieces<'a> {
        Pieces { unit: "word", ..Pieces::since(tokens(expected), tokens(answer), [expected, answer], <[u8]>::to_vec) }
    }

    /// Those from the first on that differs by its key.
    fn since(
        mut expected: impl Iterator<Item = &'a [u8]> + Clone,
        mut answer: impl Iterator<Item = &'a [u8]> + Clone,
        whole: [&'a [u8]; 2],
        key: fn(&[u8]) -> Vec<u8>,
    ) -> Pieces<'a> {
        let (mut skipped, mut before) = (0, VecDeque::new());
        loop {
            let mut next = (expected.clone(), answer.clone());
            let (left, right) = (next.0.next(), next.1.next());
            match (left, right) {
                (Some(left), Some(right)) if key(left) == key(right) => {
                    skipped += 1;
                    before.push_back(left);
                    if before.len() > CONTEXT {
                        before.pop_front();
                    }
                    (expected, answer) = next;
                }
                _ => {
                    let place = |piece: Option<&[u8]>, text: &[u8]| {
                        piece.map_or(text.len(), |piece| piece.as_ptr().addr().saturating_sub(text.as_ptr().addr()))
                    };
                    let [one, other] = whole;
                    let at = [place(left, one), place(right, other)];
                    return Pieces { skipped, before, at, key, ..Pieces::taken(expected, answer) };
                }
            }
        }
    }

    fn taken(expected: impl Iterator<Item = &'a [u8]>, answer: impl Iterator<Item = &'a [u8]>) -> Pieces<'a> {
        let mut sides =
            (expected.take(MAX_ALIGNED + 1).collect::<Vec<_>>(), answer.take(MAX_ALIGNED + 1).collect::<Vec<_>>());
        let is_cut = sides.0.len().max(sides.1.len()) > MAX_ALIGNED;
        sides.0.truncate(MAX_ALIGNED);
        sides.1.truncate(MAX_ALIGNED);
        Pieces {
            unit: "",
            skipped: 0,
            before: VecDeque::new(),
            expected: sides.0,
            answer: sides.1,
            behind: 0,
            is_cut,
            key: <[u8]>::to_vec,
            at: [0, 0],
        }
    }

    fn steps(&self) -> Vec<Step> {
        let mut numbers = HashMap::new();
        let mut number = |piece: &&[u8]| {
            let next = numbers.len();
            *numbers.entry((self.key)(piece)).or_insert(next)
        };
        let left: Vec<_> = self.expected.iter().map(&mut number).collect();
        let right: Vec<_> = self.answer.iter().map(&mut number).collect();
        let mut steps = align(&left, &right);
        if self.is_cut {
            // Pieces after the last equal ones may belong to some that were not looked at.
            let last = steps.iter().rposition(|step| matches!(step, Step::Same(..)));
            let first = steps.iter().position(|step| !matches!(step, Step::Same(..))).map_or(0, |first| first + 1);
            steps.truncate(last.map_or(first, |last| first.max(last + 1)));
        }
        steps
    }

    fn page(&self, expected: &[u8], answer: &[u8], rule: TextRule) -> String {
        let empty = |text: &[u8]| match rule {
            TextRule::Exact | TextRule::Trimmed => text.is_empty(),
            TextRule::Tokens => trimmed(text).is_empty(),
        };
        let steps = self.steps();
        let mut page = Page::new(&match (empty(expected), empty(answer)) {
            (_, true) => "the output is empty".to_owned(),
            (true, false) => "nothing was expected".to_owned(),
            (false, false) => self.heading(&steps),
        });
        let shown = self.before.len();
        if self.skipped > shown {
            page.fold(0, self.skipped - shown);
        }
        self.before.iter().for_each(|piece| page.line(Sign::Equal, 0, &clipped(piece)));
        let ends =
            [expected, answer].map(|text| text.ends_with(b"\n") && self.unit == "line" && rule == TextRule::Exact);
        let mut body = Body { pieces: self, page, ends, empty: [empty(expected), empty(answer)] };
        body.steps(&steps);
        let mut page = body.page;
        if self.is_cut {
            page.cut();
        }
        page.finish()
    }

    /// The place of the first difference.
    fn heading(&self, steps: &[Step]) -> String {
        let number = |index: usize| self.skipped + index + 1;
        let unit = self.unit;
        match steps.iter().find(|step| !matches!(step, Step::Same(..))) {
            Some(Step::Pair(left, right)) => {
                let [one, other] =
                    [self.expected.get(*left), self.answer.get(*right)].map(|piece| piece.copied().unwrap_or_default());
                self.pair_heading(number(*left), one, other)
            }
            Some(Step::Missing(index)) => format!("at {unit} {}: missing", number(*index)),
            Some(Step::Extra(index)) => format!("at {unit} {}: not expected", number(*index)),
            Some(Step::Same(..)) | None => String::new(),
        }
    }

    fn pair_heading(&self, number: usize, expected: &[u8], answer: &[u8]) -> String {
        let is_only = number == 1 && self.expected.len() == 1 && self.answer.len() == 1;
        let same = expected.iter().zip(answer).take_while(|(left, right)| left == right).count();
        let same = char_start(expected, same);
        let position = String::from_utf8_lossy(expected.get(..same).unwrap_or_default()).chars().count() + 1;
        let rest = |text: &[u8]| {
            let rest = text.get(same..).unwrap_or_default();
            String::from_utf8_lossy(rest.get(..8).unwrap_or(rest)).into_owned()
        };
        let characters = alike(&rest(expected), &rest(answer)).map_or(String::new(), |said| format!(": {said}"));
        match (self.unit, is_only) {
            ("word", _) => format!("at word {number}{characters}"),
            (_, true) => format!("at character {position}{characters}"),
            (unit, false) => format!("at character {position} of {unit} {number}{characters}"),
        }
    }
}

/// How many bytes at the end of two texts are whole lines that are equal, with the line break before them.
fn equal_end(left: &[u8], right: &[u8]) -> usize {
    let same = left.iter().rev().zip(right.iter().rev()).take_while(|(one, other)| one == other).count();
    let end = left.get(left.len() - same..).unwrap_or_default();
    end.iter().position(|byte| *byte == b'\n').map_or(0, |at| end.len() - at)
}

/// The lines of a page below its heading.
struct Body<'p, 'a> {
    pieces: &'p Pieces<'a>,
    page: Page,
    /// Whether the last piece of a side stands for a line break at its end.
    ends: [bool; 2],
    empty: [bool; 2],
}

impl Body<'_, '_> {
    fn steps(&mut self, steps: &[Step]) {
        if let [true, _] | [_, true] = self.empty {
            return self.one_side();
        }
        let mut rest = steps;
        let mut is_first = true;
        while !rest.is_empty() {
            let same = rest.iter().take_while(|step| matches!(step, Step::Same(..))).count();
            let (run, after) = rest.split_at_checked(same).unwrap_or((rest, &[]));
            self.run(run, [!is_first, !after.is_empty()], if after.is_empty() { self.pieces.behind } else { 0 });
            is_first = false;
            let different = after.iter().take_while(|step| !matches!(step, Step::Same(..))).count();
            let (block, after) = after.split_at_checked(different).unwrap_or((after, &[]));
            block.iter().for_each(|step| self.step(*step));
            rest = after;
        }
        if self.pieces.behind > 0 && !matches!(steps.last(), Some(Step::Same(..))) {
            self.page.fold(0, self.pieces.behind);
        }
    }

    /// Where one side is empty, all of the other differs.
    fn one_side(&mut self) {
        for (side, (pieces, sign)) in
            [(&self.pieces.expected, Sign::Expected), (&self.pieces.answer, Sign::Answer)].into_iter().enumerate()
        {
            if self.empty.get(side) == Some(&true) {
                self.page.line(sign, 0, "(empty)");
            } else {
                // This leaves room for the other side.
                let few = pieces.len().min(12);
                for index in 0..few {
                    let text = self.alone(side, index);
                    self.page.line(sign, 0, &text);
                }
                if pieces.len() > few {
                    self.page.line(sign, 0, "…");
                }
            }
        }
    }

    /// Equal pieces, those in the middle folded, with so many equal ones behind them.
    fn run(&mut self, run: &[Step], [before, after]: [bool; 2], behind: usize) {
        let first = if before { CONTEXT.min(run.len()) } else { 0 };
        let last = if after { CONTEXT.min(run.len() - first) } else { 0 };
        let folded = run.len() - first - last;
        let is_one = folded == 1 && behind == 0;
        for (index, step) in run.iter().enumerate() {
            let Step::Same(left, _) = step else { continue };
            if index < first || index >= run.len() - last || is_one {
                let text = clipped(self.pieces.expected.get(*left).copied().unwrap_or_default());
                self.page.line(Sign::Equal, 0, &text);
            } else if index == first {
                self.page.fold(0, folded + behind);
            }
        }
        if folded == 0 && behind > 0 {
            self.page.fold(0, behind);
        }
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Same(..) => {}
            Step::Missing(index) => {
                let text = self.alone(0, index);
                self.page.line(Sign::Expected, 0, &text);
            }
            Step::Extra(index) => {
                let text = self.alone(1, index);
                self.page.line(Sign::Answer, 0, &text);
            }
            Step::Pair(left, right) => {
                let [expected, answer] = [self.piece(0, left), self.piece(1, right)];
                let same = expected.iter().zip(answer).take_while(|(left, right)| left == right).count();
                let mut sides = [expected, answer].map(|piece| differing(piece, same, false));
                if sides[0] == sides[1] {
                    sides = [expected, answer].map(|piece| differing(piece, same, true));
                }
                let [left_text, right_text] = sides;
                let named = [(0, left, left_text), (1, right, right_text)]
                    .map(|(side, index, text)| if text.is_empty() { self.alone(side, index) } else { text });
                self.page.line(Sign::Expected, 0, &named[0]);
                self.page.line(Sign::Answer, 0, &named[1]);
            }
        }
    }

    fn piece(&self, side: usize, index: usize) -> &[u8] {
        let pieces = if side == 0 { &self.pieces.expected } else { &self.pieces.answer };
        pieces.get(index).copied().unwrap_or_default()
    }

    /// A piece that only one side has.
    fn alone(&self, side: usize, index: usize) -> String {
        let piece = self.piece(side, index);
        let pieces = if side == 0 { &self.pieces.expected } else { &self.pieces.answer };
        let is_end = index + 1 == pieces.len() && !self.pieces.is_cut && self.ends.get(side) == Some(&true);
        match (piece.is_empty(), is_end) {
            (true, true) => "(line break at the end)".to_owned(),
            (true, false) => "(empty line)".to_owned(),
            (false, _) => differing(piece, 0, false),
        }
    }
}

/// The beginning of a piece, without marks.
fn clipped(piece: &[u8]) -> String {
    let [_, most] = LINE_BYTES;
    window(&visible(piece.get(..most).unwrap_or(piece), false), 0)
}

/// A piece around its first difference, with everything to be seen.
fn differing(piece: &[u8], at: usize, escapes: bool) -> String {
    let [before, after] = LINE_BYTES;
    let start = char_start(piece, at.saturating_sub(before));
    let end = (at + after).min(piece.len());
    let [head, tail] = [piece.get(start..at), piece.get(at..end)].map(Option::unwrap_or_default);
    // Both are cut together, for a character may begin before the first byte that differs.
    let whole = piece.get(start..end).unwrap_or_default();
    let mut text = visible(whole, escapes);
    if end == piece.len() {
        let blanks = text.len() - text.trim_end_matches(' ').len();
        text.truncate(text.len() - blanks);
        text.extend(std::iter::repeat_n('·', blanks));
    }
    let shown = window(&text, common(&visible(head, escapes), &text));
    let cut_before = start > 0 && !shown.starts_with('…');
    let cut_after = end < piece.len() && !shown.ends_with('…') && !tail.is_empty();
    format!("{}{shown}{}", if cut_before { "…" } else { "" }, if cut_after { "…" } else { "" })
}

/// The start of the character that a byte belongs to.
fn char_start(text: &[u8], at: usize) -> usize {
    // Each byte of a character but its first has these two high bits.
    let mut places = (at.saturating_sub(3)..=at).rev();
    places.find(|place| text.get(*place).is_none_or(|byte| byte & 0xc0 != 0x80)).unwrap_or(at)
}

/// Text in which every character is seen: others are escaped, and backslashes too where asked.
fn visible(bytes: &[u8], backslashes: bool) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        for char in chunk.valid().chars() {
            match char {
                '\t' => out.push_str("\\t"),
                '\r' => out.push_str("\\r"),
                '\\' if backslashes => out.push_str("\\\\"),
                char if is_unseen(char) || is_blank(char) => out.push_str(&format!("\\u{{{:x}}}", u32::from(char))),
                char => out.push(char),
            }
        }
        chunk.invalid().iter().for_each(|byte| out.push_str(&format!("\\x{byte:02x}")));
    }
    out
}
