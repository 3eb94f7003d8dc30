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

/// One over the length of a vector that is kept, with 32 binary digits behind the point.
pub(crate) fn inverse_length(kept: &Kept) -> u32 {
    one_over_root(square(&coarse(kept)))
}

/// One over a length whose square is given, with 32 binary digits behind the point.
pub(crate) fn one_over_root(square: u64) -> u32 {
    if square == 0 {
        return 0;
    }
    // The length with 16 binary digits behind the point.
    let length = (square << 32).isqrt();
    u32::try_from((1_u64 << 48) / length.max(1)).unwrap_or(u32::MAX)
}

/// The square of a vector's length.
pub(crate) fn square(vector: &Vector) -> u64 {
    let squares = vector
        .iter()
        .map(|value| u64::from(value.unsigned_abs()).pow(2));
    squares.sum()
}

/// The cosine between two vectors with this product, of which one over the length is given with 32 binary digits.
#[inline]
pub(crate) fn cosine(product: i32, inverse: u32, other_inverse: u32) -> i32 {
    // At most 2^18 times 2^32, and then 2^26 times 2^32.
    let scaled = (i64::from(product) * i64::from(inverse)) >> 24;
    ((scaled * i64::from(other_inverse)) >> (40 - COSINE_DIGITS)) as i32
}

/// The numbers of a vector that is kept, as a vector.
pub(crate) fn coarse(kept: &Kept) -> Vector {
    let number = |half: u8| half.cast_signed() - ADDED as i8;
    std::array::from_fn(|at| match at.checked_sub(KEPT) {
        None => number(kept[at] & 15),
        Some(at) => number(kept[at] >> 4),
    })
}

/// So many vectors are multiplied before anything else is done with them.
const TOGETHER: usize = 256;

/// The cosines between `query` and every vector of `vectors`, which are kept ones, whose inverse lengths are in
/// `inverse_lengths`, each a little-endian number of four bytes. `take` is called with the number of each and its cosine.
pub(crate) fn cosines(
    query: &Vector,
    vectors: &[u8],
    inverse_lengths: &[u8],
    mut take: impl FnMut(usize, i32),
) {
    let query_inverse = one_over_root(square(query));
    let (vectors, _) = vectors.as_chunks::<KEPT>();
    let (inverse_lengths, _) = inverse_lengths.as_chunks::<4>();
    let added: i32 = query.iter().map(|value| i32::from(*value) * ADDED).sum();
    let mut products = [0; TOGETHER];
    let mut number = 0;
    for (vectors, inverse_lengths) in vectors
        .chunks(TOGETHER)
        .zip(inverse_lengths.chunks(TOGETHER))
    {
        multiply(query, vectors, &mut products);
        for (product, inverse) in products.iter().zip(inverse_lengths).take(vectors.len()) {
            let inverse = u32::from_le_bytes(*inverse);
            take(number, cosine(product - added, inverse, query_inverse));
            number += 1;
        }
    }
}

/// The products of `query` with each of `vectors`, as these are kept: each of their numbers has eight added.
fn multiply(query: &Vector, vectors: &[Kept], products: &mut [i32]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V3::try_new() {
        return multiply_bytes(simd, query, vectors, products);
    }
    multiply_anywhere(query, vectors, products);
}

/// Ordinary loops, compiled for what the machine has.
fn multiply_anywhere(query: &Vector, vectors: &[Kept], products: &mut [i32]) {
    let lower: [i16; KEPT] = std::array::from_fn(|at| i16::from(query[at]));
    let upper: [i16; KEPT] = std::array::from_fn(|at| i16::from(query[at + KEPT]));
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || {
            for (vector, product) in vectors.iter().zip(products) {
                *product = 0;
                for ((both, lower), upper) in vector.iter().zip(&lower).zip(&upper) {
                    *product += i32::from(i16::from(both & 15)) * i32::from(*lower);
                    *product += i32::from(i16::from(both >> 4)) * i32::from(*upper);
                }
            }
        },
    );
}

/// The same with an instruction that multiplies bytes, which compilers do not find: half as much work.
#[cfg(target_arch = "x86_64")]
fn multiply_bytes(simd: pulp::x86::V3, query: &Vector, vectors: &[Kept], products: &mut [i32]) {
    use std::arch::x86_64::__m256i;

    let (parts, _) = query.as_chunks::<32>();
    let part = |at: usize| pulp::cast::<[i8; 32], __m256i>(parts[at]);
    let lower: [__m256i; 4] = std::array::from_fn(part);
    let upper: [__m256i; 4] = std::array::from_fn(|at| part(at + 4));
    let (avx, avx2) = (simd.avx, simd.avx2);
    simd.vectorize(
        #[inline(always)]
        || {
            let (half, ones) = (avx._mm256_set1_epi8(15), avx._mm256_set1_epi16(1));
            for (vector, product) in vectors.iter().zip(products) {
                let (quarters, _) = vector.as_chunks::<32>();
                let mut sum = avx._mm256_setzero_si256();
                for ((quarter, lower), upper) in quarters.iter().zip(&lower).zip(&upper) {
                    let both: __m256i = pulp::cast(*quarter);
                    let low = avx2._mm256_and_si256(both, half);
                    let high = avx2._mm256_and_si256(avx2._mm256_srli_epi16::<4>(both), half);
                    // 16 products for each number of two bytes, each at most 15 times 128: they fit.
                    let low = avx2._mm256_maddubs_epi16(low, *lower);
                    let high = avx2._mm256_maddubs_epi16(high, *upper);
                    sum = avx2._mm256_add_epi16(sum, avx2._mm256_add_epi16(low, high));
                }
                let sums: [i32; 8] = pulp::cast(avx2._mm256_madd_epi16(sum, ones));
                *product = sums.iter().sum();
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

    #[test]
    fn the_largest_products_fit() {
        for value in [i8::MIN, i8::MAX] {
            let mut products = [0];
            multiply(&[value; DIMENSIONS], &[[255; KEPT]], &mut products);
            assert_eq!(products, [i32::from(value) * 15 * 256]);
        }
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
        fn products_are_the_same_everywhere(
            query in proptest::collection::vec(any::<i8>(), DIMENSIONS),
            vectors in proptest::collection::vec(proptest::collection::vec(any::<u8>(), KEPT), 1..4),
        ) {
            let query: Vector = query.try_into().unwrap();
            let vectors: Vec<Kept> = vectors.into_iter().map(|one| one.try_into().unwrap()).collect();
            let (mut one, mut other) = ([1; 4], [1; 4]);
            multiply(&query, &vectors, &mut one);
            multiply_anywhere(&query, &vectors, &mut other);
            prop_assert_eq!(one, other);
        }

        #[test]
        fn cosines_are_cosines(one in vector(), other in vector()) {
            let other = kept(&other);
            let mut found = 0;
            let inverse = inverse_length(&other).to_le_bytes();
            cosines(&one, &other, &inverse, |_, cosine| found = cosine);
            let other = coarse(&other);
            let dot = |one: &Vector, other: &Vector| {
                one.iter().zip(other).map(|(one, other)| f64::from(*one) * f64::from(*other)).sum::<f64>()
            };
            let lengths = (dot(&one, &one) * dot(&other, &other)).sqrt();
            let expected = if lengths == 0.0 { 0.0 } else { dot(&one, &other) / lengths };
            prop_assert!((f64::from(found) / f64::from(1 << COSINE_DIGITS) - expected).abs() < 0.0001);
        }
    }
}
