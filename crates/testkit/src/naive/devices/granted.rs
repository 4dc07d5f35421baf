//! What annotations of a pod on a node count for: as many devices as its containers ask, and of each what they ask.

use pumice_model::object::{NodeObject, PodObject};

use super::{On, hami, hami_kinds, neuron, vendors, vgpu};

type PartOf = Box<dyn Fn(&str) -> (i64, i64)>;

/// What one element of a list may hold: the number of devices, and memory and cores of a device of this id.
pub struct Grant {
    pub count: usize,
    pub part: PartOf,
}

/// The list of an annotation with what counts of it; other annotations as they are.
pub fn granted(key: &str, text: &str, (pod, node): (&PodObject, &NodeObject), on: On) -> String {
    let elements: Vec<&str> = text.split(';').collect();
    let grants = vgpu::grants(key, pod, node)
        .or_else(|| of_chips(key, pod, node))
        .or_else(|| vendors::grants(key, pod, node, on.vendors));
    let Some(grants) = grants else {
        return text.to_owned();
    };
    let element = |(at, element): (usize, &&str)| {
        let grant = grants.iter().find(|(of, _)| of.is_none_or(|of| of == at));
        let pieces = element.split(':').filter(|piece| !piece.is_empty());
        let count = grant.map_or(0, |(_, grant)| grant.count);
        let device = |piece: &str| {
            let mut fields: Vec<String> = piece.split(',').map(str::to_owned).collect();
            let id = fields[0].split('[').next().unwrap_or_default().to_owned();
            let is_of_cores = key == neuron::LIST && fields[3] != "0";
            if let Some((_, grant)) = grant.filter(|_| !is_of_cores) {
                let (memory, cores) = (grant.part)(&id);
                (fields[2], fields[3]) = (memory.to_string(), cores.to_string());
            }
            format!("{}:", fields.join(","))
        };
        pieces.take(count).map(device).collect::<String>()
    };
    let elements = elements.iter().enumerate().map(element);
    elements.collect::<Vec<_>>().join(";")
}

/// What the elements of a list of chips may hold: those of containers with chips, in order.
fn of_chips(key: &str, pod: &PodObject, node: &NodeObject) -> Option<Vec<(Option<usize>, Grant)>> {
    let kind = hami_kinds::KINDS
        .iter()
        .find(|kind| key == format!("hami.io/{}-devices-allocated", kind.name))?;
    let sizes = hami::sizes(key, node);
    let soft = hami::is_soft(pod);
    let counted = pod.facts.containers.iter().filter_map(|container| {
        let count = container.milli(&format!("{}{}", hami::PREFIX, kind.name))? / 1000;
        // A request that cannot be is for all of the chips.
        let ask = hami::ask_of(container, kind, soft).unwrap_or(None);
        let ask = ask.map_or((None, 0), |ask| (ask.memory, ask.core));
        (count > 0).then_some((count as usize, ask))
    });
    let grant = |(at, (count, (memory, core))): (usize, (usize, (Option<i64>, i64)))| {
        let sizes = sizes.clone();
        let part = move |id: &str| {
            let (all, _) = size_of(&sizes, id);
            (memory.unwrap_or(all), core)
        };
        let part = Box::new(part);
        (Some(at), Grant { count, part })
    };
    Some(counted.enumerate().map(grant).collect())
}

/// Memory and cores of the device of an id, or of the largest where there is none.
pub fn size_of(sizes: &[super::Size], id: &str) -> (i64, i64) {
    let largest = sizes.iter().max_by_key(|(_, memory, _)| *memory);
    let found = sizes.iter().find(|(of, ..)| of == id).or(largest);
    found.map_or((0, 0), |(_, memory, cores)| (*memory, *cores))
}
