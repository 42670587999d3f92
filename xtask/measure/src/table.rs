//! Tables of figures, in Markdown.

use std::fmt::Write;

use crate::Measured;

/// How a table of contenders is printed.
pub struct Table {
    reference: String,
    unit: String,
}

impl Table {
    /// A table in which the contender of this name is what the others are compared with, and one of what is counted is
    /// a `unit`, named in the plural: `cases`.
    pub fn beside(reference: impl Into<String>, unit: impl Into<String>) -> Self {
        Self { reference: reference.into(), unit: unit.into() }
    }

    /// The table: units a second, processor time a unit, both beside the reference, and the waits where they were measured.
    pub fn show(&self, rows: &[Measured]) -> String {
        let Table { reference, unit } = self;
        let with_waits = rows.iter().any(|row| row.waits.is_some());
        let against = rows.iter().find(|row| row.name == *reference);
        let mut text = format!("| | {unit}/s | ÷ {reference} | processor µs | ÷ {reference} |");
        let mut line = "|---|---:|---:|---:|---:|".to_owned();
        if with_waits {
            text.push_str(" p50 ms | p99 ms |");
            line.push_str("---:|---:|");
        }
        text = format!("{text}\n{line}\n");
        for row in rows {
            let Measured { name, each_second, processor_micros, waits } = row;
            let ratio = |own: f64, its: Option<f64>| match its {
                Some(its) if its > 0.0 => format!("{:.2}", own / its),
                _ => String::new(),
            };
            let rate = ratio(*each_second, against.map(|row| row.each_second));
            let processor = ratio(*processor_micros, against.map(|row| row.processor_micros));
            let _infallible = write!(
                text,
                "| {name} | {} | {rate} | {} | {processor} |",
                digits(*each_second),
                digits(*processor_micros)
            );
            if with_waits {
                let _infallible = match waits {
                    Some(waits) => write!(
                        text,
                        " {} | {} |",
                        digits(waits.median.as_secs_f64() * 1e3),
                        digits(waits.p99.as_secs_f64() * 1e3)
                    ),
                    None => write!(text, " | |"),
                };
            }
            text.push('\n');
        }
        text
    }
}

/// A figure with three digits that count.
fn digits(figure: f64) -> String {
    match figure {
        figure if figure >= 100.0 => format!("{figure:.0}"),
        figure if figure >= 10.0 => format!("{figure:.1}"),
        figure => format!("{figure:.2}"),
    }
}
