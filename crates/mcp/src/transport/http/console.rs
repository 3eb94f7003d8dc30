//! The console over HTTP: who is let in, what their browser may do with a page, and which requests may change something.
//!
//! A person comes in with a one-time link, or signs in with a key or a token where callers sign in, and is then known by a
//! cookie. Requests of other sites cannot use it: the cookie stays with this site, and whatever changes something is a form
//! of this site with the token of this visit.

mod links;
mod visits;

use std::{sync::Arc, time::SystemTime};

use axum::{
    Router,
    body::Body,
    extract::Request,
    response::Response,
    routing::{any, get},
};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request::Parts};
use http_body_util::{BodyExt as _, Limited};
use ring::digest::{SHA256, digest};
use tokio::time::timeout;

pub use self::links::LinkKey;

use self::{
    links::OneTimeLinks,
    visits::{Visit, Visits},
};
use super::{
    HttpSettings,
    authenticate::AcceptedCredentials,
    refusal::{foreign_origin, not_found, outcome},
};
use crate::{
    CREDENTIAL, ConsoleAsset, ConsoleNotice, FORM_TOKEN, FailureKind, PageAnswer, PageMethod,
    PageRequest, SIGN_IN, SIGN_OUT, Surface,
    access::ListenPermit,
    call::page_view::PageStop,
    world::console::{BoundConsole, BoundPage},
};

/// The path that one-time links lead to.
const OPEN: &str = "/open";
/// The name of the field with the sealed part of a link.
const LINK: &str = "link";
/// The first page.
const ROOT: &str = "/";
/// Longest credential that is tried, in bytes.
const MAX_CREDENTIAL_BYTES: usize = 16 << 10;
/// Most fields of a query or a form that are read.
const MOST_FIELDS: usize = 100;

/// Headers of everything that the console serves. Pages load nothing but our own files, run no script in them, cannot be
/// framed, and are kept by nobody. Other sites learn no address of a page; our own forms still say where they come from.
const HEADERS: [(HeaderName, &str); 10] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
         form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
         trusted-types 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "same-origin"),
    (header::CACHE_CONTROL, "no-store"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("cross-origin-resource-policy"),
        "same-origin",
    ),
    (
        HeaderName::from_static("permissions-policy"),
        "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    ),
    // Looking up the host of a link would tell somebody that the note is being read.
    (HeaderName::from_static("x-dns-prefetch-control"), "off"),
    (HeaderName::from_static("x-robots-tag"), "noindex"),
];
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

const FOREIGN_FORM: &str = "This form came from another site. Nothing was changed.";
const OLD_FORM: &str = "This form is from an earlier visit. Nothing was changed. Go back, reload the page and try again.";
const BAD_FORM: &str = "The form did not arrive whole. Nothing was changed.";
const TOO_LARGE: &str = "The form is larger than this server accepts. Nothing was changed.";
const TOO_MANY: &str = "Too many requests. Reload the page in a moment.";
const NOT_ACCEPTED: &str = "This key or token is not accepted here.";
const NOT_NOW: &str = "Nobody can sign in at the moment. Try again later.";

/// How the console is served.
pub struct ConsoleSettings {
    /// The secret that links are made with.
    pub links: Arc<LinkKey>,
    /// The name of the cookie. Servers on one machine need different names: cookies do not know ports.
    pub cookie: String,
    /// The clock that links are checked against.
    pub clock: fn() -> SystemTime,
}

/// The console of a server.
pub(super) struct ConsoleSite {
    surface: Arc<Surface>,
    settings: HttpSettings,
    links: OneTimeLinks,
    visits: Visits,
    cookie: String,
    /// The path of the world for MCP clients, which tokens are for.
    endpoint: String,
    assets: Vec<(ConsoleAsset, String)>,
}

/// What a person asks for.
#[derive(Clone, Copy)]
enum Target {
    /// The first page of the menu.
    First,
    /// The page at this index of the table.
    Page(usize),
    SignIn,
    SignOut,
    Open,
    /// Nothing that exists.
    Missing,
}

impl ConsoleSite {
    pub(super) fn new(
        surface: Arc<Surface>,
        settings: HttpSettings,
        console: ConsoleSettings,
        endpoint: String,
    ) -> Self {
        let assets = surface.console.iter().flat_map(|bound| bound.assets);
        Self {
            links: OneTimeLinks::new(console.links, console.clock),
            visits: Visits::default(),
            cookie: console.cookie,
            assets: assets.map(|asset| (*asset, tag(asset.text))).collect(),
            surface,
            settings,
            endpoint,
        }
    }

    /// Returns the routes of the console.
    pub(super) fn routes(self: Arc<Self>) -> Router {
        let mut targets = vec![
            (ROOT.to_owned(), Target::First),
            (SIGN_IN.to_owned(), Target::SignIn),
            (SIGN_OUT.to_owned(), Target::SignOut),
            (OPEN.to_owned(), Target::Open),
        ];
        let pages = self.surface.console.iter().flat_map(|bound| &bound.pages);
        let of_page =
            |(index, page): (usize, &BoundPage)| (format!("/{}", page.path), Target::Page(index));
        targets.extend(pages.enumerate().map(of_page));
        let mut router = Router::new();
        for (path, target) in targets {
            let site = Arc::clone(&self);
            let handle = move |request: Request| {
                let site = Arc::clone(&site);
                async move { site.handle(target, request).await }
            };
            router = router.route(&path, any(handle));
        }
        for index in 0..self.assets.len() {
            let site = Arc::clone(&self);
            let path = format!("/{}", self.assets[index].0.path);
            let handle = move |headers: HeaderMap| async move { site.asset(index, &headers) };
            router = router.route(&path, get(handle).fallback(async || not_found()));
        }
        router
    }

    /// Answers a request for something that no route serves: a page for a person who was let in, and the answer of any
    /// server without a console for everyone else.
    pub(super) async fn missing(self: Arc<Self>, request: Request) -> Response {
        let accepts = request.headers().get(header::ACCEPT);
        let wants_page = accepts.is_some_and(|value| {
            value
                .to_str()
                .is_ok_and(|types| types.contains("text/html"))
        });
        let is_known = request.method() == Method::GET
            && wants_page
            && self.visit(request.headers()).await.is_some();
        match is_known {
            true => self.handle(Target::Missing, request).await,
            false => not_found(),
        }
    }

    async fn handle(&self, target: Target, request: Request) -> Response {
        let answer = self.answer(target, request).await;
        let mut response = answer.unwrap_or_else(|refusal| {
            let status = refusal.status();
            if status.is_client_error() {
                let outcome = outcome(status);
                tracing::info!(target: "sectile::call", outcome, "a request to the console is refused");
                self.settings.authentication.refused(status);
            }
            *refusal
        });
        for (name, value) in HEADERS {
            let value = HeaderValue::from_static(value);
            response.headers_mut().insert(name, value);
        }
        response
    }

    /// Performs the steps of a request in order: the rate limit of the address, host and origin, the visit, the form with
    /// its token, and the page.
    async fn answer(&self, target: Target, request: Request) -> Result<Response, Box<Response>> {
        let console = self
            .surface
            .console
            .as_ref()
            .ok_or_else(|| Box::new(not_found()))?;
        let (parts, body) = request.into_parts();
        let authentication = &self.settings.authentication;
        let refused =
            |status, reason| Box::new(self.notice(status, &ConsoleNotice::Refused { reason }));
        authentication
            .admit_address(&parts)
            .map_err(|_| refused(StatusCode::TOO_MANY_REQUESTS, TOO_MANY))?;
        if !self.settings.origins.admit_host(&parts.headers, &parts.uri) {
            return Err(foreign_origin());
        }
        let is_form = parts.method == Method::POST;
        if !is_form && parts.method != Method::GET && parts.method != Method::HEAD {
            return Err(Box::new(not_found()));
        }
        if is_form && !self.is_own_form(&parts.headers) {
            return Err(refused(StatusCode::FORBIDDEN, FOREIGN_FORM));
        }
        match target {
            Target::Open => return Ok(self.open(&parts)),
            Target::SignIn if is_form => return self.sign_in(body).await,
            // Nobody is signed in by a link, and the form is shown everywhere.
            Target::SignIn => return Ok(see_other(ROOT)),
            _ => {}
        }
        let Some(visit) = self.visit(&parts.headers).await else {
            return Err(Box::new(self.closed()));
        };
        if let Some(permit) = &visit.permit
            && authentication.admit_caller(permit.identity()).is_err()
        {
            return Err(refused(StatusCode::TOO_MANY_REQUESTS, TOO_MANY));
        }
        let fields = match is_form {
            true => {
                let fields = self.form(&parts.headers, body).await?;
                if !visit.owns_form(first(&fields, FORM_TOKEN)) {
                    return Err(refused(StatusCode::FORBIDDEN, OLD_FORM));
                }
                fields
            }
            false => fields_of(parts.uri.query().unwrap_or_default().as_bytes()),
        };
        if let Target::SignOut = target {
            return match is_form {
                true => Ok(self.sign_out(&parts.headers)),
                false => Ok(see_other(ROOT)),
            };
        }
        self.page(console, target, &visit, (is_form, fields)).await
    }

    /// Shows the page that `target` names.
    async fn page(
        &self,
        console: &BoundConsole,
        target: Target,
        visit: &Visit,
        (is_form, fields): (bool, Vec<(String, String)>),
    ) -> Result<Response, Box<Response>> {
        let identity = visit
            .permit
            .as_ref()
            .map(|permit| Arc::clone(permit.identity()));
        let caller_role = identity.as_ref().map(|identity| identity.role);
        let mut request = PageRequest {
            path: "",
            fields,
            form_token: visit.form_token.clone(),
            menu: self.surface.console_menu(console, caller_role),
            user: identity.as_ref().map(|identity| identity.user.clone()),
        };
        let first = request.menu.first().map(|entry| entry.path);
        let index = match target {
            Target::Page(index) => Some(index),
            Target::First => console
                .pages
                .iter()
                .position(|page| Some(page.path) == first),
            _ => None,
        };
        let page = index.map(|index| (index, &console.pages[index]));
        let page = page.filter(|(_, page)| match page.method {
            PageMethod::View => !is_form,
            PageMethod::ViewOrForm => true,
            PageMethod::Action => is_form,
        });
        let Some((index, page)) = page else {
            let notice = ConsoleNotice::NotFound(&request);
            return Err(Box::new(self.notice(StatusCode::NOT_FOUND, &notice)));
        };
        request.path = page.path;
        let surface = Arc::clone(&self.surface);
        let shown = surface.show_page(index, request.clone(), identity).await;
        match shown {
            Ok(PageAnswer::Html(page)) => Ok(document(StatusCode::OK, HTML, page)),
            Ok(PageAnswer::Json(data)) => Ok(document(StatusCode::OK, JSON, data)),
            Ok(PageAnswer::Redirect(path)) => Ok(see_other(&path)),
            Err(stop) => {
                let (status, notice) = match &stop {
                    PageStop::NotFound => {
                        request.path = "";
                        (StatusCode::NOT_FOUND, ConsoleNotice::NotFound(&request))
                    }
                    PageStop::Failed(kind, message) => {
                        let request = &request;
                        (status_of(*kind), ConsoleNotice::Failed { request, message })
                    }
                    PageStop::Refused(reason) => (
                        StatusCode::SERVICE_UNAVAILABLE,
                        ConsoleNotice::Refused { reason },
                    ),
                };
                Err(Box::new(self.notice(status, &notice)))
            }
        }
    }

    /// Returns the visit that a request belongs to, if the person may still be here.
    async fn visit(&self, headers: &HeaderMap) -> Option<Visit> {
        let visit = self.visits.find(self.cookie_of(headers)?)?;
        match &visit.permit {
            Some(permit) if !permit.holds().await => None,
            _ => Some(visit),
        }
    }

    fn cookie_of<'h>(&self, headers: &'h HeaderMap) -> Option<&'h str> {
        let lists = headers.get_all(header::COOKIE).iter();
        let pairs = lists
            .filter_map(|list| list.to_str().ok())
            .flat_map(|list| list.split(';'));
        let mut named = pairs.filter_map(|pair| {
            let (name, value) = pair.trim().split_once('=')?;
            (name == self.cookie).then_some(value)
        });
        named.next()
    }

    /// Returns whether a form was sent from a page of this server.
    fn is_own_form(&self, headers: &HeaderMap) -> bool {
        let site = headers.get(FETCH_SITE);
        let is_same_site = site.is_none_or(|site| site.as_bytes() == b"same-origin");
        is_same_site
            && self
                .settings
                .origins
                .is_own_page(headers, self.is_encrypted())
    }

    /// Returns whether people reach this server over TLS.
    fn is_encrypted(&self) -> bool {
        self.settings
            .authentication
            .resource("")
            .starts_with("https:")
    }

    /// Lets in the person who follows a link.
    fn open(&self, parts: &Parts) -> Response {
        let closed = |is_spent| {
            let endpoint = self.settings.authentication.resource(&self.endpoint);
            let endpoint = &endpoint;
            let notice = ConsoleNotice::LinkNeeded { is_spent, endpoint };
            self.notice(StatusCode::FORBIDDEN, &notice)
        };
        if self.settings.authentication.authenticator().is_some() {
            return self.closed();
        }
        let fields = fields_of(parts.uri.query().unwrap_or_default().as_bytes());
        match self.links.follow(first(&fields, LINK)) {
            Some(target) => self.let_in(None, &target).unwrap_or_else(|| closed(false)),
            None => closed(true),
        }
    }

    /// Signs in the person who sent a key or a token.
    async fn sign_in(&self, body: Body) -> Result<Response, Box<Response>> {
        let authentication = &self.settings.authentication;
        if authentication.authenticator().is_none() {
            return Err(Box::new(self.closed()));
        }
        let fields = self.form_fields(body).await?;
        let credential = first(&fields, CREDENTIAL).trim();
        let accepted = AcceptedCredentials {
            tokens_only: self.surface.tokens_only,
            bound_to_roots: self.surface.has_roots,
        };
        let is_header = credential.len() <= MAX_CREDENTIAL_BYTES;
        let header = HeaderValue::try_from(format!("Bearer {credential}"));
        let (Ok(header), true) = (header, is_header) else {
            return Err(Box::new(self.sign_in_form(Some(NOT_ACCEPTED))));
        };
        let mut request = http::Request::new(());
        *request.uri_mut() = http::Uri::try_from(&self.endpoint).unwrap_or_default();
        request.headers_mut().insert(header::AUTHORIZATION, header);
        let (mut parts, ()) = request.into_parts();
        match authentication.sign_in(&mut parts, accepted).await {
            Ok(Some(permit)) => {
                let welcome = self.let_in(Some(permit), ROOT);
                welcome.ok_or_else(|| Box::new(self.sign_in_form(Some(NOT_NOW))))
            }
            Ok(None) => Err(Box::new(self.closed())),
            Err(refusal) => {
                let refused = match refusal.status() {
                    StatusCode::TOO_MANY_REQUESTS => TOO_MANY,
                    StatusCode::SERVICE_UNAVAILABLE => NOT_NOW,
                    _ => NOT_ACCEPTED,
                };
                let mut response = self.sign_in_form(Some(refused));
                *response.status_mut() = match refusal.status() {
                    StatusCode::UNAUTHORIZED => StatusCode::FORBIDDEN,
                    status => status,
                };
                Err(Box::new(response))
            }
        }
    }

    /// Begins a visit, and sends the person to `target`; `None` if the system has no random bytes.
    fn let_in(&self, permit: Option<Arc<ListenPermit>>, target: &str) -> Option<Response> {
        let cookie = self.visits.begin(permit).ok()?;
        let mut response = see_other(target);
        let headers = response.headers_mut();
        headers.insert(header::SET_COOKIE, self.set_cookie(&cookie, "")?);
        Some(response)
    }

    fn sign_out(&self, headers: &HeaderMap) -> Response {
        if let Some(cookie) = self.cookie_of(headers) {
            self.visits.end(cookie);
        }
        let mut response = see_other(ROOT);
        if let Some(forget) = self.set_cookie("", "; Max-Age=0") {
            response.headers_mut().insert(header::SET_COOKIE, forget);
        }
        response
    }

    fn set_cookie(&self, value: &str, more: &str) -> Option<HeaderValue> {
        let name = &self.cookie;
        let secure = if self.is_encrypted() { "; Secure" } else { "" };
        let text = format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict{secure}{more}");
        HeaderValue::try_from(text).ok()
    }

    /// Returns the answer to someone who was not let in.
    fn closed(&self) -> Response {
        if self.settings.authentication.authenticator().is_some() {
            return self.sign_in_form(None);
        }
        let endpoint = self.settings.authentication.resource(&self.endpoint);
        let notice = ConsoleNotice::LinkNeeded {
            is_spent: false,
            endpoint: &endpoint,
        };
        self.notice(StatusCode::FORBIDDEN, &notice)
    }

    fn sign_in_form(&self, refused: Option<&'static str>) -> Response {
        let endpoint = self.settings.authentication.resource(&self.endpoint);
        let endpoint = &endpoint;
        let notice = ConsoleNotice::SignIn { refused, endpoint };
        self.notice(StatusCode::FORBIDDEN, &notice)
    }

    /// Reads the form of a request.
    async fn form(
        &self,
        headers: &HeaderMap,
        body: Body,
    ) -> Result<Vec<(String, String)>, Box<Response>> {
        let kind = headers.get(header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()?.split(';').next());
        if !kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case(FORM)) {
            let notice = ConsoleNotice::Refused { reason: BAD_FORM };
            return Err(Box::new(
                self.notice(StatusCode::UNSUPPORTED_MEDIA_TYPE, &notice),
            ));
        }
        self.form_fields(body).await
    }

    async fn form_fields(&self, body: Body) -> Result<Vec<(String, String)>, Box<Response>> {
        let HttpSettings {
            max_body_bytes,
            body_timeout,
            ..
        } = self.settings;
        let body = Limited::new(body, max_body_bytes).collect();
        let (status, reason) = match timeout(body_timeout, body).await {
            Ok(Ok(body)) => return Ok(fields_of(&body.to_bytes())),
            Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
                (StatusCode::PAYLOAD_TOO_LARGE, TOO_LARGE)
            }
            Ok(Err(_)) => (StatusCode::BAD_REQUEST, BAD_FORM),
            Err(_) => (StatusCode::REQUEST_TIMEOUT, BAD_FORM),
        };
        Err(Box::new(
            self.notice(status, &ConsoleNotice::Refused { reason }),
        ))
    }

    fn notice(&self, status: StatusCode, notice: &ConsoleNotice<'_>) -> Response {
        let page = self
            .surface
            .console
            .as_ref()
            .map(|bound| (bound.notice)(notice));
        document(status, HTML, page.unwrap_or_default())
    }

    /// Returns a file that pages load. It is not secret, so that a page for someone who was not let in looks right too.
    fn asset(&self, index: usize, headers: &HeaderMap) -> Response {
        let (asset, tag) = &self.assets[index];
        let known = headers.get(header::IF_NONE_MATCH);
        let is_known = known.is_some_and(|known| known.as_bytes() == tag.as_bytes());
        let mut response = match is_known {
            true => Response::new(Body::empty()),
            false => Response::new(Body::from(Bytes::from_static(asset.text.as_bytes()))),
        };
        if is_known {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
        for (name, value) in HEADERS {
            response
                .headers_mut()
                .insert(name, HeaderValue::from_static(value));
        }
        let headers = response.headers_mut();
        headers.insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static(asset.mime_type),
        );
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        if let Ok(tag) = HeaderValue::try_from(tag) {
            headers.insert(header::ETAG, tag);
        }
        response
    }
}

/// Returns the fields of a query or a form, without those that come after too many.
fn fields_of(text: &[u8]) -> Vec<(String, String)> {
    let fields = form_urlencoded::parse(text).take(MOST_FIELDS);
    fields
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect()
}

fn first<'f>(fields: &'f [(String, String)], name: &str) -> &'f str {
    let found = fields.iter().find(|(field, _)| field == name);
    found.map_or("", |(_, value)| value)
}

/// Returns the tag by which browsers tell versions of a file apart.
fn tag(text: &str) -> String {
    let digest = digest(&SHA256, text.as_bytes());
    let digits = digest.as_ref().iter().take(8);
    let digits: String = digits.map(|byte| format!("{byte:02x}")).collect();
    format!("\"{digits}\"")
}

fn document(status: StatusCode, kind: &'static str, text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// Sends a browser to a path of this server; one that would lead elsewhere leads to the first page.
fn see_other(path: &str) -> Response {
    let is_own = path.starts_with('/') && !path.starts_with("//") && !path.contains('\\');
    let target = HeaderValue::try_from(if is_own { path } else { ROOT });
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SEE_OTHER;
    let target = target.unwrap_or(HeaderValue::from_static(ROOT));
    response.headers_mut().insert(header::LOCATION, target);
    response
}

/// Returns the status of a page that failed.
fn status_of(kind: FailureKind) -> StatusCode {
    match kind {
        FailureKind::InvalidArguments | FailureKind::InvalidPath => StatusCode::BAD_REQUEST,
        FailureKind::NotFound => StatusCode::NOT_FOUND,
        FailureKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        FailureKind::Unreadable => StatusCode::FORBIDDEN,
        FailureKind::Conflict => StatusCode::CONFLICT,
        FailureKind::Unavailable | FailureKind::Cancelled => StatusCode::SERVICE_UNAVAILABLE,
        FailureKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_never_leads_to_another_site() {
        let location = |path: &str| {
            let response = see_other(path);
            response.headers()[header::LOCATION]
                .to_str()
                .unwrap()
                .to_owned()
        };
        assert_eq!(location("/changes?id=a%20b"), "/changes?id=a%20b");
        for bad in [
            "//evil.example",
            "https://evil.example",
            "/\\evil",
            "",
            "/a\nb",
        ] {
            assert_eq!(location(bad), "/", "{bad:?}");
        }
    }

    #[test]
    fn fields_are_decoded_and_bounded() {
        let fields = fields_of(b"q=a+b%20c&q=%ff&=x&r");
        assert_eq!(first(&fields, "q"), "a b c");
        assert_eq!(first(&fields, "r"), "");
        let many = "a=1&".repeat(MOST_FIELDS * 2);
        assert_eq!(fields_of(many.as_bytes()).len(), MOST_FIELDS);
    }
}
