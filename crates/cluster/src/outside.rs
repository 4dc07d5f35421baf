//! Ways to services that are not the API server.

use std::time::Duration;

use http::header::{CONTENT_TYPE, HeaderValue, USER_AGENT};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Bytes;
use kube::client::Body;
use kube::{Client, Config};
use pumice_conf::HttpSource;

use crate::client::{describe, fix_token};

/// Longest time until a connection stands.
const LONGEST_CONNECT: Duration = Duration::from_secs(10);

/// A client of such a service. Nothing is sent yet, and nothing is repeated by it.
///
/// # Errors
/// One sentence on what of address or files cannot be used.
pub(crate) fn connect(server: &HttpSource, user_agent: &str) -> Result<Client, String> {
    let address = &server.address;
    let url = address
        .parse::<http::Uri>()
        .map_err(|error| format!("{address} is no URL: {error}"))?;
    let is_plain = url.scheme_str() == Some("http");
    let mut config = Config::new(url);
    config.default_retry = false;
    config.connect_timeout = Some(LONGEST_CONNECT);
    config.accept_invalid_certs = server.insecure;
    config.root_cert_file = server.ca_file.clone();
    if is_plain || server.insecure || server.ca_file.is_some() {
        // Without this the certificates of the system are read, which a small image has not.
        config.root_cert = Some(Vec::new());
    }
    if let Some(path) = &server.token_file {
        config.auth_info.token_file = Some(path.display().to_string());
        fix_token(&mut config);
    }
    if let Some((name, password)) = &server.user {
        config.auth_info.username = Some(name.clone());
        config.auth_info.password = Some(password.clone().into());
    }
    if let Ok(agent) = HeaderValue::from_str(user_agent) {
        config.headers.push((USER_AGENT, agent));
    }
    Client::try_from(config).map_err(|error| describe(&error))
}

/// Sends JSON to a path of such a service; its status, and its answer of at most `largest` bytes.
///
/// # Errors
/// Why there is no answer, or that it is too long.
pub(crate) async fn post(
    client: &Client,
    path: &str,
    json: Vec<u8>,
    largest: usize,
) -> Result<(StatusCode, Bytes), String> {
    let request = Request::builder()
        .method(Method::POST)
        .uri(format!("/{path}"))
        .header(CONTENT_TYPE, "application/json")
        .body(Body::from(json));
    let request = request.map_err(|error| describe(&error))?;
    let answer = client.send(request).await;
    let answer = answer.map_err(|error| describe(&error))?;
    let status = answer.status();
    match Limited::new(answer.into_body(), largest).collect().await {
        Ok(body) => Ok((status, body.to_bytes())),
        Err(error) if error.is::<LengthLimitError>() => {
            Err(format!("its answer is longer than {} MiB", largest >> 20))
        }
        Err(error) => Err(describe(error.as_ref())),
    }
}
