//! What a page says, in the order in which it says it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};

use axum::body::Bytes;
use serde_json::Value as Json;
use socketioxide::adapter::LocalAdapter;
use socketioxide::extract::AckSender;
use socketioxide::handler::{DisconnectHandler, FromMessageParts, MessageHandler, Value};
use socketioxide::socket::{DisconnectReason, Socket};
use socketioxide::{SendError, SocketError};

use super::Tab;
use super::desk::Desk;
use crate::protocol::ClientEvent;

/// Keeps these handlers apart from socketioxide's own.
pub(super) enum Own {}

/// Takes every event of one page. It runs in the task that reads frames, one frame after the other; a handler of
/// socketioxide's would be spawned and lose the order. Nothing here may wait or panic.
pub(super) struct Inbox<T>(pub(super) Weak<Desk<T>>);

/// Takes note that the socket is gone.
pub(super) struct Leaving<T>(pub(super) Weak<Desk<T>>);

/// No arguments at all: an empty array, since an empty tuple would be a null.
const NOTHING: &[u8; 0] = &[];

impl<T: Tab> MessageHandler<LocalAdapter, Own> for Inbox<T> {
    fn call(&self, socket: Arc<Socket>, value: Value, ack: Option<i64>) {
        // The pump holds it: nobody hears a page that is not served any more.
        let Some(desk) = self.0.upgrade() else { return };
        desk.prove();
        let Some(mut args) = arguments(&value) else {
            tracing::warn!(session = ?desk.session, "a packet is no event: ignored");
            return;
        };
        let Json::String(name) = args.remove(0) else {
            return;
        };
        let event = ClientEvent::parse(&name, args);
        // Only what was understood is acknowledged (chat-wire 1.1).
        let ack = ack.filter(|_| event.is_ok());
        let received = catch_unwind(AssertUnwindSafe(|| desk.tab.receive(event)));
        match received {
            Ok(Ok(())) => {}
            Ok(Err(flooded)) => {
                tracing::warn!(session = ?desk.session, "closing the line: {flooded}");
                return desk.cut(socket.id);
            }
            Err(_) => {
                tracing::error!(session = ?desk.session, "closing the line: taking an event panicked");
                return desk.cut(socket.id);
            }
        }
        if let Some(id) = ack
            && !acknowledge(&socket, id)
            && !desk.owe(id)
        {
            tracing::warn!(session = ?desk.session, "closing the line: too many acknowledgements waiting");
            desk.cut(socket.id);
        }
    }
}

impl<T: Tab> DisconnectHandler<LocalAdapter, Own> for Leaving<T> {
    fn call_with_defer(&self, socket: Arc<Socket>, reason: DisconnectReason, defer: fn(Arc<Socket>)) {
        use DisconnectReason::{ClientNSDisconnect, PacketParsingError, ServerNSDisconnect};
        if let Some(desk) = self.0.upgrade() {
            if reason == PacketParsingError {
                tracing::warn!(session = ?desk.session, "line closed: a packet could not be read");
            } else {
                tracing::debug!(session = ?desk.session, "line closed: {reason}");
            }
            desk.leave(matches!(reason, ClientNSDisconnect | ServerNSDisconnect));
        }
        defer(socket);
    }
}

/// Sends an empty acknowledgement; false when the queue is full.
pub(super) fn acknowledge(socket: &Arc<Socket>, id: i64) -> bool {
    let Ok(sender) = AckSender::from_message_parts(socket, &mut Value::Bytes(Bytes::new()), &Some(id));
    !matches!(sender.send(NOTHING), Err(SendError::Socket(SocketError::InternalChannelFull)))
}

/// `["event", args…]`, the name still in front.
fn arguments(value: &Value) -> Option<Vec<Json>> {
    let Value::Str(text, _) = value else {
        return None;
    };
    let args: Vec<Json> = serde_json::from_str(text.as_str()).ok()?;
    args.first()?.is_string().then_some(args)
}
