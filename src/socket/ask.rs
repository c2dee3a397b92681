//! Events that a page answers by acknowledging.

use std::fmt;
use std::future::{Future, pending};
use std::pin::Pin;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;
use socketioxide::socket::Socket;
use socketioxide::{AckError, SendError};

/// The open questions of one connection. They end with it.
#[derive(Default)]
pub(super) struct Asks(Option<FuturesUnordered<Open>>);

type Open = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// What became of a question.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) entry: u64,
    /// None when nobody will answer it over this connection.
    pub(super) value: Option<Value>,
}

/// The session knows when a question ends; the library wants a time as well.
const LONG: Duration = Duration::from_secs(24 * 60 * 60);

/// So many unanswered questions are remembered for one connection; further ones are asked all the same.
const MOST: usize = 1024;

impl Asks {
    /// Emits an event and listens for its answer.
    pub(super) fn ask(&mut self, socket: &Socket, entry: u64, name: &str, data: &RawValue) -> Result<(), SendError> {
        // The future must not hold the socket, or it would not notice its end.
        let reply = socket.timeout(LONG).emit_with_ack::<_, Reply>(name, data)?;
        let open = self.0.get_or_insert_default();
        if open.len() < MOST {
            open.push(Box::pin(async move {
                let value = match reply.await {
                    Ok(Reply(value)) => Some(value),
                    // Acknowledged with something that is no JSON.
                    Err(AckError::Decode(_)) => Some(Value::Null),
                    Err(AckError::Timeout | AckError::Socket(_)) => None,
                };
                Answer { entry, value }
            }));
        }
        Ok(())
    }

    /// The next answer; waits for ever while nothing is open. Cancel safe.
    pub(super) async fn next(&mut self) -> Answer {
        let Some(open) = &mut self.0 else {
            return pending().await;
        };
        match open.next().await {
            Some(answer) => answer,
            None => {
                self.0 = None;
                pending().await
            }
        }
    }
}

/// The first argument of an acknowledgement; null when there is none.
struct Reply(Value);

impl<'de> Deserialize<'de> for Reply {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A tuple, for the library: give all arguments.
        deserializer.deserialize_tuple_struct("Reply", 1, First)
    }
}

struct First;

impl<'de> Visitor<'de> for First {
    type Value = Reply;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the arguments of an acknowledgement")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut args: A) -> Result<Reply, A::Error> {
        let first = args.next_element::<Value>()?;
        while args.next_element::<serde::de::IgnoredAny>()?.is_some() {}
        Ok(Reply(first.unwrap_or(Value::Null)))
    }
}
