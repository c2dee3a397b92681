//! Between TCP and HTTP: bytes pass untouched until a websocket begins; then frames are looked at.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

use super::frame::MOST_OUT;
use super::head::Head;
use super::stream::{Held, In, Look, Out, Taken};
use super::wire::{Armed, Wire};
use super::{Connection, Timeouts};

/// A TCP connection whose frames are counted, whose markers become pings, and whose stuck writes fail.
#[derive(Debug)]
pub struct Shim<S> {
    io: S,
    wire: Arc<Wire>,
    timeouts: Timeouts,
    mode: Mode,
    /// Runs while a write makes no progress.
    stall: Option<Pin<Box<Sleep>>>,
}

#[derive(Debug)]
enum Mode {
    Http,
    /// The answer 101 is on its way out.
    Head(Head, Armed),
    Frames(Box<Frames>),
}

#[derive(Debug)]
struct Frames {
    connection: Arc<Connection>,
    out: Out,
    /// To be written before anything else.
    staged: Held<MOST_OUT>,
    arriving: In,
    /// Read already, for a reader with little room.
    spill: Vec<u8>,
    /// The answers that are to come, in order.
    expected: VecDeque<Expected>,
    /// Heartbeats of the time on polling are still to be looked up.
    is_upgrade: bool,
}

/// What the next pong answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expected {
    /// A heartbeat behind so many events.
    Heartbeat(u64),
    /// A marker behind so many events.
    Marker(u64),
}

/// A reader with less room than this gets what it reads over a buffer of ours: there must be space for what is held.
const LITTLE_ROOM: usize = 32;

/// No page owes more heartbeats than one; whoever pretends to is not believed.
const MOST_OWED: u32 = 4;

impl<S> Shim<S> {
    /// Around `io`; `wire` tells when it becomes a websocket.
    pub fn new(io: S, wire: Arc<Wire>, timeouts: Timeouts) -> Self {
        Self { io, wire, timeouts, mode: Mode::Http, stall: None }
    }

    /// The connection inside.
    pub fn get_mut(&mut self) -> &mut S {
        &mut self.io
    }

    /// What it shares with the service behind it.
    pub fn wire(&self) -> &Arc<Wire> {
        &self.wire
    }
}

impl Frames {
    fn new(Armed { connection, is_upgrade }: Armed) -> Self {
        Self {
            connection,
            out: Out::new(),
            staged: Held::new(),
            arriving: In::new(),
            spill: Vec::new(),
            expected: VecDeque::new(),
            is_upgrade,
        }
    }

    /// Events have left.
    fn left(&self, events: u32) {
        self.connection.wrote(u64::from(events));
    }

    /// A heartbeat leaves. It proves as much as a marker does, and the library gets its pong.
    fn beat(&mut self) {
        self.expected.push_back(Expected::Heartbeat(self.connection.written()));
    }

    /// A marker is about to leave as a ping.
    fn marked(&mut self, count: u64) -> io::Result<()> {
        if self.connection.written() != count {
            // The library forgets what did not fit into the last answer to a poll. The page must come back for it.
            return Err(io::Error::other("events were lost on their way to the line"));
        }
        self.expected.push_back(Expected::Marker(count));
        self.connection.marked(count);
        Ok(())
    }

    /// Filters what was read into `data`, what was held in front of it. Gives how much is left.
    fn arrived(&mut self, data: &mut [u8]) -> usize {
        let Self { connection, arriving, expected, is_upgrade, .. } = self;
        arriving.filter(data, |byte| match byte {
            b'3' => match expected.pop_front() {
                Some(Expected::Marker(count)) => {
                    connection.answered(count);
                    true
                }
                Some(Expected::Heartbeat(count)) => {
                    connection.prove(count);
                    false
                }
                None => false,
            },
            b'5' if std::mem::take(is_upgrade) => {
                // All polls and posts are over now. A ping whose pong did not come by post is answered here, first.
                let owed = connection.upgrade().min(MOST_OWED);
                expected.extend((0..owed).map(|_| Expected::Heartbeat(0)));
                false
            }
            _ => false,
        })
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Shim<S> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let Self { io, wire, mode, .. } = self.get_mut();
        let Mode::Frames(frames) = mode else { return Pin::new(io).poll_read(cx, buf) };
        if wire.is_cut() {
            return Poll::Ready(Err(cut()));
        }
        let polled = if buf.remaining() < LITTLE_ROOM || !frames.spill.is_empty() {
            frames.read_little(io, cx, buf)
        } else {
            frames.read(io, cx, buf)
        };
        if polled.is_pending() && wire.reads(cx.waker()) {
            return Poll::Ready(Err(cut()));
        }
        polled
    }
}

impl Frames {
    fn read<S: AsyncRead + Unpin>(
        &mut self,
        io: &mut S,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let start = buf.filled().len();
        loop {
            buf.put_slice(self.arriving.held.bytes());
            let before = buf.filled().len();
            match Pin::new(&mut *io).poll_read(cx, buf) {
                Poll::Ready(Ok(())) if buf.filled().len() > before => {}
                Poll::Ready(Ok(())) => {
                    // The end, perhaps in the middle of a frame.
                    self.arriving.held.clear();
                    return Poll::Ready(Ok(()));
                }
                other => {
                    buf.set_filled(start);
                    return other;
                }
            }
            let kept = self.arrived(&mut buf.filled_mut()[start..]);
            buf.set_filled(start + kept);
            // Nothing would mean the end.
            if kept > 0 {
                return Poll::Ready(Ok(()));
            }
        }
    }

    #[cold]
    fn read_little<S: AsyncRead + Unpin>(
        &mut self,
        io: &mut S,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if buf.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        if self.spill.is_empty() {
            let mut bytes = [0; 8 * LITTLE_ROOM];
            let mut space = ReadBuf::new(&mut bytes);
            ready!(self.read(io, cx, &mut space))?;
            self.spill.extend_from_slice(space.filled());
        }
        let count = buf.remaining().min(self.spill.len());
        buf.put_slice(&self.spill[..count]);
        self.spill.drain(..count);
        if self.spill.is_empty() {
            self.spill = Vec::new();
        }
        Poll::Ready(Ok(()))
    }

    /// Writes what is staged.
    fn drain<S: AsyncWrite + Unpin>(&mut self, io: &mut S, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.staged.is_empty() {
            match ready!(Pin::new(&mut *io).poll_write(cx, self.staged.bytes()))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                count => self.staged.advance(count),
            }
        }
        Poll::Ready(Ok(()))
    }

    fn write<S: AsyncWrite + Unpin>(
        &mut self,
        io: &mut S,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        // First, so that a slow client is felt by whoever writes.
        ready!(self.drain(io, cx))?;
        let look = self.out.look(buf);
        if look.pass > 0 {
            let count = ready!(Pin::new(io).poll_write(cx, &buf[..look.pass]))?;
            let Look { events, is_ping, .. } = self.out.passed(look, buf, count);
            self.left(events);
            if is_ping {
                self.beat();
            }
            return Poll::Ready(Ok(count));
        }
        let (count, taken) = self.out.take(buf, &mut self.staged);
        match taken {
            Taken::Nothing => {}
            Taken::Pass(kind) => {
                self.left(u32::from(kind.is_event()));
                if kind.is_ping() {
                    self.beat();
                }
            }
            Taken::Marker(events) => self.marked(events)?,
        }
        // What does not go now goes first next time.
        if let Poll::Ready(Err(error)) = self.drain(io, cx) {
            return Poll::Ready(Err(error));
        }
        Poll::Ready(Ok(count))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Shim<S> {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.get_mut().guarded(cx, |shim, cx| shim.write(cx, buf))
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().guarded(cx, |Self { io, mode, .. }, cx| {
            if let Mode::Frames(frames) = mode {
                ready!(frames.drain(io, cx))?;
            }
            Pin::new(io).poll_flush(cx)
        })
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().guarded(cx, |Self { io, mode, .. }, cx| {
            if let Mode::Frames(frames) = mode {
                ready!(frames.drain(io, cx))?;
            }
            Pin::new(io).poll_shutdown(cx)
        })
    }
}

impl<S: AsyncWrite + Unpin> Shim<S> {
    fn write(&mut self, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if let Mode::Http = self.mode
            && let Some(armed) = self.wire.take_armed()
        {
            self.mode = Mode::Head(Head::default(), armed);
        }
        match &mut self.mode {
            Mode::Http => Pin::new(&mut self.io).poll_write(cx, buf),
            Mode::Frames(frames) => frames.write(&mut self.io, cx, buf),
            Mode::Head(head, _) => {
                let end = head.clone().read(buf).unwrap_or(buf.len());
                let count = ready!(Pin::new(&mut self.io).poll_write(cx, &buf[..end]))?;
                if head.read(&buf[..count]).is_some()
                    && let Mode::Head(_, armed) = std::mem::replace(&mut self.mode, Mode::Http)
                {
                    self.mode = Mode::Frames(Box::new(Frames::new(armed)));
                }
                Poll::Ready(Ok(count))
            }
        }
    }

    /// Fails when the line was cut, and when nothing has moved for too long.
    fn guarded<T>(
        &mut self,
        cx: &mut Context<'_>,
        write: impl FnOnce(&mut Self, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if self.wire.is_cut() {
            return Poll::Ready(Err(cut()));
        }
        match write(self, cx) {
            Poll::Ready(Ok(done)) => {
                if self.stall.take().is_some() {
                    self.wire.set_loose();
                }
                Poll::Ready(Ok(done))
            }
            Poll::Ready(Err(error)) => {
                // Whoever reads shall know as well: the library goes on after a failed write.
                self.wire.cut();
                Poll::Ready(Err(error))
            }
            Poll::Pending => {
                let limit = match self.mode {
                    Mode::Http | Mode::Head(..) => self.timeouts.http,
                    Mode::Frames(_) => self.timeouts.websocket,
                };
                if self.stall.is_none() {
                    self.wire.set_stuck();
                }
                let stall = self.stall.get_or_insert_with(|| Box::pin(sleep(limit)));
                if stall.as_mut().poll(cx).is_ready() {
                    self.wire.cut();
                    return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                }
                if self.wire.writes(cx.waker()) { Poll::Ready(Err(cut())) } else { Poll::Pending }
            }
        }
    }
}

fn cut() -> io::Error {
    io::ErrorKind::ConnectionAborted.into()
}
