//! The methods of the extension for skills (SEP-2640), which rmcp does not know.

use std::sync::Arc;

use rmcp::{
    RoleServer,
    model::{
        CustomRequest, CustomResult, ErrorData, ExtensionCapabilities, PaginatedRequestParams,
        Resource,
    },
    service::RequestContext,
};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{McpServer, wire::wire_resource};
use crate::{
    CacheHint, JsonObject,
    call::error::invalid_params,
    world::{
        listing::{free_page_start, page_start},
        skill::{EXTENSION, SkillChild},
    },
};

/// A method of the extension.
#[derive(Clone, Copy)]
pub(super) enum SkillMethod {
    List,
    Get,
    ReadDirectory,
}

#[derive(Deserialize)]
struct SkillAddress {
    uri: String,
}

impl SkillMethod {
    pub(super) fn named(method: &str) -> Option<Self> {
        match method {
            "skills/list" => Some(Self::List),
            "skills/get" => Some(Self::Get),
            "resources/directory/read" => Some(Self::ReadDirectory),
            _ => None,
        }
    }
}

/// Returns what a server with skills declares.
pub(super) fn declaration() -> ExtensionCapabilities {
    let settings = JsonObject::from_iter([("directoryRead".to_owned(), json!(true))]);
    ExtensionCapabilities::from_iter([(EXTENSION.to_owned(), settings)])
}

impl McpServer {
    pub(super) async fn skill_request(
        &self,
        method: SkillMethod,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let params = request.params.unwrap_or_else(|| json!({}));
        let surface = Arc::clone(&self.surface);
        let caller = self.caller(context);
        let is_stateless = caller.is_stateless();
        let mut result = match method {
            SkillMethod::List => {
                let page: PaginatedRequestParams = decoded(&params)?;
                let start = free_page_start(Some(&page))?;
                let page = surface.list_skills(start, caller).await?;
                let list = ("skills", Value::Array(page.entries));
                paged(list, page.next_cursor)
            }
            SkillMethod::Get => {
                let SkillAddress { uri } = decoded(&params)?;
                let skill = surface.get_skill(uri, caller).await?;
                paged(("skill", skill), None)
            }
            SkillMethod::ReadDirectory => {
                let SkillAddress { uri } = decoded(&params)?;
                let page: PaginatedRequestParams = decoded(&params)?;
                let start = page_start(Some(&page))?;
                let page = surface.read_directory(uri, start, caller).await?;
                let children = page.entries.into_iter().map(wire_child);
                let children: Vec<Resource> = children.collect();
                paged(("resources", json!(children)), page.next_cursor)
            }
        };
        // Earlier revisions know neither the kind of a result nor how long it may be cached.
        if is_stateless {
            result.insert("resultType".to_owned(), json!("complete"));
            result.insert("ttlMs".to_owned(), json!(CacheHint::LIVE.ttl_ms));
            result.insert("cacheScope".to_owned(), json!(CacheHint::LIVE.scope()));
        }
        Ok(CustomResult::new(Value::Object(result)))
    }
}

fn decoded<T: DeserializeOwned>(params: &Value) -> Result<T, ErrorData> {
    T::deserialize(params).map_err(|_| invalid_params())
}

fn paged((key, value): (&str, Value), next_cursor: Option<String>) -> JsonObject {
    let next = next_cursor.map(|cursor| ("nextCursor".to_owned(), json!(cursor)));
    let list = [(key.to_owned(), value)];
    list.into_iter().chain(next).collect()
}

fn wire_child(child: SkillChild) -> Resource {
    match child {
        SkillChild::Manifest(resource) => wire_resource(resource),
        SkillChild::Other {
            uri,
            name,
            mime_type,
            size,
        } => {
            let mut wire = Resource::new(uri, name);
            wire.mime_type = mime_type.map(str::to_owned);
            wire.size = size;
            wire
        }
    }
}
