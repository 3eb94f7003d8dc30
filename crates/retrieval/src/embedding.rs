//! Embeddings: meaning as a direction, so that passages about the same topic point the same way.
//!
//! A model turns text into a vector of small integers. The table computes with integers, the transformer with floating
//! point in a fixed order, so the same text has the same vector on every machine.

mod file;
mod fixed_table;
mod packed;
mod pieces;
mod scripts;
mod transformer;
pub(crate) mod vectors;

use std::sync::LazyLock;

use sectile_markdown::Digest;

pub use self::{fixed_table::StaticModel, packed::PackedVectors, transformer::TransformerModel};

/// An embedding: as many numbers as the model has dimensions, from -127 to 127.
pub type Vector = Vec<i8>;

/// The reason why a model cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// It is not a model, or it is truncated.
    #[error("it is not an embedding model of this program, or it is damaged")]
    Damaged,
    /// It is a model of another kind.
    #[error("it is an embedding model of an unknown kind")]
    OtherKind,
    /// Its bytes are not those that it was released with.
    #[error("its bytes are not those that it was released with")]
    OtherBytes,
    /// It does not compute the vector that it computes elsewhere.
    #[error("it does not compute on this machine what it computes on others")]
    OtherVector,
}

/// The weight of meaning in a search, in millionths; words have the rest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MeaningWeight {
    /// The weight where the words of a query tell no passages apart.
    pub most: u64,
    /// How much lower it is where they single one out altogether.
    pub discount: u64,
}

impl MeaningWeight {
    /// Returns this share of it, in millionths.
    fn times(self, share: u64) -> Self {
        let of = |part: u64| part * share / 1_000_000;
        Self {
            most: of(self.most),
            discount: of(self.discount),
        }
    }

    /// Returns the weight for a query whose words put the best passages ahead of others by `lead`, in millionths.
    pub(crate) fn with_lead(self, lead: u64) -> u64 {
        self.most.saturating_sub(self.discount * lead / 1_000_000)
    }
}

/// A model that embeds text.
pub trait Embedder: Send + Sync {
    /// Returns its name.
    fn name(&self) -> &str;
    /// Returns the digest of everything that its vectors depend on.
    fn fingerprint(&self) -> Digest;
    /// Returns the number of dimensions; a multiple of 64.
    fn dimensions(&self) -> usize;
    /// Returns the weight of meaning in a search with this model.
    fn weight(&self) -> MeaningWeight;
    /// Returns the weight of meaning in a search for `query`. It is lower where the model cannot read some of the query's
    /// letters.
    fn weight_of(&self, query: &str) -> MeaningWeight {
        self.weight().times(scripts::readable_share(&[query]))
    }
    /// Returns a reader that embeds one text after another, with a cache.
    fn reader(&self) -> Box<dyn EmbeddingReader + '_>;
}

// Statics, so that each of these large files is in the program once, however often it is used.
static STATIC_FILE: &[u8] = sectile_model_static::FILE;
static TRANSFORMER_FILE: &[u8] = sectile_model_transformer::FILE;

/// Returns the static model built into the program, made by `model/pack.py`.
///
/// # Errors
/// [`ModelError`] when its file is damaged, which only a broken build can cause.
pub fn built_in() -> Result<&'static StaticModel, ModelError> {
    static MODEL: LazyLock<Result<StaticModel, ModelError>> = LazyLock::new(|| {
        use sectile_model_static::{NAME, SHA256};
        let model = StaticModel::new(NAME, STATIC_FILE)?;
        Ok(model.with_file_digest(Digest::parse(SHA256).ok_or(ModelError::Damaged)?))
    });
    MODEL.as_ref().map_err(|error| *error)
}

/// Returns the slower and better model built into the program, made by `model/pack.py`.
///
/// # Errors
/// As [`built_in`].
pub fn transformer() -> Result<&'static TransformerModel, ModelError> {
    static MODEL: LazyLock<Result<TransformerModel, ModelError>> = LazyLock::new(|| {
        use sectile_model_transformer::{NAME, SHA256};
        let model = TransformerModel::new(NAME, TRANSFORMER_FILE)?;
        Ok(model.with_file_digest(Digest::parse(SHA256).ok_or(ModelError::Damaged)?))
    });
    MODEL.as_ref().map_err(|error| *error)
}

/// A question for [`check_built_in`], and the digests of its vectors.
const SAMPLE: &str = "What did we decide about the harbour?";
const SAMPLE_OF_STATIC: &str = "f231690f488cc2b0ac5673b6a55eb8bfb6b3fe2bcecd670960e3a0fa1bb519db";
const SAMPLE_OF_TRANSFORMER: &str =
    "522cdfbbe6e5ce678b91459aca69bd21cb40b93cbc702c60b504baf8d5ba099a";

/// Checks the models built into the program, which takes a moment: that their bytes are those that they were released with,
/// and that they compute the same vector here as everywhere. Returns the name of each with the outcome.
pub fn check_built_in() -> [(&'static str, Result<(), ModelError>); 2] {
    let first = {
        use sectile_model_static::{NAME, SHA256};
        let model = built_in().map(|model| model as &dyn Embedder);
        (NAME, check(model, STATIC_FILE, SHA256, SAMPLE_OF_STATIC))
    };
    let second = {
        use sectile_model_transformer::{NAME, SHA256};
        let model = transformer().map(|model| model as &dyn Embedder);
        (
            NAME,
            check(model, TRANSFORMER_FILE, SHA256, SAMPLE_OF_TRANSFORMER),
        )
    };
    [first, second]
}

fn check(
    model: Result<&dyn Embedder, ModelError>,
    file: &[u8],
    digest: &str,
    sample: &str,
) -> Result<(), ModelError> {
    if Digest::of(file).to_string() != digest {
        return Err(ModelError::OtherBytes);
    }
    let vector = model?.reader().embed(&[SAMPLE]).unwrap_or_default();
    let bytes: Vec<u8> = vector.iter().map(|value| value.cast_unsigned()).collect();
    match Digest::of(&bytes).to_string() == sample {
        true => Ok(()),
        false => Err(ModelError::OtherVector),
    }
}

/// Embeds one text after another.
pub trait EmbeddingReader: Send {
    /// Returns the model that these vectors belong to.
    fn model(&self) -> &dyn Embedder;

    /// Returns the vector of a passage given in parts, or `None` if the model finds no meaning in it.
    fn embed(&mut self, parts: &[&str]) -> Option<Vector>;

    /// Returns the vectors of several passages, each in parts: as one by one, but faster where the model can.
    fn embed_all(&mut self, texts: &[Vec<&str>]) -> Vec<Option<Vector>> {
        texts.iter().map(|parts| self.embed(parts)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vectors that the model's own script prints.
    #[test]
    fn texts_have_the_vectors_of_the_reference() {
        let model = built_in().unwrap();
        let mut reader = model.reader();
        let lines = include_str!("../../../model/vectors-static-2.jsonl").lines();
        let mut count = 0;
        for line in lines {
            let expected: serde_json::Value = serde_json::from_str(line).unwrap();
            let text = expected["text"].as_str().unwrap();
            let times = expected["text_repeat"].as_u64().unwrap_or(1);
            let text = text.repeat(usize::try_from(times).unwrap());
            let vector = reader
                .embed(&[&text])
                .unwrap_or(vec![0; model.dimensions()]);
            let bytes = vector.iter().map(|value| value.cast_unsigned());
            assert_eq!(
                Digest::of(&bytes.collect::<Vec<u8>>()).to_string(),
                expected["sha256"],
                "{text}"
            );
            count += 1;
        }
        assert!(count > 25);
    }

    #[test]
    fn the_digest_of_the_model_is_known() {
        let file = sectile_model_static::FILE;
        let opened = StaticModel::new("sectile-static-2", file).unwrap();
        assert_eq!(built_in().unwrap().fingerprint(), opened.fingerprint());
    }

    #[test]
    fn models_are_checked_by_their_bytes_and_a_vector() {
        use sectile_model_static::{FILE, SHA256};
        for (name, outcome) in check_built_in() {
            assert_eq!(outcome, Ok(()), "{name}");
        }
        let check = |file, sample| check(built_in().map(|model| model as _), file, SHA256, sample);
        assert_eq!(
            check(&FILE[1..], SAMPLE_OF_STATIC),
            Err(ModelError::OtherBytes)
        );
        assert_eq!(
            check(FILE, SAMPLE_OF_TRANSFORMER),
            Err(ModelError::OtherVector)
        );
    }

    #[test]
    fn words_with_the_same_meaning_are_near() {
        let model = built_in().unwrap();
        let mut reader = model.reader();
        let mut near = |one: &str, other: &str| {
            let (one, other) = (
                reader.embed(&[one]).unwrap(),
                reader.embed(&[other]).unwrap(),
            );
            let other = vectors::kept(&other);
            let mut found = [0];
            let inverse = vectors::inverse_length(&other).to_le_bytes();
            vectors::nearnesses(&one, &other, &inverse, &mut found);
            found
        };
        assert!(
            near("car repair", "fixing an automobile") > near("car repair", "apple cake recipe")
        );
        assert!(near("Doctor", "physician") > near("Doctor", "compiler"));
    }

    #[test]
    fn a_damaged_model_is_refused() {
        let whole = sectile_model_static::FILE;
        let refused = |file: &'static [u8]| StaticModel::new("x", file).err();
        assert_eq!(refused(b""), Some(ModelError::Damaged));
        assert_eq!(
            refused(&whole[..whole.len() - 1]),
            Some(ModelError::Damaged)
        );
        assert_eq!(refused(&whole[..100]), Some(ModelError::Damaged));
        assert_eq!(
            refused(b"SECTEMB2\x02\0\0\0\0\0\0\0"),
            Some(ModelError::OtherKind)
        );
    }
}
