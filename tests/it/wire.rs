//! The wire as Chainlit speaks it: what was recorded from Chainlit 2.12.0 is held, event by event, against the reference
//! app on rejoinder. Where the two differ on purpose is in tests/js/wire/deviations.json.

use crate::support::database::Database;
use crate::support::program::Launch;
use crate::support::tool;

/// Plays the scenarios over a transport; the reference app and the surface app have a database each, where there are any.
async fn compare(transport: &str, databases: Option<[Database; 2]>) {
    let Some(mut compare) = tool::node("wire/compare.mjs") else { return };
    let (mut reference, mut surface) = (Launch::reference(), Launch::surface());
    if let Some([one, other]) = &databases {
        (reference, surface) = (reference.on(one), surface.on(other));
    }
    let (reference, surface) = (reference.start().await, surface.start().await);
    let without_resume = Launch::reference().env("REFERENCE_WITHOUT_RESUME", "1").start().await;
    let hidden_file = "[UI]\nname = \"Assistant\"\ncot = \"hidden\"\n";
    let hidden = Launch::reference().file(".chainlit/config.toml", hidden_file).start().await;
    compare.arg(reference.base()).args(["--transport", transport]);
    compare.arg("--app").arg(format!("no-resume={}", without_resume.base()));
    compare.arg("--app").arg(format!("hidden-cot={}", hidden.base()));
    compare.arg("--app").arg(format!("surface={}", surface.base()));
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
    let (Some(one), Some(other)) = (Database::postgres().await, Database::postgres().await) else { return };
    compare("websocket", Some([one, other])).await;
}

#[tokio::test]
async fn a_client_in_python_sees_the_same() {
    let Some(mut check) = tool::python("wire_check.py") else { return };
    let reference = Launch::reference().start().await;
    check.arg(reference.base());
    tool::succeeds(check).await;
}
