//! Variable-length integers: seven bits a byte, the lowest first, with the highest bit set on all but the last.

pub(crate) fn write(out: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Reads numbers from bytes that may be damaged: always terminates, and yields no more numbers than there are bytes.
pub(crate) struct Numbers<'a> {
    bytes: &'a [u8],
}

impl<'a> Numbers<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Returns the bytes not read yet.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.bytes.is_empty()
    }
}

impl Iterator for Numbers<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        let (&first, mut rest) = self.bytes.split_first()?;
        if first < 0x80 {
            self.bytes = rest;
            return Some(u32::from(first));
        }
        let mut number = u32::from(first & 0x7f);
        let mut byte = first;
        let mut shift = 7;
        while byte & 0x80 != 0 {
            let (&next, behind) = rest.split_first()?;
            (byte, rest) = (next, behind);
            number |= u32::from(byte & 0x7f).checked_shl(shift)?;
            shift += 7;
        }
        self.bytes = rest;
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_come_back(numbers in proptest::collection::vec(any::<u32>(), 0..20)) {
            let mut bytes = Vec::new();
            numbers.iter().for_each(|number| write(&mut bytes, *number));
            prop_assert_eq!(Numbers::new(&bytes).collect::<Vec<_>>(), numbers);
        }

        #[test]
        fn any_bytes_have_an_end(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            prop_assert!(Numbers::new(&bytes).count() <= bytes.len());
        }
    }
}
