//! One endpoint: a request is authenticated (`authenticate.rs`), admitted (`admit.rs`) and then served by rmcp.
//!
//! Every refusal is a JSON-RPC error with a matching status, including those that rmcp itself sends as plain text.

use std::{future, sync::Arc, time::Instant};

use axum::{body::Body, extract::Request, response::Response};
use futures::{StreamExt as _, stream};
use http::{Method, StatusCode, header};
use http_body_util::BodyExt as _;
use rmcp::transport::StreamableHttpService;

use super::{
    HttpSettings,
    admit::{AdmissionStep, AdmittedRequest, SESSION_ID, SessionUse},
    authenticate::AcceptedCredentials,
    refusal::{SOON, as_json_rpc, foreign_origin, internal, is_json, outcome},
    sessions::{SessionReservation, Sessions, StreamSlot},
};
use crate::{
    access::ListenPermit,
    call::{
        request_facts::{OverloadFlag, RequestFacts},
        structured::{StructuredSlot, put_in_place},
    },
    transport::server::McpServer,
};

pub(super) struct Endpoint {
    pub(super) service: StreamableHttpService<McpServer, Sessions>,
    pub(super) credentials: AcceptedCredentials,
    pub(super) admission: AdmissionStep,
    pub(super) settings: HttpSettings,
}

impl Endpoint {
    pub(super) async fn handle(&self, request: Request) -> Response {
        let started = Instant::now();
        match self.check(request).await {
            Ok(admitted) => self.serve(admitted).await,
            Err(refusal) => {
                let status = refusal.status();
                tracing::info!(
                    target: "sectile::call",
                    outcome = outcome(status),
                    elapsed_us = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX),
                );
                self.settings.authentication.refused(status);
                *refusal
            }
        }
    }

    /// Performs the steps before rmcp, in order: the rate limit of the address, host and origin, sign-in with the rate
    /// limit of the caller, and whether the request is one that rmcp may see.
    async fn check(&self, request: Request) -> Result<AdmittedRequest, Box<Response>> {
        let (mut parts, body) = request.into_parts();
        let authentication = &self.settings.authentication;
        authentication.admit_address(&parts)?;
        if !self.settings.origins.admit(&parts.headers, &parts.uri) {
            return Err(foreign_origin());
        }
        let permit = authentication.sign_in(&mut parts, self.credentials).await?;
        self.admission.admit(parts, body, permit).await
    }

    async fn serve(&self, admitted: AdmittedRequest) -> Response {
        let AdmittedRequest {
            mut request,
            session,
            permit,
            memory,
        } = admitted;
        let connection = match &session {
            SessionUse::None => None,
            SessionUse::Opens(opening) => Some(Arc::clone(opening.connection())),
            SessionUse::Within(using, _) => {
                using.awake().await;
                Some(Arc::clone(using.connection()))
            }
        };
        if let (Some(connection), Some(permit)) = (&connection, &permit) {
            connection.permit().set(permit);
        }
        let user_agent = request.headers().get(header::USER_AGENT);
        let user_agent = user_agent.and_then(|value| Some(value.to_str().ok()?.to_owned()));
        let overload = OverloadFlag::default();
        let structured = StructuredSlot::default();
        request.extensions_mut().insert(RequestFacts {
            permit: permit.clone(),
            connection,
            // With sessions, an answer may be part of a stream, whose bytes are never available as a whole.
            structured: (!self.admission.has_sessions()).then(|| structured.clone()),
            overload: Some(overload.clone()),
            user_agent,
            memory,
        });
        let ends_session = request.method() == Method::DELETE;
        let handled = async {
            let response = self.service.handle(request).await.map(Body::new);
            match ends_session {
                true => ended(as_json_rpc(response)),
                false => as_json_rpc(response),
            }
        };
        let mut response = match session {
            SessionUse::None => handled.await,
            SessionUse::Opens(opening) => {
                let response = opening.during(handled).await;
                completing(response, opening)
            }
            SessionUse::Within(_using, None) => handled.await,
            SessionUse::Within(_using, Some(place)) => ending(handled.await, place, permit),
        };
        if overload.is_set() && is_json(response.headers()) {
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            response.headers_mut().insert(header::RETRY_AFTER, SOON);
            self.settings.authentication.refused(response.status());
        }
        match structured.take() {
            Some(text) => completed(response, &text).await,
            None => response,
        }
    }
}

/// Returns the answer to the end of a session. rmcp says "accepted", which some clients take for a failure: the session
/// has ended, and there is nothing to say about it.
fn ended(mut response: Response) -> Response {
    if response.status().is_success() {
        *response.status_mut() = StatusCode::NO_CONTENT;
        *response.body_mut() = Body::empty();
        response.headers_mut().remove(header::CONTENT_TYPE);
    }
    response
}

/// Returns the answer to a handshake. Its session is permanent once all of it was sent.
fn completing(response: Response, opening: SessionReservation) -> Response {
    if !response.headers().contains_key(SESSION_ID) {
        return response;
    }
    let complete = stream::once(async { opening.complete() });
    let complete = complete.filter_map(|()| future::ready(None));
    response.map(|body| Body::from_stream(body.into_data_stream().chain(complete)))
}

/// Returns a stream of notices, which ends with the permission of the caller that asked for it.
fn ending(response: Response, place: StreamSlot, permit: Option<Arc<ListenPermit>>) -> Response {
    let over = async move {
        match permit {
            Some(permit) => permit.ended().await,
            None => future::pending().await,
        }
    };
    response.map(|body| {
        let notices = body.into_data_stream().take_until(Box::pin(over));
        Body::from_stream(notices.inspect(move |_| {
            let _taken = &place;
        }))
    })
}

/// Returns the answer with `text` as its structured content.
async fn completed(response: Response, text: &str) -> Response {
    let (parts, body) = response.into_parts();
    let Ok(bytes) = body.collect().await else {
        return *internal();
    };
    let mut bytes = Vec::from(bytes.to_bytes());
    put_in_place(&mut bytes, text);
    Response::from_parts(parts, Body::from(bytes))
}
