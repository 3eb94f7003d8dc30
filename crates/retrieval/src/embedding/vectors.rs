//! How near vectors are to one: the cosine of the angle between them, with whole numbers.

use super::{DIMENSIONS, Vector};

/// Binary digits of a cosine behind the point.
pub(crate) const COSINE_DIGITS: u32 = 20;

/// One over the length of a vector, with 32 binary digits behind the point.
pub(crate) fn inverse_length(vector: &Vector) -> u32 {
    let square: u64 = vector
        .iter()
        .map(|value| u64::from(value.unsigned_abs()).pow(2))
        .sum();
    if square == 0 {
        return 0;
    }
    // The length with 16 binary digits behind the point.
    let length = (square << 32).isqrt();
    u32::try_from((1_u64 << 48) / length.max(1)).unwrap_or(u32::MAX)
}

/// The cosines between `query` and every vector of `vectors`, whose inverse lengths are in `inverse_lengths`, each a
/// little-endian number of four bytes. `take` is called with the number of each and its cosine.
pub(crate) fn cosines(
    query: &Vector,
    vectors: &[u8],
    inverse_lengths: &[u8],
    mut take: impl FnMut(usize, i32),
) {
    let query_inverse = i64::from(inverse_length(query));
    let (vectors, _) = vectors.as_chunks::<DIMENSIONS>();
    let (inverse_lengths, _) = inverse_lengths.as_chunks::<4>();
    let wide: [i16; DIMENSIONS] = query.map(i16::from);
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || {
            for (number, (vector, inverse)) in vectors.iter().zip(inverse_lengths).enumerate() {
                let mut dot = 0_i32;
                for (one, other) in vector.iter().zip(&wide) {
                    dot += i32::from(i16::from(one.cast_signed())) * i32::from(*other);
                }
                let inverse = i64::from(u32::from_le_bytes(*inverse));
                // At most 2^22 times 2^32, and then 2^30 times 2^32.
                let scaled = (i64::from(dot) * inverse) >> 24;
                take(
                    number,
                    ((scaled * query_inverse) >> (40 - COSINE_DIGITS)) as i32,
                );
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn vector() -> impl Strategy<Value = Vector> {
        proptest::collection::vec(-127..=127_i8, DIMENSIONS)
            .prop_map(|values| values.try_into().unwrap())
    }

    proptest! {
        #[test]
        fn cosines_are_cosines(one in vector(), other in vector()) {
            let bytes: Vec<u8> = other.iter().map(|value| value.cast_unsigned()).collect();
            let mut found = 0;
            let inverse = inverse_length(&other).to_le_bytes();
            cosines(&one, &bytes, &inverse, |_, cosine| found = cosine);
            let dot = |one: &Vector, other: &Vector| {
                one.iter().zip(other).map(|(one, other)| f64::from(*one) * f64::from(*other)).sum::<f64>()
            };
            let lengths = (dot(&one, &one) * dot(&other, &other)).sqrt();
            let expected = if lengths == 0.0 { 0.0 } else { dot(&one, &other) / lengths };
            prop_assert!((f64::from(found) / f64::from(1 << COSINE_DIGITS) - expected).abs() < 0.0001);
        }
    }
}
