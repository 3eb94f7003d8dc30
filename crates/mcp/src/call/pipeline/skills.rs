//! Calls about skills: the same steps as for every other call.

use std::sync::Arc;

use rmcp::model::ErrorData;
use serde_json::Value;

use super::{EarlyReturn, Label, SLOW_READ};
use crate::{
    Access, AnswerFacts, CacheHint, CallContext, Failure, FailureKind, JsonObject, Resource,
    ResourceContent, SkillPurpose, Surface,
    call::{
        caller::{Caller, ElicitationMode},
        error::Refusal,
        policy::{Absence, CallerRole, Mode},
    },
    world::{
        listing::{ListingPage, cursor},
        skill::{SkillBudget, SkillChild, SkillPolicy, VisibleSkills},
    },
};

/// An entry of a listing of resources that has not been made yet.
enum PendingResource {
    Made(Resource),
    /// The `SKILL.md` of a folder that may be a skill.
    Skill(String),
}

impl Surface {
    /// Lists the skills of the page that starts at `start`.
    pub(crate) async fn list_skills(
        self: Arc<Self>,
        start: usize,
        caller: Caller,
    ) -> Result<ListingPage<Value>, ErrorData> {
        let call = self.begin(&caller);
        let (surface, caller_role) = (Arc::clone(&self), caller.caller_role());
        let list = move |context: &CallContext| {
            surface.with_skills(SkillPurpose::Listing, caller_role, context, |skills| {
                let stop = || context.cancelled.is_cancelled();
                let (entries, next) = skills.page(start, SkillBudget::PAGE, &stop);
                ListingPage {
                    entries,
                    next_cursor: next.map(cursor),
                }
            })
        };
        let listed = self.within_limits(SLOW_READ, caller, ElicitationMode::Never, list);
        let result = listed.await;
        call.end(Label::Method("skills/list"), &result, |_| {
            AnswerFacts::default()
        });
        result.map_err(|stop| self.protocol_error(stop, caller_role))
    }

    /// Returns the entry of the skill whose `SKILL.md` is at `uri`.
    pub(crate) async fn get_skill(
        self: Arc<Self>,
        uri: String,
        caller: Caller,
    ) -> Result<Value, ErrorData> {
        let call = self.begin(&caller);
        let caller_role = caller.caller_role();
        let result = self.skill_steps(uri, caller).await;
        call.end(Label::Method("skills/get"), &result, |_| {
            AnswerFacts::default()
        });
        result.map_err(|stop| self.protocol_error(stop, caller_role))
    }

    /// Lists the children of the folder of a skill at `uri`: the page that starts at `start`.
    pub(crate) async fn read_directory(
        self: Arc<Self>,
        uri: String,
        start: usize,
        caller: Caller,
    ) -> Result<ListingPage<SkillChild>, ErrorData> {
        let call = self.begin(&caller);
        let caller_role = caller.caller_role();
        let result = self.directory_steps(uri, caller).await;
        call.end(Label::Method("resources/directory/read"), &result, |_| {
            AnswerFacts::default()
        });
        result
            .map(|children| ListingPage::of(children, start))
            .map_err(|stop| self.protocol_error(stop, caller_role))
    }

    async fn skill_steps(
        self: &Arc<Self>,
        uri: String,
        caller: Caller,
    ) -> Result<Value, EarlyReturn> {
        let caller_role = caller.caller_role();
        self.skill_exists(&uri, caller_role, Refusal::UnknownSkill)?;
        let (surface, name) = (Arc::clone(self), uri.clone());
        let get = move |context: &CallContext| {
            surface.with_skills(SkillPurpose::Use, caller_role, context, |skills| {
                let mut budget = SkillBudget::PAGE;
                skills.entry(skills.folder_at(&uri)?, &mut budget)
            })
        };
        let entry = self.within_limits(SLOW_READ, caller, ElicitationMode::Never, get);
        let entry = entry.await?.ok_or(Refusal::UnknownSkill)?;
        self.authorise(&name)?;
        Ok(entry)
    }

    async fn directory_steps(
        self: &Arc<Self>,
        uri: String,
        caller: Caller,
    ) -> Result<Vec<SkillChild>, EarlyReturn> {
        let below = format!("{uri}/");
        self.part_steps(below, caller, Refusal::UnknownDirectory, move |skills| {
            skills.children(&uri)
        })
        .await
    }

    /// Reads the file of a skill at `uri`.
    pub(super) async fn skill_file_steps(
        self: &Arc<Self>,
        uri: String,
        caller: Caller,
    ) -> Result<ResourceContent, EarlyReturn> {
        let name = uri.clone();
        let read = move |skills: &VisibleSkills<'_>| skills.read(&name);
        let content = self.part_steps(uri, caller, Refusal::UnknownResource, read);
        Ok(ResourceContent {
            content: content.await?,
            cache: CacheHint::LIVE,
        })
    }

    /// Does `work` on the part of a skill at `uri`. Policies know it by its skill.
    async fn part_steps<T: Send + 'static>(
        self: &Arc<Self>,
        uri: String,
        caller: Caller,
        unknown: Refusal,
        work: impl Fn(&VisibleSkills<'_>) -> Option<T> + Send + 'static,
    ) -> Result<T, EarlyReturn> {
        let caller_role = caller.caller_role();
        let surface = Arc::clone(self);
        let look = move |context: &CallContext| {
            surface.with_skills(SkillPurpose::Use, caller_role, context, |skills| {
                (skills.owner(&uri), work(skills))
            })
        };
        let looked = self.within_limits(SLOW_READ, caller, ElicitationMode::Never, look);
        let (owner, found) = looked.await?;
        let owner = owner.ok_or(unknown)?;
        self.skill_exists(&owner, caller_role, unknown)?;
        let found = found.ok_or(unknown)?;
        self.authorise(&owner)?;
        Ok(found)
    }

    /// Returns a page of the resources that a listing shows: those of the world, and then the `SKILL.md` of each skill.
    pub(super) fn resource_page(
        &self,
        start: usize,
        caller_role: CallerRole,
        context: &CallContext,
    ) -> Result<(ListingPage<Resource>, JsonObject), Failure> {
        let listing = self.listed_resources(caller_role, context)?;
        let resources = listing.resources;
        if self.skills.is_none() {
            return Ok((ListingPage::of(resources, start), listing.meta));
        }
        let page = self.with_skills(SkillPurpose::Listing, caller_role, context, |skills| {
            let made = resources.iter().cloned().map(PendingResource::Made);
            let folders = skills.candidates().into_iter();
            let folders = folders.map(|folder| PendingResource::Skill(folder.to_owned()));
            // Only the skills of this page are looked at.
            let page = ListingPage::of(made.chain(folders).collect(), start);
            let entries = page.entries.into_iter().filter_map(|entry| match entry {
                PendingResource::Made(resource) => Some(resource),
                PendingResource::Skill(folder) => skills.resource(&folder),
            });
            ListingPage {
                entries: entries.collect(),
                next_cursor: page.next_cursor,
            }
        })?;
        Ok((page, listing.meta))
    }

    /// Does `work` on the skills as a caller with this role sees them. It may be done again; the last time counts.
    fn with_skills<T>(
        &self,
        purpose: SkillPurpose,
        caller_role: CallerRole,
        context: &CallContext,
        mut work: impl FnMut(&VisibleSkills<'_>) -> T,
    ) -> Result<T, Failure> {
        let none = || Failure::new(FailureKind::Internal, "The world has no skills.");
        let open = self.skills.as_ref().ok_or_else(none)?;
        let shows_all =
            purpose == SkillPurpose::Listing && self.policy.visibility.mode == Mode::Passthrough;
        let shows = |uri: &str| match shows_all {
            true => self.lists(uri, Access::Read, caller_role),
            false => self.skill_presence(uri, caller_role).is_ok(),
        };
        let visibility = &self.policy.visibility;
        let hides_file = |uri: &str| !shows_all && visibility.denies_folder_of(self.world, uri);
        let policy = SkillPolicy {
            shows: &shows,
            hides_file: &hides_file,
        };
        let mut done = None;
        open(context, purpose, &mut |files| {
            done = Some(work(&VisibleSkills::new(files, policy)));
        })?;
        done.ok_or_else(none)
    }

    /// Checks whether the skill whose `SKILL.md` is at `uri` exists for a caller with this role.
    fn skill_presence(&self, uri: &str, caller_role: CallerRole) -> Result<(), Absence> {
        let visibility = &self.policy.visibility;
        if visibility.denies_folder_of(self.world, uri) {
            return Err(Absence::Hidden);
        }
        self.policy
            .presence(caller_role, self.thing(uri, Access::Read))
    }

    fn skill_exists(
        &self,
        uri: &str,
        caller_role: CallerRole,
        unknown: Refusal,
    ) -> Result<(), EarlyReturn> {
        let presence = self.skill_presence(uri, caller_role);
        presence.map_err(|absence| EarlyReturn::Hidden(absence, unknown.into()))
    }
}
