//! Where the bytes of an element are fetched. Pages build an address by themselves for live elements only, never for
//! those of a thread (chat-wire 5.4).

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::id::{FileId, SessionId, ThreadId};
use crate::protocol::Element;

/// Where the bytes of a stored element are served, below the root: kept by the element when it says so itself.
#[must_use]
pub fn with_url(thread: &ThreadId, mut element: Element) -> Element {
    if !is_set(element.url.as_deref()) && has_bytes(&element) {
        element.url = Some(content(thread, &element));
    }
    element
}

/// Gives an element of a thread the address at which a page finds its bytes. `root` is what stands in front of every
/// route. Nobody but a person has threads to read; a visitor without a login gets at the files of a thread by the
/// session that is on it.
pub fn address(thread: &ThreadId, element: &mut Element, root: &str, visitor: Option<&SessionId>) {
    let given = element.url.as_deref().unwrap_or_default();
    let ours = given.is_empty() || given.starts_with(OURS) || has_run_out(element, given);
    if !ours || !has_bytes(element) {
        return;
    }
    let path = match (visitor, &element.chainlit_key) {
        (Some(session), Some(key)) => {
            format!("/project/file/{}?session_id={}", encoded(key.as_str()), encoded(session.expose()))
        }
        (Some(_) | None, _) => content(thread, element),
    };
    element.url = Some(format!("{root}{path}"));
}

const OURS: &str = "/project/thread/";

fn content(thread: &ThreadId, element: &Element) -> String {
    format!("{OURS}{}/element/{}/content", encoded(thread.as_str()), encoded(element.id.as_str()))
}

fn has_bytes(element: &Element) -> bool {
    is_set(element.object_key.as_deref()) || is_set(element.chainlit_key.as_ref().map(FileId::as_str))
}

fn is_set(text: Option<&str>) -> bool {
    text.is_some_and(|text| !text.is_empty())
}

/// Chainlit stores the address that its bucket signed for an hour (chat-wire 8.2).
fn has_run_out(element: &Element, url: &str) -> bool {
    is_set(element.object_key.as_deref()) && (url.contains("X-Amz-Signature=") || url.contains("&Signature="))
}

fn encoded(text: &str) -> String {
    const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
    utf8_percent_encode(text, PLAIN).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ElementKind;

    fn addressed(element: &Element, visitor: Option<&SessionId>) -> Option<String> {
        let mut element = with_url(&"T 1".into(), element.clone());
        address(&"T 1".into(), &mut element, "/base", visitor);
        element.url
    }

    #[test]
    fn bytes_are_found_below_the_root() {
        let mut element = Element::new("E".into(), ElementKind::Image, "a.png");
        assert_eq!(addressed(&element, None), None, "there are none");
        element.chainlit_key = Some("F".into());
        assert_eq!(addressed(&element, None).as_deref(), Some("/base/project/thread/T%201/element/E/content"));
        let visitor = SessionId::from("s/1");
        assert_eq!(addressed(&element, Some(&visitor)).as_deref(), Some("/base/project/file/F?session_id=s%2F1"));
        element.url = Some("https://example.com/a.png".into());
        assert_eq!(addressed(&element, None).as_deref(), Some("https://example.com/a.png"));
    }

    #[test]
    fn an_address_that_was_signed_for_an_hour_is_not_given_on() {
        let mut element = Element::new("E".into(), ElementKind::Image, "a.png");
        element.url = Some("https://b.s3.amazonaws.com/u/E/a.png?X-Amz-Date=1&X-Amz-Signature=2".into());
        assert_eq!(addressed(&element, None), element.url, "nothing better is known");
        element.object_key = Some("u/E/a.png".into());
        assert_eq!(addressed(&element, None).as_deref(), Some("/base/project/thread/T%201/element/E/content"));
    }
}
