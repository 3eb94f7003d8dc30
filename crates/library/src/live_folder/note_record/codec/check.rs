//! Checks details without reading them into memory: whatever passes can be read.

use super::{
    FORMS, HAS_FRAGMENT, HAS_USES, Reader,
    texts::{MOST_TEXT, Texts},
};

/// Checks the details of all records of a file.
pub(super) struct DetailsCheck<'t> {
    texts: &'t Texts,
    /// The number of bytes of texts that may still be named: a text may be named often.
    room: usize,
}

impl<'t> DetailsCheck<'t> {
    pub(super) fn new(texts: &'t Texts) -> Self {
        let room = MOST_TEXT;
        Self { texts, room }
    }

    /// Returns something if `from` has the details of one record, and nothing else.
    pub(super) fn details(&mut self, from: &mut Reader<'_>) -> Option<()> {
        self.text(from)?;
        if from.flag()? {
            from.number()?;
        }
        from.small()?;
        self.list(from, |check, from| {
            check.text(from)?;
            check.list(from, Self::text)
        })?;
        self.list(from, Self::text)?;
        self.list(from, Self::text)?;
        let mut last = 0;
        self.list(from, |_, from| {
            from.span(&mut last)?;
            from.flag().map(|_| ())
        })?;
        let mut last = (0, 0);
        self.list(from, |check, from| check.link(from, &mut last))?;
        let mut last = 0;
        self.list(from, |check, from| check.heading(from, &mut last))?;
        self.list(from, |check, from| {
            check.text(from)?;
            from.offset().map(|_| ())
        })?;
        self.list(from, Self::text)?;
        if from.flag()? {
            self.text(from)?;
            from.flag()?;
            from.page_problem()?;
        }
        from.0.is_empty().then_some(())
    }

    fn text(&mut self, from: &mut Reader<'_>) -> Option<()> {
        let text = self.texts.length(from.number()?)?;
        self.takes(text)
    }

    /// Returns something if there is room for another text of this length.
    pub(super) fn takes(&mut self, text: usize) -> Option<()> {
        self.room = self.room.checked_sub(text)?;
        Some(())
    }

    fn link(&mut self, from: &mut Reader<'_>, last: &mut (u64, u64)) -> Option<()> {
        let shape = from.byte()?;
        FORMS.get(usize::from(shape & !(HAS_FRAGMENT | HAS_USES)))?;
        from.span(&mut last.0)?;
        from.line(&mut last.1)?;
        self.text(from)?;
        if shape & HAS_FRAGMENT != 0 {
            self.text(from)?;
        }
        if shape & HAS_USES != 0 {
            let mut last = 0;
            self.list(from, |_, from| from.span(&mut last).map(|_| ()))?;
        }
        Some(())
    }

    fn heading(&mut self, from: &mut Reader<'_>, last: &mut u64) -> Option<()> {
        let has_spelling = from.heading_shape()?.has_spelling;
        from.place(last)?;
        self.text(from)?;
        if has_spelling {
            self.text(from)?;
            self.text(from)?;
        }
        Some(())
    }

    fn list(
        &mut self,
        from: &mut Reader<'_>,
        mut check: impl FnMut(&mut Self, &mut Reader<'_>) -> Option<()>,
    ) -> Option<()> {
        (0..from.length()?).try_for_each(|_| check(self, from))
    }
}
