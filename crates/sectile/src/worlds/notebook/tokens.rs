//! Tokens that cannot be guessed.

use sectile_mcp::access::random_bytes;

use super::errors::NotebookError;

/// Returns a random UUID, version 4.
pub(crate) fn uuid() -> Result<String, NotebookError> {
    let mut bytes: [u8; 16] = random_bytes()
        .map_err(|_| NotebookError::of_server("The system did not return random numbers."))?;
    // Version 4, variant 1.
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok([
        &digits[..8],
        &digits[8..12],
        &digits[12..16],
        &digits[16..20],
        &digits[20..],
    ]
    .join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_uuids_of_version_4_and_all_different() {
        let tokens: std::collections::BTreeSet<String> =
            (0..100).map(|_| uuid().expect("random numbers")).collect();
        assert_eq!(tokens.len(), 100);
        for token in tokens {
            assert_eq!(token.len(), 36, "{token}");
            assert_eq!(&token[14..15], "4", "{token}");
            assert!(["8", "9", "a", "b"].contains(&&token[19..20]), "{token}");
            let dashes: Vec<usize> = token.match_indices('-').map(|(at, _)| at).collect();
            assert_eq!(dashes, [8, 13, 18, 23]);
        }
    }
}
