//! What the controllers say of a Command that they have not carried out.

use k8s_openapi::api::core::v1::Event;
use serde_json::Value;

use super::super::user::ClusterUser;
use super::COMMANDS;

/// Reason of the event on a Command that is refused.
const REASON: &str = "InvalidCommand";

/// The words of the event on the Command, once it is there. Who may make Commands need not see events.
pub(super) fn of(user: &ClusterUser, command: &str) -> Option<String> {
    let query = format!("fieldSelector=involvedObject.name%3D{command},reason%3D{REASON}");
    let events = user.try_ask(user.objects.list::<Event>(COMMANDS, &query));
    words(&events.unwrap_or_default())
}

fn words(events: &[Value]) -> Option<String> {
    let message = events.last()?["message"].as_str()?;
    Some(message.to_owned())
}
