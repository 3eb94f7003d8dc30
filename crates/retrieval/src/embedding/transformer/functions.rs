//! What is done to single numbers and to rows of them. Each function is made of additions, products and divisions in one
//! order, so that it gives the same everywhere; those of the standard library differ from system to system.

use pulp::Arch;

/// Numbers are added up in so many sums, which are then added up in pairs.
const LANES: usize = 16;

/// e to the power of a number that is at most zero.
#[inline(always)]
fn power(x: f32) -> f32 {
    // Twice this added and taken away again rounds to a whole number, which is then in the lowest digits.
    const ROUND: f32 = 12_582_912.0;
    let x = x.max(-87.0);
    let shifted = x.mul_add(std::f32::consts::LOG2_E, ROUND);
    let whole = shifted - ROUND;
    // What is left, with ln 2 in two parts.
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

/// x times the part of all things below x that a normal distribution has.
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

/// [`gelu`] of each number.
pub(super) fn activate(numbers: &mut [f32]) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            numbers
                .iter_mut()
                .for_each(|number| *number = gelu(*number))
        },
    );
}

#[inline(always)]
fn sum_of(numbers: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let mut sums = [0.0; LANES];
    let (chunks, rest) = numbers.as_chunks::<LANES>();
    for chunk in chunks {
        for (sum, number) in sums.iter_mut().zip(chunk) {
            *sum += of(*number);
        }
    }
    for (sum, number) in sums.iter_mut().zip(rest) {
        *sum += of(*number);
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

/// Makes each of rows a distribution: numbers that were larger are so by far, and the sum of a row is one. Only the first
/// `count` numbers of a row count; the others become zero.
pub(super) fn distribute(rows: &mut [f32], stride: usize, count: usize, scale: f32) {
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for row in rows.chunks_mut(stride) {
                let (row, rest) = row.split_at_mut(count);
                rest.fill(0.0);
                let most = row
                    .iter()
                    .fold(f32::NEG_INFINITY, |most, one| most.max(*one));
                for number in &mut *row {
                    *number = power((*number - most) * scale);
                }
                let one_over = 1.0 / sum_of(row, |number| number);
                for number in &mut *row {
                    *number *= one_over;
                }
            }
        },
    );
}

/// Gives each row the mean 0 and the spread 1, times `weight`, plus `bias`.
pub(super) fn normalise(rows: &mut [f32], weight: &[f32], bias: &[f32]) {
    let length = weight.len().max(1);
    let share = 1.0 / length as f32;
    Arch::new().dispatch(
        #[inline(always)]
        || {
            for row in rows.chunks_exact_mut(length) {
                let mean = sum_of(row, |number| number) * share;
                row.iter_mut().for_each(|number| *number -= mean);
                let spread = sum_of(row, |number| number * number) * share;
                let one_over = 1.0 / (spread + 1e-12).sqrt();
                for ((number, weight), bias) in row.iter_mut().zip(weight).zip(bias) {
                    *number = (*number * one_over).mul_add(*weight, *bias);
                }
            }
        },
    );
}

/// Adds numbers to others.
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
