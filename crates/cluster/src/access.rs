//! Who somebody is by a token, and what they may ask: as the API server says, by a TokenReview and a
//! SubjectAccessReview.

use std::time::Duration;

use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::time::timeout;

use crate::client::describe;

/// The audience of tokens that are made for nothing but our pages: nobody else takes them.
pub const AUDIENCE: &str = "pumice.sh";

/// Longest wait for one answer of the API server.
const LIMIT: Duration = Duration::from_secs(10);

/// Somebody whom the API server knows by a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownAsker {
    /// Name of the user.
    pub user: String,
    /// Whether it may ask what it asks.
    pub may: bool,
}

/// Asks the API server about those who ask us.
pub struct AccessReviews {
    client: Client,
}

impl AccessReviews {
    /// By this client, whose user needs the ClusterRole `system:auth-delegator`.
    #[must_use]
    pub fn new(client: Client) -> Self {
        Self { client }
    }

    /// Whose this token is, and whether the user may do `verb` to the path, which is no resource; `None` if nobody
    /// is known by the token.
    ///
    /// # Errors
    /// The API server does not answer, or does not let us ask: why, and what to do.
    pub async fn review(
        &self,
        token: &str,
        verb: &str,
        path: &str,
    ) -> Result<Option<KnownAsker>, String> {
        // A token for us alone, or one for the API server.
        let ours = vec![AUDIENCE.to_owned()];
        let user = match self.user_of(token, Some(ours)).await? {
            None => self.user_of(token, None).await?,
            known => known,
        };
        let Some(known) = user else {
            return Ok(None);
        };
        let user = known.username.clone().unwrap_or_default();
        let may = self.may(known, verb, path).await?;
        Ok(Some(KnownAsker { user, may }))
    }

    async fn user_of(
        &self,
        token: &str,
        audiences: Option<Vec<String>>,
    ) -> Result<Option<UserInfo>, String> {
        let review = TokenReview {
            spec: TokenReviewSpec {
                audiences,
                token: token.to_owned(),
            },
            ..TokenReview::default()
        };
        let status = self.create(&review).await?.status.unwrap_or_default();
        let is_known = status.authenticated == Some(true);
        Ok(status.user.filter(|_| is_known))
    }

    async fn may(&self, user: UserInfo, verb: &str, path: &str) -> Result<bool, String> {
        let review = SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: user.username,
                uid: user.uid,
                groups: user.groups,
                extra: user.extra,
                non_resource_attributes: Some(NonResourceAttributes {
                    path: Some(path.to_owned()),
                    verb: Some(verb.to_owned()),
                }),
                resource_attributes: None,
            },
            ..SubjectAccessReview::default()
        };
        let status = self.create(&review).await?.status.unwrap_or_default();
        Ok(status.allowed)
    }

    async fn create<K>(&self, review: &K) -> Result<K, String>
    where
        K: kube::Resource<DynamicType = ()>
            + Clone
            + std::fmt::Debug
            + serde::Serialize
            + serde::de::DeserializeOwned,
    {
        let api: Api<K> = Api::all(self.client.clone());
        let created = timeout(LIMIT, api.create(&PostParams::default(), review)).await;
        match created {
            Ok(Ok(review)) => Ok(review),
            Ok(Err(kube::Error::Api(status))) if status.code == 403 => Err(format!(
                "{}; bind the ClusterRole system:auth-delegator to this process's ServiceAccount",
                status.message
            )),
            Ok(Err(error)) => Err(describe(&error)),
            Err(_) => Err(format!("no answer within {LIMIT:?}")),
        }
    }
}

#[cfg(test)]
mod tests;
