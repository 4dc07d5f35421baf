//! Who is asked for an explanation: the scheduler, and the API server, which knows the workload
//! above the PodGroup, and stands in where the scheduler is out of reach; or the scheduler as it was, from a recording.

use anyhow::Context as _;
use jiff::Timestamp;
use pumice_engine::view::{Ask, JobView, PodView, QueueView};
use serde::de::DeserializeOwned;

use super::super::account;
use super::super::scheduler::{
    Answered, Scheduler, SchedulerConnection, is_out_of_reach, note_out_of_reach,
};
use super::super::user::ClusterUser;
use super::super::words::{line, print};
use super::super::{own_namespace, queue_lines};
use super::answer::{JobAnswer, answer_table};
use super::short::{shorten_job, shorten_pod};
use super::tables::{pod_table, queue_table};
use crate::bad_input::BadInput;
use crate::output::OutputFormat;
use crate::recordings::PastMoment;

/// What is asked about.
pub(super) struct Question<'a> {
    pub namespace: &'a str,
    pub name: &'a str,
    pub format: OutputFormat,
    /// Only the first line of a reason is wanted.
    pub is_short: bool,
}

/// The scheduler that is asked.
enum AskedScheduler {
    Running(Box<Scheduler>),
    Past(Box<PastMoment>),
    /// Why none can be asked.
    OutOfReach(anyhow::Error),
}

/// Who can be asked: the scheduler, or else why not, and the API server.
pub(super) struct Sources {
    user: Option<ClusterUser>,
    scheduler: AskedScheduler,
}

impl Sources {
    /// Finds both.
    pub fn open(connection: &SchedulerConnection) -> anyhow::Result<Self> {
        let scheduler = match connection.open() {
            Ok(scheduler) => AskedScheduler::Running(Box::new(scheduler)),
            Err(error) if is_out_of_reach(&error) => AskedScheduler::OutOfReach(error),
            Err(error) => return Err(error),
        };
        let cluster = connection.cluster();
        let user = cluster.map(|cluster| cluster.open()).transpose()?;
        Ok(Self { user, scheduler })
    }

    /// The scheduler as it was; says when that is.
    pub fn past(moment: PastMoment) -> Self {
        for note in moment.notes() {
            anstream::eprintln!("{note}");
        }
        Self {
            user: None,
            scheduler: AskedScheduler::Past(Box::new(moment)),
        }
    }

    /// The namespace meant where none is named.
    pub fn namespace(&self) -> &str {
        match (&self.scheduler, &self.user) {
            (AskedScheduler::Running(scheduler), _) => scheduler.namespace(),
            (_, Some(user)) => user.namespace(None),
            (_, None) => pumice_api::keys::DEFAULT_NAMESPACE,
        }
    }

    /// The scheduler's answer, or why it is out of reach while the API server is not.
    fn ask<T: DeserializeOwned>(&self, ask: &Ask) -> anyhow::Result<SourceAnswer<T>> {
        let scheduler = match &self.scheduler {
            AskedScheduler::Running(scheduler) => scheduler,
            AskedScheduler::Past(moment) => return past_answer(moment, ask),
            // What cannot be copied is told again in its own words.
            AskedScheduler::OutOfReach(error) => {
                return Ok(SourceAnswer::OutOfReach(told_again(error)));
            }
        };
        match scheduler.view(ask) {
            Ok(Ok(view)) => Ok(SourceAnswer::View(view)),
            Ok(Err(why)) => Ok(SourceAnswer::Absent(why)),
            Err(error) if self.user.is_some() && is_out_of_reach(&error) => {
                Ok(SourceAnswer::OutOfReach(error))
            }
            Err(error) => Err(error),
        }
    }

    /// Explains a pod, or says why it is not there.
    pub fn pod(&self, question: &Question<'_>) -> anyhow::Result<Answered<()>> {
        let (namespace, name) = (question.namespace, question.name);
        let read = || match &self.user {
            Some(user) => account::read_pod(user, namespace, name),
            None => Ok(None),
        };
        let mut view: PodView = match self.ask(&pod_of(namespace, name))? {
            SourceAnswer::View(view) => view,
            SourceAnswer::Absent(why) => {
                // Of another scheduler, say: it is there, and says something itself.
                let Some(pod) = read().ok().flatten() else {
                    return Ok(Err(why));
                };
                let mut account = account::of_pod(&pod, Timestamp::now());
                account.note(why);
                print(&account, question.format, account::account_table)?;
                return Ok(Ok(()));
            }
            SourceAnswer::OutOfReach(error) => {
                let Some(pod) = read()? else {
                    return Ok(Err(format!("there is no pod {namespace}/{name}")));
                };
                note_out_of_reach(namespace, &error);
                let account = account::of_pod(&pod, Timestamp::now());
                print(&account, question.format, account::account_table)?;
                return Ok(Ok(()));
            }
        };
        if question.is_short {
            shorten_pod(&mut view);
        }
        // Only the table says it, and who may ask the scheduler need not be allowed to read pods there.
        let pod = match question.format {
            OutputFormat::Table => read().ok().flatten(),
            OutputFormat::Json | OutputFormat::Yaml => None,
        };
        let waited = pod.as_ref().and_then(account::waited);
        print(&view, question.format, |out, view| {
            pod_table(out, view)?;
            line(out, "Waited", waited.as_deref().unwrap_or_default())
        })?;
        Ok(Ok(()))
    }

    /// Explains a job, or says why it is not there.
    pub fn job(&self, question: &Question<'_>) -> anyhow::Result<Answered<()>> {
        let (namespace, name) = (question.namespace, question.name);
        let facts = match &self.user {
            Some(user) => account::read(user, namespace, name)?,
            None => account::AccountFacts::default(),
        };
        let owner = facts.owner.as_ref();
        let owner = owner.and_then(|(_, owner)| owner["metadata"]["name"].as_str());
        let asked = self.ask(&job_of(namespace, owner.unwrap_or(name)))?;
        let mut unknown = None;
        let mut view: Option<JobView> = match asked {
            // Of a Job that has ended it knows pods at most.
            SourceAnswer::View(view) => Some(view).filter(|_| !facts.has_ended()),
            SourceAnswer::Absent(why) if !facts.is_there() => return Ok(Err(why)),
            SourceAnswer::Absent(why) => {
                unknown = Some(why).filter(|_| !facts.pods.is_empty() && !facts.has_ended());
                None
            }
            SourceAnswer::OutOfReach(_) if !facts.is_there() => {
                return Ok(Err(format!("there is no Job {namespace}/{name}")));
            }
            SourceAnswer::OutOfReach(error) => {
                note_out_of_reach(namespace, &error);
                None
            }
        };
        if let Some(view) = view.as_mut().filter(|_| question.is_short) {
            shorten_job(view);
        }
        let account = facts.is_there().then(|| {
            let mut account = account::account(&facts, view.as_ref(), Timestamp::now());
            unknown.into_iter().for_each(|why| account.note(why));
            account
        });
        let answer = JobAnswer::of(account, view);
        print(&answer, question.format, answer_table)?;
        Ok(Ok(()))
    }

    /// Explains a queue, or says why it is not there.
    pub fn queue(&self, question: &Question<'_>) -> anyhow::Result<Answered<()>> {
        let (namespace, name) = (question.namespace, question.name);
        match self.ask::<QueueView>(&Ask::Queue(name.to_owned()))? {
            SourceAnswer::View(view) => print(&view, question.format, queue_table)?,
            SourceAnswer::Absent(why) => return Ok(Err(why)),
            SourceAnswer::OutOfReach(error) => {
                let Some(user) = &self.user else {
                    return Err(error);
                };
                let mut queues = own_namespace::queues(user, namespace)?;
                queues.retain(|queue| queue.name == name);
                if queues.is_empty() {
                    return Ok(Err(format!(
                        "no queue {name} is known in namespace {namespace}"
                    )));
                }
                note_out_of_reach(namespace, &error);
                print(&queues, question.format, |out, queues| {
                    queue_lines::table(out, queues)
                })?;
            }
        }
        Ok(Ok(()))
    }
}

fn pod_of(namespace: &str, name: &str) -> Ask {
    Ask::Pod {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}

fn job_of(namespace: &str, name: &str) -> Ask {
    Ask::Job {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    }
}

/// As the page of the scheduler would have answered.
fn past_answer<T: DeserializeOwned>(
    moment: &PastMoment,
    ask: &Ask,
) -> anyhow::Result<SourceAnswer<T>> {
    let engine = moment.replay.engine().context("nothing is known")?;
    Ok(match engine.known().view(ask) {
        Ok(view) => SourceAnswer::View(serde_json::from_value(serde_json::to_value(view)?)?),
        Err(absent) => SourceAnswer::Absent(absent.to_string()),
    })
}

/// How the scheduler was asked, and what came of it.
enum SourceAnswer<T> {
    View(T),
    Absent(String),
    OutOfReach(anyhow::Error),
}

/// An error that is kept, said once more.
fn told_again(error: &anyhow::Error) -> anyhow::Error {
    BadInput(error.to_string()).into()
}
