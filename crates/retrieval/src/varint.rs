//! Variable-length integers: seven bits a byte, the lowest first, with the highest bit set on all but the last.

pub(crate) fn write(out: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

/// Writes how far `to` is from `from`; most often it is behind it.
pub(crate) fn write_distance(out: &mut Vec<u8>, from: usize, to: usize) {
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).cast_signed();
    let distance = number(to).wrapping_sub(number(from));
    // The sign goes into the lowest bit, so that small numbers stay small.
    write(out, (distance << 1 ^ distance >> 31).cast_unsigned());
}

/// Reads numbers from bytes that may be damaged: always terminates, and yields no more numbers than there are bytes.
#[derive(Clone)]
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

    /// Reads what [`write_distance`] wrote.
    pub(crate) fn next_after(&mut self, from: u32) -> Option<u32> {
        let number = self.next()?;
        let distance = (number >> 1) ^ (number & 1).wrapping_neg();
        Some(from.wrapping_add(distance))
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
        fn distances_come_back(numbers in proptest::collection::vec(any::<u32>(), 0..20)) {
            let mut bytes = Vec::new();
            let mut last = 0;
            for number in &numbers {
                write_distance(&mut bytes, last, *number as usize);
                last = *number as usize;
            }
            let (mut read, mut last) = (Numbers::new(&bytes), 0);
            for number in numbers {
                last = read.next_after(last).unwrap();
                prop_assert_eq!(last, number);
            }
        }

        #[test]
        fn any_bytes_have_an_end(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            prop_assert!(Numbers::new(&bytes).count() <= bytes.len());
        }
    }
}
