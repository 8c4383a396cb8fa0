//! How benches time other programs beside ours.

#[path = "../../../host/benches/common/peers.rs"]
mod peers;

use peers::{Peer, geometric_mean};
use serde_json::json;

#[test]
fn a_peer_answers_each_setting_or_says_why_not() {
    let answers = r#"echo '{"peer": "other 1.0"}'; read -r setting; echo '{"seconds": 0.25}'; read -r setting; echo "{\"error\": \"no $setting\"}""#;
    let mut peer = Peer::start(answers).expect("started");
    assert_eq!(peer.name, "other 1.0");
    assert_eq!(peer.seconds(&json!({"m": 1})).expect("an answer"), Ok(0.25));
    assert_eq!(peer.seconds(&json!(7)).expect("an answer"), Err("no 7".to_string()));
    // It has ended, before or after it is asked.
    let ended = format!("{:#}", peer.seconds(&json!(8)).expect_err("ended"));
    assert!(ended.contains("has ended"), "{ended}");
}

#[test]
fn what_is_no_peer_is_named() {
    for (command, expected) in [
        ("true", "peer true: has ended without an answer"),
        ("echo word", "peer echo word: answered \"word\\n\", expected JSON"),
        ("echo '{}'", "its first line is {}, expected {\"peer\": NAME}"),
    ] {
        let refused = format!("{:#}", Peer::start(command).err().expect("no peer"));
        assert!(refused.contains(expected), "{refused}");
    }
    let mut zero = Peer::start(r#"echo '{"peer": "zero"}'; read -r setting; echo '{"seconds": 0}'"#).expect("started");
    assert!(format!("{:#}", zero.seconds(&json!({})).expect_err("no time")).contains("answered {\"seconds\":0}"));
}

#[test]
fn ratios_have_a_geometric_mean() {
    assert_eq!(geometric_mean(&[]), None);
    assert!((geometric_mean(&[0.5, 2.0, 8.0]).expect("ratios") - 2.0).abs() < 1e-12);
}
