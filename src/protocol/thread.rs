//! The thread: a stored conversation as pages read it (chat-wire 5.7, 6.5).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Element, Step, Timestamp};
use crate::id::{ThreadId, UserId};

/// A conversation. `steps` is an array always, with parents before children.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Thread {
    /// Its id.
    pub id: ThreadId,
    /// When it was made.
    pub created_at: Option<Timestamp>,
    /// The first interaction, or what somebody renamed it to.
    pub name: Option<String>,
    /// The owner's row.
    pub user_id: Option<UserId>,
    /// The owner's identifier: who may read and write it.
    pub user_identifier: Option<String>,
    /// Tags.
    pub tags: Option<Vec<String>>,
    /// Values of the user session, the profile, the settings. An object, never a text.
    #[serde(default)]
    pub metadata: Map<String, Value>,
    /// Everything that was said and done, parents first.
    pub steps: Vec<Step>,
    /// What was attached, with usable urls.
    pub elements: Vec<Element>,
}

/// One page of the thread list.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ThreadPage {
    /// Where this page begins and ends.
    pub page_info: PageInfo,
    /// Newest first.
    pub data: Vec<Thread>,
}

/// The bounds of a page. A cursor is exclusive; a thread's id is one, too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PageInfo {
    /// Whether a further page exists.
    pub has_next_page: bool,
    /// The first thread of the page.
    pub start_cursor: Option<String>,
    /// Where the page ends; the next request gives it back.
    pub end_cursor: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_of_threads_on_the_wire() {
        let thread = Thread {
            id: "T".into(),
            created_at: None,
            name: Some("hi".into()),
            user_id: None,
            user_identifier: None,
            tags: Some(vec!["fast".into()]),
            metadata: Map::new(),
            steps: Vec::new(),
            elements: Vec::new(),
        };
        let page_info = PageInfo { has_next_page: true, start_cursor: Some("T".into()), end_cursor: Some("T".into()) };
        insta::assert_json_snapshot!(ThreadPage { page_info, data: vec![thread] });
    }
}
