//! The screen: whatever a page has seen, catching up brings it to what it would show had it seen everything.

use std::sync::Arc;

use proptest::prelude::*;
use rejoinder::id::StepId;
use rejoinder::protocol::{
    Action, Ask, AskKind, AskSpec, Element, ElementKind, ServerEvent, Step, StepKind, Thread, Token,
};
use rejoinder::screen::{Page, Screen};
use serde_json::Map;

/// What a conversation may do next; ids are small numbers, so that things meet.
#[derive(Clone, Debug)]
enum Act {
    Say { id: u8, below: Option<u8> },
    Change { id: u8 },
    Stream { id: u8, below: Option<u8> },
    Token { id: u8 },
    Finish { id: u8 },
    Delete { id: u8 },
    Ask { id: u8 },
    Answered,
    TimedOut,
    Work(bool),
    Element { id: u8, there: bool },
    Button { id: u8, there: bool },
    Thread,
}

fn act() -> impl Strategy<Value = Act> {
    let id = 0..6_u8;
    prop_oneof![
        4 => (id.clone(), proptest::option::of(0..6_u8)).prop_map(|(id, below)| Act::Say { id, below }),
        2 => id.clone().prop_map(|id| Act::Change { id }),
        2 => (id.clone(), proptest::option::of(0..6_u8)).prop_map(|(id, below)| Act::Stream { id, below }),
        6 => id.clone().prop_map(|id| Act::Token { id }),
        2 => id.clone().prop_map(|id| Act::Finish { id }),
        2 => id.clone().prop_map(|id| Act::Delete { id }),
        1 => (6..8_u8).prop_map(|id| Act::Ask { id }),
        1 => Just(Act::Answered),
        1 => Just(Act::TimedOut),
        2 => any::<bool>().prop_map(Act::Work),
        2 => (0..3_u8, any::<bool>()).prop_map(|(id, there)| Act::Element { id, there }),
        2 => (0..3_u8, any::<bool>()).prop_map(|(id, there)| Act::Button { id, there }),
        1 => Just(Act::Thread),
    ]
}

/// Turns acts into events that a server could send: parents exist, tokens go to what streams.
fn events(acts: &[Act]) -> Vec<ServerEvent> {
    let mut there: Vec<Step> = Vec::new();
    let mut events = Vec::new();
    let mut working = false;
    let mut asking = false;
    let mut elements: Vec<Element> = Vec::new();
    let mut buttons: Vec<u8> = Vec::new();
    let name = |id: u8| StepId::from(format!("s{id}"));
    for (place, act) in acts.iter().enumerate() {
        let text = format!("[{place}]");
        match act {
            Act::Say { id, below } | Act::Stream { id, below } => {
                if there.iter().any(|step| step.id == name(*id)) {
                    continue;
                }
                let parent = below.map(name).filter(|parent| there.iter().any(|step| step.id == *parent));
                let mut step = Step::new(name(*id), "t".into(), StepKind::AssistantMessage, "a");
                step.parent_id = parent;
                step.output = text;
                step.streaming = matches!(act, Act::Stream { .. });
                there.push(step.clone());
                let step = Arc::new(step);
                events.push(if step.streaming {
                    ServerEvent::StreamStart(step)
                } else {
                    ServerEvent::NewMessage(step)
                });
            }
            Act::Change { id } => {
                if let Some(step) = there.iter_mut().find(|step| step.id == name(*id) && !step.streaming) {
                    step.output = text;
                    events.push(ServerEvent::UpdateMessage(Arc::new(step.clone())));
                }
            }
            Act::Token { id } => {
                if let Some(step) = there.iter_mut().find(|step| step.id == name(*id) && step.streaming) {
                    step.output.push_str(&text);
                    let token = Token { id: name(*id), token: text, is_sequence: false, is_input: false };
                    events.push(ServerEvent::StreamToken(token));
                }
            }
            Act::Finish { id } => {
                if let Some(step) = there.iter_mut().find(|step| step.id == name(*id) && step.streaming) {
                    step.streaming = false;
                    events.push(ServerEvent::UpdateMessage(Arc::new(step.clone())));
                }
            }
            Act::Delete { id } => {
                if let Some(step) = there.iter().find(|step| step.id == name(*id)).cloned() {
                    let mut gone = vec![step.id.clone()];
                    for step in &there {
                        if step.parent_id.as_ref().is_some_and(|parent| gone.contains(parent)) {
                            gone.push(step.id.clone());
                        }
                    }
                    there.retain(|step| !gone.contains(&step.id));
                    events.push(ServerEvent::DeleteMessage(Arc::new(step)));
                }
            }
            Act::Element { id, there: true } => {
                let mut element = Element::new(format!("e{id}").into(), ElementKind::Custom, "Card");
                element.props = Some(Map::from_iter([("n".to_owned(), place.into())]));
                elements.retain(|known| known.id != element.id);
                elements.push(element.clone());
                events.push(ServerEvent::Element(element.into()));
            }
            Act::Element { id, there: false } => {
                elements.retain(|known| known.id.as_str() != format!("e{id}"));
                events.push(ServerEvent::RemoveElement(format!("e{id}").into()));
            }
            Act::Button { id, there } if *there != buttons.contains(id) => {
                let action = Arc::new(Action {
                    id: format!("b{id}").into(),
                    name: "press".into(),
                    payload: Map::new(),
                    label: String::new(),
                    tooltip: String::new(),
                    icon: None,
                    for_id: None,
                });
                if *there {
                    buttons.push(*id);
                    events.push(ServerEvent::Action(action));
                } else {
                    buttons.retain(|known| known != id);
                    events.push(ServerEvent::RemoveAction(action));
                }
            }
            Act::Button { .. } => {}
            Act::Ask { id } => {
                if asking || there.iter().any(|step| step.id == name(*id)) {
                    continue;
                }
                asking = true;
                let mut msg = Step::new(name(*id), "t".into(), StepKind::AssistantMessage, "a");
                msg.output = text;
                there.push(msg.clone());
                let spec = AskSpec { step_id: msg.id.clone(), timeout: 30, kind: AskKind::Text };
                events.push(ServerEvent::Ask(Arc::new(Ask { msg, spec })));
            }
            Act::Answered if asking => {
                asking = false;
                events.extend([ServerEvent::TaskEnd, ServerEvent::ClearAsk, ServerEvent::TaskStart]);
                working = true;
            }
            Act::TimedOut if asking => {
                asking = false;
                events.extend([ServerEvent::AskTimeout, ServerEvent::TaskStart]);
                working = true;
            }
            Act::Answered | Act::TimedOut => {}
            Act::Work(on) if !asking && *on != working => {
                working = *on;
                events.push(if working { ServerEvent::TaskStart } else { ServerEvent::TaskEnd });
            }
            Act::Work(_) => {}
            Act::Thread => {
                events.push(ServerEvent::ResumeThread(Arc::new(Thread {
                    id: "t".into(),
                    created_at: None,
                    name: None,
                    user_id: None,
                    user_identifier: None,
                    tags: None,
                    metadata: serde_json::Map::new(),
                    steps: there.clone(),
                    elements: elements.clone(),
                })));
            }
        }
    }
    events
}

/// How many; `PROPTEST_CASES` says otherwise.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").map_or(2000, |cases| cases.parse().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    /// It found, while the screen was written: a step that came again and was not deleted first, a child that was forgotten
    /// with its proven parent and came again elsewhere, and a button that came again and stood in its old place.
    #[test]
    fn every_prefix_ends_at_the_same_screen(
        acts in proptest::collection::vec(act(), 1..60),
        proven in any::<prop::sample::Index>(),
        seen in any::<prop::sample::Index>(),
        told in any::<prop::sample::Index>(),
    ) {
        let events = events(&acts);
        let seen = seen.index(events.len() + 1);
        let proven = proven.index(seen + 1);
        let told = proven.max(told.index(events.len() + 1));

        let mut screen = Screen::default();
        let mut whole = Page::default();
        let mut page = Page::default();
        for (place, event) in events.iter().enumerate() {
            if place == told {
                screen.proven(proven as u64);
            }
            screen.apply(place as u64 + 1, event);
            whole.apply(event);
            if place < seen {
                page.apply(event);
            }
        }
        if told == events.len() {
            screen.proven(proven as u64);
        }
        for event in [ServerEvent::TaskEnd, ServerEvent::ClearAsk, ServerEvent::ClearCallFn(None)] {
            page.apply(&event);
        }
        for event in screen.catch_up() {
            page.apply(&event);
        }
        prop_assert_eq!(page, whole);
    }
}

/// Red when what is not stored yet goes to the end of the thread: two answers that grow side by side change places on a
/// page that is loaded in between. Found by the histories by chance.
#[test]
fn a_text_that_still_grows_stands_where_it_began() {
    let at = |id: &str, micros: i64, parent: Option<&str>| {
        let mut step = Step::new(id.into(), "t".into(), StepKind::AssistantMessage, "a");
        step.created_at = Some(rejoinder::protocol::Timestamp::from_micros(micros));
        step.parent_id = parent.map(StepId::from);
        step
    };
    let mut stored = Thread::new("t".into());
    stored.steps = vec![at("run", 1, None), at("second", 3, Some("run")), at("next", 5, None)];
    let events = [
        ServerEvent::StreamStart(Arc::new(at("first", 2, Some("run")))),
        ServerEvent::NewMessage(Arc::new(at("last", 6, None))),
    ];
    let folded = rejoinder::screen::fold_onto(stored, &events);
    let order: Vec<&str> = folded.steps.iter().map(|step| step.id.as_str()).collect();
    assert_eq!(order, ["run", "first", "second", "next", "last"]);
}
