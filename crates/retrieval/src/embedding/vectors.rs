//! How near vectors are to one: the cosine of the angle between them, with whole numbers.

use super::{DIMENSIONS, Vector};

/// Binary digits of a cosine behind the point.
pub(crate) const COSINE_DIGITS: u32 = 20;

/// Bytes of a vector that is kept. A search reads them all, and how long that takes depends on how many they are.
pub(crate) const KEPT: usize = DIMENSIONS / 2;
/// A vector as it is kept: its numbers from -7 to 7, two to a byte, each with eight added. The second half of them is in the
/// upper halves of the bytes.
pub(crate) type Kept = [u8; KEPT];

/// The largest number that is kept.
const LARGEST: i32 = 7;
const ADDED: i32 = 8;

/// A vector with coarser numbers.
pub(crate) fn kept(vector: &Vector) -> Kept {
    let coarse = |value: i8| {
        let size = (i32::from(value.unsigned_abs()) * 2 * LARGEST + 127) / (2 * 127);
        let signed = if value < 0 { -size } else { size };
        (signed.clamp(-LARGEST, LARGEST) + ADDED) as u8
    };
    std::array::from_fn(|at| coarse(vector[at]) | coarse(vector[at + KEPT]) << 4)
}

/// The numbers of a vector that is kept.
fn numbers(kept: &Kept) -> impl Iterator<Item = i32> {
    let halves = kept.iter().flat_map(|byte| [byte & 15, byte >> 4]);
    halves.map(|number| i32::from(number) - ADDED)
}

/// One over the length of a vector that is kept, with 32 binary digits behind the point.
pub(crate) fn inverse_length(kept: &Kept) -> u32 {
    one_over_root(
        numbers(kept)
            .map(|number| u64::from(number.unsigned_abs()).pow(2))
            .sum(),
    )
}

fn one_over_root(square: u64) -> u32 {
    if square == 0 {
        return 0;
    }
    // The length with 16 binary digits behind the point.
    let length = (square << 32).isqrt();
    u32::try_from((1_u64 << 48) / length.max(1)).unwrap_or(u32::MAX)
}

/// The cosines between `query` and every vector of `vectors`, which are kept ones, whose inverse lengths are in
/// `inverse_lengths`, each a little-endian number of four bytes. `take` is called with the number of each and its cosine.
pub(crate) fn cosines(
    query: &Vector,
    vectors: &[u8],
    inverse_lengths: &[u8],
    mut take: impl FnMut(usize, i32),
) {
    let square = query
        .iter()
        .map(|value| u64::from(value.unsigned_abs()).pow(2));
    let query_inverse = i64::from(one_over_root(square.sum()));
    let (vectors, _) = vectors.as_chunks::<KEPT>();
    let (inverse_lengths, _) = inverse_lengths.as_chunks::<4>();
    let lower: [i16; KEPT] = std::array::from_fn(|at| i16::from(query[at]));
    let upper: [i16; KEPT] = std::array::from_fn(|at| i16::from(query[at + KEPT]));
    let added: i32 = query.iter().map(|value| i32::from(*value) * ADDED).sum();
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || {
            for (number, (vector, inverse)) in vectors.iter().zip(inverse_lengths).enumerate() {
                let mut dot = -added;
                for ((both, lower), upper) in vector.iter().zip(&lower).zip(&upper) {
                    dot += i32::from(i16::from(both & 15)) * i32::from(*lower);
                    dot += i32::from(i16::from(both >> 4)) * i32::from(*upper);
                }
                let inverse = i64::from(u32::from_le_bytes(*inverse));
                // At most 2^18 times 2^32, and then 2^26 times 2^32.
                let scaled = (i64::from(dot) * inverse) >> 24;
                let cosine = (scaled * query_inverse) >> (40 - COSINE_DIGITS);
                take(number, cosine as i32);
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
        fn what_is_kept_is_nearly_the_vector(vector in vector()) {
            let exact: Vec<f64> = vector.iter().map(|value| f64::from(*value) * 7.0 / 127.0).collect();
            let kept = kept(&vector);
            for (at, both) in kept.iter().enumerate() {
                for (exact, number) in [(exact[at], both & 15), (exact[at + KEPT], both >> 4)] {
                    prop_assert!((exact - (f64::from(number) - 8.0)).abs() <= 0.5 + 1e-9);
                }
            }
        }

        #[test]
        fn cosines_are_cosines(one in vector(), other in vector()) {
            let other = kept(&other);
            let mut found = 0;
            let inverse = inverse_length(&other).to_le_bytes();
            cosines(&one, &other, &inverse, |_, cosine| found = cosine);
            let mut coarse = [0_i8; DIMENSIONS];
            for (at, both) in other.iter().enumerate() {
                coarse[at] = (both & 15).cast_signed() - 8;
                coarse[at + KEPT] = (both >> 4).cast_signed() - 8;
            }
            let other = coarse;
            let dot = |one: &Vector, other: &Vector| {
                one.iter().zip(other).map(|(one, other)| f64::from(*one) * f64::from(*other)).sum::<f64>()
            };
            let lengths = (dot(&one, &one) * dot(&other, &other)).sqrt();
            let expected = if lengths == 0.0 { 0.0 } else { dot(&one, &other) / lengths };
            prop_assert!((f64::from(found) / f64::from(1 << COSINE_DIGITS) - expected).abs() < 0.0001);
        }
    }
}
