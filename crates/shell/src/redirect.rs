//! Redirections and here-documents.

use crate::Cause;
use crate::reader::{Reader, Redirect};
use crate::word::Part;

impl Reader {
    /// Whether a redirection begins here, which may have a number before it.
    pub(crate) fn is_redirect(&self) -> bool {
        let digits = (0..).take_while(|ahead| self.peek_at(*ahead).is_some_and(|c| c.is_ascii_digit())).count();
        match (self.peek_at(digits), self.peek_at(digits + 1)) {
            (Some('<' | '>'), Some('(')) => digits > 0,
            (Some('<' | '>'), _) => true,
            (Some('&'), Some('>')) => digits == 0,
            _ => false,
        }
    }

    pub(crate) fn redirect(&mut self) -> Result<Option<Redirect>, Cause> {
        // Some shells take one digit only.
        if self.take_while(|c| c.is_ascii_digit()).len() > 1 {
            return Err(Cause::Syntax);
        }
        let operator = ["<<-", "<<<", "<<", "<&", "<>", "<", "&>>", "&>", ">>", ">&", ">|", ">"];
        let operator = operator.into_iter().find(|operator| self.takes(operator)).ok_or(Cause::Syntax)?;
        self.skip_blanks();
        // `>!` and `>&!` write to what follows in zsh.
        let is_forced = self.peek() == Some('!');
        let file = self.word()?;
        if file.written.is_empty() || is_forced {
            return Err(Cause::Syntax);
        }
        // bash expands the word once more. Only what has nothing to expand is the same then.
        let is_plain = |text: &str| text.chars().all(|c| c.is_alphanumeric() || "_./,+-@%:".contains(c));
        if matches!(operator, ">&" | "<&") && !file.plain().is_some_and(|text| is_plain(&text)) {
            return Err(Cause::Evaluates);
        }
        // `>&-` ends there for some shells, and what follows is a word of the command.
        if matches!(operator, ">&" | "<&") && file.written.starts_with('-') && file.written != "-" {
            return Err(Cause::Syntax);
        }
        let is_number = file.plain().is_some_and(|text| {
            let digits = text.strip_suffix('-').unwrap_or(&text);
            digits.chars().all(|c| c.is_ascii_digit())
        });
        // Some shells take `&>` for the end of a command, and what follows for the next.
        if operator.starts_with('&') {
            self.skip_blanks();
            if !matches!(self.peek(), None | Some('\n' | ';' | '&' | '|' | ')' | '#')) {
                return Err(Cause::Syntax);
            }
        }
        Ok(match operator {
            "<<" | "<<-" => {
                let (end, is_quoted) = file.delimiter();
                if file.parts.iter().any(|part| !matches!(part, Part::Plain(_) | Part::Quoted(_))) {
                    return Err(Cause::Syntax);
                }
                self.heredocs.push((end, is_quoted, operator == "<<-"));
                None
            }
            "<<<" => None,
            ">&" | "<&" if is_number => None,
            "<" | "<&" => Some(Redirect { file, writes: false }),
            _ => Some(Redirect { file, writes: true }),
        })
    }

    /// The lines of here-documents, which begin after a line that has named them.
    pub(crate) fn here_documents(&mut self) -> Result<(), Cause> {
        for (end, is_quoted, strips_tabs) in std::mem::take(&mut self.heredocs) {
            let mut body = Vec::new();
            loop {
                if self.peek().is_none() {
                    // Shells take the rest; with more than one text to come they may differ.
                    return Err(Cause::Syntax);
                }
                let line = self.take_while(|c| c != '\n');
                let has_more = self.next().is_some();
                let known = if strips_tabs { line.trim_start_matches('\t') } else { &line };
                if known == end {
                    break;
                }
                body.extend(line.chars());
                body.push('\n');
                if !has_more {
                    return Err(Cause::Syntax);
                }
                // A line that goes on could hide the end.
                if !is_quoted && line.ends_with('\\') {
                    return Err(Cause::Syntax);
                }
            }
            if !is_quoted {
                self.within(body, Self::expansions)?;
            }
        }
        Ok(())
    }
}
