//! Integers of any number of bits, packed back to back, the lowest bit first.

/// The longest unary part of a number; a greater number follows it in full.
const LONGEST_UNARY: u32 = 20;

/// Writes integers.
#[derive(Default)]
pub(crate) struct BitWriter {
    pub(crate) bytes: Vec<u8>,
    /// Bits not written yet, fewer than eight of them.
    rest: u64,
    count: u32,
}

impl BitWriter {
    /// Writes the lowest `bits` bits of a number, at most 32.
    #[inline]
    pub(crate) fn write(&mut self, number: u32, bits: u32) {
        let mask = (1_u64 << bits) - 1;
        self.rest |= (u64::from(number) & mask) << self.count;
        self.count += bits;
        while self.count >= 8 {
            self.bytes.push(self.rest as u8);
            self.rest >>= 8;
            self.count -= 8;
        }
    }

    /// Writes a number: its quotient by 2 to the power of `low` in unary, its remainder in `low` bits.
    #[inline]
    pub(crate) fn rice(&mut self, number: u32, low: u32) {
        let high = number >> low;
        if high >= LONGEST_UNARY {
            self.write((1 << LONGEST_UNARY) - 1, LONGEST_UNARY);
            self.write(number, 32);
            return;
        }
        self.write((1 << high) - 1, high + 1);
        self.write(number, low);
    }

    /// Writes a number above zero; small ones take few bits.
    #[inline]
    pub(crate) fn gamma(&mut self, number: u32) {
        let length = number.max(1).ilog2();
        self.write(((1_u64 << length) - 1) as u32, length);
        self.write(0, 1);
        self.write(number, length);
    }

    /// Fills the last byte.
    pub(crate) fn align(&mut self) {
        if self.count > 0 {
            self.write(0, 8 - self.count);
        }
    }
}

/// Reads integers from bytes that may be damaged: behind the end, all bits are zero.
#[derive(Clone, Copy)]
pub(crate) struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> BitReader<'a> {
    /// Starts at a bit.
    pub(crate) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// Returns whether everything was read, or more.
    pub(crate) fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len() * 8
    }

    /// Returns the next bits, at least 57 of them.
    #[inline(always)]
    fn next_bits(&self) -> u64 {
        let (start, inside) = (self.at / 8, self.at % 8);
        let word = match self.bytes.get(start..).and_then(<[u8]>::first_chunk::<8>) {
            Some(bytes) => u64::from_le_bytes(*bytes),
            None => {
                let mut bytes = [0; 8];
                let rest = self.bytes.get(start..).unwrap_or_default();
                bytes[..rest.len()].copy_from_slice(rest);
                u64::from_le_bytes(bytes)
            }
        };
        word >> inside
    }

    /// Reads a number of at most 32 bits.
    #[inline(always)]
    pub(crate) fn read(&mut self, bits: u32) -> u32 {
        let number = self.next_bits() & ((1 << bits) - 1);
        self.at += bits as usize;
        number as u32
    }

    /// Reads what [`BitWriter::rice`] wrote; `low` is at most 32.
    #[inline(always)]
    pub(crate) fn rice(&mut self, low: u32) -> u32 {
        let bits = self.next_bits();
        let high = bits.trailing_ones();
        if high >= LONGEST_UNARY {
            self.at += LONGEST_UNARY as usize;
            return self.read(32);
        }
        let rest = (bits >> (high + 1)) & ((1 << low) - 1);
        self.at += (high + 1 + low) as usize;
        (u64::from(high) << low | rest) as u32
    }

    /// Reads what [`BitWriter::gamma`] wrote.
    #[inline(always)]
    pub(crate) fn gamma(&mut self) -> u32 {
        let length = self.next_bits().trailing_ones().min(31);
        self.at += length as usize + 1;
        1 << length | self.read(length)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_come_back(
            numbers in proptest::collection::vec((any::<u32>(), 0..=32_u32, 0..=24_u32), 0..40),
        ) {
            let mut writer = BitWriter::default();
            for (number, bits, low) in &numbers {
                let small = u64::from(*number) & ((1 << bits) - 1);
                writer.write(*number, *bits);
                writer.rice(small as u32, *low);
                writer.gamma((small as u32).max(1));
            }
            writer.align();
            let mut reader = BitReader::new(&writer.bytes, 0);
            for (number, bits, low) in &numbers {
                let small = (u64::from(*number) & ((1 << bits) - 1)) as u32;
                prop_assert_eq!(reader.read(*bits), small);
                prop_assert_eq!(reader.rice(*low), small);
                prop_assert_eq!(reader.gamma(), small.max(1));
            }
            prop_assert!(numbers.is_empty() || reader.at.div_ceil(8) == writer.bytes.len());
        }

        #[test]
        fn any_bytes_can_be_read(bytes in proptest::collection::vec(any::<u8>(), 0..40), low in 0..=32_u32) {
            let mut reader = BitReader::new(&bytes, 0);
            for _ in 0..400 {
                reader.rice(low);
                reader.gamma();
            }
            prop_assert!(reader.is_at_end());
        }
    }
}
