use super::REGISTRY;
use crate::config::Config;
use crate::file::parse;
use crate::secrets::{HIDDEN, text_without_secrets};

const HEAD: &str = "actions: \"allocate\"\ntiers:\n- plugins:\n  - name: gang\n";

fn config(text: &str) -> Config {
    let outcome = parse(text, &REGISTRY);
    let problem = || format!("{text}: {:?}", outcome.diagnostics);
    outcome
        .config
        .clone()
        .unwrap_or_else(|| panic!("{}", problem()))
}

fn shown(text: &str) -> Option<String> {
    text_without_secrets(text, &config(text), &REGISTRY)
}

#[test]
fn a_text_without_secrets_is_shown_as_it_is() {
    let text = format!("{HEAD}metrics: {{type: elasticsearch, address: \"https://e\"}} # note\n");
    assert_eq!(shown(&text), Some(text));
}

#[test]
fn a_password_is_left_out_however_it_is_written_and_all_else_stays() {
    for written in [
        "geheim",
        "'geheim # \"x\"'",
        "\"geheim\\u00e4\\\" # x\"",
        "geheim # with a note",
    ] {
        let metrics = |password: &str| {
            format!(
                "{HEAD}metrics:\n  type: elasticsearch\n  address: https://e\n  \
                 elasticsearch.password: {password}\n  elasticsearch.username: jane\n"
            )
        };
        let text = metrics(written);
        let result = shown(&text).expect("it can be written");
        assert!(!result.contains("geheim"), "{result}");
        assert!(result.contains("elasticsearch.username: jane"), "{result}");
        assert_eq!(config(&result), config(&text).without_secrets());
        let password = config(&result).metrics["elasticsearch.password"].clone();
        assert_eq!(password, HIDDEN);
    }
}

#[test]
fn what_cannot_be_left_out_for_sure_is_not_shown_at_all() {
    let block = format!(
        "{HEAD}metrics:\n  type: elasticsearch\n  address: https://e\n  elasticsearch.password: |-\n    \
         geheim\n    more\n"
    );
    let inner = block.replace('\n', "\n    ");
    let within = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: c}}\ndata:\n  \
         volcano-scheduler.conf: |\n    {inner}\n"
    );
    for text in [block, within] {
        let result = shown(&text);
        let leaks = result.as_ref().is_some_and(|text| text.contains("geheim"));
        assert!(!leaks, "{result:?}");
    }
}
