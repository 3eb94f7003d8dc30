//! Functions of single numbers and of rows. Each consists of additions, multiplications and divisions in a fixed order,
//! so that its results are the same everywhere; those of the standard library differ from system to system.

use pulp::{Arch, Simd, WithSimd};

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

/// The Gaussian error linear unit: `x` times the cumulative normal distribution at `x`.
#[inline(always)]
fn gelu(x: f32) -> f32 {
    let z = x.abs() * std::f32::consts::FRAC_1_SQRT_2;
    let t = 1.0 / z.mul_add(0.327_591_1, 1.0);
    let mut sum = 1.061_405_4_f32;
    for factor in [-1.453_152, 1.421_413_7, -0.284_496_74, 0.254_829_6] {
        sum = sum.mul_add(t, factor);
    }
    let error = 1.0 - sum * t * power(-z * z);
    x * 0.5 * (1.0 + error.copysign(x))
}

/// Applies [`gelu`] to each number.
pub(super) fn activate(numbers: &mut [f32]) {
    Arch::new().dispatch(ActivationKernel { numbers });
}

// These are values with a method, not closures: a closure may be called through a function that is not compiled for the
// processor's features, and then every fused multiply-add is a function call.

struct ActivationKernel<'a> {
    numbers: &'a mut [f32],
}

impl WithSimd for ActivationKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for number in self.numbers {
            *number = gelu(*number);
        }
    }
}

/// Returns the sum of numbers, or of their squares.
#[inline(always)]
fn sum_of<const SQUARES: bool>(numbers: &[f32]) -> f32 {
    let mut sums = [0.0; LANES];
    let (chunks, rest) = numbers.as_chunks::<LANES>();
    for chunk in chunks {
        for (sum, number) in sums.iter_mut().zip(chunk) {
            *sum += if SQUARES { number * number } else { *number };
        }
    }
    for (sum, number) in sums.iter_mut().zip(rest) {
        *sum += if SQUARES { number * number } else { *number };
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

/// Applies softmax to each row, after multiplying by `scale`. Only the first `count` numbers of a row count; the others
/// become zero.
pub(super) fn distribute(rows: &mut [f32], stride: usize, count: usize, scale: f32) {
    Arch::new().dispatch(SoftmaxKernel {
        rows,
        stride,
        count,
        scale,
    });
}

struct SoftmaxKernel<'a> {
    rows: &'a mut [f32],
    stride: usize,
    count: usize,
    scale: f32,
}

impl WithSimd for SoftmaxKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        for row in self.rows.chunks_mut(self.stride) {
            let (row, rest) = row.split_at_mut(self.count);
            rest.fill(0.0);
            let most = largest(row);
            for number in &mut *row {
                *number = power((*number - most) * self.scale);
            }
            let one_over = 1.0 / sum_of::<false>(row);
            for number in &mut *row {
                *number *= one_over;
            }
        }
    }
}

#[inline(always)]
fn largest(numbers: &[f32]) -> f32 {
    let mut most = [f32::NEG_INFINITY; LANES];
    let (chunks, rest) = numbers.as_chunks::<LANES>();
    for chunk in chunks {
        for (most, number) in most.iter_mut().zip(chunk) {
            *most = if *number > *most { *number } else { *most };
        }
    }
    let all = most.iter().chain(rest);
    all.fold(f32::NEG_INFINITY, |most, number| most.max(*number))
}

/// Normalises each row to mean 0 and variance 1, then multiplies by `weight` and adds `bias`.
pub(super) fn normalise(rows: &mut [f32], weight: &[f32], bias: &[f32]) {
    Arch::new().dispatch(LayerNormKernel { rows, weight, bias });
}

struct LayerNormKernel<'a> {
    rows: &'a mut [f32],
    weight: &'a [f32],
    bias: &'a [f32],
}

impl WithSimd for LayerNormKernel<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let length = self.weight.len().max(1);
        let share = 1.0 / length as f32;
        for row in self.rows.chunks_exact_mut(length) {
            let mean = sum_of::<false>(row) * share;
            for number in &mut *row {
                *number -= mean;
            }
            let spread = sum_of::<true>(row) * share;
            let one_over = 1.0 / (spread + 1e-12).sqrt();
            for ((number, weight), bias) in row.iter_mut().zip(self.weight).zip(self.bias) {
                *number = (*number * one_over).mul_add(*weight, *bias);
            }
        }
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
    use pulp::Scalar;

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
    fn rows_have_the_same_bits_whatever_the_processor_takes_at_once() {
        let numbers: Vec<f32> = (0..384)
            .map(|at| (at * at % 97) as f32 / 31.0 - 1.5)
            .collect();
        let (weight, bias) = (&numbers[..96], &numbers[96..192]);
        let (mut one, mut other) = (numbers.clone(), numbers.clone());
        activate(&mut one);
        ActivationKernel {
            numbers: &mut other,
        }
        .with_simd(Scalar);
        assert_eq!(one, other);
        distribute(&mut one, 64, 57, 0.25);
        SoftmaxKernel {
            rows: &mut other,
            stride: 64,
            count: 57,
            scale: 0.25,
        }
        .with_simd(Scalar);
        assert_eq!(one, other);
        normalise(&mut one, weight, bias);
        LayerNormKernel {
            rows: &mut other,
            weight,
            bias,
        }
        .with_simd(Scalar);
        assert_eq!(one, other);
    }

    #[test]
    fn gelu_is_what_it_should_be() {
        let expected = [
            (-3.0, -0.004_049_7),
            (-1.0, -0.158_655_3),
            (0.0, 0.0),
            (0.5, 0.345_731_2),
            (2.0, 1.954_499_7),
            (9.0, 9.0),
        ];
        for (x, expected) in expected {
            assert!((gelu(x) - expected).abs() < 1e-6, "{x}: {}", gelu(x));
        }
    }
}
