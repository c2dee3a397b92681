//! What a session has to say, written to its page: one task per connection.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::value::to_raw_value;
use socketioxide::socket::Socket;
use socketioxide::{ParserError, SendError, SocketError, TransportType};
use tokio::time::{Instant, sleep_until, timeout_at};

use super::Tab;
use super::ask::{Answer, Asks};
use super::desk::Desk;
use super::inbox::acknowledge;
use super::token::merge;
use crate::line::MARKER;
use crate::metrics::counts;
use crate::session::Entry;

/// How many entries are taken from the session at once.
const BATCH: usize = 256;

/// Room in the queue that events leave to heartbeats and acknowledgements: a heartbeat that finds no room ends the
/// session.
const ROOM: usize = 128;

/// Bytes that may wait in the queue, which counts entries only. Less than the largest answer to a poll, for what does
/// not fit into one is forgotten by the library when the page changes to a websocket just then.
const MOST_BYTES: u64 = 512 * 1024;

/// How often to look again where nobody tells that there is room.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Writes to one page until it is gone.
pub(super) struct Pump<T> {
    desk: Arc<Desk<T>>,
    socket: Arc<Socket>,
    /// Taken from the session, not emitted yet.
    pending: VecDeque<Entry>,
    asks: Asks,
    marker: Marker,
    /// The queue was full not long ago: tokens are merged.
    is_behind: bool,
}

/// Where the proof of what was emitted stands.
#[derive(Clone, Copy, Debug)]
enum Marker {
    /// None is on its way; the next may go from then on.
    From(Instant),
    /// One was emitted then, and marks so many events.
    Sent { at: Instant, count: u64 },
    /// One was never answered: the line is being closed.
    Unanswered,
}

/// Whether everything could be emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Enough,
    None,
}

/// Why a pump ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The socket is gone.
    Gone,
    /// Another socket has the session now.
    Replaced,
    /// The server stops.
    Stopped,
}

impl<T: Tab> Pump<T> {
    pub(super) fn new(desk: Arc<Desk<T>>, socket: Arc<Socket>) -> Self {
        Self {
            desk,
            socket,
            pending: VecDeque::new(),
            asks: Asks::default(),
            marker: Marker::From(Instant::now()),
            is_behind: false,
        }
    }

    /// Pumps until the socket is gone, replaced, or the server stops.
    pub(super) async fn run(mut self) {
        let end = self.pump().await;
        self.hear_out();
        self.prove();
        match end {
            End::Stopped => self.desk.house.keep(Arc::clone(&self.desk)),
            End::Gone if self.desk.transport_stays() => self.linger(),
            End::Gone => {}
            End::Replaced => {
                self.dismiss().await;
                self.linger();
            }
        }
    }

    async fn pump(&mut self) -> End {
        let desk = Arc::clone(&self.desk);
        let mut stop = pin!(desk.house.stop.cancelled());
        let mut replaced = pin!(desk.tab.replaced());
        let mut timer = pin!(sleep_until(Instant::now()));
        let mut is_ours = true;
        loop {
            self.prove();
            if desk.connection.has_left() {
                return End::Gone;
            }
            let room = self.write();
            let wake = self.mark(room);
            let is_armed = wake.is_some();
            if let Some(at) = wake
                && timer.deadline() != at
            {
                timer.as_mut().reset(at);
            }
            let is_hungry = is_ours && self.pending.is_empty() && room == Room::Enough && !self.is_paused();
            tokio::select! {
                biased;
                () = desk.connection.changed() => {}
                () = &mut replaced => return End::Replaced,
                () = &mut stop => {
                    self.last_words().await;
                    return End::Stopped;
                }
                () = &mut timer, if is_armed => {}
                answer = self.asks.next() => self.take(answer),
                batch = desk.tab.next(BATCH), if is_hungry => match batch {
                    Some(batch) if self.is_behind => self.pending = merge(batch.into()),
                    Some(batch) => self.pending = batch.into(),
                    None => is_ours = false,
                },
            }
        }
    }

    /// Answers that came before the end of the line and were not looked at yet: they count like any other, or the page
    /// would be asked again what it has answered.
    fn hear_out(&mut self) {
        while let Some(answer) = self.asks.next().now_or_never() {
            self.take(answer);
        }
    }

    fn take(&self, answer: Answer) {
        if let Answer { entry, value: Some(value) } = answer {
            self.desk.tab.answered(entry, value);
        }
    }

    /// Tells the session what is proven.
    fn prove(&mut self) {
        self.desk.prove();
        if let Marker::Sent { at, count } = self.marker
            && self.desk.connection.proven() >= count
        {
            counts().proof_time.observe(at.elapsed().as_secs_f64());
            self.marker = Marker::From(at + self.desk.house.config.marker_interval);
        }
    }

    /// Whether a marker is overdue: what comes now stays with the session.
    fn is_paused(&self) -> bool {
        match self.marker {
            Marker::From(_) => false,
            Marker::Sent { at, .. } => at.elapsed() >= self.desk.house.config.marker_patience,
            Marker::Unanswered => true,
        }
    }

    /// Emits what is pending, as far as there is room.
    fn write(&mut self) -> Room {
        let mut owed = self.desk.owed().into_iter();
        while let Some(id) = owed.next() {
            if !acknowledge(&self.socket, id) {
                self.desk.owe_again(std::iter::once(id).chain(owed));
                return self.no_room();
            }
        }
        while let Some(entry) = self.pending.front() {
            if !self.has_room() {
                self.desk.connection.want_progress();
                // It may have come in between.
                if !self.has_room() {
                    return self.no_room();
                }
            }
            match emit(&self.socket, &mut self.asks, entry) {
                Ok(bytes) => self.desk.track().emitted(entry.number, bytes),
                Err(SendError::Socket(SocketError::InternalChannelFull)) => return self.no_room(),
                // Its end is being noticed.
                Err(SendError::Socket(SocketError::Closed)) => return Room::None,
                Err(SendError::Serialize(error)) => {
                    tracing::error!(event = entry.event.name(), %error, "an event cannot be written: left out");
                }
            }
            self.pending.pop_front();
        }
        if self.is_behind {
            let (events, bytes) = self.desk.track().queued(self.desk.connection.written());
            self.is_behind = events > self.most_events() / 4 || bytes > MOST_BYTES / 4;
        }
        Room::Enough
    }

    fn has_room(&self) -> bool {
        if !self.desk.connection.is_watched() {
            return true;
        }
        let (events, bytes) = self.desk.track().queued(self.desk.connection.written());
        events < self.most_events() && bytes < MOST_BYTES
    }

    fn no_room(&mut self) -> Room {
        self.is_behind = true;
        counts().pump_waits.inc();
        self.desk.connection.want_progress();
        Room::None
    }

    fn most_events(&self) -> u64 {
        let buffer = self.desk.house.config.buffer;
        buffer.saturating_sub(ROOM).max(buffer / 2).max(1) as u64
    }

    /// Sends a marker when it is time, and ends a line whose marker nobody answers. Gives when to look again.
    fn mark(&mut self, room: Room) -> Option<Instant> {
        let now = Instant::now();
        let look = (room == Room::None).then(|| now + LOOK_AGAIN);
        let config = &self.desk.house.config;
        let connection = &self.desk.connection;
        let next = match self.marker {
            Marker::Sent { at, .. } => match connection.marker_left() {
                Some(left) if now >= left + config.ping_timeout => {
                    tracing::info!(session = ?self.desk.session, "line closed: the page gives no sign of life");
                    self.desk.cut(self.socket.id);
                    self.marker = Marker::Unanswered;
                    None
                }
                Some(_) if now < at + config.marker_patience => Some(at + config.marker_patience),
                Some(left) => Some(left + config.ping_timeout),
                // Still queued: the write timeout cares for it.
                None => Some((at + config.marker_patience).max(now + LOOK_AGAIN)),
            },
            Marker::Unanswered => None,
            Marker::From(_) if !self.desk.track().is_flying() || !connection.is_watched() => None,
            Marker::From(_) if self.socket.transport_type() == TransportType::Polling => {
                // Polls prove themselves. A page that changes its transport is about to be on the websocket.
                connection.is_upgraded().then(|| now + LOOK_AGAIN)
            }
            Marker::From(from) if now < from => Some(from),
            Marker::From(_) => {
                let count = self.desk.track().count();
                if self.socket.emit(MARKER, &count).is_ok() {
                    self.marker = Marker::Sent { at: now, count };
                    Some(now + config.marker_patience)
                } else {
                    Some(now + LOOK_AGAIN)
                }
            }
        };
        [look, next].into_iter().flatten().min()
    }

    /// Takes what the session has to say right now, emits it and sees it leave, for as long as closing may take.
    async fn last_words(&mut self) {
        let desk = Arc::clone(&self.desk);
        let deadline = Instant::now() + desk.house.config.close_timeout;
        while Instant::now() < deadline && !desk.connection.has_left() {
            let mut is_done = false;
            if self.write() == Room::Enough {
                match desk.tab.next(BATCH).now_or_never().flatten() {
                    Some(batch) => {
                        self.pending = batch.into();
                        continue;
                    }
                    None => is_done = self.has_all_left(),
                }
            }
            if is_done {
                return;
            }
            desk.connection.want_progress();
            let _ = timeout_at(deadline.min(Instant::now() + LOOK_AGAIN), desk.connection.changed()).await;
        }
    }

    fn has_all_left(&self) -> bool {
        let connection = &self.desk.connection;
        !connection.is_watched() || connection.written() >= self.desk.track().count()
    }

    /// Tells the page that it is not served any more. It will not come back by itself.
    async fn dismiss(&mut self) {
        let deadline = Instant::now() + self.desk.house.config.leave_timeout;
        while let Err(SocketError::InternalChannelFull) = Arc::clone(&self.socket).disconnect() {
            if Instant::now() >= deadline {
                return;
            }
            self.desk.connection.want_progress();
            let _ = timeout_at(Instant::now() + LOOK_AGAIN, self.desk.connection.changed()).await;
        }
    }

    /// Gives the page a while to close its transport, then does it.
    fn linger(&self) {
        let house = Arc::clone(&self.desk.house);
        let connection = Arc::downgrade(&self.desk.connection);
        let sid = self.socket.id;
        self.desk.house.errands.spawn(async move {
            let stop = house.stop.cancelled();
            if tokio::time::timeout(house.config.leave_timeout, stop).await.is_err()
                && let Some(connection) = connection.upgrade()
            {
                house.cut(&connection, sid);
            }
        });
    }
}

/// Emits one event; gives its size.
fn emit(socket: &Socket, asks: &mut Asks, entry: &Entry) -> Result<usize, SendError> {
    let (name, event) = (entry.event.name(), &entry.event);
    // Serialised here at full speed; through the library's wrapper around serde every field costs more.
    let data = to_raw_value(event).map_err(ParserError::new)?;
    if event.wants_ack() {
        asks.ask(socket, entry.number, name, &data)?;
    } else {
        socket.emit(name, &data)?;
    }
    Ok(data.get().len())
}
