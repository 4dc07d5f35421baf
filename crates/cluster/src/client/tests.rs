//! Tests of the way to the API server.

use std::path::Path;

use super::*;

fn options(master: Option<&str>, kubeconfig: Option<&Path>) -> ConnectOptions {
    ConnectOptions {
        master: master.map(str::to_owned),
        kubeconfig: kubeconfig.map(Path::to_owned),
        user_agent: "pumice/test".to_owned(),
    }
}

/// A folder of this test's own, removed at its end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("pumice-client-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A kubeconfig with these lines about its cluster and user.
fn kubeconfig(cluster: &str, user: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
         clusters: [{{name: k, cluster: {{{cluster}}}}}]\n\
         users: [{{name: u, user: {{{user}}}}}]\n\
         contexts: [{{name: c, context: {{cluster: k, user: u}}}}]\n"
    )
}

async fn message(options: &ConnectOptions) -> String {
    match connect(options).await {
        Ok(clients) => panic!("connected to {}", clients.server),
        Err(error) => error.to_string(),
    }
}

#[tokio::test]
async fn what_cannot_be_used_is_named() {
    let folder = Folder::new("named");
    let missing = folder.0.join("missing");
    let broken = folder.write("broken", "clusters: [");
    let empty = folder.write("empty", "");
    let no_ca = kubeconfig("server: https://h:1, certificate-authority: /no/ca", "");
    let no_ca = folder.write("no-ca", &no_ca);
    let cases = [
        (options(None, Some(&missing)), "--kubeconfig"),
        (options(None, Some(&missing)), "missing"),
        (options(None, Some(&broken)), "broken"),
        (options(None, Some(&empty)), "current context"),
        (options(None, Some(&no_ca)), "/no/ca"),
        (
            options(Some("http://"), None),
            "--master \"http://\" is not a URL",
        ),
        (options(Some("a b"), None), "is not a URL"),
        (options(None, None), "--kubeconfig or --master"),
        (
            options(Some(""), Some(Path::new(""))),
            "--kubeconfig or --master",
        ),
    ];
    for (options, expected) in cases {
        let message = message(&options).await;
        assert!(message.contains(expected), "{expected}: {message}");
    }
}

#[tokio::test]
async fn the_master_wins_over_the_kubeconfig() {
    let folder = Folder::new("master");
    let path = folder.write("config", &kubeconfig("server: http://one:1", "token: t"));
    let cases = [
        (options(None, Some(&path)), "http://one:1"),
        (options(Some("http://two:2"), Some(&path)), "http://two:2"),
        (options(Some("three:3"), None), "http://three:3"),
    ];
    for (options, expected) in cases {
        assert_eq!(connect(&options).await.unwrap().server, expected);
    }
}

#[tokio::test]
async fn files_of_the_kubeconfig_are_read_again_by_the_client() {
    let folder = Folder::new("files");
    folder.write("ca.crt", "");
    folder.write("token", "t");
    let cluster = "server: https://h:1, certificate-authority: ca.crt";
    let path = folder.write("config", &kubeconfig(cluster, "tokenFile: token"));
    let config = from_kubeconfig(&path).await.unwrap();
    assert_eq!(config.root_cert_file, Some(folder.0.join("ca.crt")));
    let token = config.auth_info.token_file.unwrap();
    assert_eq!(Path::new(&token), folder.0.join("token"));
}

#[tokio::test]
async fn a_token_file_may_end_with_a_newline() {
    let folder = Folder::new("token");
    folder.write("token", "secret\n");
    let config = kubeconfig("server: http://h:1", "tokenFile: token");
    let path = folder.write("config", &config);
    let mut config = from_kubeconfig(&path).await.unwrap();
    fix_token(&mut config);
    assert_eq!(config.auth_info.token_file, None);
    assert!(config.auth_info.token.is_some());
}

#[tokio::test]
async fn an_api_server_that_is_not_there_is_named() {
    let url = format!("http://{}", pumice_scripted::nobody());
    let clients = connect(&options(Some(&url), None)).await.unwrap();
    let message = check(&clients).await.unwrap_err().to_string();
    assert!(
        message.contains(&format!("{url} does not answer")),
        "{message}"
    );
    assert!(message.contains("refused"), "{message}");
}
