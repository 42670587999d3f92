//! The lines of a difference, as many as there is room for.

/// The longest difference, in characters.
pub const MAX_DIFFERENCE_CHARS: usize = 2048;

/// The last line of a difference that is cut.
const CUT: &str = "… the rest is not shown";

/// What a line shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sign {
    Equal,
    Expected,
    Answer,
}

/// A difference that is being written.
pub(super) struct Page {
    text: String,
    left: usize,
    is_cut: bool,
}

impl Page {
    /// A page that begins with the place of the first difference, where that has a name.
    pub(super) fn new(place: &str) -> Page {
        let mut page =
            Page { text: String::new(), left: MAX_DIFFERENCE_CHARS - CUT.chars().count() - 1, is_cut: false };
        if !place.is_empty() {
            page.write(place);
        }
        page
    }

    /// Writes a line. After the first line that does not fit, nothing is written.
    pub(super) fn line(&mut self, sign: Sign, depth: usize, text: &str) {
        let sign = match sign {
            Sign::Equal => ' ',
            Sign::Expected => '-',
            Sign::Answer => '+',
        };
        let line = format!("{sign} {:indent$}{text}", "", indent = depth * 2);
        self.write(line.trim_end_matches(' '));
    }

    /// Writes that so many equal lines are left out.
    pub(super) fn fold(&mut self, depth: usize, count: usize) {
        let lines = if count == 1 { "line" } else { "lines" };
        self.line(Sign::Equal, depth, &format!("… {count} equal {lines}"));
    }

    /// Says at the end that there is more.
    pub(super) fn cut(&mut self) {
        self.is_cut = true;
    }

    fn write(&mut self, line: &str) {
        let chars = line.chars().count() + 1;
        match self.left.checked_sub(chars) {
            Some(left) if !self.is_cut => {
                self.left = left;
                self.text.push_str(line);
                self.text.push('\n');
            }
            _ => self.cut(),
        }
    }

    pub(super) fn finish(mut self) -> String {
        if self.is_cut {
            self.text.push_str(CUT);
        } else {
            self.text.pop();
        }
        self.text
    }
}

/// As many of the first lines of a difference as fit into so many characters; the first names the place.
pub(crate) fn shortened(difference: &str, chars: usize) -> Option<String> {
    if difference.chars().count() <= chars {
        return Some(difference.to_owned());
    }
    let mut left = chars.checked_sub(CUT.chars().count())?;
    let lines: String = difference
        .split_inclusive('\n')
        .take_while(|line| {
            let rest = left.checked_sub(line.chars().count());
            left = rest.unwrap_or(0);
            rest.is_some()
        })
        .collect();
    (!lines.is_empty()).then(|| lines + CUT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_never_longer_than_its_limit() {
        let mut page = Page::new("at [0]");
        for _ in 0..1_000 {
            page.line(Sign::Expected, 3, "é");
        }
        let text = page.finish();
        assert!(text.chars().count() <= MAX_DIFFERENCE_CHARS && text.ends_with(CUT));
        let short = shortened(&text, 40).unwrap_or_default();
        assert_eq!(short, format!("at [0]\n-       é\n{CUT}"));
        assert_eq!(shortened(&text, 20), None);
        assert_eq!(shortened("at [0]", 20).as_deref(), Some("at [0]"));
    }
}
