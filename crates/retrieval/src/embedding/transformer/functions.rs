//! Functions of single numbers and of rows. Each consists of additions, multiplications and divisions in a fixed order,
//! so that its results are the same everywhere; those of the standard library differ from system to system.

use pulp::Simd;

/// Numbers are summed in this many accumulators, which are then added in pairs.
const LANES: usize = 16;

/// Returns e to the power of `x`, which must be at most zero.
#[inline(always)]
fn power(x: f32) -> f32 {
    // Adding this and subtracting it again rounds to an integer, which is then in the lowest bits.
    const ROUND: f32 = 12_582_912.0;
    let x = x.max(-87.0);
    let shifted = x.mul_add(std::f32::consts::LOG2_E, ROUND);
    let whole = shifted - ROUND;
    // The remainder, with ln 2 in two parts.
    let rest = whole.mul_add(-0.693_359_4, x);
    let rest = whole.mul_add(2.121_944_4e-4, rest);
    let mut sum = 1.987_569_1e-4_f32;
    for factor in [
        1.398_199_9e-3,
        8.333_452e-3,
        4.166_579_6e-2,
        1.666_666_5e-1,
        5e-1,
        1.0,
        1.0,
    ] {
        sum = sum.mul_add(rest, factor);
    }
    let exponent = (shifted.to_bits() << 23).wrapping_add(1.0_f32.to_bits());
    sum * f32::from_bits(exponent)
}

/// The Gaussian error linear unit: `x` times the cumulative normal distribution at `x`, to 2e-4.
///
/// An odd polynomial instead of the distribution, fitted for `x` from -4 to 4 and at both ends exactly 0 and 1. The
/// result is rounded to a byte right away, which loses a hundred times as much.
#[inline(always)]
pub(super) fn gelu(x: f32) -> f32 {
    const END: f32 = 4.0;
    let near = if x < END { x } else { END };
    let near = if near > -END { near } else { -END };
    let square = near * near;
    let mut sum = -1.111_977_3e-9_f32;
    for factor in [
        9.269_79e-8,
        -3.374_685_5e-6,
        7.126_377e-5,
        -9.814_171e-4,
        9.411_766e-3,
        -6.572_166e-2,
        3.985_727_4e-1,
    ] {
        sum = sum.mul_add(square, factor);
    }
    x * near.mul_add(sum, 0.5)
}

// The kernels are values with a method, not closures: a closure may be called through a function that is not compiled
// for the processor's features, and then every fused multiply-add is a function call. Their loops use indices, because
// the functions behind zipped iterators are not always inlined, and then nothing is computed side by side.

/// Returns the sum of numbers, or of their squares.
#[inline(always)]
fn sum_of<const SQUARES: bool>(numbers: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    let (chunks, rest) = numbers.as_chunks::<LANES>();
    for chunk in chunks {
        for at in 0..LANES {
            sums[at] += if SQUARES {
                chunk[at] * chunk[at]
            } else {
                chunk[at]
            };
        }
    }
    for (at, number) in rest.iter().enumerate() {
        sums[at] += if SQUARES { number * number } else { *number };
    }
    let mut half = LANES / 2;
    while half > 0 {
        for at in 0..half {
            sums[at] += sums[at + half];
        }
        half /= 2;
    }
    sums[0]
}

/// Raises e to the power of each number, after multiplying by `scale`, relative to the largest. Returns one over the sum
/// of the results.
#[inline(always)]
pub(super) fn soften<S: Simd>(simd: S, numbers: &mut [f32], scale: f32) -> f32 {
    let (_, most) = bounds(simd, numbers);
    for number in &mut *numbers {
        *number = power((*number - most) * scale);
    }
    1.0 / sum_of::<false>(numbers)
}

/// Returns the least and the largest number, which do not depend on the order.
#[inline(always)]
pub(super) fn bounds<S: Simd>(simd: S, numbers: &[f32]) -> (f32, f32) {
    let (vectors, rest) = S::as_simd_f32s(numbers);
    let mut least = simd.splat_f32s(f32::INFINITY);
    let mut most = simd.splat_f32s(f32::NEG_INFINITY);
    for vector in vectors {
        least = simd.min_f32s(least, *vector);
        most = simd.max_f32s(most, *vector);
    }
    let (mut least, mut most) = (simd.reduce_min_f32s(least), simd.reduce_max_f32s(most));
    for number in rest {
        least = least.min(*number);
        most = most.max(*number);
    }
    (least, most)
}

/// Normalises a row to mean 0 and variance 1, then multiplies by `weight` and adds `bias`.
#[inline(always)]
pub(super) fn normalise(row: &mut [f32], weight: &[f32], bias: &[f32]) {
    let share = 1.0 / row.len() as f32;
    let mean = sum_of::<false>(row) * share;
    for number in &mut *row {
        *number -= mean;
    }
    let spread = sum_of::<true>(row) * share;
    let one_over = 1.0 / (spread + 1e-12).sqrt();
    let (weight, bias) = (&weight[..row.len()], &bias[..row.len()]);
    for at in 0..row.len() {
        row[at] = (row[at] * one_over).mul_add(weight[at], bias[at]);
    }
}

/// Adds `others` to `numbers`, element by element.
pub(super) fn add(numbers: &mut [f32], others: &[f32]) {
    for (number, other) in numbers.iter_mut().zip(others) {
        *number += other;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_powers() {
        for step in 0..2_000 {
            let x = -f64::from(step) * 0.043;
            let found = f64::from(power(x as f32));
            let expected = f64::from(x as f32).exp();
            assert!(
                (found - expected).abs() <= expected * 2e-7 + 1e-37,
                "{x}: {found} {expected}"
            );
        }
    }

    #[test]
    fn gelu_is_what_it_should_be() {
        let expected = [
            (-30.0, 0.0),
            (-3.0, -0.004_049_7),
            (-1.0, -0.158_655_3),
            (0.0, 0.0),
            (0.5, 0.345_731_2),
            (2.0, 1.954_499_7),
            (4.0, 3.999_873_3),
            (9.0, 9.0),
        ];
        for (x, expected) in expected {
            assert!((gelu(x) - expected).abs() < 2e-4, "{x}: {}", gelu(x));
        }
    }
}
