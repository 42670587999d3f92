//! Plots as pictures of rectangles: no script, no style, and a table beside each for those who do not see it.

use super::words::number;

/// How high a plot is, in units of its picture.
const HEIGHT: u64 = 100;
/// How wide a bar and its space are.
const STEP: u64 = 10;
const BAR: u64 = 7;

/// Bars beside each other, each of several parts on top of each other.
pub(crate) struct Stacks {
    pub(crate) width: u64,
    pub(crate) parts: Vec<Rectangle>,
    pub(crate) columns: Vec<Column>,
    /// The highest bar.
    pub(crate) most: String,
    pub(crate) is_empty: bool,
}

pub(crate) struct Rectangle {
    pub(crate) class: &'static str,
    pub(crate) x: u64,
    pub(crate) y: u64,
    pub(crate) width: u64,
    pub(crate) height: u64,
}

/// One bar, for the table and for the pointer.
pub(crate) struct Column {
    pub(crate) label: String,
    pub(crate) x: u64,
    pub(crate) counts: Vec<String>,
    pub(crate) words: String,
}

/// Bars below each other, with a name each.
pub(crate) struct Rows<T> {
    pub(crate) rows: Vec<Row<T>>,
}

pub(crate) struct Row<T> {
    pub(crate) name: T,
    pub(crate) href: Option<String>,
    pub(crate) parts: Vec<Rectangle>,
    pub(crate) words: String,
}

/// How wide the longest row is.
const LONGEST: u64 = 1_000;

impl Stacks {
    /// `kinds` are the classes and names of the parts, from the bottom; each bar has a label and as many counts.
    pub(crate) fn new(kinds: &[(&'static str, &'static str)], bars: Vec<(String, Vec<u64>)>) -> Self {
        let most = bars.iter().map(|(_, counts)| total(counts)).max().unwrap_or_default();
        let (mut parts, mut columns) = (Vec::new(), Vec::new());
        for (index, (label, counts)) in bars.into_iter().enumerate() {
            let x = index as u64 * STEP;
            let mut top = HEIGHT;
            for ((class, _), count) in kinds.iter().zip(&counts) {
                // The parts are rounded one by one, so that their sum may be higher than the picture.
                let height = scaled(*count, most, HEIGHT).min(top);
                top -= height;
                if height > 0 {
                    parts.push(Rectangle { class, x, y: top, width: BAR, height });
                }
            }
            let words: Vec<_> = kinds
                .iter()
                .zip(&counts)
                .filter(|(_, count)| **count > 0)
                .map(|((_, name), count)| format!("{} {name}", number(*count)))
                .collect();
            let words = if words.is_empty() { "none".to_owned() } else { words.join(", ") };
            let counts = counts.iter().map(|count| number(*count)).collect();
            columns.push(Column { words: format!("{label}: {words}"), label, x, counts });
        }
        // SVG draws nothing in a `viewBox` of no width.
        let width = (columns.len() as u64 * STEP).max(1);
        Self { width, parts, columns, most: number(most), is_empty: most == 0 }
    }
}

impl<T> Rows<T> {
    /// As [`Stacks::new`], with a name and an address for each row.
    pub(crate) fn new(kinds: &[(&'static str, &'static str)], rows: Vec<(T, Option<String>, Vec<u64>)>) -> Self {
        let most = rows.iter().map(|(_, _, counts)| total(counts)).max().unwrap_or_default();
        let rows = rows.into_iter().map(|(name, href, counts)| {
            let (mut x, mut parts, mut words) = (0, Vec::new(), Vec::new());
            for ((class, kind), count) in kinds.iter().zip(&counts).filter(|(_, count)| **count > 0) {
                let width = scaled(*count, most, LONGEST);
                parts.push(Rectangle { class, x, y: 0, width, height: 10 });
                x += width;
                words.push(format!("{} {kind}", number(*count)));
            }
            Row { name, href, parts, words: words.join(", ") }
        });
        Self { rows: rows.collect() }
    }
}

/// The sum of the counts, which come from a database and may be any number.
fn total(counts: &[u64]) -> u64 {
    counts.iter().fold(0, |sum, count| sum.saturating_add(*count))
}

/// A count as a part of a length; one that is not zero can be seen.
fn scaled(count: u64, most: u64, length: u64) -> u64 {
    if count == 0 || most == 0 {
        return 0;
    }
    // In 128 bits: the product of two counts may be larger than 64 bits.
    u64::try_from(u128::from(count) * u128::from(length) / u128::from(most)).unwrap_or(length).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_high_as_their_counts_and_none_is_lost() {
        let kinds = [("p", "allowed"), ("f", "stopped")];
        let stacks = Stacks::new(
            &kinds,
            vec![("a".into(), vec![3, 1]), ("b".into(), vec![0, 0]), ("c".into(), vec![u64::MAX, 1])],
        );
        let shown: Vec<_> = stacks.parts.iter().map(|part| (part.class, part.x, part.y, part.height)).collect();
        assert_eq!(shown, [("p", 0, 99, 1), ("f", 0, 98, 1), ("p", 20, 0, 100)]);
        assert_eq!(stacks.columns[1].words, "b: none");
        assert!(Stacks::new(&kinds, Vec::new()).is_empty);
        let rows = Rows::new(&kinds, vec![("x", None, vec![1, 1]), ("y", None, vec![1, 0])]);
        assert_eq!(rows.rows[0].words, "1 allowed, 1 stopped");
        assert_eq!(rows.rows[1].parts[0].width, 500);
    }
}
