//! Fixed-point numbers with ten fractional bits. Nothing here depends on the machine's floating point.

/// One.
pub(crate) const ONE: u64 = 1 << 10;

/// Returns the binary logarithm of `n`, which is at least 1.
pub(crate) fn log2(n: u64) -> u64 {
    const DIGITS: u32 = 10;
    // A number from 1 up to 2 with 31 fractional bits, whose logarithm is the fractional part of the answer. Each
    // squaring doubles that, and so yields its next bit.
    let whole = n.max(1).ilog2();
    let mut rest = if whole > 31 {
        n >> (whole - 31)
    } else {
        n.max(1) << (31 - whole)
    };
    let mut result = u64::from(whole);
    for _ in 0..DIGITS {
        rest = (rest * rest) >> 31;
        let digit = rest >> 32;
        rest >>= digit;
        result = (result << 1) | digit;
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logarithms() {
        assert_eq!(log2(1), 0);
        assert_eq!(log2(2), ONE);
        assert_eq!(log2(1 << 40), 40 * ONE);
        // 1.58496 and 3.32193.
        assert_eq!(log2(3), 1623);
        assert_eq!(log2(10), 3401);
        assert_eq!(log2(u64::MAX), 64 * ONE - 1);
    }

    #[test]
    fn logarithms_never_fall() {
        let mut last = 0;
        for n in (1..5_000).chain((33..63).map(|bits| 1_u64 << bits)) {
            let now = log2(n);
            assert!(now >= last, "{n}");
            last = now;
        }
    }
}
