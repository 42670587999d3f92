//! Lists for people: a header, and rows whose cells are below each other.

use std::io::{self, Write};

use crate::out;
use crate::paint::{Paint, printable};

/// A list with `N` columns.
pub(crate) struct Listing<const N: usize> {
    header: [&'static str; N],
    rows: Vec<[Cell; N]>,
}

/// What a row has in a column, safe for a terminal.
pub(crate) struct Cell {
    text: String,
    painted: Option<fn(Paint, &str) -> String>,
}

impl Cell {
    /// A text that is good news.
    pub(crate) fn good(text: &str) -> Cell {
        Cell { painted: Some(Paint::good), ..Cell::from(text) }
    }

    /// A text that is bad news.
    pub(crate) fn bad(text: &str) -> Cell {
        Cell { painted: Some(Paint::bad), ..Cell::from(text) }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell { text: printable(text), painted: None }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::from(text.as_str())
    }
}

impl<const N: usize> Listing<N> {
    pub(crate) fn new(header: [&'static str; N]) -> Listing<N> {
        Listing { header, rows: Vec::new() }
    }

    pub(crate) fn push(&mut self, row: [Cell; N]) {
        self.rows.push(row);
    }

    /// Prints the list. Of an empty one it prints `none`, on standard error: a program that counts lines of standard output
    /// counts rows and one header, or nothing.
    pub(crate) fn print(self, none: &str) -> io::Result<()> {
        if self.rows.is_empty() {
            out::note(none);
            return Ok(());
        }
        let paint = Paint::for_stdout();
        let mut widths = self.header.map(str::len);
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.text.chars().count());
            }
        }
        let mut out = out::stdout();
        let header = self.header.iter().zip(widths).map(|(name, width)| format!("{name:<width$}"));
        writeln!(out, "{}", paint.dim(header.collect::<Vec<_>>().join("  ").trim_end()))?;
        for row in &self.rows {
            writeln!(out, "{}", line(row, &widths, paint))?;
        }
        Ok(())
    }
}

fn line(row: &[Cell], widths: &[usize], paint: Paint) -> String {
    let mut line = String::new();
    let mut gap = 0;
    for (Cell { text, painted }, width) in row.iter().zip(widths) {
        if text.is_empty() {
            gap += width + 2;
            continue;
        }
        // Spaces are written before the next text, and not into the colours of this one.
        line.push_str(&" ".repeat(gap));
        line.push_str(&painted.map_or_else(|| text.clone(), |painted| painted(paint, text)));
        gap = width.saturating_sub(text.chars().count()) + 2;
    }
    line
}
