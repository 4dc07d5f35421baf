use pumice_model::Delta;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let seed: u64 = a[1].parse().unwrap();
    let objs = if a.len() > 3 {
        pumice_testkit::generate::wide_cluster(seed)
    } else {
        pumice_testkit::generate::cluster(seed)
    };
    for d in &objs {
        match d {
            Delta::NodeApply(n) => println!(
                "NODE {} {:?} alloc {:?} taints {:?} unsch {}",
                n.name, n.device_annotations, n.allocatable, n.taints, n.unschedulable
            ),
            Delta::PodApply(p) => println!(
                "POD {}/{} node {:?} phase {:?} del {} req {:?} facts {:?} rec {:?} group {:?} gates {:?}",
                p.namespace,
                p.name,
                p.node,
                p.phase,
                p.deleting,
                p.request,
                p.facts,
                p.records,
                p.group,
                p.gates
            ),
            _ => {}
        }
    }
}
