//! The `auth` object of CONNECT (chat-wire 1.4).

use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::id::{SessionId, ThreadId};

/// What a page says when it connects.
#[derive(Clone, Debug, PartialEq)]
pub struct Handshake {
    /// `webapp` (also when nothing is said), `copilot` or what an application passes.
    pub client_type: String,
    /// The tab.
    pub session: SessionId,
    /// The thread it wants to resume, or is on since. Not checked here: it may be any text.
    pub thread: Option<ThreadId>,
    /// Values the person entered, by name.
    pub user_env: Map<String, Value>,
    /// The chosen profile, percent-decoded.
    pub chat_profile: Option<String>,
}

/// Why a CONNECT is refused before anybody is asked who they are. The text is for the person at the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    /// No `auth`, or not an object.
    #[error("connection data missing")]
    Missing,
    /// A key has the wrong type.
    #[error("connection data malformed")]
    Malformed,
    /// No `sessionId`, or an unusable one.
    #[error("session id missing")]
    NoSession,
    /// `userEnv` is not the JSON text of an object.
    #[error("user environment malformed")]
    UserEnv,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw {
    client_type: Option<String>,
    session_id: Option<String>,
    thread_id: Option<Value>,
    user_env: Option<String>,
    chat_profile: Option<String>,
}

/// Longer ids are refused: what a page invents is a UUID.
const LONGEST_ID: usize = 128;

impl Handshake {
    /// Reads the CONNECT payload. Null, absent and empty are the same for all but the session id.
    ///
    /// # Errors
    /// When it is no object, has no session id, or a key of the wrong type.
    pub fn parse(auth: Value) -> Result<Self, HandshakeError> {
        if !auth.is_object() || auth.as_object().is_some_and(Map::is_empty) {
            return Err(HandshakeError::Missing);
        }
        let raw: Raw = serde_json::from_value(auth).map_err(|_| HandshakeError::Malformed)?;
        let session = raw.session_id.filter(|id| !id.is_empty() && id.len() <= LONGEST_ID);
        let session = session.ok_or(HandshakeError::NoSession)?;
        let user_env = match raw.user_env.as_deref() {
            None | Some("") => Map::new(),
            Some(text) => serde_json::from_str(text).map_err(|_| HandshakeError::UserEnv)?,
        };
        let decode = |text: String| percent_decode_str(&text).decode_utf8_lossy().into_owned();
        Ok(Self {
            client_type: raw.client_type.filter(|kind| !kind.is_empty()).unwrap_or_else(|| "webapp".to_owned()),
            session: session.as_str().into(),
            thread: raw.thread_id.as_ref().and_then(thread),
            user_env,
            chat_profile: raw.chat_profile.map(decode).filter(|name| !name.is_empty()),
        })
    }
}

/// The thread id, whatever it is: one that can be none is found to be none later, like any other.
fn thread(id: &Value) -> Option<ThreadId> {
    match id {
        Value::Null => None,
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(text.as_str().into()),
        other => Some(other.to_string().into()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_stock_page_connects() {
        let handshake = Handshake::parse(json!({
            "clientType": "webapp", "sessionId": "S", "threadId": "", "userEnv": "{\"KEY\":\"v\"}",
            "chatProfile": "Mein%20Profil"
        }))
        .unwrap();
        assert_eq!(handshake.thread, None);
        assert_eq!(handshake.chat_profile.as_deref(), Some("Mein Profil"));
        assert_eq!(handshake.user_env["KEY"], "v");
    }

    #[test]
    fn null_and_absent_are_empty() {
        let bare = Handshake::parse(json!({"clientType": "webapp", "sessionId": "S"})).unwrap();
        let nulls =
            json!({"clientType": "webapp", "sessionId": "S", "threadId": null, "userEnv": null, "chatProfile": null});
        assert_eq!(bare, Handshake::parse(nulls).unwrap());
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (auth, error) in [
            (json!(null), HandshakeError::Missing),
            (json!({}), HandshakeError::Missing),
            (json!([1]), HandshakeError::Missing),
            (json!({"sessionId": 7}), HandshakeError::Malformed),
            (json!({"sessionId": ""}), HandshakeError::NoSession),
            (json!({"clientType": "webapp"}), HandshakeError::NoSession),
            (json!({"clientType": "webapp", "sessionId": "S", "userEnv": "no"}), HandshakeError::UserEnv),
            (json!({"clientType": "webapp", "sessionId": "S", "userEnv": "[]"}), HandshakeError::UserEnv),
        ] {
            assert_eq!(Handshake::parse(auth.clone()), Err(error), "{auth}");
        }
    }
}
