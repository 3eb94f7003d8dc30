//! Cosine similarity of vectors, in integer arithmetic.

use super::Vector;

/// Fractional bits of a cosine.
pub(crate) const COSINE_DIGITS: u32 = 20;

/// The largest magnitude in a stored vector.
const LARGEST: i32 = 7;
const ADDED: i32 = 8;

/// Bytes of a stored vector. A search reads them all, so their number decides how long it takes.
pub(crate) const fn kept_bytes(dimensions: usize) -> usize {
    dimensions / 2
}

/// Quantises a vector for storage: numbers from -7 to 7, two to a byte, each with eight added. The second half of them
/// is in the high nibbles.
pub(crate) fn kept(vector: &[i8]) -> Vec<u8> {
    let coarse = |value: i8| {
        let size = (i32::from(value.unsigned_abs()) * 2 * LARGEST + 127) / (2 * 127);
        let signed = if value < 0 { -size } else { size };
        (signed.clamp(-LARGEST, LARGEST) + ADDED) as u8
    };
    let (lower, upper) = vector.split_at(kept_bytes(vector.len()));
    let pairs = lower.iter().zip(upper);
    pairs
        .map(|(lower, upper)| coarse(*lower) | coarse(*upper) << 4)
        .collect()
}

/// Returns the reciprocal of the length of a stored vector, with 32 fractional bits.
pub(crate) fn inverse_length(kept: &[u8]) -> u32 {
    one_over_root(square(&coarse(kept)))
}

/// Returns the reciprocal of a length given its square, with 32 fractional bits.
pub(crate) fn one_over_root(square: u64) -> u32 {
    if square == 0 {
        return 0;
    }
    // The length, with 16 fractional bits.
    let length = (square << 32).isqrt();
    u32::try_from((1_u64 << 48) / length.max(1)).unwrap_or(u32::MAX)
}

/// Returns the reciprocals of lengths, as four bytes each, from their squares in two bytes each.
pub(crate) fn inverse_lengths(squares: &[u8]) -> Vec<u8> {
    // Chunks have few different squares.
    let mut known: Vec<Option<u32>> = vec![None; usize::from(u16::MAX) + 1];
    let mut inverse_lengths = Vec::with_capacity(squares.len() * 2);
    for square in squares.as_chunks::<2>().0 {
        let square = u16::from_le_bytes(*square);
        let known = &mut known[usize::from(square)];
        let inverse = *known.get_or_insert_with(|| one_over_root(u64::from(square)));
        inverse_lengths.extend_from_slice(&inverse.to_le_bytes());
    }
    inverse_lengths
}

/// Returns the squared length of a vector.
pub(crate) fn square(vector: &[i8]) -> u64 {
    let squares = vector
        .iter()
        .map(|value| u64::from(value.unsigned_abs()).pow(2));
    squares.sum()
}

/// Returns the cosine of two vectors from their dot product and the reciprocals of their lengths, with 32 fractional
/// bits each.
#[inline]
pub(crate) fn cosine(product: i32, inverse: u32, other_inverse: u32) -> i32 {
    // At most 2^19 times 2^32, and then 2^27 times 2^32.
    let scaled = (i64::from(product) * i64::from(inverse)) >> 24;
    ((scaled * i64::from(other_inverse)) >> (40 - COSINE_DIGITS)) as i32
}

/// Unpacks a stored vector.
pub(crate) fn coarse(kept: &[u8]) -> Vector {
    let number = |half: u8| half.cast_signed() - ADDED as i8;
    let lower = kept.iter().map(|both| number(both & 15));
    let upper = kept.iter().map(|both| number(both >> 4));
    lower.chain(upper).collect()
}

/// Vectors multiplied in one batch before anything else is done with them.
const TOGETHER: usize = 256;

/// Computes the cosines between `query` and every stored vector of `vectors`, whose reciprocal lengths are in
/// `inverse_lengths` as little-endian 4-byte numbers. Calls `take` with the number of each vector and its cosine.
pub(crate) fn cosines(
    query: &[i8],
    vectors: &[u8],
    inverse_lengths: &[u8],
    mut take: impl FnMut(usize, i32),
) {
    let query_inverse = one_over_root(square(query));
    let bytes = kept_bytes(query.len()).max(1);
    let (inverse_lengths, _) = inverse_lengths.as_chunks::<4>();
    let added: i32 = query.iter().map(|value| i32::from(*value) * ADDED).sum();
    let mut products = [0; TOGETHER];
    let mut number = 0;
    for (vectors, inverse_lengths) in vectors
        .chunks(TOGETHER * bytes)
        .zip(inverse_lengths.chunks(TOGETHER))
    {
        multiply(query, vectors, &mut products);
        for (product, inverse) in products.iter().zip(inverse_lengths) {
            let inverse = u32::from_le_bytes(*inverse);
            take(number, cosine(product - added, inverse, query_inverse));
            number += 1;
        }
    }
}

/// Computes the dot products of `query` and each of the stored `vectors`, whose numbers have eight added.
fn multiply(query: &[i8], vectors: &[u8], products: &mut [i32]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(simd) = pulp::x86::V3::try_new() {
        match query.len() {
            256 => return multiply_bytes::<4>(simd, query, vectors, products),
            384 => return multiply_bytes::<6>(simd, query, vectors, products),
            _ => {}
        }
    }
    multiply_anywhere(query, vectors, products);
}

/// Plain loops, compiled for the features of the machine.
fn multiply_anywhere(query: &[i8], vectors: &[u8], products: &mut [i32]) {
    let bytes = kept_bytes(query.len()).max(1);
    let query: Vec<i16> = query.iter().map(|value| i16::from(*value)).collect();
    let (lower, upper) = query.split_at(query.len() / 2);
    pulp::Arch::new().dispatch(
        #[inline(always)]
        || {
            for (vector, product) in vectors.chunks_exact(bytes).zip(products) {
                *product = 0;
                for ((both, lower), upper) in vector.iter().zip(lower).zip(upper) {
                    *product += i32::from(i16::from(both & 15)) * i32::from(*lower);
                    *product += i32::from(i16::from(both >> 4)) * i32::from(*upper);
                }
            }
        },
    );
}

/// The same with an instruction that multiplies bytes, which compilers do not generate: half as much work. Half a
/// vector is `PARTS` times 32 numbers.
#[cfg(target_arch = "x86_64")]
fn multiply_bytes<const PARTS: usize>(
    simd: pulp::x86::V3,
    query: &[i8],
    vectors: &[u8],
    products: &mut [i32],
) {
    use std::arch::x86_64::__m256i;

    /// The most parts that can be summed in two bytes: 16 products for each number, each at most 15 times 128.
    const MOST: usize = 4;

    let (parts, _) = query.as_chunks::<32>();
    let part = |at: usize| pulp::cast::<[i8; 32], __m256i>(parts[at]);
    let lower: [__m256i; PARTS] = std::array::from_fn(part);
    let upper: [__m256i; PARTS] = std::array::from_fn(|at| part(at + PARTS));
    let (avx, avx2) = (simd.avx, simd.avx2);
    simd.vectorize(
        #[inline(always)]
        || {
            let (half, ones) = (avx._mm256_set1_epi8(15), avx._mm256_set1_epi16(1));
            // An iterator's functions would be compiled apart, and called for each vector.
            let (parts, _) = vectors.as_chunks::<32>();
            let count = (parts.len() / PARTS).min(products.len());
            let mut number = 0;
            while number < count {
                let parts = &parts[number * PARTS..(number + 1) * PARTS];
                let mut sums = avx._mm256_setzero_si256();
                let mut sum = sums;
                for at in 0..PARTS {
                    let both: __m256i = pulp::cast(parts[at]);
                    let low = avx2._mm256_and_si256(both, half);
                    let high = avx2._mm256_and_si256(avx2._mm256_srli_epi16::<4>(both), half);
                    let low = avx2._mm256_maddubs_epi16(low, lower[at]);
                    let high = avx2._mm256_maddubs_epi16(high, upper[at]);
                    sum = avx2._mm256_add_epi16(sum, avx2._mm256_add_epi16(low, high));
                    if (at + 1) % MOST == 0 || at + 1 == PARTS {
                        let wide = avx2._mm256_madd_epi16(sum, ones);
                        sums = avx2._mm256_add_epi32(sums, wide);
                        sum = avx._mm256_setzero_si256();
                    }
                }
                let [a, b, c, d, e, f, g, h]: [i32; 8] = pulp::cast(sums);
                products[number] = (a + b) + (c + d) + ((e + f) + (g + h));
                number += 1;
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The dimensions of the models, and others.
    const DIMENSIONS: [usize; 4] = [64, 256, 384, 512];

    fn vectors(count: usize) -> impl Strategy<Value = Vec<Vector>> {
        proptest::sample::select(&DIMENSIONS).prop_flat_map(move |dimensions| {
            let vector = proptest::collection::vec(-127..=127_i8, dimensions);
            proptest::collection::vec(vector, count)
        })
    }

    #[test]
    fn the_largest_products_fit() {
        for dimensions in DIMENSIONS {
            for value in [i8::MIN, i8::MAX] {
                let mut products = [0];
                let vector = vec![255; kept_bytes(dimensions)];
                multiply(&vec![value; dimensions], &vector, &mut products);
                let expected = i32::from(value) * 15 * i32::try_from(dimensions).unwrap();
                assert_eq!(products, [expected]);
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_kept_is_nearly_the_vector(vectors in vectors(1)) {
            let vector = &vectors[0];
            let exact: Vec<f64> = vector.iter().map(|value| f64::from(*value) * 7.0 / 127.0).collect();
            let kept = kept(vector);
            for (at, both) in kept.iter().enumerate() {
                for (exact, number) in [(exact[at], both & 15), (exact[at + kept.len()], both >> 4)] {
                    prop_assert!((exact - (f64::from(number) - 8.0)).abs() <= 0.5 + 1e-9);
                }
            }
        }

        #[test]
        fn products_are_the_same_everywhere(
            vectors in vectors(4),
            bytes in proptest::collection::vec(any::<u8>(), 4 * 256),
        ) {
            let query = &vectors[0];
            let vectors = &bytes[..4 * kept_bytes(query.len())];
            let (mut one, mut other) = ([1; 4], [1; 4]);
            multiply(query, vectors, &mut one);
            multiply_anywhere(query, vectors, &mut other);
            prop_assert_eq!(one, other);
        }

        #[test]
        fn cosines_are_cosines(vectors in vectors(2)) {
            let one = &vectors[0];
            let other = kept(&vectors[1]);
            let mut found = 0;
            let inverse = inverse_length(&other).to_le_bytes();
            cosines(one, &other, &inverse, |_, cosine| found = cosine);
            let other = coarse(&other);
            let dot = |one: &[i8], other: &[i8]| {
                one.iter().zip(other).map(|(one, other)| f64::from(*one) * f64::from(*other)).sum::<f64>()
            };
            let lengths = (dot(one, one) * dot(&other, &other)).sqrt();
            let expected = if lengths == 0.0 { 0.0 } else { dot(one, &other) / lengths };
            prop_assert!((f64::from(found) / f64::from(1 << COSINE_DIGITS) - expected).abs() < 0.0001);
        }
    }
}
