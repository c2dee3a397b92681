//! Who may read the records of a thread (records.md 3.12): its owner; without a login whoever holds a live session on it,
//! whose id is all that protects an anonymous visitor (design 6); and guests that it is shown to, who see no more of it
//! than a shared thread shows.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::Deserialize;
use serde_json::Value;

use super::error::RecordError;
use crate::http::share::{PRIVATE, is_shown_to};
use crate::http::{Http, Shared};
use crate::id::{SessionId, ThreadId};
use crate::protocol::User;
use crate::store::StoredRecord;

/// The longest id of a session (records.md 2.3).
const LONGEST_ID: usize = 128;

/// A thread that the caller may read.
#[derive(Clone, Debug)]
pub(in crate::http) struct Access {
    /// The thread.
    pub(in crate::http) thread: ThreadId,
    /// Who reads.
    pub(in crate::http) user: Option<User>,
    /// The live session that an anonymous visitor showed.
    session: Option<SessionId>,
    /// Whether it is only shown to the caller, who owns none of it.
    pub(in crate::http) guest: bool,
}

#[derive(Deserialize)]
struct Shown {
    session_id: Option<SessionId>,
}

impl FromRequestParts<Shared> for Access {
    type Rejection = RecordError;

    async fn from_request_parts(parts: &mut Parts, http: &Shared) -> Result<Self, RecordError> {
        if !http.config.sequence {
            return Err(RecordError::switched_off());
        }
        let user = http.auth.authenticate(&parts.headers).await?;
        let path = axum::extract::Path::<std::collections::HashMap<String, String>>::from_request_parts(parts, http);
        let thread = path.await.ok().and_then(|mut path| path.0.remove("session")).filter(|id| is_id(id));
        let thread = thread.ok_or(RecordError::invalid("This is not the id of a session."))?;
        let shown = axum::extract::Query::<Shown>::try_from_uri(&parts.uri);
        let session = shown.map_err(|_| RecordError::invalid("The query cannot be read."))?.0.session_id;
        Self::check(http, user, ThreadId::from(thread), session).await
    }
}

impl Access {
    /// What somebody may do with a thread.
    ///
    /// # Errors
    /// The same 404 when there is none and when it is none of theirs.
    async fn check(
        http: &Http,
        user: Option<User>,
        thread: ThreadId,
        session: Option<SessionId>,
    ) -> Result<Self, RecordError> {
        let head = http.store.thread_head(&thread).await?.ok_or(RecordError::no_session())?;
        let is_theirs = match (&head.owner, &user) {
            (Some(owner), Some(user)) => *owner == user.identifier,
            (None, None) => {
                let visit = session.as_ref().and_then(|session| http.sessions.visit(session, None));
                visit.is_some_and(|visit| visit.place().thread == thread)
            }
            (Some(_), None) | (None, Some(_)) => false,
        };
        if !is_theirs && !is_shown_to(http, user.as_ref(), &thread).await? {
            return Err(RecordError::no_session());
        }
        Ok(Self { thread, user, session, guest: !is_theirs })
    }

    /// Looks again whether they may, for whoever reads on for a long time.
    ///
    /// # Errors
    /// As for a new request.
    pub(in crate::http) async fn again(&self, http: &Http) -> Result<Self, RecordError> {
        Self::check(http, self.user.clone(), self.thread.clone(), self.session.clone()).await
    }

    /// Only whose thread it is may change it; to a guest it looks as if there were none.
    pub(super) fn owner(self) -> Result<Self, RecordError> {
        if self.guest { Err(RecordError::no_session()) } else { Ok(self) }
    }

    /// A record as this reader may see it.
    pub(in crate::http) fn shown(&self, mut record: StoredRecord) -> StoredRecord {
        if !self.guest {
            return record;
        }
        let mut value = record.attributes();
        if let Value::Object(attributes) = &mut value {
            if record.record_type == "settings" {
                attributes.insert("values".into(), Value::Object(serde_json::Map::new()));
            }
            // What its owner thinks of an answer is between them and the application.
            if record.record_type == "feedback" {
                attributes.clear();
            }
            if let Some(Value::Object(metadata)) = attributes.get_mut("step").and_then(|step| step.get_mut("metadata"))
            {
                metadata.remove("favorite");
            }
            for key in ["user_id", "user_identifier"] {
                if let Some(value) = attributes.get_mut(key) {
                    *value = Value::Null;
                }
            }
            if matches!(record.record_type.as_str(), "thread_start" | "thread_update")
                && let Some(Value::Object(metadata)) = attributes.get_mut("metadata")
            {
                metadata.retain(|key, _| !PRIVATE.contains(&key.as_str()));
            }
            record.attributes = value.to_string();
        }
        record
    }
}

fn is_id(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=LONGEST_ID).contains(&text.len()) && text.bytes().all(plain)
}
