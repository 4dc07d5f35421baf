//! What is handed in is bounded.

use super::*;

#[tokio::test]
async fn binds_beyond_the_limit_fail_at_once_and_room_comes_back() {
    let script = |_: &Seen| Answer::Json(201, json!({"kind": "Status", "status": "Success"}));
    let limited = EffectOptions {
        max_binds: 2,
        ..options()
    };
    let mut bench = Bench::with(script, limited, TermWatch::always()).await;
    // On this thread nothing is written before the first wait.
    for _ in 0..3 {
        bench.effects.submit(bind());
    }
    let Outcome::BindFailed { message, .. } = bench.outcome().await else {
        panic!("the third is refused before the others are answered");
    };
    assert!(message.contains("too many"), "{message}");
    for _ in 0..2 {
        assert!(matches!(bench.outcome().await, Outcome::Bound { .. }));
    }
    bench.effects.idle().await;
    bench.effects.submit(bind());
    assert!(matches!(bench.outcome().await, Outcome::Bound { .. }));
}
