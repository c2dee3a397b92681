//! Files over HTTP: taken, kept, read, and by whom.

use rejoinder::config::{Accept, Config, FileUpload};
use rejoinder::hook::PasswordLogin;
use rejoinder::protocol::User;
use rejoinder::{App, Chat, UserMessage};
use reqwest::multipart::{Form, Part};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::support::database::Database;
use crate::support::http::Answer;
use crate::support::person::Person;
use crate::support::raw::Raw;
use crate::support::server::{House, Running};
use crate::support::upload::{files_in, form, until};

/// Nobody signs in; messages are answered with the names of their files.
fn open_app() -> App {
    App::new().on_message(answer).build().unwrap()
}

/// The same for people with the password `pw`.
fn password_app() -> App {
    App::new().on_password_login(sign_in).on_chat_resume(resume).on_message(answer).build().unwrap()
}

async fn sign_in(login: PasswordLogin) -> Option<User> {
    (login.password == "pw").then(|| User::new(login.username))
}

async fn resume(_: Chat) {}

async fn answer(chat: Chat, message: UserMessage) -> rejoinder::Result {
    let files = match message.text() {
        "ask" => {
            let question = chat.ask_file("which?").accept("text/plain").max_size_mb(1);
            question.timeout(std::time::Duration::from_secs(60)).await?
        }
        _ => message.files().to_vec(),
    };
    let mut texts = Vec::new();
    for file in files {
        let bytes = chat.read_file(&file.id).await?;
        texts.push(format!("{} ({}): {}", file.name, file.mime, String::from_utf8_lossy(&bytes)));
    }
    chat.say(texts.join(", ")).await?;
    Ok(())
}

/// Runs a test on each kind of database.
async fn on_both(test: impl AsyncFn(&Database)) {
    for database in [Database::sqlite().await, Database::postgres().await].into_iter().flatten() {
        test(&database).await;
    }
}

/// A server on a database.
async fn serve(database: &Database, app: App, set: impl FnOnce(&mut Config)) -> Running {
    again(House::new(), database, app, set).await
}

async fn again(house: House, database: &Database, app: App, set: impl FnOnce(&mut Config)) -> Running {
    let all = |config: &mut Config| {
        config.database_url = Some(database.url().to_owned());
        set(config);
    };
    house.serve_with(app, all).await
}

#[tokio::test]
async fn an_upload_is_kept_and_read_back() {
    on_both(async |database| {
        let server = serve(database, open_app(), |_| {}).await;
        let _page = Raw::connect(server.addr, "s").await;
        let visitor = server.visitor();
        let content = "hello ".repeat(1000);
        let form = form("C:\\dir/../ü.TXT", "Text/Plain; charset=latin1", content.clone());
        let id = visitor.keeps("s", form).await;
        let get = || visitor.request(Method::GET, &format!("/project/file/{id}?session_id=s"));

        let whole = Answer::of(get().header("accept-encoding", "gzip")).await;
        assert_eq!((whole.status, whole.text.as_str()), (StatusCode::OK, content.as_str()));
        for (name, value) in [
            ("content-type", "text/plain; charset=utf-8"),
            ("content-length", "6000"),
            ("content-encoding", ""),
            ("accept-ranges", "bytes"),
            ("x-content-type-options", "nosniff"),
            ("cache-control", "private, no-cache"),
            ("content-disposition", ""),
        ] {
            assert_eq!(whole.header(name), value, "{name}");
        }
        let (etag, modified) = (whole.header("etag").to_owned(), whole.header("last-modified").to_owned());
        assert!(etag.len() > 2 && modified.ends_with(" GMT"));

        for (range, text, given) in [
            ("bytes=1-3", "ell", "bytes 1-3/6000"),
            ("bytes=5998-", "o ", "bytes 5998-5999/6000"),
            ("bytes=-2", "o ", "bytes 5998-5999/6000"),
            ("bytes=5999-99999", " ", "bytes 5999-5999/6000"),
            ("bytes=-99999", content.as_str(), "bytes 0-5999/6000"),
        ] {
            let part = Answer::of(get().header("range", range)).await;
            assert_eq!((part.status, part.text.as_str()), (StatusCode::PARTIAL_CONTENT, text), "{range}");
            assert_eq!(part.header("content-range"), given, "{range}");
            assert_eq!(part.header("content-length"), text.len().to_string(), "{range}");
        }
        for range in ["bytes=6000-", "bytes=3-1", "bytes=-0", "bytes=x", "lines=1-2"] {
            let bad = Answer::of(get().header("range", range)).await;
            assert_eq!(bad.status, StatusCode::RANGE_NOT_SATISFIABLE, "{range}");
            assert_eq!(bad.header("content-range"), "bytes */6000", "{range}");
        }
        let several = Answer::of(get().header("range", "bytes=0-1,4-5")).await;
        assert_eq!((several.status, several.text.len()), (StatusCode::OK, 6000));

        let known = Answer::of(get().header("if-none-match", &etag)).await;
        assert_eq!((known.status, known.text.as_str()), (StatusCode::NOT_MODIFIED, ""));
        for (condition, status) in [(etag.as_str(), 206), (modified.as_str(), 206), ("\"other\"", 200)] {
            let part = Answer::of(get().header("range", "bytes=0-0").header("if-range", condition)).await;
            assert_eq!(part.status.as_u16(), status, "{condition}");
        }
        let row = database.text("select name || '|' || mime || '|' || session from rejoinder_files").await.unwrap();
        let key = rejoinder::id::SessionId::from("s").key();
        assert_eq!(row, format!("ü.TXT|text/plain|{key}"));
    })
    .await;
}

#[tokio::test]
async fn a_file_is_for_its_session_alone() {
    on_both(async |database| {
        let server = serve(database, password_app(), |_| {}).await;
        let anna = Person::sign_in(&server.url(""), "anna").await;
        let bert = Person::sign_in(&server.url(""), "bert").await;
        let (_hers, _also_hers) = (anna.visit_as("hers", "").await, anna.visit_as("also-hers", "").await);
        let _his = bert.visit_as("his", "").await;
        let id = anna.keeps("hers", form("a.txt", "text/plain", "secret")).await;
        let read =
            |person: &Person, query: String| Answer::of(person.request(Method::GET, &format!("/project/file/{query}")));
        assert_eq!(read(&anna, format!("{id}?session_id=hers")).await.text, "secret");
        let missing = read(&anna, "00000000-0000-4000-8000-000000000000?session_id=hers".to_owned()).await;
        assert_eq!((missing.status, missing.detail().as_str()), (StatusCode::NOT_FOUND, "File not found"));
        for (person, query) in [
            (&anna, format!("{id}?session_id=also-hers")),
            (&anna, format!("{id}?session_id=nobodys")),
            (&bert, format!("{id}?session_id=hers")),
            (&bert, format!("{id}?session_id=his")),
            (&anna, "%00?session_id=hers".to_owned()),
            (&anna, format!("{}?session_id=hers", "x".repeat(3000))),
        ] {
            let answer = read(person, query.clone()).await;
            assert_eq!((answer.status, &answer.text), (missing.status, &missing.text), "{query}");
        }
        let anonymous = server.visitor().get(&format!("/project/file/{id}?session_id=hers")).await;
        assert_eq!(anonymous.status, StatusCode::UNAUTHORIZED);
        let without = read(&anna, id.clone()).await;
        assert_eq!(without.json()["detail"][0]["loc"], json!(["query", "session_id"]));

        for session in ["hers", "nobodys"] {
            let request = bert.request(Method::POST, &format!("/project/file?session_id={session}"));
            let answer = Answer::of(request.multipart(form("b.txt", "text/plain", "x"))).await;
            let expected = (StatusCode::NOT_FOUND, "Session not found".to_owned());
            assert_eq!((answer.status, answer.detail()), expected, "{session}");
        }
        assert_eq!(database.count("rejoinder_files").await, 1);
    })
    .await;
}

#[tokio::test]
async fn what_must_not_come_is_refused_and_leaves_nothing() {
    on_both(async |database| {
        let accept = [("text/plain".to_owned(), vec![".txt".to_owned()]), ("image/*".to_owned(), vec![])];
        let upload = FileUpload {
            enabled: Some(true),
            accept: Some(Accept::Extensions(accept.into_iter().collect())),
            max_files: None,
            max_size_mb: Some(1),
        };
        let server = serve(database, open_app(), |config| config.features.spontaneous_file_upload = Some(upload)).await;
        let _page = Raw::connect(server.addr, "s").await;
        let visitor = server.visitor();
        let text = |name: &str, size: usize| form(name, "text/plain", vec![b'x'; size]);
        let mebibyte = 1024 * 1024;
        for (form, detail) in [
            (text("a.txt", mebibyte + 1), "File size too large"),
            (text("a.md", 1), "File type not allowed"),
            (form("a.txt", "text/html", "x"), "File type not allowed"),
            (form("a.png", "application/octet-stream", "x"), "File type not allowed"),
            (text("..", 1), "The file needs a name"),
            (text("a/", 1), "The file needs a name"),
            (text(&format!("{}.txt", "x".repeat(300)), 1), "The file name is too long"),
        ] {
            let answer = visitor.uploads("s", "", form).await;
            assert_eq!((answer.status, answer.detail().as_str()), (StatusCode::BAD_REQUEST, detail));
        }
        let nowhere = visitor.uploads("s", "&ask_parent_id=p", text("a.txt", 1)).await;
        assert_eq!((nowhere.status, nowhere.detail().as_str()), (StatusCode::NOT_FOUND, "Parent message not found"));
        let post = |path: &str| visitor.request(Method::POST, path);
        for request in [
            post("/project/file?session_id=s")
                .multipart(Form::new().part("other", Part::bytes(vec![1]).file_name("a"))),
            post("/project/file?session_id=s").multipart(Form::new().text("file", "no file name")),
            post("/project/file?session_id=s").json(&json!({})),
            post("/project/file?session_id=s").header("content-type", "multipart/form-data").body("x"),
            post("/project/file").multipart(text("a.txt", 1)),
        ] {
            assert_eq!(Answer::of(request).await.status, StatusCode::UNPROCESSABLE_ENTITY);
        }
        let head = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n";
        for body in [
            String::new(),
            "nothing of the kind".to_owned(),
            "--b\r\n".to_owned(),
            format!("{head}Content-Type: text/plain\r\n\r\nno end"),
            format!("{head}\r\n\r\nx\r\n--c--\r\n"),
            format!("{head}X: {}", "y".repeat(3 * mebibyte)),
            format!("{head}Bad Header\r\n\r\nx\r\n--b--\r\n"),
            "x".repeat(3 * mebibyte),
        ] {
            let request = post("/project/file?session_id=s").header("content-type", "multipart/form-data; boundary=b");
            let answer = Answer::of(request.body(body.clone())).await;
            assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{}", &body[..body.len().min(200)]);
        }
        assert_eq!(files_in(&server.files()), [""; 0]);
        assert_eq!(database.count("rejoinder_files").await, 0);

        // The largest that may come, the smallest there is, and other parts around it.
        for form in [text("A.TXT", mebibyte), text("empty.txt", 0)] {
            visitor.keeps("s", form).await;
        }
        let around = Form::new().text("x", "y".repeat(2 * mebibyte)).part("more", Part::bytes(vec![1]));
        let file = Part::bytes(vec![1]).file_name("a.png").mime_str("image/png").unwrap();
        visitor.keeps("s", around.part("file", file).text("after", "z")).await;
        assert_eq!(files_in(&server.files()).len(), 3);
        assert_eq!(database.count("rejoinder_files where kept is not null").await, 3);
    })
    .await;
}

#[tokio::test]
async fn an_app_that_wants_no_files_gets_none_and_one_that_says_nothing_gets_any() {
    let off = FileUpload { enabled: Some(false), ..FileUpload::default() };
    for (upload, status) in [(Some(off), StatusCode::BAD_REQUEST), (None, StatusCode::OK)] {
        let set = |config: &mut Config| config.features.spontaneous_file_upload = upload;
        let server = House::new().serve_with(open_app(), set).await;
        let _page = Raw::connect(server.addr, "s").await;
        let answer = server.visitor().uploads("s", "", form("a.exe", "any/thing", "x")).await;
        assert_eq!(answer.status, status);
        if status == StatusCode::BAD_REQUEST {
            assert_eq!(answer.detail(), "File upload is not enabled");
        }
    }
}

#[tokio::test]
async fn an_upload_that_is_cut_leaves_nothing() {
    on_both(async |database| {
        let server = serve(database, open_app(), |_| {}).await;
        let _page = Raw::connect(server.addr, "s").await;
        let body = format!(
            "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\n{}",
            "x".repeat(100_000)
        );
        let head = format!(
            "POST /project/file?session_id=s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\
             Content-Type: multipart/form-data; boundary=b\r\n\r\n{body}"
        );
        let mut line = TcpStream::connect(server.addr).await.unwrap();
        line.write_all(head.as_bytes()).await.unwrap();
        until("bytes of it are on disk", async || files_in(&server.files()).len() == 1).await;
        drop(line);
        until("nothing of it is on disk", async || files_in(&server.files()).is_empty()).await;
        assert_eq!(database.count("rejoinder_files").await, 0);
    })
    .await;
}

#[tokio::test]
async fn a_storage_that_is_away_is_a_plain_word_and_no_half_file() {
    let server = House::new().serve(open_app()).await;
    let _page = Raw::connect(server.addr, "s").await;
    let visitor = server.visitor();
    let id = visitor.keeps("s", form("a.txt", "text/plain", "x")).await;
    std::fs::remove_dir_all(server.files()).unwrap();
    let answer = visitor.uploads("s", "", form("a.txt", "text/plain", "x")).await;
    let said = "The server cannot reach its files, try again in a moment";
    assert_eq!((answer.status, answer.detail().as_str()), (StatusCode::SERVICE_UNAVAILABLE, said));
    let gone = visitor.get(&format!("/project/file/{id}?session_id=s")).await;
    assert_eq!(gone.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_question_for_files_says_which_are_taken() {
    let server = House::new().serve(open_app()).await;
    let mut page = Raw::connect(server.addr, "s").await;
    page.emit("connection_successful", &[]).await;
    let message = json!({"id": uuid::Uuid::new_v4().to_string(), "name": "me", "type": "user_message",
        "output": "ask", "createdAt": "2026-01-01T10:00:00.000Z"});
    page.emit("client_message", &[json!({"message": message, "fileReferences": []})]).await;
    let (ack, ask) = loop {
        let packet = page.packet().await.unwrap();
        let Some((ack, array)) = packet.strip_prefix("42").and_then(|text| text.split_once('[')) else { continue };
        let event: Value = serde_json::from_str(&format!("[{array}")).unwrap();
        if event[0] == "ask" {
            break (ack.to_owned(), event[1].clone());
        }
    };
    let parent = ask["msg"]["parentId"].as_str().unwrap();
    let visitor = server.visitor();
    let below = format!("&ask_parent_id={parent}");
    for (form, detail) in [
        (form("a.png", "image/png", "x"), "File type not allowed"),
        (form("a.txt", "text/plain", vec![b'x'; 1024 * 1024 + 1]), "File size too large"),
    ] {
        let answer = visitor.uploads("s", &below, form).await;
        assert_eq!((answer.status, answer.detail().as_str()), (StatusCode::BAD_REQUEST, detail));
    }
    let taken = visitor.uploads("s", &below, form("a.txt", "text/plain", "hi")).await;
    assert_eq!(taken.status, StatusCode::OK, "{}", taken.text);
    page.say(&format!("43{ack}[[{}]]", taken.text)).await;
    loop {
        let (name, step) = page.event().await.unwrap();
        if name == "new_message" && step["output"] == "a.txt (text/plain): hi" {
            break;
        }
    }
    let late = visitor.uploads("s", &below, form("a.txt", "text/plain", "hi")).await;
    assert_eq!(late.status, StatusCode::NOT_FOUND);
}

/// A root path, a restart in between, somebody else.
#[tokio::test]
async fn a_file_of_a_stored_thread_is_its_owners_for_good() {
    on_both(async |database| {
        let root = |config: &mut Config| config.root_path = "/base".parse().unwrap();
        let server = serve(database, password_app(), root).await;
        let anna = Person::sign_in(&server.url(""), "anna").await;
        let mut page = anna.visit_as("hers", "").await;
        let sent = anna.keeps("hers", form("sent.txt", "text/plain", "sent")).await;
        let unsent = anna.keeps("hers", form("unsent.txt", "text/plain", "unsent")).await;
        let message = page.say_with("look", &[&sent]).await;
        page.reads("sent.txt (text/plain): sent").await;
        page.until(|name, _| name == "task_end").await;
        page.leave().await;

        let server = again(server.stop().await, database, password_app(), root).await;
        let anna = Person::sign_in(&server.url(""), "anna").await;
        let id = anna.threads().await[0]["id"].as_str().unwrap().to_owned();
        let thread = anna.thread(&id).await;
        let element = &thread["elements"][0];
        assert_eq!((&element["forId"], &element["chainlitKey"]), (&json!(message), &json!(sent)));
        let url = element["url"].as_str().unwrap().to_owned();
        assert_eq!(url, format!("/base/project/thread/{id}/element/{}/content", element["id"].as_str().unwrap()));
        let path = url.strip_prefix("/base").unwrap();
        let read = Answer::of(anna.request(Method::GET, path).header("range", "bytes=1-")).await;
        assert_eq!((read.status, read.text.as_str()), (StatusCode::PARTIAL_CONTENT, "ent"));
        let one = anna.request(Method::GET, path.strip_suffix("/content").unwrap());
        assert_eq!(Answer::of(one).await.json()["url"], url);
        let bert = Person::sign_in(&server.url(""), "bert").await;
        for (person, path) in [
            (&bert, path.to_owned()),
            (&anna, format!("/project/thread/{id}/element/none/content")),
            (&anna, format!("/project/thread/none/element/{}/content", element["id"].as_str().unwrap())),
        ] {
            assert_eq!(Answer::of(person.request(Method::GET, &path)).await.status, StatusCode::NOT_FOUND, "{path}");
        }

        // The tab comes back: its thread has addresses, and it may still send what it had uploaded.
        let mut page = anna.visit_as("hers", "").await;
        assert_eq!(page.thread().await["elements"][0]["url"], url);
        page.say_with("and this", &[&unsent]).await;
        page.reads("unsent.txt (text/plain): unsent").await;
    })
    .await;
}

/// A visitor without a login has no thread to read over HTTP: after a restart its page finds files by its session.
#[tokio::test]
async fn a_visitor_finds_the_files_of_its_page_after_a_restart() {
    on_both(async |database| {
        let server = serve(database, open_app(), |_| {}).await;
        let talk = async |server: &Running| {
            let mut page = Raw::connect(server.addr, "s").await;
            page.emit("connection_successful", &[]).await;
            page
        };
        let mut page = talk(&server).await;
        let id = server.visitor().keeps("s", form("a.txt", "text/plain", "hi")).await;
        let message = json!({"id": uuid::Uuid::new_v4().to_string(), "name": "me", "type": "user_message",
            "output": "look", "createdAt": "2026-01-01T10:00:00.000Z"});
        page.emit("client_message", &[json!({"message": message, "fileReferences": [{"id": id}]})]).await;
        while page.event().await.unwrap().1["output"] != "a.txt (text/plain): hi" {}
        while page.event().await.unwrap().0 != "task_end" {}

        let server = again(server.stop().await, database, open_app(), |_| {}).await;
        let mut page = talk(&server).await;
        let thread = loop {
            let (name, thread) = page.event().await.unwrap();
            if name == "resume_thread" {
                break thread;
            }
        };
        let url = thread["elements"][0]["url"].as_str().unwrap();
        assert_eq!(url, format!("/project/file/{id}?session_id=s"));
        assert_eq!(server.visitor().get(url).await.text, "hi");
    })
    .await;
}
