use std::sync::atomic::{AtomicUsize, Ordering};

use pumice_conf::{DEFAULT_CONF, parse};
use pumice_engine::{Engine, REGISTRY};
use pumice_fixtures::Cluster;
use tokio::time::advance;

use super::*;

/// A deciding thread whose copies take so long, and how many it has made.
fn core(took: Duration) -> (mpsc::Sender<DecideRequest>, Arc<AtomicUsize>) {
    let (sender, mut asked) = mpsc::channel(8);
    let copies = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&copies);
    std::thread::spawn(move || {
        let config = parse(DEFAULT_CONF, &REGISTRY).config.expect("valid");
        let mut engine = Engine::new(&config, "default");
        let objects = Cluster::of("node n1 1c 8Gi pods=9").0;
        objects.into_iter().for_each(|delta| engine.apply(delta));
        while let Some(request) = asked.blocking_recv() {
            let DecideRequest::Snapshot(reply) = request else {
                continue;
            };
            counted.fetch_add(1, Ordering::SeqCst);
            engine.cycle(0);
            let snapshot = ViewSnapshot::of(&mut engine);
            drop(reply.send(Ok(Box::new(TakenSnapshot { snapshot, took }))));
        }
    });
    (sender, copies)
}

async fn nodes(shared: &SharedCopy, core: &mpsc::Sender<DecideRequest>) -> usize {
    match shared.view(core, Ask::Nodes).await {
        Ok(View::Nodes(nodes)) => nodes.total,
        _ => panic!("no such answer"),
    }
}

#[tokio::test(start_paused = true)]
async fn who_asks_while_a_copy_is_young_is_answered_on_it() {
    let (core, copies) = core(Duration::from_millis(2));
    let shared = SharedCopy::default();
    for _ in 0..3 {
        assert_eq!(nodes(&shared, &core).await, 1);
    }
    let absent = shared.view(&core, Ask::Node("n9".to_owned())).await;
    assert!(matches!(absent, Err(NoView::Absent(why)) if why.contains("n9")));
    assert_eq!(copies.load(Ordering::SeqCst), 1);
    // A hundred times what it took is over.
    advance(Duration::from_millis(201)).await;
    assert_eq!(nodes(&shared, &core).await, 1);
    assert_eq!(copies.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn no_answer_is_older_than_a_second_however_long_a_copy_takes() {
    let (core, copies) = core(Duration::from_secs(9));
    let shared = SharedCopy::default();
    nodes(&shared, &core).await;
    advance(Duration::from_millis(1001)).await;
    nodes(&shared, &core).await;
    assert_eq!(copies.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn a_copy_that_nobody_asks_is_let_go() {
    let (core, _) = core(Duration::from_millis(2));
    let shared = SharedCopy::default();
    nodes(&shared, &core).await;
    assert!(shared.0.lock().await.is_some());
    sleep(IDLE * 2).await;
    assert!(shared.0.lock().await.is_none());
    // And another one is made for who comes then.
    assert_eq!(nodes(&shared, &core).await, 1);
}

#[tokio::test]
async fn where_the_thread_has_ended_there_is_no_answer() {
    let (core, asked) = mpsc::channel(1);
    drop(asked);
    let answer = SharedCopy::default().view(&core, Ask::Nodes).await;
    assert!(matches!(answer, Err(NoView::NotNow(why)) if why.contains("stopping")));
}
