//! The line by itself: whatever way bytes are cut, only markers and their answers are touched.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use proptest::prelude::*;
use rejoinder::line::{self, Connection, Connections, Shim, Timeouts, Wire};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};

const HEAD: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\r\n";

/// The other side of a TCP connection that takes and gives in pieces.
struct Pieces {
    arriving: VecDeque<u8>,
    written: Vec<u8>,
    sizes: Vec<usize>,
    turn: usize,
    /// Writes fail and nothing more arrives.
    is_broken: bool,
}

impl Pieces {
    fn new(sizes: Vec<usize>) -> Self {
        Self { arriving: VecDeque::new(), written: Vec::new(), sizes, turn: 0, is_broken: false }
    }

    /// The size of the next piece; none to come back later.
    fn next(&mut self, cx: &Context<'_>) -> Option<usize> {
        self.turn += 1;
        let size = self.sizes[self.turn % self.sizes.len()];
        if size == 0 {
            cx.waker().wake_by_ref();
            return None;
        }
        Some(size)
    }
}

impl AsyncRead for Pieces {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        if self.is_broken {
            return Poll::Pending;
        }
        let Some(size) = self.next(cx) else { return Poll::Pending };
        let count = size.min(buf.remaining()).min(self.arriving.len());
        for byte in self.arriving.drain(..count) {
            buf.put_slice(&[byte]);
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Pieces {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.is_broken {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let Some(size) = self.next(cx) else { return Poll::Pending };
        let count = size.min(buf.len());
        self.written.extend_from_slice(&buf[..count]);
        Poll::Ready(Ok(count))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// What the server writes.
#[derive(Clone, Debug)]
enum Out {
    Event(usize),
    Marker,
    Ping,
    Text(Vec<u8>),
    Binary(usize),
}

/// What the page says.
#[derive(Clone, Debug)]
enum In {
    Pong,
    Text(Vec<u8>),
    /// A message in two parts, with a control frame between them.
    Parts(usize),
    Binary(usize),
}

fn frame(first: u8, mask: Option<[u8; 4]>, payload: &[u8]) -> Vec<u8> {
    let bit = if mask.is_some() { 0x80 } else { 0 };
    let mut frame = vec![first];
    match payload.len() {
        short @ 0..126 => frame.push(bit | short as u8),
        middle @ 126..65_536 => {
            frame.push(bit | 126);
            frame.extend((middle as u16).to_be_bytes());
        }
        long => {
            frame.push(bit | 127);
            frame.extend((long as u64).to_be_bytes());
        }
    }
    let key = mask.unwrap_or_default();
    frame.extend(mask.into_iter().flatten());
    frame.extend(payload.iter().enumerate().map(|(index, byte)| byte ^ key[index % 4]));
    frame
}

fn lengths() -> impl Strategy<Value = usize> {
    prop_oneof![8 => 0..60_usize, 2 => 110..300_usize, 1 => 65_000..66_000_usize]
}

fn outs() -> impl Strategy<Value = Vec<Out>> {
    let text = proptest::collection::vec(prop_oneof![Just(b'4'), Just(b'2'), Just(b'['), any::<u8>()], 0..40);
    let out = prop_oneof![
        4 => lengths().prop_map(Out::Event),
        3 => Just(Out::Marker),
        2 => Just(Out::Ping),
        2 => text.prop_map(Out::Text),
        1 => lengths().prop_map(Out::Binary),
    ];
    proptest::collection::vec(out, 0..24)
}

fn ins() -> impl Strategy<Value = Vec<In>> {
    let text = proptest::collection::vec(prop_oneof![Just(b'3'), Just(b'4'), any::<u8>()], 0..20);
    let arriving = prop_oneof![
        5 => Just(In::Pong),
        2 => text.prop_map(In::Text),
        1 => lengths().prop_map(In::Parts),
        1 => lengths().prop_map(In::Binary),
    ];
    proptest::collection::vec(arriving, 0..24)
}

fn sizes() -> impl Strategy<Value = Vec<usize>> {
    let size = prop_oneof![1 => Just(0_usize), 4 => 1..9_usize, 2 => 1..200_usize, 1 => Just(100_000_usize)];
    proptest::collection::vec(size, 1..20).prop_filter("some progress", |sizes| sizes.iter().any(|size| *size > 0))
}

/// A line that carries a websocket, behind its head.
async fn websocket(sizes: Vec<usize>) -> (Shim<Pieces>, Arc<Connections>, Arc<Connection>) {
    let connections = Arc::<Connections>::default();
    let connection = connections.open();
    let wire = Arc::<Wire>::default();
    wire.arm(&connection, false);
    let mut shim = Shim::new(Pieces::new(sizes), wire, Timeouts::default());
    shim.write_all(HEAD).await.unwrap();
    (shim, connections, connection)
}

fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(test)
}

/// A ping that left behind so many events.
enum Ping {
    Marker(u64),
    Heartbeat(u64),
}

impl Ping {
    fn events(&self) -> u64 {
        let (Self::Marker(events) | Self::Heartbeat(events)) = self;
        *events
    }
}

proptest! {
    /// Red when a frame's head is cut badly, a marker passes, a pong is matched out of order, bytes are lost, or a heartbeat
    /// proves more or less than what left before it.
    #[test]
    fn only_markers_and_their_pongs_are_touched(
        outs in outs(), ins in ins(), sizes in sizes(), pieces in sizes(), mask in any::<[u8; 4]>(),
    ) {
        let (mut server, mut shown, mut expected) = (Vec::new(), HEAD.to_vec(), VecDeque::new());
        let mut events = 0;
        for out in outs {
            let frame = match out {
                Out::Event(length) => {
                    events += 1;
                    frame(0x81, None, &[b"42[\"new_message\",\"", &vec![b'x'; length][..], b"\"]"].concat())
                }
                Out::Marker => {
                    server.extend(frame(0x81, None, format!(r#"42["\u0001",{events}]"#).as_bytes()));
                    shown.extend(frame(0x81, None, b"2"));
                    expected.push_back(Ping::Marker(events));
                    continue;
                }
                Out::Ping => {
                    expected.push_back(Ping::Heartbeat(events));
                    frame(0x81, None, b"2")
                }
                Out::Text(text) => {
                    if text.starts_with(b"42") || text.starts_with(b"45") {
                        events += 1;
                    }
                    if text == b"2" {
                        expected.push_back(Ping::Heartbeat(events));
                    }
                    frame(0x81, None, &text)
                }
                Out::Binary(length) => frame(0x82, None, &vec![b'4'; length]),
            };
            server.extend(&frame);
            shown.extend(frame);
        }

        let (mut page, mut heard, mut proven) = (Vec::new(), Vec::new(), 0);
        for arriving in ins {
            let frames = match arriving {
                In::Pong => {
                    let pong = frame(0x81, Some(mask), b"3");
                    if let Some(ping) = expected.pop_front() {
                        proven = ping.events();
                        if matches!(ping, Ping::Marker(_)) {
                            page.extend(pong);
                            continue;
                        }
                    }
                    pong
                }
                In::Text(text) => {
                    let pong = text == b"3";
                    let frame = frame(0x81, Some(mask), &text);
                    if pong && let Some(ping) = expected.pop_front() {
                        proven = ping.events();
                        if matches!(ping, Ping::Marker(_)) {
                            page.extend(frame);
                            continue;
                        }
                    }
                    frame
                }
                In::Parts(length) => [
                    frame(0x01, Some(mask), b"3"),
                    frame(0x8a, Some(mask), b"3"),
                    frame(0x80, Some(mask), &vec![b'3'; length]),
                ].concat(),
                In::Binary(length) => frame(0x82, Some(mask), &vec![b'3'; length]),
            };
            page.extend(&frames);
            heard.extend(frames);
        }

        let written = run(async {
            let (mut shim, _connections, connection) = websocket(sizes).await;
            let mut rest = &server[..];
            let mut turn = 0;
            while !rest.is_empty() {
                turn += 1;
                let piece = pieces[turn % pieces.len()].max(1).min(rest.len());
                shim.write_all(&rest[..piece]).await.unwrap();
                rest = &rest[piece..];
            }
            shim.flush().await.unwrap();
            assert_eq!(connection.written(), events);

            let io = shim.get_mut();
            io.arriving.extend(&page);
            let mut got = Vec::new();
            loop {
                turn += 1;
                let mut piece = vec![0; pieces[turn % pieces.len()].max(1)];
                let count = shim.read(&mut piece).await.unwrap();
                if count == 0 {
                    break;
                }
                got.extend_from_slice(&piece[..count]);
            }
            assert!(got == heard, "what is heard differs: {} and {} bytes", got.len(), heard.len());
            assert_eq!(connection.proven(), proven);
            std::mem::take(&mut shim.get_mut().written)
        });
        prop_assert!(written == shown, "what is written differs: {} and {} bytes", written.len(), shown.len());
    }
}

/// Red when the writer waits for ever.
#[tokio::test(start_paused = true)]
async fn a_write_without_progress_fails() {
    let connections = Arc::<Connections>::default();
    let connection = connections.open();
    let wire = Arc::<Wire>::default();
    wire.arm(&connection, false);
    let (near, far) = tokio::io::duplex(HEAD.len() + 10);
    let mut shim = Shim::new(near, wire, Timeouts { websocket: Duration::from_secs(4), http: Duration::from_secs(9) });
    shim.write_all(HEAD).await.unwrap();
    let began = tokio::time::Instant::now();
    let error = shim.write_all(&frame(0x81, None, &[b'x'; 100])).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    assert_eq!(began.elapsed().as_secs(), 4);
    // And whoever reads learns of it.
    assert!(shim.read_u8().await.is_err());
    drop(far);
}

/// Red when a write that fails leaves whoever reads waiting: the library goes on after it.
#[tokio::test(start_paused = true)]
async fn a_failed_write_ends_reading_as_well() {
    let (mut shim, _connections, _connection) = websocket(vec![100]).await;
    shim.get_mut().is_broken = true;
    assert!(shim.write_all(&frame(0x81, None, b"x")).await.is_err());
    let read = tokio::time::timeout(Duration::from_secs(1), shim.read_u8()).await;
    assert_eq!(read.expect("waits for ever").unwrap_err().kind(), io::ErrorKind::ConnectionAborted);
}

/// Red when a cut reaches only those who ask after it.
#[tokio::test]
async fn a_cut_wakes_both_directions() {
    let connections = Arc::<Connections>::default();
    let connection = connections.open();
    let wire = Arc::<Wire>::default();
    wire.arm(&connection, false);
    let (near, _far) = tokio::io::duplex(HEAD.len());
    let mut shim = Shim::new(near, wire, Timeouts::default());
    shim.write_all(HEAD).await.unwrap();
    let (mut read, mut write) = tokio::io::split(shim);
    let reading = tokio::spawn(async move { read.read_u8().await.unwrap_err().kind() });
    let writing = tokio::spawn(async move { write.write_all(&[0x81, 1, b'x']).await.unwrap_err().kind() });
    tokio::task::yield_now().await;
    assert!(connection.cut());
    assert_eq!(reading.await.unwrap(), io::ErrorKind::ConnectionAborted);
    assert_eq!(writing.await.unwrap(), io::ErrorKind::ConnectionAborted);
}

/// Red when a marker may prove events that never reached the line.
#[tokio::test]
async fn a_marker_that_counts_more_than_passed_ends_the_line() {
    let (mut shim, _connections, connection) = websocket(vec![100]).await;
    shim.write_all(&frame(0x81, None, br#"42["a",{}]"#)).await.unwrap();
    assert!(shim.write_all(&frame(0x81, None, br#"42["\u0001",2]"#)).await.is_err());
    assert_eq!((connection.written(), connection.proven()), (1, 0));
}

/// Red when frames of an HTTP answer are looked at.
#[tokio::test]
async fn plain_http_passes_untouched() {
    let mut shim = Shim::new(Pieces::new(vec![7, 3]), Arc::default(), Timeouts::default());
    let answer = frame(0x81, None, br#"42["\u0001",2]"#);
    shim.write_all(&answer).await.unwrap();
    shim.get_mut().arriving.extend(frame(0x81, Some([1, 2, 3, 4]), b"3"));
    let mut read = [0; 7];
    shim.read_exact(&mut read).await.unwrap();
    assert_eq!(shim.get_mut().written, answer);
    assert_eq!(read[..], frame(0x81, Some([1, 2, 3, 4]), b"3"));
}

/// Red when a heartbeat that was sent over polling is taken for a marker's after the upgrade.
#[tokio::test]
async fn a_heartbeat_from_the_time_on_polling_is_answered_first() {
    let connections = Arc::<Connections>::default();
    let connection = connections.open();
    connection.answer(rejoinder::line::tally(b"42[\"a\",{}]\x1e2"));
    let wire = Arc::<Wire>::default();
    wire.arm(&connection, true);
    let mut shim = Shim::new(Pieces::new(vec![50]), wire, Timeouts::default());
    shim.write_all(HEAD).await.unwrap();
    let say = |text: &[u8]| frame(0x81, Some([9, 8, 7, 6]), text);
    shim.get_mut().arriving.extend(say(b"5"));
    let mut read = [0; 7];
    shim.read_exact(&mut read).await.unwrap();
    assert!(connection.is_upgraded());
    shim.write_all(&frame(0x81, None, br#"42["\u0001",1]"#)).await.unwrap();
    shim.get_mut().arriving.extend(say(b"3"));
    shim.read_exact(&mut read).await.unwrap();
    assert_eq!(connection.proven(), 0, "that was the heartbeat's");
    shim.get_mut().arriving.extend(say(b"3"));
    assert_eq!(shim.read(&mut read).await.unwrap(), 0, "swallowed, then the end");
    assert_eq!(connection.proven(), 1);
}

/// Red when a poll that comes late, or may be a repeated one, proves what left over the websocket or nothing at all.
#[tokio::test]
async fn only_a_new_poll_before_the_upgrade_proves_anything() {
    let connections = Arc::<Connections>::default();
    let connection = connections.open();
    let answer = || connection.answer(rejoinder::line::tally(b"42[\"a\",{}]"));
    answer();
    assert_eq!((connection.poll(None), connection.proven()), (line::Poll::Next, 0));
    assert_eq!((connection.poll(Some("1")), connection.proven()), (line::Poll::Next, 1));
    // The same again before any answer: it was never answered.
    assert_eq!(connection.poll(Some("1")), line::Poll::Next);
    answer();
    assert_eq!((connection.poll(Some("1")), connection.proven()), (line::Poll::Lost, 1));
    assert_eq!((connection.poll(Some("2")), connection.proven()), (line::Poll::Next, 2));

    let wire = Arc::<Wire>::default();
    wire.arm(&connection, true);
    let mut shim = Shim::new(Pieces::new(vec![50]), wire, Timeouts::default());
    shim.write_all(HEAD).await.unwrap();
    shim.get_mut().arriving.extend(frame(0x81, Some([9, 8, 7, 6]), b"5"));
    shim.read_exact(&mut [0; 7]).await.unwrap();
    shim.write_all(&frame(0x81, None, br#"42["a",{}]"#)).await.unwrap();
    assert_eq!((connection.poll(Some("3")), connection.proven()), (line::Poll::Next, 2));
}
