//! What an autoscaler says of a ProvisioningRequest.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use pumice_api::ProvisioningRequest;

/// Conditions after which a request is over, and means nothing any more.
const ENDS: [&str; 3] = ["Failed", "CapacityRevoked", "BookingExpired"];

/// Conditions of a request, as far as they matter.
#[derive(Clone, Copy, Debug, Default)]
pub struct AutoscalerVerdict {
    /// Since when it is over: it has failed, or what was booked is not kept any more.
    pub over_since: Option<Timestamp>,
    /// The room is there.
    pub is_provisioned: bool,
}

fn holding<'a>(request: &'a ProvisioningRequest, name: &str) -> Option<&'a Condition> {
    let mut conditions = request.status.conditions.iter();
    conditions.find(|one| one.type_ == name && one.status == "True")
}

impl AutoscalerVerdict {
    /// What the conditions of a request say.
    pub fn of(request: &ProvisioningRequest) -> Self {
        let ends = ENDS.iter().filter_map(|name| holding(request, name));
        Self {
            over_since: ends.map(|end| end.last_transition_time.0).min(),
            is_provisioned: holding(request, "Provisioned").is_some(),
        }
    }

    /// What is told of a request, and whether it is a warning; nothing before the autoscaler has said something.
    pub fn words(
        self,
        request: &ProvisioningRequest,
        again_at: Option<Timestamp>,
        lacks: bool,
    ) -> Option<(bool, String)> {
        let name = request.metadata.name.as_deref().unwrap_or_default();
        let told = |condition: &Condition| match condition.message.as_str() {
            "" => condition.reason.clone(),
            message => message.to_owned(),
        };
        let end = ENDS.iter().find_map(|name| holding(request, name));
        let next = again_at.map_or(String::new(), |at| {
            format!("; its pods lack nodes still, and room is asked for again at {at:.0}")
        });
        if let Some(end) = end {
            let is_bad = end.type_ != "BookingExpired" || again_at.is_some();
            let text = format!(
                "ProvisioningRequest {name} is over ({}): {}{next}",
                end.type_,
                told(end)
            );
            return Some((is_bad, text));
        }
        if let Some(found) = holding(request, "Provisioned") {
            let others = match lacks {
                true => "; for pods that lack nodes beside it room is asked for when it is over",
                false => "",
            };
            let text = format!(
                "ProvisioningRequest {name} has its room: {}{others}",
                told(found)
            );
            return Some((false, text));
        }
        let mut conditions = request.status.conditions.iter();
        let last = conditions.rfind(|one| one.type_ == "Provisioned" || one.status == "True")?;
        let text = format!(
            "ProvisioningRequest {name} waits ({}): {}",
            last.type_,
            told(last)
        );
        Some((false, text))
    }
}
