//! Logging: where lines go, how they look, and which of them are shown.
//!
//! The verbosity is klog's `-v N`, so that existing deployments keep their meaning:
//!
//! | `-v` | our crates | libraries |
//! |---|---|---|
//! | 0 to 3 | info, warnings, errors | warnings, errors |
//! | 4 | and debug | warnings, errors |
//! | 5 to 7 | and trace | and info |
//! | 8, 9 | and trace | and debug |
//! | 10 and more | and trace | and trace |

mod every;
mod level;
mod line;

pub use every::Every;
pub use level::{LevelHandle, SetLevelError};
pub use line::KlogLine;

use tracing::Subscriber;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{Layer, Registry, fmt, reload};

/// How a line looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// One line as klog writes it: `I1121 16:20:32.123456   42 target] message key="value"`.
    #[default]
    Klog,
    /// One JSON object a line.
    Json,
}

/// Logging could not start.
#[derive(Debug, thiserror::Error)]
#[error("logging is set up already in this process: {0}")]
pub struct InitError(#[from] tracing_subscriber::util::TryInitError);

/// Sends log lines of the whole process to standard error, from now on.
///
/// # Errors
/// It was called before.
pub fn init(format: LogFormat, verbosity: u32) -> Result<LevelHandle, InitError> {
    let (subscriber, level) = subscriber(format, verbosity, std::io::stderr);
    subscriber.try_init()?;
    Ok(level)
}

/// A subscriber that writes to `writer`, and the handle to its verbosity.
pub fn subscriber<W>(
    format: LogFormat,
    verbosity: u32,
    writer: W,
) -> (impl Subscriber + Send + Sync, LevelHandle)
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let lines = fmt::layer().with_writer(writer);
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match format {
        LogFormat::Klog => lines
            .with_ansi(false)
            .event_format(KlogLine::default())
            .boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    };
    let (filter, handle): (reload::Layer<Targets, Registry>, _) =
        reload::Layer::new(level::targets(verbosity));
    let subscriber = tracing_subscriber::registry().with(lines.with_filter(filter));
    let level = LevelHandle::new(verbosity, move |verbosity| {
        handle
            .reload(level::targets(verbosity))
            .map_err(|error| error.to_string())
    });
    (subscriber, level)
}

#[cfg(test)]
mod tests;
