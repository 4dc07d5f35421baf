//! The search finds devices exactly where an enumeration of everything that could be given does, and what
//! it gives keeps all rules.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use pumice_claims::{
    Attribute, AttributeRule, Books, ClaimConstraint, ClaimRequest, ClaimSpec, ClaimWish,
    CounterSet, Counters, DeviceCapacity, DeviceCount, DeviceTaint, DeviceToleration, DraDevice,
    GivenDevice, MAX_DEVICES_A_CLAIM, Match, PoolOffer, Quantity, RequestedDevices, TaintOperator,
    UsedCounters, allocate,
};

/// A small world: devices of one pool and what claims ask of them.
#[derive(Clone, Debug)]
struct World {
    devices: Vec<DraDevice>,
    taken: Vec<bool>,
    /// What others have of shared devices.
    consumed: Vec<i64>,
    /// By filter, then device.
    matches: Vec<Vec<bool>>,
    counter: i64,
    claims: Vec<ClaimSpec>,
}

impl Books for World {
    fn is_taken(&self, device: u32) -> bool {
        self.taken[device as usize]
    }

    fn consumed(&self, _: u32) -> Option<&BTreeMap<String, Quantity>> {
        None
    }

    fn used_counters(&self, _: u32, _: &str) -> Option<&Counters> {
        None
    }

    fn matches(&self, filter: u32, device: u32) -> Match {
        match self.matches[filter as usize][device as usize] {
            true => Match::Yes,
            false => Match::No,
        }
    }
}

fn device() -> impl Strategy<Value = DraDevice> {
    let attribute = prop::option::of(0..3_i64);
    let parts = (
        attribute,
        any::<bool>(),
        0..3_i64,
        prop::bool::weighted(0.2),
    );
    parts.prop_map(|(attribute, shared, used, tainted)| DraDevice {
        attributes: attribute
            .map(|value| ("numa".to_owned(), Attribute::Int(value)))
            .into_iter()
            .collect(),
        capacity: BTreeMap::from([(
            "memory".to_owned(),
            DeviceCapacity {
                value: Quantity::whole(3),
                policy: None,
            },
        )]),
        taints: tainted
            .then(|| DeviceTaint {
                key: "bad".to_owned(),
                effect: "NoSchedule".to_owned(),
                ..DeviceTaint::default()
            })
            .into_iter()
            .collect(),
        uses: match used {
            0 => Vec::new(),
            used => vec![UsedCounters {
                set: "all".to_owned(),
                counters: BTreeMap::from([("slices".to_owned(), Quantity::whole(used))]),
            }],
        },
        shared,
        ..DraDevice::default()
    })
}

fn choice(name: &'static str) -> impl Strategy<Value = RequestedDevices> {
    let count = prop_oneof![
        4 => (1..3_u64).prop_map(DeviceCount::Exactly),
        1 => Just(DeviceCount::All),
    ];
    let parts = (
        0..2_u8,
        count,
        prop::bool::weighted(0.2),
        any::<bool>(),
        0..5_i64,
    );
    parts.prop_map(
        move |(class, count, admin_access, tolerates, memory)| RequestedDevices {
            name: name.to_owned(),
            class: class.to_string(),
            selectors: Vec::new(),
            count,
            admin_access,
            tolerations: tolerates
                .then(|| DeviceToleration {
                    operator: TaintOperator::Exists,
                    ..DeviceToleration::default()
                })
                .into_iter()
                .collect(),
            capacity: match memory {
                0 => BTreeMap::new(),
                memory => BTreeMap::from([("memory".to_owned(), Quantity::whole(memory))]),
            },
        },
    )
}

fn claim() -> impl Strategy<Value = ClaimSpec> {
    let choices = prop_oneof![
        2 => choice("").prop_map(|only| vec![only]),
        1 => (choice("first"), choice("second")).prop_map(|(one, two)| vec![one, two]),
    ];
    let requests = prop::collection::vec(choices, 1..3);
    let rule = prop::option::of((any::<bool>(), any::<bool>()));
    (requests, rule).prop_map(|(requests, rule)| ClaimSpec {
        requests: requests
            .into_iter()
            .enumerate()
            .map(|(at, choices)| ClaimRequest {
                name: format!("r{at}"),
                choices,
            })
            .collect(),
        constraints: rule
            .map(|(same, all)| ClaimConstraint {
                requests: match all {
                    true => Vec::new(),
                    false => vec!["r0".to_owned()],
                },
                rule: match same {
                    true => AttributeRule::Same("driver/numa".to_owned()),
                    false => AttributeRule::Distinct("driver/numa".to_owned()),
                },
            })
            .into_iter()
            .collect(),
        config: Vec::new(),
    })
}

fn world() -> impl Strategy<Value = World> {
    (1..5_usize).prop_flat_map(|count| {
        let devices = prop::collection::vec(device(), count);
        let taken = prop::collection::vec(prop::bool::weighted(0.2), count);
        let matching = prop::collection::vec(prop::bool::weighted(0.7), count);
        let matches = prop::collection::vec(matching, 2);
        let claims = prop::collection::vec(claim(), 1..3);
        (devices, taken, matches, 0..5_i64, claims).prop_map(
            move |(devices, taken, matches, counter, claims)| World {
                devices,
                taken,
                consumed: vec![0; count],
                matches,
                counter,
                claims,
            },
        )
    })
}

type Assignment = Vec<Vec<(usize, usize, Vec<usize>)>>;

impl World {
    fn filter(choice: &RequestedDevices) -> usize {
        choice.class.parse().expect("a number")
    }

    fn memory(choice: &RequestedDevices) -> i64 {
        let wanted = choice.capacity.get("memory");
        wanted.map_or(3, |wanted| wanted.as_whole().expect("whole"))
    }

    /// Whether a device can serve a choice, nobody else looked at.
    fn suits(&self, choice: &RequestedDevices, device: usize) -> bool {
        self.matches[Self::filter(choice)][device] && Self::memory(choice) <= 3
    }

    /// Whether constraints hold for the values of the devices each is about.
    fn hold(constraints: &[ClaimConstraint], values: &BTreeMap<usize, Vec<i64>>) -> bool {
        values.iter().all(|(number, values)| {
            let different: BTreeSet<_> = values.iter().collect();
            match constraints[*number].rule {
                AttributeRule::Same(_) => different.len() == 1,
                _ => different.len() == values.len(),
            }
        })
    }

    /// Whether an assignment of devices keeps all rules.
    fn is_valid(&self, all: &Assignment) -> bool {
        let mut whole: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); self.devices.len()];
        let mut owners = vec![0; self.devices.len()];
        let mut memory = self.consumed.clone();
        let mut parts = vec![0; self.devices.len()];
        let mut counter = 0;
        for (claim, requests) in all.iter().enumerate() {
            let spec = &self.claims[claim];
            let mut values: BTreeMap<usize, Vec<i64>> = BTreeMap::new();
            let mut count = 0;
            for (request, choice, devices) in requests {
                let wanted = &spec.requests[*request].choices[*choice];
                for &at in devices {
                    count += 1;
                    let device = &self.devices[at];
                    if !self.suits(wanted, at) || device.repelled_by(&wanted.tolerations).is_some()
                    {
                        return false;
                    }
                    if self.taken[at] && !wanted.admin_access {
                        return false;
                    }
                    if device.shared {
                        parts[at] += i32::from(!wanted.admin_access);
                        memory[at] += Self::memory(wanted);
                        if memory[at] > 3 {
                            return false;
                        }
                    } else {
                        let mine = !whole[at].insert(claim);
                        let others = owners[at] > 0;
                        if mine || (others && !wanted.admin_access) {
                            return false;
                        }
                        owners[at] += 1;
                    }
                    if !wanted.admin_access && (!device.shared || parts[at] == 1) {
                        counter += device
                            .uses
                            .iter()
                            .map(|used| used.counters["slices"].as_whole().expect("whole"))
                            .sum::<i64>();
                        if !device.uses.is_empty() && counter > self.counter {
                            return false;
                        }
                    }
                    for (number, constraint) in spec.constraints.iter().enumerate() {
                        let name = format!("r{request}");
                        if !constraint.requests.is_empty() && !constraint.requests.contains(&name) {
                            continue;
                        }
                        let Some(Attribute::Int(value)) = device.attributes.get("numa") else {
                            return false;
                        };
                        values.entry(number).or_default().push(*value);
                    }
                }
            }
            if count > MAX_DEVICES_A_CLAIM {
                return false;
            }
            if !Self::hold(&spec.constraints, &values) {
                return false;
            }
        }
        true
    }

    /// Whether there is any assignment that keeps all rules.
    fn can_be_served(&self) -> bool {
        let mut open = Vec::new();
        for (claim, spec) in self.claims.iter().enumerate() {
            open.extend((0..spec.requests.len()).map(|request| (claim, request)));
        }
        self.extend(&open, &mut vec![Vec::new(); self.claims.len()])
    }

    fn extend(&self, open: &[(usize, usize)], all: &mut Assignment) -> bool {
        let Some((&(claim, request), rest)) = open.split_first() else {
            return self.is_valid(all);
        };
        let choices = &self.claims[claim].requests[request].choices;
        for (number, choice) in choices.iter().enumerate() {
            for set in 0..1_usize << self.devices.len() {
                let devices: Vec<usize> = (0..self.devices.len())
                    .filter(|at| set & (1 << at) != 0)
                    .collect();
                let fits = match choice.count {
                    DeviceCount::Exactly(count) => devices.len() as u64 == count,
                    DeviceCount::All => {
                        let suits = |at: &usize| self.suits(choice, *at);
                        let all: Vec<usize> = (0..self.devices.len()).filter(suits).collect();
                        !all.is_empty() && devices == all
                    }
                };
                if !fits {
                    continue;
                }
                all[claim].push((request, number, devices));
                let found = self.extend(rest, all);
                all[claim].pop();
                if found {
                    return true;
                }
            }
        }
        false
    }

    fn search(&self) -> Option<Vec<Vec<GivenDevice>>> {
        let filters: Vec<Vec<Vec<u32>>> = self
            .claims
            .iter()
            .map(|claim| {
                let of = |request: &ClaimRequest| {
                    let choices = request.choices.iter();
                    choices.map(|choice| Self::filter(choice) as u32).collect()
                };
                claim.requests.iter().map(of).collect()
            })
            .collect();
        let wishes: Vec<ClaimWish<'_>> = self
            .claims
            .iter()
            .zip(&filters)
            .map(|(spec, filters)| ClaimWish { spec, filters })
            .collect();
        let counters = [CounterSet {
            name: "all".to_owned(),
            counters: BTreeMap::from([("slices".to_owned(), Quantity::whole(self.counter))]),
        }];
        let numbered = self.devices.iter().enumerate();
        let pool = PoolOffer {
            pool: 0,
            driver: "driver",
            is_complete: true,
            is_valid: true,
            counters: &counters,
            devices: numbered.map(|(at, device)| (at as u32, device)).collect(),
        };
        allocate(&wishes, &[pool], self).ok()
    }
}

fn assignment(given: &[Vec<GivenDevice>]) -> Assignment {
    let of_claim = |given: &Vec<GivenDevice>| {
        let mut requests: Vec<(usize, usize, Vec<usize>)> = Vec::new();
        for device in given {
            match requests.last_mut() {
                Some((request, _, devices)) if *request == device.request => {
                    devices.push(device.device as usize);
                }
                _ => requests.push((device.request, device.choice, vec![device.device as usize])),
            }
        }
        requests
    };
    given.iter().map(of_claim).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn the_search_finds_devices_where_an_enumeration_does(world in world()) {
        match world.search() {
            Some(given) => prop_assert!(world.is_valid(&assignment(&given)), "{given:?}"),
            None => prop_assert!(!world.can_be_served()),
        }
        prop_assert_eq!(world.search(), world.search());
    }
}
