//! The ordinary talk of a page and its session.

use rejoinder::protocol::{ClientEvent, ServerEvent};
use serde_json::json;

use super::house::House;
use crate::support::raw::Raw;

#[tokio::test]
async fn a_page_and_its_session_hear_each_other() {
    let house = House::open().await;
    let mut page = Raw::connect(house.address, "S").await;
    let tab = house.tabs.tab("S");
    page.emit("connection_successful", &[]).await;
    tab.until("event", |state| (state.said == [Ok(ClientEvent::ConnectionSuccessful)]).then_some(())).await;
    tab.push(ServerEvent::TaskEnd);
    tab.push(ServerEvent::SetSidebarTitle("t".into()));
    assert_eq!(page.event().await.unwrap(), ("task_end".into(), json!({})));
    assert_eq!(page.event().await.unwrap(), ("set_sidebar_title".into(), json!("t")));
    drop(page);
    tab.until_gone(1).await;
}
