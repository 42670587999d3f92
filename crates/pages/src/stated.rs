//! What a document says, as HTML: digests are shortened, and ids lead to their pages.

use proofmark_receipt::ReceiptId;
use proofmark_statement::{Kind, Section, Statement};

use super::text::Shown;
use super::words::{encoded, short_digest};

/// Statements that belong together.
pub(crate) struct Stated {
    pub(crate) heading: Option<&'static str>,
    pub(crate) rows: Vec<StatedRow>,
}

/// A statement of a document.
pub(crate) struct StatedRow {
    /// None in a list of values.
    pub(crate) name: Option<Shown>,
    pub(crate) value: Shown,
    /// The whole value, where it is shown shortened.
    pub(crate) whole: Option<String>,
    pub(crate) is_code: bool,
    pub(crate) href: Option<String>,
}

impl Stated {
    pub(crate) fn all(sections: Vec<Section>) -> Vec<Self> {
        let sections = sections.into_iter();
        sections
            .map(|Section { heading, statements }| Self { heading, rows: statements.into_iter().map(row).collect() })
            .collect()
    }

    /// Whether the statements are values alone, for which HTML has another element.
    pub(crate) fn is_list(&self) -> bool {
        self.rows.iter().all(|row| row.name.is_none())
    }
}

fn row(Statement { name, value, kind }: Statement) -> StatedRow {
    let short = short_digest(&value);
    let href = match kind {
        // The issuer may have written anything there; only an id leads somewhere.
        Kind::Receipt => value.parse::<ReceiptId>().ok().map(|id| format!("/ui/receipts/{id}")),
        Kind::Decision => Some(format!("/ui/decisions/{}", encoded(&value))),
        Kind::Words | Kind::Digest | Kind::Data | Kind::Legible | Kind::Text => None,
    };
    let name = name.map(|name| Shown::line(&name, 60));
    match kind {
        // The whole value stays in the tooltip: a digest that is shortened proves nothing.
        Kind::Digest if short != value => {
            let whole = Some(Shown::line(&value, 200).plain());
            StatedRow { name, value: short.into(), whole, is_code: true, href }
        }
        _ => StatedRow { name, value: value.into(), whole: None, is_code: kind != Kind::Words, href },
    }
}
