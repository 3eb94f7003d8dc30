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

/// Packs a vector whose numbers are from -7 to 7 already.
pub(crate) fn packed(coarse: &[i8]) -> impl Iterator<Item = u8> {
    let (lower, upper) = coarse.split_at(kept_bytes(coarse.len()));
    let half = |value: &i8| (value + ADDED as i8).cast_unsigned() & 15;
    let pairs = lower.iter().zip(upper);
    pairs.map(move |(lower, upper)| half(lower) | half(upper) << 4)
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

/// One, in the millionths of a cosine.
pub(crate) const WHOLE: u64 = 1_000_000;

/// Returns the cosine of two vectors in millionths, 0 if it is negative, from their dot product and the reciprocals of
/// their lengths, with 32 fractional bits each.
#[inline(always)]
pub(crate) fn nearness(product: i32, inverse: u32, other_inverse: u32) -> u32 {
    // Factors of 32 bits, because processors multiply several of these at once. The first product is at most 2^20 times
    // 2^32, and the others are as small unless a length is wrong.
    let product = product.max(0).cast_unsigned();
    let scaled = ((u64::from(product) * u64::from(inverse)) >> 24) as u32;
    let cosine = ((u64::from(scaled) * u64::from(other_inverse)) >> (40 - COSINE_DIGITS)) as u32;
    ((u64::from(cosine) * WHOLE) >> COSINE_DIGITS) as u32
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

/// Computes how near each stored vector of `vectors` is to `query`, as [`nearness`] does. The reciprocals of their lengths
/// are in `inverse_lengths`, as little-endian 4-byte numbers.
pub(crate) fn nearnesses(
    query: &[i8],
    vectors: &[u8],
    inverse_lengths: &[u8],
    nearnesses: &mut [u32],
) {
    let query_inverse = one_over_root(square(query));
    let bytes = kept_bytes(query.len()).max(1);
    let (inverse_lengths, _) = inverse_lengths.as_chunks::<4>();
    let added: i32 = query.iter().map(|value| i32::from(*value) * ADDED).sum();
    let mut products = [0; TOGETHER];
    for ((vectors, inverse_lengths), nearnesses) in vectors
        .chunks(TOGETHER * bytes)
        .zip(inverse_lengths.chunks(TOGETHER))
        .zip(nearnesses.chunks_mut(TOGETHER))
    {
        multiply(query, vectors, &mut products);
        pulp::Arch::new().dispatch(
            #[inline(always)]
            || {
                let count = nearnesses.len().min(inverse_lengths.len()).min(TOGETHER);
                let inverse_lengths = &inverse_lengths[..count];
                let (nearnesses, products) = (&mut nearnesses[..count], &products[..count]);
                for at in 0..count {
                    let inverse = u32::from_le_bytes(inverse_lengths[at]);
                    nearnesses[at] = nearness(products[at] - added, inverse, query_inverse);
                }
            },
        );
    }
}

/// Computes the dot products of `query` and each of the stored `vectors`, whose numbers have eight added.
fn multiply(query: &[i8], vectors: &[u8], products: &mut [i32; TOGETHER]) {
    #[cfg(target_arch = "x86_64")]
    match (pulp::Arch::new(), query.len()) {
        (pulp::Arch::V4(lanes), 256) => {
            return lanes.vectorize(ByteKernel::<_, 2>(lanes, query, vectors, products));
        }
        (pulp::Arch::V4(lanes), 384) => {
            return lanes.vectorize(ByteKernel::<_, 3>(lanes, query, vectors, products));
        }
        (pulp::Arch::V3(lanes), 256) => {
            return lanes.vectorize(ByteKernel::<_, 4>(lanes, query, vectors, products));
        }
        (pulp::Arch::V3(lanes), 384) => {
            return lanes.vectorize(ByteKernel::<_, 6>(lanes, query, vectors, products));
        }
        _ => {}
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
/// vector has `PARTS` parts of as many numbers as fit into a register.
#[cfg(target_arch = "x86_64")]
struct ByteKernel<'a, L, const PARTS: usize>(L, &'a [i8], &'a [u8], &'a mut [i32; TOGETHER]);

// A value with a method, not a closure, and loops over numbers: the functions behind iterators are not always inlined.
#[cfg(target_arch = "x86_64")]
impl<L: ByteLanes, const PARTS: usize> pulp::NullaryFnOnce for ByteKernel<'_, L, PARTS> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self(lanes, query, vectors, products) = self;
        let query: &[u8] = pulp::bytemuck::cast_slice(query);
        let lower: [L::Part; PARTS] = std::array::from_fn(|at| lanes.part(query, at));
        let upper: [L::Part; PARTS] = std::array::from_fn(|at| lanes.part(query, at + PARTS));
        let bytes = kept_bytes(query.len());
        let count = (vectors.len() / bytes).min(TOGETHER);
        let mut number = 0;
        while number < count {
            let mut sums = [lanes.zero(); AT_ONCE];
            for at in 0..AT_ONCE.min(count - number) {
                let vector = &vectors[(number + at) * bytes..(number + at + 1) * bytes];
                let mut sum = lanes.zero();
                for part in 0..PARTS {
                    let both = lanes.part(vector, part);
                    sum = lanes.add_products(sum, both, lower[part], upper[part]);
                    if (part + 1) % MOST_PARTS == 0 || part + 1 == PARTS {
                        sums[at] = lanes.add_pairs(sums[at], sum);
                        sum = lanes.zero();
                    }
                }
            }
            // There is always room: their number is a multiple of those at once.
            products[number..number + AT_ONCE].copy_from_slice(&lanes.totals(sums));
            number += AT_ONCE;
        }
    }
}

/// Vectors whose products are added up together.
#[cfg(target_arch = "x86_64")]
const AT_ONCE: usize = 4;
/// The most parts that can be summed in two bytes: for each, four products of at most 15 times 128.
#[cfg(target_arch = "x86_64")]
const MOST_PARTS: usize = 4;

/// A processor's way of multiplying bytes.
#[cfg(target_arch = "x86_64")]
trait ByteLanes: Copy {
    /// As many bytes as fit into a register.
    type Part: Copy;

    fn zero(self) -> Self::Part;
    /// Loads part `at` of the bytes.
    fn part(self, bytes: &[u8], at: usize) -> Self::Part;
    /// Adds the products of the low halves of bytes and `lower`, and of the high halves and `upper`, in pairs, to
    /// integers of two bytes.
    fn add_products(
        self,
        sum: Self::Part,
        both: Self::Part,
        lower: Self::Part,
        upper: Self::Part,
    ) -> Self::Part;
    /// Adds pairs of integers of two bytes to integers of four.
    fn add_pairs(self, sums: Self::Part, pairs: Self::Part) -> Self::Part;
    /// Adds up the integers of four bytes in each of the registers.
    fn totals(self, sums: [Self::Part; AT_ONCE]) -> [i32; AT_ONCE];
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{__m256i, __m512i};

    use pulp::{
        bytemuck::cast,
        x86::{V3, V4},
    };

    use super::{AT_ONCE, ByteLanes};

    impl ByteLanes for V3 {
        type Part = __m256i;

        #[inline(always)]
        fn zero(self) -> __m256i {
            self.avx._mm256_setzero_si256()
        }

        #[inline(always)]
        fn part(self, bytes: &[u8], at: usize) -> __m256i {
            cast(bytes.as_chunks::<32>().0[at])
        }

        #[inline(always)]
        fn add_products(
            self,
            sum: __m256i,
            both: __m256i,
            lower: __m256i,
            upper: __m256i,
        ) -> __m256i {
            let half = self.avx._mm256_set1_epi8(15);
            let low = self.avx2._mm256_and_si256(both, half);
            let high = self.avx2._mm256_srli_epi16::<4>(both);
            let high = self.avx2._mm256_and_si256(high, half);
            let low = self.avx2._mm256_maddubs_epi16(low, lower);
            let high = self.avx2._mm256_maddubs_epi16(high, upper);
            let products = self.avx2._mm256_add_epi16(low, high);
            self.avx2._mm256_add_epi16(sum, products)
        }

        #[inline(always)]
        fn add_pairs(self, sums: __m256i, pairs: __m256i) -> __m256i {
            let ones = self.avx._mm256_set1_epi16(1);
            let wide = self.avx2._mm256_madd_epi16(pairs, ones);
            self.avx2._mm256_add_epi32(sums, wide)
        }

        #[inline(always)]
        fn totals(self, [a, b, c, d]: [__m256i; AT_ONCE]) -> [i32; AT_ONCE] {
            let (ab, cd) = (
                self.avx2._mm256_hadd_epi32(a, b),
                self.avx2._mm256_hadd_epi32(c, d),
            );
            let halves: [[i32; AT_ONCE]; 2] = cast(self.avx2._mm256_hadd_epi32(ab, cd));
            std::array::from_fn(|at| halves[0][at] + halves[1][at])
        }
    }

    impl ByteLanes for V4 {
        type Part = __m512i;

        #[inline(always)]
        fn zero(self) -> __m512i {
            self.avx512f._mm512_setzero_si512()
        }

        #[inline(always)]
        fn part(self, bytes: &[u8], at: usize) -> __m512i {
            cast(bytes.as_chunks::<64>().0[at])
        }

        #[inline(always)]
        fn add_products(
            self,
            sum: __m512i,
            both: __m512i,
            lower: __m512i,
            upper: __m512i,
        ) -> __m512i {
            let half = self.avx512f._mm512_set1_epi8(15);
            let low = self.avx512f._mm512_and_si512(both, half);
            let high = self.avx512bw._mm512_srli_epi16::<4>(both);
            let high = self.avx512f._mm512_and_si512(high, half);
            let low = self.avx512bw._mm512_maddubs_epi16(low, lower);
            let high = self.avx512bw._mm512_maddubs_epi16(high, upper);
            let products = self.avx512bw._mm512_add_epi16(low, high);
            self.avx512bw._mm512_add_epi16(sum, products)
        }

        #[inline(always)]
        fn add_pairs(self, sums: __m512i, pairs: __m512i) -> __m512i {
            let ones = self.avx512f._mm512_set1_epi16(1);
            let wide = self.avx512bw._mm512_madd_epi16(pairs, ones);
            self.avx512f._mm512_add_epi32(sums, wide)
        }

        #[inline(always)]
        fn totals(self, sums: [__m512i; AT_ONCE]) -> [i32; AT_ONCE] {
            let halves = sums.map(|sum| {
                let upper = self.avx512f._mm512_extracti64x4_epi64::<1>(sum);
                let lower = self.avx512f._mm512_castsi512_si256(sum);
                self.avx2._mm256_add_epi32(lower, upper)
            });
            let (ab, cd) = (
                self.avx2._mm256_hadd_epi32(halves[0], halves[1]),
                self.avx2._mm256_hadd_epi32(halves[2], halves[3]),
            );
            let halves: [[i32; AT_ONCE]; 2] = cast(self.avx2._mm256_hadd_epi32(ab, cd));
            std::array::from_fn(|at| halves[0][at] + halves[1][at])
        }
    }
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

    /// The products by every way that this processor has; the first is that of plain loops.
    fn on_all_paths(query: &[i8], vectors: &[u8]) -> Vec<[i32; TOGETHER]> {
        let mut paths = vec![[1; TOGETHER]; 2];
        multiply_anywhere(query, vectors, &mut paths[0]);
        multiply(query, vectors, &mut paths[1]);
        #[cfg(target_arch = "x86_64")]
        if let Some(lanes) = pulp::x86::V3::try_new() {
            // The processor may have a better way, so that this one would not be taken.
            let mut products = [1; TOGETHER];
            match query.len() {
                256 => {
                    lanes.vectorize(ByteKernel::<_, 4>(lanes, query, vectors, &mut products));
                    paths.push(products);
                }
                384 => {
                    lanes.vectorize(ByteKernel::<_, 6>(lanes, query, vectors, &mut products));
                    paths.push(products);
                }
                _ => {}
            }
        }
        paths
    }

    #[test]
    fn the_largest_products_fit() {
        for dimensions in DIMENSIONS {
            for value in [i8::MIN, i8::MAX] {
                let vector = vec![255; kept_bytes(dimensions)];
                let expected = i32::from(value) * 15 * i32::try_from(dimensions).unwrap();
                for products in on_all_paths(&vec![value; dimensions], &vector) {
                    assert_eq!(products[0], expected);
                }
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
            // Also for fewer vectors than are multiplied at once.
            for count in 1..=vectors.len() {
                let vectors = &bytes[..count * kept_bytes(query.len())];
                let paths = on_all_paths(query, vectors);
                for path in &paths {
                    prop_assert_eq!(&path[..count], &paths[0][..count]);
                }
            }
        }

        #[test]
        fn cosines_are_cosines(vectors in vectors(2)) {
            let one = &vectors[0];
            let other = kept(&vectors[1]);
            let mut found = [0];
            let inverse = inverse_length(&other).to_le_bytes();
            nearnesses(one, &other, &inverse, &mut found);
            let other = coarse(&other);
            let dot = |one: &[i8], other: &[i8]| {
                one.iter().zip(other).map(|(one, other)| f64::from(*one) * f64::from(*other)).sum::<f64>()
            };
            let lengths = (dot(one, one) * dot(&other, &other)).sqrt();
            let expected = if lengths == 0.0 { 0.0 } else { dot(one, &other) / lengths };
            prop_assert!((f64::from(found[0]) / WHOLE as f64 - expected.max(0.0)).abs() < 0.0001);
        }
    }
}
