//! What containers do, as their commands say: as much of a shell as manifests of tests need.

use std::time::Duration;

use k8s_openapi::api::core::v1::Container;

/// How a container that was started ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Course {
    /// Nobody but its image knows: it has no command.
    ByImage,
    /// Not by itself.
    Endless,
    /// After a time, with an exit code.
    Ends(Duration, i32),
}

/// What a container does. `sleep`, `exit`, `true`, `false` and `tail -f` do what they do in a shell;
/// any other program ends well at once. Commands are separated by `;` or `&&`.
pub(crate) fn course(container: &Container) -> Course {
    let words = [&container.command, &container.args];
    let words: Vec<&str> = words
        .into_iter()
        .flatten()
        .flatten()
        .map(String::as_str)
        .collect();
    match words[..] {
        [] => Course::ByImage,
        [shell, "-c", script, ..] if shell.ends_with("sh") => script_course(script),
        _ => script_course(&words.join(" ")),
    }
}

fn script_course(script: &str) -> Course {
    let (mut time, mut code) = (Duration::ZERO, 0);
    for list in script.split([';', '\n']) {
        for command in list.split("&&") {
            let words: Vec<&str> = command.split_whitespace().collect();
            code = match words[..] {
                [] => continue,
                ["exit"] => return Course::Ends(time, code),
                ["exit", number] => return Course::Ends(time, number.parse().unwrap_or(2)),
                ["false"] => 1,
                ["tail", "-f", ..] => return Course::Endless,
                ["sleep", duration] => match seconds(duration) {
                    Some(slept) => {
                        time += slept;
                        0
                    }
                    None => return Course::Endless,
                },
                _ => 0,
            };
            if code != 0 {
                break;
            }
        }
    }
    Course::Ends(time, code)
}

/// `5`, `0.2`, `5s`, `2m`; `None` for ever.
fn seconds(text: &str) -> Option<Duration> {
    let (number, unit) = match text.strip_suffix('m') {
        Some(number) => (number, 60.0),
        None => (text.trim_end_matches('s'), 1.0),
    };
    let number: f64 = number.parse().ok()?;
    Duration::try_from_secs_f64(number * unit).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn containers_do_what_their_commands_say() {
        let of = |command: &[&str]| {
            course(&Container {
                command: Some(command.iter().map(|&word| word.to_owned()).collect()),
                ..Container::default()
            })
        };
        let ends = |millis: u64, code| Course::Ends(Duration::from_millis(millis), code);
        for (command, expected) in [
            (&[][..], Course::ByImage),
            (&["/bin/bash", "-c", "tail -f /dev/null"], Course::Endless),
            (&["sh", "-c", "sleep 0.2; exit 3"], ends(200, 3)),
            (
                &["sh", "-c", "echo hello && false && sleep 9; exit"],
                ends(0, 1),
            ),
            (&["sh", "-c", "false; true"], ends(0, 0)),
            (&["sleep", "2m"], ends(120_000, 0)),
            (&["sleep", "infinity"], Course::Endless),
            (&["python", "train.py"], ends(0, 0)),
        ] {
            assert_eq!(of(command), expected, "{command:?}");
        }
    }
}
