//! Parsing of a step from the command line: `tool=NAME;key=value;in=FILE;out=FILE`.

use std::path::PathBuf;

use serde_json::{Map, Value};

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct GivenStep {
    pub(super) tool: String,
    /// Strings by name.
    pub(super) parameters: Map<String, Value>,
    /// Input and output files.
    pub(super) inputs: Vec<PathBuf>,
    pub(super) outputs: Vec<PathBuf>,
}

impl GivenStep {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut step = Self::default();
        for part in text.split(';').filter(|part| !part.trim().is_empty()) {
            let (key, value) = part
                .split_once('=')
                .map(|(key, value)| (key.trim(), value.trim()))
                .filter(|(key, value)| !key.is_empty() && !value.is_empty())
                .ok_or("a step must be written as `tool=NAME;key=value`.")?;
            match key {
                "tool" if step.tool.is_empty() => value.clone_into(&mut step.tool),
                "in" => step.inputs.push(value.into()),
                "out" => step.outputs.push(value.into()),
                "tool" => return Err("a step has exactly one `tool`.".to_owned()),
                key => {
                    let old = step.parameters.insert(key.to_owned(), value.into());
                    if old.is_some() {
                        return Err("a step sets a key twice.".to_owned());
                    }
                }
            }
        }
        match step.tool.is_empty() {
            true => Err("a step must name its tool, as in `tool=NAME`.".to_owned()),
            false => Ok(step),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_as_they_are_written() {
        let step = GivenStep::parse("tool=a b; model=x=y ;in=one;in=two;out=three;").unwrap();
        assert_eq!(
            (step.tool.as_str(), &step.parameters["model"]),
            ("a b", &"x=y".into())
        );
        assert_eq!(step.inputs, [PathBuf::from("one"), PathBuf::from("two")]);
        assert_eq!(step.outputs, [PathBuf::from("three")]);
        for text in [
            "",
            "model=x",
            "tool",
            "tool=",
            "=x",
            "tool=a;tool=b",
            "tool=a;x=1;x=2",
        ] {
            assert!(GivenStep::parse(text).is_err(), "{text}");
        }
    }
}
