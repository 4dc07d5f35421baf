//! What is asked of every job, and what has to become of it.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use pumice_e2e::eventually;

use super::places::NodePool;
use super::stand_in::{MemberSeen, Members, OF_CONTROLLER, StandIn};
use super::{Ends, Grows, HeldBy, NewNames, URGENT};
use crate::{LIMIT, QUIET};

/// Looks during a pause after which something would have happened.
const LOOKS: u32 = 8;

/// More CPUs than any job here asks for.
const ENOUGH: usize = 100;

/// The five behaviours, one after another with the same job.
pub(super) fn five_behaviours(mut job: StandIn, mut pool: NodePool) -> Result<()> {
    starts_as_a_gang(&mut job, &mut pool).context("gang")?;
    let seen = grows(&mut job, &mut pool).context("scale up")?;
    let seen = shrinks(&mut job, &pool, &seen).context("scale down")?;
    let seen = renews_a_member(&mut job, &pool, &seen).context("restart of a member")?;
    survives_an_eviction(&mut job, &pool, &seen).context("eviction of one")
}

/// Pods that have no more than the schedulerName all run, each in a PodGroup that asks for one.
pub(super) fn runs_without_podgroups(mut job: StandIn, mut pool: NodePool) -> Result<()> {
    pool.add(job.size())?;
    pool.make_queue(ENOUGH)?;
    all_run(&mut job)?;
    // Each is written on its pod by the controllers, whenever they come to it.
    let groups = eventually(LIMIT, "each pod names its PodGroup", || {
        job.named_groups().map(Some)
    })?;
    let are_made = groups.keys().all(|name| name.starts_with(OF_CONTROLLER));
    ensure!(
        are_made && groups.values().all(|least| *least == 1),
        "{groups:?}"
    );
    Ok(())
}

/// With one place too few nobody has one, unless the operator asks for no gang; then all have.
fn starts_as_a_gang(job: &mut StandIn, pool: &mut NodePool) -> Result<()> {
    let (size, held) = (job.size(), job.operator.holds);
    if held == HeldBy::MinResources {
        pool.add(size)?;
        pool.make_queue(size - 1)?;
    } else {
        pool.add(size - 1)?;
        pool.make_queue(ENOUGH)?;
    }
    let early = if held == HeldBy::Nothing { size - 1 } else { 0 };
    let made = if held == HeldBy::MinResources {
        1
    } else {
        size
    };
    job.until("pods are made", |seen| {
        seen.len() == made || early > 0 && seen.len() == size
    })?;
    job.until("those that are no gang are bound", |seen| {
        bound(seen) == early
    })?;
    stays(job, early)?;
    if held == HeldBy::MinResources {
        pool.widen_queue(ENOUGH)?;
    } else {
        pool.add(1)?;
    }
    all_run(job).map(|_| ())
}

/// New members wait for their places, together if they are a group, and those that run stay.
fn grows(job: &mut StandIn, pool: &mut NodePool) -> Result<Members> {
    let before = job.members()?;
    let (old, step) = (job.size(), job.step());
    job.grow()?;
    pool.add(step - 1)?;
    job.until("more pods are made", |seen| seen.len() == old + step)?;
    let is_anew = job.operator.grows == Grows::Anew;
    stays(job, if is_anew { 0 } else { old })?;
    pool.add(1)?;
    let seen = all_run(job)?;
    let kept = before
        .iter()
        .filter(|(name, one)| seen.get(*name) == Some(*one))
        .count();
    ensure!(
        kept == if is_anew { 0 } else { old },
        "{kept} of {old} were left alone: {seen:?}"
    );
    Ok(seen)
}

/// The place of who goes is free for others, and the rest stays.
fn shrinks(job: &mut StandIn, pool: &NodePool, before: &Members) -> Result<Members> {
    job.shrink()?;
    let seen = all_run(job)?;
    let is_anew = job.operator.grows == Grows::Anew;
    if !is_anew {
        ensure!(
            seen.iter().all(|one| before.get(one.0) == Some(one.1)),
            "not as before: {seen:?}"
        );
    }
    pool.put_guest("guest", "", None)?;
    let taken: BTreeSet<&String> = seen.values().filter_map(|one| one.node.as_ref()).collect();
    let node = eventually(LIMIT, "the guest has a place", || pool.guest_at("guest"))?;
    ensure!(!taken.contains(&node), "{node} is taken");
    pool.remove_guest("guest")?;
    let taken: Vec<String> = taken.into_iter().cloned().collect();
    pool.keep_only(&taken)?;
    Ok(seen)
}

/// Another takes the place of a member that ends; the rest stays, or is made anew with it.
fn renews_a_member(job: &mut StandIn, pool: &NodePool, before: &Members) -> Result<Members> {
    let victim = job.a_worker(before)?;
    match job.operator.ends {
        Ends::Failed | Ends::FailedAndKept => pool.fail(&victim)?,
        Ends::Evicted | Ends::WithAll => pool.drain(&victim)?,
    }
    all_are_back(job, before, &victim)
}

/// Somebody of higher priority takes the place of a member: nobody else goes, unless the operator deletes the others
/// too, and then none comes back before all can. When the place is free again the job is whole.
fn survives_an_eviction(job: &mut StandIn, pool: &NodePool, before: &Members) -> Result<()> {
    let victim = job.a_worker(before)?;
    let node = before[&victim]
        .node
        .clone()
        .context("the node of a member")?;
    pool.put_guest(URGENT, URGENT, Some(&node))?;
    let together = job.renewed_with(&victim);
    let uid = &before[&victim].uid;
    job.until(
        "a member is evicted, and its operator makes another",
        |seen| {
            let is_gone = seen.values().all(|one| one.uid != *uid);
            is_gone && seen.len() == before.len()
        },
    )?;
    let place = eventually(LIMIT, "the urgent pod has its place", || {
        job.act()?;
        pool.guest_at(URGENT)
    })?;
    ensure!(place == node, "it is at {place}");
    let left = before.len() - together.len();
    stays(job, left)?;
    pool.remove_guest(URGENT)?;
    all_are_back(job, before, &victim).map(|_| ())
}

/// All run again: who was made anew with this one under names as the operator gives them, the others as before.
fn all_are_back(job: &mut StandIn, before: &Members, victim: &str) -> Result<Members> {
    let uid = &before[victim].uid;
    let size = job.size();
    let seen = job.until("all run again", |seen| {
        let is_gone = seen.values().all(|one| one.uid != *uid);
        is_gone && seen.len() == size && seen.values().all(is_running)
    })?;
    let together = job.renewed_with(victim);
    for (name, one) in before {
        let is_kept = seen.get(name) == Some(one);
        ensure!(
            is_kept != together.contains(name),
            "{name} was {one:?}: {seen:?}"
        );
    }
    let is_same_name = seen.contains_key(victim);
    ensure!(
        is_same_name == (job.operator.names == NewNames::Kept),
        "{victim}: {seen:?}"
    );
    Ok(seen)
}

/// This many are bound, and stay so while nothing changes.
fn stays(job: &mut StandIn, count: usize) -> Result<()> {
    for _ in 0..LOOKS {
        std::thread::sleep(QUIET / LOOKS);
        job.act()?;
        let seen = job.members()?;
        ensure!(bound(&seen) == count, "{count} are to be bound: {seen:?}");
    }
    Ok(())
}

fn all_run(job: &mut StandIn) -> Result<Members> {
    let size = job.size();
    job.until("all run", |seen| {
        seen.len() == size && seen.values().all(is_running)
    })
}

fn is_running(one: &MemberSeen) -> bool {
    one.runs && one.node.is_some()
}

fn bound(seen: &Members) -> usize {
    seen.values().filter(|one| one.node.is_some()).count()
}
