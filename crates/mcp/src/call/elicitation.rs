//! Questions to the user.
//!
//! With a handshake, the server asks while the call waits (`caller.rs`). In the stateless era a call cannot wait: it
//! ends with the question and a sealed request state that records what was asked, and the client calls again with the
//! answer and that state. The state fits only the same tool or prompt with the same arguments.

use std::{sync::OnceLock, time::Duration};

use rmcp::model::{
    ElicitRequest, ElicitRequestParams, ElicitResult, ElicitationAction, InputRequest,
    InputRequiredResult, InputResponses, RequestStateCodec, SealOptions,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    JsonObject,
    access::random_bytes,
    call::{arguments::ArgumentRules, error::Refusal},
};

/// How long the user may take to answer.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// The name of the form that asks for a confirmation, and of its one field.
const CONFIRM: &str = "confirm";

/// A question to the user, with a form for the answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    /// Name of the form, by which clients of the stateless era return the answer.
    pub name: &'static str,
    /// The question above the form.
    pub question: String,
    /// Schema of the answer: an object whose fields are strings, numbers, booleans or choices. A form that the protocol
    /// does not have is never shown, and counts as declined.
    pub schema: JsonObject,
}

/// The user's answer to a [`Form`].
#[derive(Clone, Debug, PartialEq)]
pub enum FormReply {
    /// The fields, which fit the schema. Fields that it does not have are left out.
    Submitted(JsonObject),
    /// Not filled in, not as the schema says, or not in time. A handler that gets this does nothing and returns. In the
    /// stateless era it always gets this first: whatever it returns is then replaced by the question.
    Declined,
    /// There is no user who could be asked.
    Unsupported,
}

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
    pub(crate) fn of(reply: &FormReply) -> Self {
        match reply {
            FormReply::Submitted(fields) if fields.get(CONFIRM) == Some(&Value::Bool(true)) => {
                Self::Accepted
            }
            FormReply::Submitted(_) | FormReply::Declined => Self::Declined,
            FormReply::Unsupported => Self::Unsupported,
        }
    }
}

impl Form {
    /// Makes a form with one checkbox from a question.
    pub(crate) fn checkbox(question: &str) -> Self {
        let schema = [
            ("type", json!("object")),
            ("properties", json!({ CONFIRM: { "type": "boolean" } })),
            ("required", json!([CONFIRM])),
        ];
        Self {
            name: CONFIRM,
            question: question.to_owned(),
            schema: schema
                .map(|(key, value)| (key.to_owned(), value))
                .into_iter()
                .collect(),
        }
    }

    /// Returns the request to the client; `None` if the protocol has no such form.
    pub(crate) fn request(&self) -> Option<ElicitRequest> {
        let schema = serde_json::from_value(Value::Object(self.schema.clone()));
        Some(ElicitRequest::new(
            ElicitRequestParams::FormElicitationParams {
                meta: None,
                message: self.question.clone(),
                requested_schema: schema.ok()?,
            },
        ))
    }

    /// Returns the reply in what a client sent.
    pub(crate) fn reply(&self, result: ElicitResult) -> FormReply {
        submitted(result).map_or(FormReply::Declined, |fields| self.fitting(fields))
    }

    fn fitting(&self, mut fields: JsonObject) -> FormReply {
        let known = self.schema.get("properties").and_then(Value::as_object);
        fields.retain(|name, _| known.is_some_and(|known| known.contains_key(name)));
        let rules = ArgumentRules {
            schema: &self.schema,
            aliases: &[],
            lenient_scalars: false,
            errors: None,
        };
        match rules.check(&mut fields) {
            Ok(()) => FormReply::Submitted(fields),
            Err(_) => FormReply::Declined,
        }
    }

    fn key(&self) -> FormKey {
        FormKey {
            name: self.name.to_owned(),
            question: self.question.clone(),
        }
    }
}

/// Returns the fields of a form that was submitted.
fn submitted(result: ElicitResult) -> Option<JsonObject> {
    match (result.action, result.content) {
        (ElicitationAction::Accept, Some(Value::Object(fields))) => Some(fields),
        _ => None,
    }
}

/// The parts of a form that a request state identifies it by.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct FormKey {
    name: String,
    question: String,
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
    /// The call and its arguments, which the request state is bound to.
    call: Vec<u8>,
    /// The answers so far: the fields as they came, or nothing if the form was declined.
    replies: Vec<(FormKey, Option<JsonObject>)>,
    open: Option<Form>,
}

/// What a request state records.
#[derive(Serialize, Deserialize)]
struct RoundState {
    replies: Vec<(FormKey, Option<JsonObject>)>,
    asked: FormKey,
}

impl ElicitationRounds {
    /// Returns the rounds so far of a call with `arguments`; `None` if the system has no random bytes. `call` is the
    /// method and the name of the tool or prompt.
    pub(crate) fn new(
        seal: &RequestStateSeal,
        call: (&str, &str),
        arguments: &JsonObject,
        reply: ElicitationReply,
    ) -> Result<Option<Self>, Refusal> {
        let Some(codec) = seal.codec() else {
            return Ok(None);
        };
        let mut rounds = Self {
            codec: codec.clone(),
            call: identity_of(call, arguments),
            replies: Vec::new(),
            open: None,
        };
        if let Some(state) = reply.state {
            rounds.take(&state, reply.responses.as_ref())?;
        }
        Ok(Some(rounds))
    }

    fn take(&mut self, state: &str, responses: Option<&InputResponses>) -> Result<(), Refusal> {
        let opened = self.codec.open_json_with(state, &self.call);
        let state: RoundState = opened.map_err(|_| Refusal::StrangeState)?;
        self.replies = state.replies;
        let response = responses.and_then(|responses| responses.get(&state.asked.name));
        if let Some(response) = response {
            let result = serde_json::from_value(response.clone());
            self.replies
                .push((state.asked, result.ok().and_then(submitted)));
        }
        Ok(())
    }

    /// Returns the user's answer to `form`. If there is none yet, the question is asked at the end of the call, unless
    /// another one is already due.
    pub(crate) fn ask(&mut self, form: Form) -> FormReply {
        let key = form.key();
        match self.replies.iter().find(|(known, _)| *known == key) {
            Some((_, Some(fields))) => return form.fitting(fields.clone()),
            Some((_, None)) => {}
            None => {
                self.open.get_or_insert(form);
            }
        }
        FormReply::Declined
    }

    /// Returns the question that has to be asked, with its request state.
    pub(crate) fn question(&mut self) -> Option<InputRequiredResult> {
        let form = self.open.take()?;
        let request = InputRequest::Elicitation(form.request()?);
        let state = RoundState {
            replies: std::mem::take(&mut self.replies),
            asked: form.key(),
        };
        let options = SealOptions::new().associated_data(&self.call).ttl(PATIENCE);
        let state = self.codec.seal_json_with(&state, &options).ok()?;
        let requests = [(form.name.to_owned(), request)].into_iter().collect();
        Some(InputRequiredResult::new(Some(requests), Some(state)))
    }
}

/// Returns bytes that differ for calls that differ in more than the order of fields.
fn identity_of((method, name): (&str, &str), arguments: &JsonObject) -> Vec<u8> {
    let mut arguments = Value::Object(arguments.clone());
    arguments.sort_all_objects();
    // No name contains a quotation mark, so none can look like another one with arguments.
    format!("{method} {name}\"{arguments}").into_bytes()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ERASE: (&str, &str) = ("tools/call", "erase");

    fn ask(rounds: &mut ElicitationRounds, question: &str) -> Confirmation {
        Confirmation::of(&rounds.ask(Form::checkbox(question)))
    }

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
        Ok(ElicitationRounds::new(seal, ERASE, arguments, reply)?.expect("there is randomness"))
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
        assert_eq!(ask(&mut first, "one?"), Confirmation::Declined);
        let one = first.question().expect("a question");
        let mut second = rounds(&seal, &args, reply(one, yes())).expect("its own note");
        assert_eq!(ask(&mut second, "one?"), Confirmation::Accepted);
        assert_eq!(ask(&mut second, "two?"), Confirmation::Declined);
        let two = second.question().expect("a question");
        let mut third = rounds(&seal, &args, reply(two, yes())).expect("its own note");
        assert_eq!(ask(&mut third, "one?"), Confirmation::Accepted);
        assert_eq!(ask(&mut third, "two?"), Confirmation::Accepted);
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
            ask(&mut first, "sure?");
            let asked = first.question().expect("a question");
            let reply = reply(asked, response.clone());
            let mut second = rounds(&seal, &args, reply).expect("its own note");
            let heard = ask(&mut second, "sure?");
            assert_eq!(heard, Confirmation::Declined, "{response}");
            assert!(second.question().is_none(), "{response}: it was answered");
        }
    }

    #[test]
    fn a_note_fits_only_the_call_and_the_question_it_was_made_for() {
        let seal = RequestStateSeal::default();
        let args = arguments(json!({ "a": 1, "b": { "c": [2], "d": 3 } }));
        let asked = || {
            let mut rounds =
                rounds(&seal, &args, ElicitationReply::default()).expect("nothing to check");
            ask(&mut rounds, "sure?");
            rounds.question().expect("a question")
        };
        let reordered = arguments(json!({ "b": { "d": 3, "c": [2] }, "a": 1 }));
        let mut same = rounds(&seal, &reordered, reply(asked(), yes())).expect("the same call");
        assert_eq!(ask(&mut same, "sure?"), Confirmation::Accepted);
        assert_eq!(ask(&mut same, "quite sure?"), Confirmation::Declined);
        let other = arguments(json!({ "a": 2, "b": { "c": [2], "d": 3 } }));
        for refused in [
            ElicitationRounds::new(&seal, ERASE, &other, reply(asked(), yes())),
            ElicitationRounds::new(&seal, ("tools/call", "burn"), &args, reply(asked(), yes())),
            ElicitationRounds::new(
                &seal,
                ("prompts/get", "erase"),
                &args,
                reply(asked(), yes()),
            ),
            ElicitationRounds::new(
                &RequestStateSeal::default(),
                ERASE,
                &args,
                reply(asked(), yes()),
            ),
        ] {
            assert_eq!(refused.err(), Some(Refusal::StrangeState));
        }
        let mut forged = asked();
        forged.request_state = forged.request_state.map(|state| state.replace('.', "x"));
        let refused = rounds(&seal, &args, reply(forged, yes()));
        assert_eq!(refused.err(), Some(Refusal::StrangeState));
    }
}
