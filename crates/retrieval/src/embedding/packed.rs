//! Vectors in memory, packed for comparing one with all of them.

use super::{
    Vector,
    vectors::{coarse, kept_bytes, nearnesses, one_over_root, packed, square},
};

/// The bytes of the reciprocal of a length.
const INVERSE_BYTES: usize = 4;

/// A list of vectors of integers from -7 to 7, as [`crate::Record`]s and [`crate::VectorRecord`]s have them.
#[derive(Debug)]
pub struct PackedVectors {
    dimensions: usize,
    vectors: Vec<u8>,
    /// The reciprocal of the length of each vector, as four bytes.
    inverse_lengths: Vec<u8>,
}

impl PackedVectors {
    /// Creates an empty list of vectors of this many dimensions, which must be an even number.
    #[must_use]
    pub fn new(dimensions: usize) -> Self {
        Self {
            dimensions,
            vectors: Vec::new(),
            inverse_lengths: Vec::new(),
        }
    }

    /// Returns the number of bytes that each vector takes.
    #[must_use]
    pub fn bytes_each(dimensions: usize) -> usize {
        kept_bytes(dimensions) + INVERSE_BYTES
    }

    /// Returns the number of vectors.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inverse_lengths.len() / INVERSE_BYTES
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inverse_lengths.is_empty()
    }

    /// Adds a vector. Returns `false`, and adds nothing, if it has another number of dimensions or larger numbers.
    pub fn push(&mut self, vector: &[i8]) -> bool {
        let is_coarse = vector.iter().all(|value| (-7..=7).contains(value));
        if vector.len() != self.dimensions || !is_coarse {
            return false;
        }
        self.vectors.extend(packed(vector));
        let inverse = one_over_root(square(vector));
        self.inverse_lengths.extend(inverse.to_le_bytes());
        true
    }

    /// Adds all vectors of another list.
    pub fn append(&mut self, other: &Self) {
        self.vectors.extend_from_slice(&other.vectors);
        self.inverse_lengths
            .extend_from_slice(&other.inverse_lengths);
    }

    /// Returns a vector, or `None` if there are fewer.
    #[must_use]
    pub fn get(&self, number: usize) -> Option<Vector> {
        let bytes = kept_bytes(self.dimensions);
        let start = number.checked_mul(bytes)?;
        let packed = self.vectors.get(start..start.checked_add(bytes)?)?;
        Some(coarse(packed))
    }

    /// Computes how near each vector is to `query`, in millionths, as far as there is room in `found`. A query of other
    /// dimensions is near to none.
    pub fn compare(&self, query: &[i8], found: &mut [u32]) {
        if query.len() == self.dimensions {
            nearnesses(query, &self.vectors, &self.inverse_lengths, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embedding::vectors::nearness;

    #[test]
    fn vectors_come_back_and_are_compared() {
        let mut list = PackedVectors::new(64);
        let vector = |start: i32| -> Vector {
            let numbers = (0..64).map(|at| (at * 5 + start) % 15 - 7);
            numbers.map(|number| number as i8).collect()
        };
        let vectors: Vec<Vector> = (0..15).map(vector).chain([vec![0; 64]]).collect();
        assert!(list.is_empty());
        for vector in &vectors {
            assert!(list.push(vector));
        }
        assert_eq!(list.len(), 16);
        for (number, vector) in vectors.iter().enumerate() {
            assert_eq!(list.get(number).as_ref(), Some(vector));
        }
        assert_eq!(list.get(16), None);
        let query: Vector = (0..64).map(|at| at * 2 - 100).collect();
        let mut found = vec![1; 16];
        list.compare(&query, &mut found);
        let expected: Vec<u32> = vectors
            .iter()
            .map(|vector| {
                let products = query.iter().zip(vector);
                let product = products.map(|(one, other)| i32::from(*one) * i32::from(*other));
                let [inverse, other] = [vector, &query].map(|one| one_over_root(square(one)));
                nearness(product.sum(), inverse, other)
            })
            .collect();
        assert_eq!(found, expected);
        assert!(found.iter().any(|near| *near > 0));
        let mut twice = PackedVectors::new(64);
        twice.append(&list);
        twice.append(&list);
        assert_eq!((twice.len(), twice.get(17)), (32, list.get(1)));
    }

    #[test]
    fn other_vectors_are_refused() {
        let mut list = PackedVectors::new(64);
        assert!(!list.push(&[1; 32]));
        assert!(!list.push(&[8; 64]));
        assert!(!list.push(&[-8; 64]));
        assert!(list.is_empty());
        assert!(list.push(&[1; 64]));
        let mut found = [5];
        list.compare(&[1; 32], &mut found);
        assert_eq!(found, [5]);
    }
}
