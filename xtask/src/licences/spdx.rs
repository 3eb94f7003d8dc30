//! SPDX licence expressions, as far as crates use them.

use anyhow::{Context, Result, bail};

/// Whether somebody who accepts only `allowed` licences may use something under `expression`.
///
/// An exception is part of its licence: `X WITH Y` is satisfied only by an allowed `X WITH Y`. The slash of old crates
/// (`MIT/Apache-2.0`) means OR.
pub(super) fn is_satisfied(expression: &str, allowed: &[String]) -> Result<bool> {
    let spaced = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let mut parser = Parser {
        words: spaced.split_whitespace().collect(),
        next: 0,
        allowed,
    };
    let satisfied = parser.alternatives()?;
    match parser.peek() {
        None => Ok(satisfied),
        Some(word) => bail!("unexpected `{word}`"),
    }
}

struct Parser<'a> {
    words: Vec<&'a str>,
    next: usize,
    allowed: &'a [String],
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.next).copied()
    }

    fn take(&mut self) -> Result<&'a str> {
        let word = self.peek().context("it ends too early")?;
        self.next += 1;
        Ok(word)
    }

    fn take_if(&mut self, word: &str) -> bool {
        let found = self
            .peek()
            .is_some_and(|next| next.eq_ignore_ascii_case(word));
        self.next += usize::from(found);
        found
    }

    fn alternatives(&mut self) -> Result<bool> {
        let mut satisfied = self.conjunction()?;
        while self.take_if("OR") {
            satisfied |= self.conjunction()?;
        }
        Ok(satisfied)
    }

    fn conjunction(&mut self) -> Result<bool> {
        let mut satisfied = self.licence()?;
        while self.take_if("AND") {
            satisfied &= self.licence()?;
        }
        Ok(satisfied)
    }

    fn licence(&mut self) -> Result<bool> {
        if self.take_if("(") {
            let satisfied = self.alternatives()?;
            if !self.take_if(")") {
                bail!("a parenthesis is not closed");
            }
            return Ok(satisfied);
        }
        let mut name = self.take()?.to_owned();
        let is_operator = ["OR", "AND", "WITH", ")"]
            .iter()
            .any(|word| word.eq_ignore_ascii_case(&name));
        if is_operator {
            bail!("unexpected `{name}`");
        }
        if self.take_if("WITH") {
            name = format!("{name} WITH {}", self.take()?);
        }
        Ok(self
            .allowed
            .iter()
            .any(|allowed| allowed.eq_ignore_ascii_case(&name)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expression: &str, expected: Option<bool>) {
        let allowed = [
            "MIT",
            "Apache-2.0",
            "Apache-2.0 WITH LLVM-exception",
            "Unicode-3.0",
        ]
        .map(str::to_owned);
        assert_eq!(
            is_satisfied(expression, &allowed).ok(),
            expected,
            "{expression}"
        );
    }

    #[test]
    fn single_licences() {
        check("MIT", Some(true));
        check("mit", Some(true));
        check("GPL-3.0-only", Some(false));
    }

    #[test]
    fn and_binds_tighter_than_or() {
        check("GPL-3.0-only OR MIT", Some(true));
        check("GPL-3.0-only AND MIT", Some(false));
        check("MIT OR Apache-2.0 AND GPL-3.0-only", Some(true));
        check("(MIT OR Apache-2.0) AND GPL-3.0-only", Some(false));
        check("(MIT OR GPL-3.0-only) AND Unicode-3.0", Some(true));
    }

    #[test]
    fn an_exception_belongs_to_its_licence() {
        check("Apache-2.0 WITH LLVM-exception", Some(true));
        check("MIT WITH LLVM-exception", Some(false));
        check("Apache-2.0 WITH LLVM-exception OR GPL-2.0-only", Some(true));
    }

    #[test]
    fn the_old_slash_means_or() {
        check("MIT/GPL-2.0-only", Some(true));
        check("GPL-2.0-only / GPL-3.0-only", Some(false));
    }

    #[test]
    fn nonsense_is_an_error() {
        for nonsense in [
            "", "MIT OR", "OR MIT", "(MIT", "MIT)", "MIT MIT", "()", "MIT WITH",
        ] {
            check(nonsense, None);
        }
    }
}
