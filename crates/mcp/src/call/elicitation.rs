//! Questions to the user.
//!
//! With a handshake, the server asks while the call waits (`caller.rs`). In the stateless era a call cannot wait: it
//! ends with the question and a sealed request state that records what was asked, and the client calls again with the
//! answer and that state. The state fits only the same tool with the same arguments.

use std::{sync::OnceLock, time::Duration};

use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema,
    InputRequest, InputRequiredResult, InputResponses, RequestStateCodec, SealOptions,
};
use serde_json::Value;

use crate::{JsonObject, access::random_bytes, call::error::Refusal};

/// How long the user may take to answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// The one field of the form, and the name of the question in a round.
const CONFIRM: &str = "confirm";

/// The user's answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// Yes.
    Accepted,
    /// No, nothing, or not in time. A handler that gets this does nothing and returns. In the stateless era it always
    /// gets this first: whatever it returns is then replaced by the question.
    Declined,
    /// There is no user who could be asked.
    Unsupported,
}

impl Confirmation {
    pub(crate) fn of(result: &ElicitResult) -> Self {
        let content = result.content.as_ref();
        let says_yes = content.and_then(|content| content.get(CONFIRM)) == Some(&Value::Bool(true));
        if result.action == ElicitationAction::Accept && says_yes {
            Self::Accepted
        } else {
            Self::Declined
        }
    }
}

/// Makes a form with one checkbox from a question.
pub(crate) fn form(question: &str) -> Option<ElicitRequest> {
    let schema = ElicitationSchema::builder().required_bool(CONFIRM).build();
    Some(ElicitRequest::new(
        ElicitRequestParams::FormElicitationParams {
            meta: None,
            message: question.to_owned(),
            requested_schema: schema.ok()?,
        },
    ))
}

/// The reply that a client of the stateless era sends along when it calls again.
#[derive(Default)]
pub(crate) struct ElicitationReply {
    pub(crate) state: Option<String>,
    pub(crate) responses: Option<InputResponses>,
}

/// The key that request states are sealed with, made on first use. It dies with the process, and so do open questions.
#[derive(Default)]
pub(crate) struct RequestStateSeal(OnceLock<Option<RequestStateCodec>>);

impl RequestStateSeal {
    fn codec(&self) -> Option<&RequestStateCodec> {
        let codec = self.0.get_or_init(|| {
            let key: [u8; RequestStateCodec::MIN_KEY_LENGTH] = random_bytes().ok()?;
            RequestStateCodec::try_new(key).ok()
        });
        codec.as_ref()
    }
}

/// The questions of one call of the stateless era, across all its rounds.
pub(crate) struct ElicitationRounds {
    codec: RequestStateCodec,
    /// The tool and its arguments, which the request state is bound to.
    call: Vec<u8>,
    accepted: Vec<String>,
    declined: Option<String>,
    open: Option<String>,
}

impl ElicitationRounds {
    /// Returns the rounds so far of a call of `tool` with `arguments`; `None` if the system has no random bytes.
    pub(crate) fn new(
        seal: &RequestStateSeal,
        tool: &str,
        arguments: &JsonObject,
        reply: ElicitationReply,
    ) -> Result<Option<Self>, Refusal> {
        let Some(codec) = seal.codec() else {
            return Ok(None);
        };
        let mut rounds = Self {
            codec: codec.clone(),
            call: identity_of(tool, arguments),
            accepted: Vec::new(),
            declined: None,
            open: None,
        };
        if let Some(state) = reply.state {
            rounds.take(&state, reply.responses.as_ref())?;
        }
        Ok(Some(rounds))
    }

    fn take(&mut self, state: &str, responses: Option<&InputResponses>) -> Result<(), Refusal> {
        let opened = self.codec.open_json_with(state, &self.call);
        let mut asked: Vec<String> = opened.map_err(|_| Refusal::StrangeState)?;
        let last = asked.pop();
        self.accepted = asked;
        let response = responses.and_then(|responses| responses.get(CONFIRM));
        let Some((question, response)) = last.zip(response) else {
            return Ok(());
        };
        let result = serde_json::from_value::<ElicitResult>(response.clone());
        match result.map(|result| Confirmation::of(&result)) {
            Ok(Confirmation::Accepted) => self.accepted.push(question),
            _ => self.declined = Some(question),
        }
        Ok(())
    }

    /// Returns the user's answer to `question`. If there is none yet, the question is asked at the end of the call,
    /// unless another one is already due.
    pub(crate) fn ask(&mut self, question: String) -> Confirmation {
        if self.accepted.contains(&question) {
            return Confirmation::Accepted;
        }
        if self.declined.as_ref() != Some(&question) {
            self.open.get_or_insert(question);
        }
        Confirmation::Declined
    }

    /// Returns the question that has to be asked, with its request state.
    pub(crate) fn question(&mut self) -> Option<InputRequiredResult> {
        let question = self.open.take()?;
        let request = InputRequest::Elicitation(form(&question)?);
        self.accepted.push(question);
        let options = SealOptions::new().associated_data(&self.call).ttl(PATIENCE);
        let state = self.codec.seal_json_with(&self.accepted, &options).ok()?;
        let requests = [(CONFIRM.to_owned(), request)].into_iter().collect();
        Some(InputRequiredResult::new(Some(requests), Some(state)))
    }
}

/// Returns bytes that differ for calls that differ in more than the order of fields.
fn identity_of(tool: &str, arguments: &JsonObject) -> Vec<u8> {
    let mut arguments = Value::Object(arguments.clone());
    arguments.sort_all_objects();
    // A tool's name contains no quotation mark, so no name can look like another one with arguments.
    format!("{tool}\"{arguments}").into_bytes()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn arguments(value: Value) -> JsonObject {
        match value {
            Value::Object(object) => object,
            _ => panic!("arguments are an object"),
        }
    }

    fn rounds(
        seal: &RequestStateSeal,
        arguments: &JsonObject,
        reply: ElicitationReply,
    ) -> Result<ElicitationRounds, Refusal> {
        Ok(ElicitationRounds::new(seal, "erase", arguments, reply)?.expect("there is randomness"))
    }

    fn reply(result: InputRequiredResult, response: Value) -> ElicitationReply {
        ElicitationReply {
            state: result.request_state,
            responses: Some([(CONFIRM.to_owned(), response)].into_iter().collect()),
        }
    }

    fn yes() -> Value {
        json!({ "action": "accept", "content": { "confirm": true } })
    }

    #[test]
    fn two_questions_are_asked_one_after_the_other() {
        let (seal, args) = (RequestStateSeal::default(), arguments(json!({ "a": 1 })));
        let mut first =
            rounds(&seal, &args, ElicitationReply::default()).expect("nothing to check");
        assert_eq!(first.ask("one?".to_owned()), Confirmation::Declined);
        let one = first.question().expect("a question");
        let mut second = rounds(&seal, &args, reply(one, yes())).expect("its own note");
        assert_eq!(second.ask("one?".to_owned()), Confirmation::Accepted);
        assert_eq!(second.ask("two?".to_owned()), Confirmation::Declined);
        let two = second.question().expect("a question");
        let mut third = rounds(&seal, &args, reply(two, yes())).expect("its own note");
        assert_eq!(third.ask("one?".to_owned()), Confirmation::Accepted);
        assert_eq!(third.ask("two?".to_owned()), Confirmation::Accepted);
        assert!(third.question().is_none());
    }

    #[test]
    fn whatever_is_not_yes_is_no() {
        let (seal, args) = (RequestStateSeal::default(), JsonObject::new());
        for response in [
            json!({ "action": "accept", "content": { "confirm": false } }),
            json!({ "action": "accept", "content": { "confirm": "true" } }),
            json!({ "action": "accept" }),
            json!({ "action": "decline" }),
            json!({ "action": "cancel", "content": { "confirm": true } }),
            json!({ "action": "perhaps" }),
            json!(true),
        ] {
            let mut first =
                rounds(&seal, &args, ElicitationReply::default()).expect("nothing to check");
            first.ask("sure?".to_owned());
            let asked = first.question().expect("a question");
            let reply = reply(asked, response.clone());
            let mut second = rounds(&seal, &args, reply).expect("its own note");
            let heard = second.ask("sure?".to_owned());
            assert_eq!(heard, Confirmation::Declined, "{response}");
            assert!(second.question().is_none(), "{response}: it was answered");
        }
    }

    #[test]
    fn a_note_fits_only_the_call_and_the_question_it_was_made_for() {
        let seal = RequestStateSeal::default();
        let args = arguments(json!({ "a": 1, "b": { "c": [2], "d": 3 } }));
        let ask = || {
            let mut rounds =
                rounds(&seal, &args, ElicitationReply::default()).expect("nothing to check");
            rounds.ask("sure?".to_owned());
            rounds.question().expect("a question")
        };
        let reordered = arguments(json!({ "b": { "d": 3, "c": [2] }, "a": 1 }));
        let mut same = rounds(&seal, &reordered, reply(ask(), yes())).expect("the same call");
        assert_eq!(same.ask("sure?".to_owned()), Confirmation::Accepted);
        assert_eq!(same.ask("quite sure?".to_owned()), Confirmation::Declined);
        let other = arguments(json!({ "a": 2, "b": { "c": [2], "d": 3 } }));
        for refused in [
            ElicitationRounds::new(&seal, "erase", &other, reply(ask(), yes())),
            ElicitationRounds::new(&seal, "burn", &args, reply(ask(), yes())),
            ElicitationRounds::new(
                &RequestStateSeal::default(),
                "erase",
                &args,
                reply(ask(), yes()),
            ),
        ] {
            assert_eq!(refused.err(), Some(Refusal::StrangeState));
        }
        let mut forged = ask();
        forged.request_state = forged.request_state.map(|state| state.replace('.', "x"));
        let refused = rounds(&seal, &args, reply(forged, yes()));
        assert_eq!(refused.err(), Some(Refusal::StrangeState));
    }
}
