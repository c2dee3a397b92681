//! The wire as Chainlit speaks it: what was recorded from Chainlit 2.12.0 is held, event by event, against the reference
//! app on rejoinder. Where the two differ on purpose is in tests/js/wire/deviations.json.

use crate::support::database::Database;
use crate::support::program::Launch;
use crate::support::tool;

/// Plays the scenarios over a transport.
async fn compare(transport: &str, database: Option<&Database>) {
    let Some(mut compare) = tool::node("wire/compare.mjs") else { return };
    let launch = Launch::reference();
    let reference = match database {
        Some(database) => launch.on(database),
        None => launch,
    };
    let reference = reference.start().await;
    let without_resume = Launch::reference().env("REFERENCE_WITHOUT_RESUME", "1").start().await;
    let hidden_file = "[UI]\nname = \"Assistant\"\ncot = \"hidden\"\n";
    let hidden = Launch::reference().file(".chainlit/config.toml", hidden_file).start().await;
    compare.arg(reference.base()).args(["--transport", transport]);
    compare.arg("--app").arg(format!("no-resume={}", without_resume.base()));
    compare.arg("--app").arg(format!("hidden-cot={}", hidden.base()));
    tool::succeeds(compare).await;
}

#[tokio::test]
async fn what_chainlit_says_over_websocket() {
    compare("websocket", None).await;
}

#[tokio::test]
async fn what_chainlit_says_over_polling() {
    compare("polling", None).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_chainlit_says_on_postgres() {
    let Some(database) = Database::postgres().await else { return };
    compare("websocket", Some(&database)).await;
}

#[tokio::test]
async fn a_client_in_python_sees_the_same() {
    let Some(mut check) = tool::python("wire_check.py") else { return };
    let reference = Launch::reference().start().await;
    check.arg(reference.base());
    tool::succeeds(check).await;
}
