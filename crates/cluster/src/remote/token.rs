//! Tokens of the accounts as which the scheduler is asked. The API server makes one for whoever may
//! create them; they live for ten minutes and are good for our pages alone.

use std::time::Duration;

use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use super::error::of_request;
use super::{LIMIT, RemoteError, RemoteOptions, SchedulerPod};
use crate::access::AUDIENCE;

/// How long a token is to live; the API server makes none for less.
const LIFETIME_S: i64 = 600;

/// How long it is used.
const USED_FOR: Duration = Duration::from_secs(300);

/// What the API server has to permit.
const CREATE_TOKEN: &str = "the verb create on serviceaccounts/token";

/// The token of the moment.
#[derive(Default)]
pub(super) struct RoleTokens {
    latest: Mutex<Option<(Instant, String)>>,
}

impl RoleTokens {
    /// A token that this leader takes.
    ///
    /// # Errors
    /// There is no such account, or the one who asks may not create its tokens.
    pub(super) async fn get(
        &self,
        client: &Client,
        leader: &SchedulerPod,
        options: &RemoteOptions,
    ) -> Result<String, RemoteError> {
        let mut latest = self.latest.lock().await;
        if let Some((made, token)) = &*latest
            && made.elapsed() < USED_FOR
        {
            return Ok(token.clone());
        }
        let made = Instant::now();
        let token = create(client, leader, options).await?;
        *latest = Some((made, token.clone()));
        Ok(token)
    }
}

async fn create(
    client: &Client,
    leader: &SchedulerPod,
    options: &RemoteOptions,
) -> Result<String, RemoteError> {
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), &leader.namespace);
    let request = TokenRequest {
        spec: Some(TokenRequestSpec {
            audiences: Some(vec![AUDIENCE.to_owned()]),
            expiration_seconds: Some(LIFETIME_S),
            ..TokenRequestSpec::default()
        }),
        ..TokenRequest::default()
    };
    let name = format!("{}-{}", leader.account, options.role);
    let parameters = PostParams::default();
    let created = accounts.create_token_request(&name, &parameters, &request);
    match timeout(LIMIT, created).await {
        Ok(Ok(request)) => {
            let token = request.status.and_then(|status| status.token);
            Ok(token.unwrap_or_default())
        }
        Ok(Err(kube::Error::Api(status))) if status.code == 404 => Err(RemoteError::NoAccount {
            namespace: leader.namespace.clone(),
            name,
        }),
        Ok(Err(error)) => Err(of_request(&error, CREATE_TOKEN, options)),
        Err(_) => Err(RemoteError::Unreachable {
            reason: format!("no answer within {LIMIT:?}"),
        }),
    }
}
