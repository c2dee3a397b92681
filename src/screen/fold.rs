//! What a token does to a step, and what a deleted step looks like.

use crate::id::StepId;
use crate::protocol::{Step, StepKind, Token};

/// Lets a step grow by a token, as the page does (chat-wire 9.3).
pub fn grow(step: &mut Step, token: &Token) {
    let text = if token.is_input { &mut step.input } else { &mut step.output };
    if token.is_sequence {
        text.clone_from(&token.token);
    } else {
        text.push_str(&token.token);
    }
}

/// A step that is only named in order to be deleted; the page reads nothing but the id.
pub fn deleted(id: &StepId) -> Step {
    Step::new(id.clone(), "".into(), StepKind::Undefined, "")
}
