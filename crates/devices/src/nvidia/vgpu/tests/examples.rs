//! The worked examples 1 to 30 of spec/04 §20, the column "Ours".

use super::{Limit, cards_of, family, mark, occupy, place, pod};
use crate::binding::AnnotationValue;
use crate::ledger::{LedgerTime, Tags};
use crate::settings::Policy::{self, Binpack, None as Any, Spread};

const N1: &str = "GPU-aa,10,24576,NVIDIA-Tesla P40,true,hami-core:\
                  GPU-bb,10,24576,NVIDIA-Tesla P40,true,hami-core:";
const N1_ONE_SLOT: &str = "GPU-aa,1,24576,NVIDIA-Tesla P40,true,hami-core:\
                           GPU-bb,1,24576,NVIDIA-Tesla P40,true,hami-core:";
const N1_SICK: &str = "GPU-aa,10,24576,NVIDIA-Tesla P40,false,hami-core:\
                       GPU-bb,10,24576,NVIDIA-Tesla P40,true,hami-core:";
const N2: &str = "GPU-v0,10,32768,NVIDIA-Tesla V100-PCIE-32GB,true,hami-core:\
                  GPU-t1,10,15360,NVIDIA-Tesla T4,true,hami-core:";
const N3: &str = "GPU-m0,10,40960,NVIDIA-NVIDIA A100-PCIE-40GB,true,mig:";
const N3_NVML: &str = "GPU-m0,10,40536,NVIDIA-NVIDIA A100-PCIE-40GB,true,mig:";
const A100_80: &str = "GPU-m0,10,81920,NVIDIA-NVIDIA A100-SXM4-80GB,true,mig:";
const N4: &str = "GPU-m0,10,40960,NVIDIA-NVIDIA A100-PCIE-40GB,true,mig:\
                  GPU-m1,10,40960,NVIDIA-NVIDIA A100-PCIE-40GB,true,mig:";
const N5: &str = "GPU-aa,10,24576,NVIDIA-Tesla P40,true,mps:";

const AA_4096: &[&str] = &["GPU-aa,NVIDIA,4096,0:"];

enum Ours {
    /// Allocation, and score after rounding.
    Fits(&'static str, i64),
    /// Unfit; evictions could help.
    Later(&'static str),
    /// Unfit; evictions do not help.
    Never(&'static str),
    /// Placed nowhere.
    Refused(&'static str),
    /// Asks no vGPU.
    NoRequest,
}
use Ours::{Fits, Later, Never, NoRequest, Refused};

type Row = (
    &'static str,
    &'static str,
    &'static [&'static str],
    Policy,
    &'static [&'static [Limit]],
    &'static [(&'static str, &'static str)],
    Ours,
);

const MODE: &str = "volcano.sh/vgpu-mode";

/// Number, node, allocations of the pods on it, policy, containers, annotations, result.
#[rustfmt::skip]
const ROWS: &[Row] = &[
    ("1", N1, &[], Any, &[&[('n', 1), ('m', 3000), ('c', 50)]], &[(MODE, "hami-core")],
     Fits("GPU-bb,NVIDIA,3000,50:", 0)),
    ("2", N1, AA_4096, Binpack, &[&[('n', 1), ('m', 3000), ('c', 50)]], &[],
     Fits("GPU-aa,NVIDIA,3000,50:", 29)),
    ("3", N1, AA_4096, Spread, &[&[('n', 1), ('m', 3000), ('c', 50)]], &[],
     Fits("GPU-bb,NVIDIA,3000,50:", 100)),
    ("4", N1, AA_4096, Binpack, &[&[('n', 2), ('m', 8000)]], &[],
     Fits("GPU-aa,NVIDIA,8000,0:GPU-bb,NVIDIA,8000,0:", 82)),
    ("5", N1, &[], Binpack, &[&[('n', 3), ('m', 1000)]], &[], Never("no enough gpu cards")),
    ("6", N1, AA_4096, Binpack, &[&[('n', 1)]], &[], Fits("GPU-bb,NVIDIA,24576,0:", 100)),
    ("7", N1, AA_4096, Binpack, &[&[('n', 1), ('p', 50)]], &[],
     Fits("GPU-aa,NVIDIA,12288,0:", 67)),
    ("8", N2, &[], Binpack, &[&[('n', 2), ('p', 25)]], &[],
     Fits("GPU-v0,NVIDIA,8192,0:GPU-t1,NVIDIA,3840,0:", 50)),
    ("9", N1, AA_4096, Binpack, &[&[('n', 1), ('m', 1000), ('c', 100)]], &[],
     Fits("GPU-bb,NVIDIA,1000,100:", 4)),
    ("10", N1, &["GPU-aa,NVIDIA,4096,0:", "GPU-bb,NVIDIA,1000,100:"], Binpack,
     &[&[('n', 1), ('m', 1000)]], &[], Fits("GPU-aa,NVIDIA,1000,0:", 21)),
    ("10, GPU-aa full", N1, &["GPU-aa,NVIDIA,24576,0:", "GPU-bb,NVIDIA,1000,100:"], Binpack,
     &[&[('n', 1), ('m', 1000)]], &[],
     Later("not enough gpu fitted on this node (held exclusively)")),
    ("11", N1, &["GPU-aa,NVIDIA,4096,50:", "GPU-bb,NVIDIA,5000,60:"], Binpack,
     &[&[('n', 1), ('m', 1000), ('c', 60)]], &[],
     Later("not enough gpu fitted on this node (cores)")),
    ("12", N1_ONE_SLOT, &["GPU-aa,NVIDIA,4096,0:", "GPU-bb,NVIDIA,4096,0:"], Any,
     &[&[('n', 1), ('m', 10)]], &[], Later("not enough gpu fitted on this node (slots)")),
    ("13", N2, &["GPU-t1,NVIDIA,8000,0:"], Binpack, &[&[('n', 1), ('m', 4096)]],
     &[("nvidia.com/use-gputype", "A100,V100")], Fits("GPU-v0,NVIDIA,4096,0:", 13)),
    ("14", N2, &["GPU-v0,NVIDIA,8000,0:"], Binpack, &[&[('n', 1), ('m', 4096)]],
     &[("nvidia.com/nouse-gputype", "T4")], Fits("GPU-v0,NVIDIA,4096,0:", 37)),
    ("15", N2, &["GPU-t1,NVIDIA,8000,0:"], Binpack, &[&[('n', 1), ('m', 4096)]],
     &[("nvidia.com/use-gputype", "NVIDIA"), ("nvidia.com/nouse-gputype", "T4")],
     Fits("GPU-v0,NVIDIA,4096,0:", 13)),
    ("16", N1, AA_4096, Binpack, &[&[('n', 1), ('m', 1000)]],
     &[("volcano.sh/vgpu-use-gpuuuid", "GPU-bb")], Fits("GPU-bb,NVIDIA,1000,0:", 4)),
    ("16, unknown UUID", N1, AA_4096, Binpack, &[&[('n', 1), ('m', 1000)]],
     &[("volcano.sh/vgpu-use-gpuuuid", "GPU-zz")],
     Never("no GPU matches UUID constraints")),
    ("17a", N3, &[], Binpack, &[&[('n', 1), ('m', 3000)]], &[(MODE, "mig")],
     Fits("GPU-m0[group1-0],NVIDIA,3000,0:", 13)),
    ("17b", N3, &[], Binpack, &[&[('n', 1), ('m', 8000)]], &[],
     Fits("GPU-m0[group2-0],NVIDIA,8000,0:", 25)),
    ("17c", N3_NVML, &[], Binpack, &[&[('n', 1)]], &[],
     Fits("GPU-m0[group4-0],NVIDIA,40536,0:", 101)),
    ("17d", A100_80, &[], Binpack, &[&[('n', 1)]], &[],
     Fits("GPU-m0[group4-0],NVIDIA,81920,0:", 99)),
    ("18", N3, &["GPU-m0[group2-0],NVIDIA,8000,0:"], Binpack, &[&[('n', 1), ('m', 3000)]], &[],
     Fits("GPU-m0[group2-3],NVIDIA,3000,0:", 38)),
    ("19a", N4, &["GPU-m0[group2-0],NVIDIA,8000,0:"], Binpack, &[&[('n', 1), ('m', 12000)]], &[],
     Fits("GPU-m1[group3-0],NVIDIA,12000,0:", 50)),
    ("19b", N4, &["GPU-m0[group2-3],NVIDIA,3000,0:"], Binpack, &[&[('n', 1), ('m', 8000)]], &[],
     Fits("GPU-m0[group2-0],NVIDIA,8000,0:", 38)),
    ("19c", N4, &[], Binpack, &[&[('n', 2), ('m', 8000)]], &[],
     Fits("GPU-m0[group2-0],NVIDIA,8000,0:GPU-m1[group2-0],NVIDIA,8000,0:", 50)),
    ("19c on N3", N3, &[], Binpack, &[&[('n', 2), ('m', 8000)]], &[],
     Never("no enough gpu cards")),
    ("20", N1, &[], Binpack, &[&[('n', 1), ('m', 4000)], &[('n', 1), ('m', 6000), ('c', 30)]],
     &[], Fits("GPU-aa,NVIDIA,4000,0:;GPU-aa,NVIDIA,6000,30:", 57)),
    ("21", N1, &[], Binpack, &[&[], &[('n', 1), ('m', 4000)]], &[],
     Fits(";GPU-aa,NVIDIA,4000,0:", 16)),
    ("22", N3, &[], Binpack, &[&[('n', 1), ('m', 3000)], &[('n', 1), ('m', 3000)]], &[],
     Fits("GPU-m0[group1-0],NVIDIA,3000,0:;GPU-m0[group1-1],NVIDIA,3000,0:", 38)),
    ("23", N1, &[], Binpack, &[&[('n', 1), ('m', 1000)]], &[(MODE, "mig")],
     Never("pod required sharing mode mig is not the same as the node mode hami-core")),
    ("24", N5, &[], Binpack, &[&[('n', 1), ('m', 1000)]], &[(MODE, "mps")],
     Fits("GPU-aa,NVIDIA,1000,0:", 4)),
    ("24, any mode", N5, &[], Binpack, &[&[('n', 1), ('m', 1000)]], &[],
     Fits("GPU-aa,NVIDIA,1000,0:", 4)),
    ("24, hami-core", N5, &[], Binpack, &[&[('n', 1), ('m', 1000)]], &[(MODE, "hami-core")],
     Never("pod required sharing mode hami-core is not the same as the node mode mps")),
    ("25", N1, &[], Any, &[&[('n', 0)]], &[], NoRequest),
    ("26", N1, &[], Binpack, &[&[('n', 1), ('m', 3_221_225_472)]], &[],
     Refused("container 1: volcano.sh/vgpu-memory is 3221225472: memory must be an integer number \
              of MiB below 2147483648; for 3Gi write 3072")),
    ("27", N1_SICK, &[], Binpack, &[&[('n', 1), ('m', 1000)]], &[],
     Fits("GPU-bb,NVIDIA,1000,0:", 4)),
    ("29", N2, &[], Binpack, &[&[('n', 1), ('m', 1000)]], &[("volcano.sh/gpu-index", "1")],
     Fits("GPU-t1,NVIDIA,1000,0:", 7)),
];

#[test]
fn worked_examples_come_out_as_computed_by_hand() {
    for (name, register, on_node, policy, containers, annotations, ours) in ROWS {
        let family = family(*policy);
        let mut cards = cards_of(&*family, register, None);
        for (number, ids) in on_node.iter().enumerate() {
            occupy(&*family, &mut cards, number as u32, ids, Tags::default());
        }
        let request = match (
            family.request(&pod(containers, annotations), Tags::default()),
            ours,
        ) {
            (Some(Ok(request)), _) => request,
            (Some(Err(text)), Refused(expected)) => {
                assert_eq!(text, *expected, "row {name}");
                continue;
            }
            (None, NoRequest) => continue,
            (Some(Err(text)), _) => panic!("row {name}: refused: {text}"),
            (None, _) => panic!("row {name}: asks nothing"),
        };
        match (place(&*request, &cards), ours) {
            (Ok((ids, score)), Fits(expected, rounded)) => {
                assert_eq!(ids, *expected, "row {name}");
                assert_eq!(
                    (score + 0.5).floor() as i64,
                    *rounded,
                    "row {name}: {score}"
                );
            }
            (Err(failure), Later(text)) => {
                assert_eq!(
                    (&*failure.text, failure.evictions_help),
                    (*text, true),
                    "row {name}"
                );
            }
            (Err(failure), Never(text)) => {
                assert_eq!(
                    (&*failure.text, failure.evictions_help),
                    (*text, false),
                    "row {name}"
                );
            }
            (found, _) => panic!("row {name}: {found:?}"),
        }
    }
}

#[test]
fn example_1_writes_the_six_annotations() {
    let family = family(Any);
    let cards = cards_of(&*family, N1, None);
    let request = super::request(&*family, &pod(&[&[('n', 1), ('m', 3000), ('c', 50)]], &[]));
    let allocations = request.choose(&cards, LedgerTime::Now).expect("fits");
    let marks = request.annotations("n1", &cards, &allocations);
    let text = |text: &str| AnnotationValue::Text(text.to_owned());
    let expected = [
        ("volcano.sh/vgpu-node", text("n1")),
        ("volcano.sh/vgpu-time", AnnotationValue::Sequence),
        ("volcano.sh/vgpu-ids-new", text("GPU-bb,NVIDIA,3000,50:")),
        (
            "volcano.sh/devices-to-allocate",
            text("GPU-bb,NVIDIA,3000,50:"),
        ),
        ("volcano.sh/bind-phase", text("allocating")),
        ("volcano.sh/bind-time", AnnotationValue::Seconds),
    ];
    for (key, value) in &expected {
        assert_eq!(mark(&marks, key), value, "{key}");
    }
    assert_eq!(marks.annotations.len(), expected.len());
}

#[test]
fn example_28_skips_cards_the_node_calls_unhealthy() {
    let family = family(Any);
    for list in ["1", "GPU-bb"] {
        let cards = cards_of(&*family, N1, Some(list));
        let request = super::request(&*family, &pod(&[&[('n', 1), ('m', 1000)]], &[]));
        let (ids, _) = place(&*request, &cards).expect("fits");
        assert_eq!(ids, "GPU-aa,NVIDIA,1000,0:", "{list}");
    }
}

#[test]
fn example_30_keeps_the_pods_of_a_group_on_different_cards() {
    let family = family(Binpack);
    let mut cards = cards_of(&*family, N1, None);
    let tags = Tags {
        group: Some(7),
        rules: 0,
    };
    occupy(&*family, &mut cards, 1, "GPU-aa,NVIDIA,1000,0:", tags);
    let asks = pod(
        &[&[('n', 1), ('m', 1000)]],
        &[("volcano.sh/vgpu-podgroup-policy", "spread")],
    );
    let request = family.request(&asks, tags).expect("asks").expect("can");
    let (ids, _) = place(&*request, &cards).expect("fits");
    assert_eq!(ids, "GPU-bb,NVIDIA,1000,0:");
    occupy(&*family, &mut cards, 2, &ids, tags);
    let third = place(&*request, &cards).expect_err("no card without the group");
    assert_eq!(
        third.text,
        "not enough gpu fitted on this node (group spread)"
    );
    assert!(third.evictions_help);
    let other = family
        .request(
            &asks,
            Tags {
                group: Some(8),
                rules: 0,
            },
        )
        .expect("asks")
        .expect("can");
    assert!(
        place(&*other, &cards).is_ok(),
        "another group is not kept away"
    );
}
