//! What a PodGroup's annotations say of the roles of its job (spec/02 §20.1).

use pumice_model::{Job, State, Task};

const AFFINITY: &str = "volcano.sh/task-topology-affinity";
const ANTI_AFFINITY: &str = "volcano.sh/task-topology-anti-affinity";
const TASK_ORDER: &str = "volcano.sh/task-topology-task-order";

/// Annotations of PodGroups that are read.
pub const ANNOTATIONS: [&str; 3] = [AFFINITY, ANTI_AFFINITY, TASK_ORDER];

/// How important it is to place a role early, by what is said of it.
const APART_FROM_ITSELF: u8 = 4;
const NEAR_OTHERS: u8 = 3;
const NEAR_ITSELF: u8 = 2;
const APART_FROM_OTHERS: u8 = 1;

/// What is said of one role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleRule {
    name: String,
    /// Larger is earlier; 0 for roles the order does not name.
    pub rank: usize,
    /// Strength of the most important rule about the role; 0 when only the order names it.
    pub strength: u8,
    /// Roles it is drawn to, by number.
    near: Vec<usize>,
    /// Roles it keeps apart from, by number.
    pub apart: Vec<usize>,
}

/// Roles, numbered in the order they are named in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleRules(Vec<RoleRule>);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Near,
    Apart,
}

/// The names of a list, each once.
fn names<'a>(key: &str, list: &'a str) -> Result<Vec<&'a str>, String> {
    let mut names: Vec<&str> = Vec::new();
    for name in list.split(',').map(str::trim) {
        if names.contains(&name) {
            return Err(format!(
                "annotations of task-topology are passed over: {key} names `{name}` twice in `{list}`"
            ));
        }
        if !name.is_empty() {
            names.push(name);
        }
    }
    Ok(names)
}

impl RoleRules {
    /// What the annotations say; none where they name nobody.
    ///
    /// # Errors
    /// Why they mean nothing.
    pub fn read<'a>(annotation: impl Fn(&str) -> Option<&'a str>) -> Result<Option<Self>, String> {
        let mut rules = Self::default();
        for (key, side) in [(AFFINITY, Side::Near), (ANTI_AFFINITY, Side::Apart)] {
            for group in annotation(key).unwrap_or_default().split(';') {
                rules.relate(&names(key, group)?, side);
            }
        }
        let order = names(TASK_ORDER, annotation(TASK_ORDER).unwrap_or_default())?;
        for (at, name) in order.iter().enumerate() {
            let role = rules.number(name);
            rules.0[role].rank = order.len() - at;
        }
        Ok((!rules.0.is_empty()).then_some(rules))
    }

    fn number(&mut self, name: &str) -> usize {
        let known = self.0.iter().position(|rule| rule.name == name);
        known.unwrap_or_else(|| {
            self.0.push(RoleRule {
                name: name.to_owned(),
                ..RoleRule::default()
            });
            self.0.len() - 1
        })
    }

    /// A group of one is about the role and itself, a longer one about each two of it.
    fn relate(&mut self, group: &[&str], side: Side) {
        let roles: Vec<usize> = group.iter().map(|name| self.number(name)).collect();
        let alone = roles.len() == 1;
        let strength = match (side, alone) {
            (Side::Apart, true) => APART_FROM_ITSELF,
            (Side::Near, false) => NEAR_OTHERS,
            (Side::Near, true) => NEAR_ITSELF,
            (Side::Apart, false) => APART_FROM_OTHERS,
        };
        for role in &roles {
            let rule = &mut self.0[*role];
            rule.strength = rule.strength.max(strength);
            let related = match side {
                Side::Near => &mut rule.near,
                Side::Apart => &mut rule.apart,
            };
            for other in roles.iter().filter(|other| alone || *other != role) {
                if !related.contains(other) {
                    related.push(*other);
                }
            }
        }
    }

    /// The number of a pod's role, if something is said of it.
    pub fn role_of(&self, state: &State, task: &Task) -> Option<usize> {
        let name = state.names().text(task.role);
        self.0.iter().position(|rule| rule.name == name)
    }

    /// What is said of a role.
    pub fn rule(&self, role: usize) -> &RoleRule {
        &self.0[role]
    }

    /// How many roles there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// How much a role is drawn to pods, so many of each role.
    pub fn attraction(&self, role: usize, pods: &[i64]) -> i64 {
        let rule = &self.0[role];
        let sum = |roles: &[usize]| -> i64 { roles.iter().map(|role| pods[*role]).sum() };
        sum(&rule.near) - sum(&rule.apart)
    }

    /// What to tell of a name that is no role of the job, once the job has its pods.
    pub fn unknown_role(&self, state: &State, job: &Job) -> Option<String> {
        if (job.tasks.len() as i64) < i64::from(job.min_available) {
            return None;
        }
        let has = |name: &str| {
            let mut roles = job.roles.iter();
            roles.any(|role| state.names().text(role.role) == name)
        };
        let unknown = self.0.iter().find(|rule| !has(&rule.name))?;
        Some(format!(
            "annotations of task-topology name `{}`, which is the role (volcano.sh/task-spec) of no pod",
            unknown.name
        ))
    }
}
