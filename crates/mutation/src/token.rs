//! What a token is, and where.

use std::ops::Range;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Blanks, line ends that end no statement, and backslashes that continue a line.
    Space,
    Comment,
    /// A line end that ends a statement, or may end one.
    Newline,
    /// A name or a keyword, with the marks that belong to it (`@x`, `$x`, `#x`, `empty?`).
    Name,
    Number,
    /// A string without expressions inside, with its prefix and its quotes; also a list of words, and the start of a
    /// heredoc.
    String,
    /// The lines of a heredoc, with the line that ends it.
    Heredoc,
    /// A symbol of Ruby, with its colon.
    Symbol,
    /// A regular expression literal, with its flags.
    Regex,
    /// A literal with expressions inside, from its start to the first expression, the opening mark included.
    Head,
    /// What stands between two expressions of a literal, the marks on both sides included.
    Middle,
    /// The end of a literal after its last expression, the closing mark included.
    Tail,
    /// A tag of JSX or a part of one, or text between tags.
    Markup,
    Operator,
    /// One of `(`, `[` and `{`.
    Open,
    /// One of `)`, `]` and `}`.
    Close,
}

impl Kind {
    /// Whether it means nothing: a space or a comment.
    pub fn is_blank(self) -> bool {
        matches!(self, Kind::Space | Kind::Comment)
    }
}

/// A part of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub kind: Kind,
    /// Its first byte, counted from the start of the text.
    pub start: usize,
    /// The byte after its last.
    pub end: usize,
    /// The line on which it starts, counted from 1.
    pub line: usize,
    /// The index of the bracket that belongs to this one, or of the other end of a literal with expressions inside.
    pub partner: Option<usize>,
}

impl Token {
    /// The bytes of the text that it has.
    pub fn span(&self) -> Range<usize> {
        self.start..self.end
    }
}
