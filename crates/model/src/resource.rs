//! Resources: names, units, and dense exact vectors.
//!
//! A [`ResVec`] has one signed 64-bit integer per interned resource, in stored units. The first
//! three dimensions are always `cpu` (milli-cores), `memory` (bytes) and `pods` (whole), the fourth counts what
//! nobody offers ([`NOBODYS`]); the [`ResourceNames`] of a cluster interns the others once somebody offers them.
//! Single amounts are limited to [`MAX_AMOUNT`] where they enter; a thousand of the largest add up within 64 bits.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Largest amount of one object in stored units: 2⁵³, above which 64-bit floats are not exact.
pub const MAX_AMOUNT: i64 = 1 << 53;

/// Dense index of a resource name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ResIx(pub u16);

/// `cpu`.
pub const CPU: ResIx = ResIx(0);
/// `memory`.
pub const MEMORY: ResIx = ResIx(1);
/// `pods`.
pub const PODS: ResIx = ResIx(2);
/// How many resources are asked that nobody offers: no node, queue or device. Whoever may make a pod may write any
/// name, so such names are no dimensions of their own; none of any is anywhere, so one dimension for all of them
/// decides the same.
pub const NOBODYS: ResIx = ResIx(3);
/// What [`NOBODYS`] is called where amounts of several pods are summed up.
const NOBODYS_NAME: &str = "pumice.sh/offered-by-nobody";
/// So many dimensions are always known.
const FIXED: usize = 4;
/// Amount of [`NOBODYS`] for one resource: as one of an extended resource.
const ONE_NAME: i64 = 1000;

/// How a quantity of a resource is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Quantity × 1000, rounded up.
    Milli,
    /// Quantity, rounded up.
    Whole,
}

/// The unit a resource is stored in, or `None` when the scheduler ignores the name (spec/01 §3.1).
pub fn unit_of(name: &str) -> Option<Unit> {
    match name {
        "cpu" => return Some(Unit::Milli),
        "memory" | "pods" | "ephemeral-storage" => return Some(Unit::Whole),
        _ => {}
    }
    if is_of_device_class(name) {
        Some(Unit::Whole)
    } else if name.starts_with("count/")
        || name.starts_with("requests.")
        || name.starts_with("limits.")
    {
        None
    } else if name.starts_with("hugepages-") {
        Some(Unit::Whole)
    } else if name.starts_with("attachable-volumes-") || name.contains('/') {
        Some(Unit::Milli)
    } else {
        None
    }
}

/// Names of what queues count of claimed devices begin so, or have it after the name of a capacity and a dot.
const DEVICE_CLASS: &str = "deviceclass/";
/// Between the name of a capacity and that of a class.
const OF_DEVICE_CLASS: &str = ".deviceclass/";

/// The resource of which a queue has so much as it has devices of a class (spec/09 §7).
pub fn device_count(class: &str) -> String {
    format!("{DEVICE_CLASS}{class}")
}

/// The resource of which a queue has so much as it has of a capacity of devices of a class.
pub fn device_capacity(capacity: &str, class: &str) -> String {
    format!("{capacity}{OF_DEVICE_CLASS}{class}")
}

/// The class of devices that a resource counts, if it does, and of which capacity, if of one.
pub fn device_class_of(name: &str) -> Option<(Option<&str>, &str)> {
    if let Some(class) = name.strip_prefix(DEVICE_CLASS) {
        return Some((None, class));
    }
    let (front, class) = name.split_once(OF_DEVICE_CLASS)?;
    (!front.is_empty()).then_some((Some(front), class))
}

/// A resource counts devices of a class: no node has any of it.
pub fn is_of_device_class(name: &str) -> bool {
    device_class_of(name).is_some()
}

/// An amount in stored units as Kubernetes writes quantities: `500m`, `2`, `16Gi`, `1500Mi`.
pub fn display_amount(name: &str, amount: i64) -> String {
    AmountUnit::of(name, &[amount]).show(amount)
}

/// The amount that [`display_amount`] wrote; `None` of what it does not write, and of more than an object can have.
pub fn read_amount(name: &str, text: &str) -> Option<i64> {
    unit_of(name)?;
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, suffix) = text.split_at(digits);
    let mut units = units_of(name).iter().chain(&[(1, "")]);
    let (size, _) = units.find(|(_, of)| *of == suffix)?;
    let amount = number.parse::<i64>().ok()?.checked_mul(*size)?;
    (amount <= MAX_AMOUNT).then_some(amount)
}

/// Units of a resource that are written with a suffix of their own, or without one as those of cpu, largest first.
fn units_of(name: &str) -> &'static [(i64, &'static str)] {
    const BYTES: &[(i64, &str)] = &[
        (1 << 50, "Pi"),
        (1 << 40, "Ti"),
        (1 << 30, "Gi"),
        (1 << 20, "Mi"),
        (1 << 10, "Ki"),
    ];
    match unit_of(name) {
        Some(Unit::Milli) => &[(1000, ""), (1, "m")],
        _ if name == "pods" || name.starts_with(DEVICE_CLASS) => &[],
        _ => BYTES,
    }
}

/// The unit in which amounts of a resource stand beside each other in one sentence: the largest of which
/// each of them is a whole number.
#[derive(Clone, Copy, Debug)]
pub struct AmountUnit {
    /// In stored units.
    size: i64,
    suffix: &'static str,
}

impl AmountUnit {
    /// For these amounts in stored units; one without bound has no say.
    pub fn of(name: &str, amounts: &[i64]) -> Self {
        let is_whole = |size: i64| {
            let mut bounded = amounts.iter().filter(|amount| **amount != i64::MAX);
            bounded.all(|amount| amount % size == 0)
        };
        let found = units_of(name).iter().find(|(size, _)| is_whole(*size));
        let (size, suffix) = found.copied().unwrap_or((1, ""));
        Self { size, suffix }
    }

    /// An amount in this unit.
    pub fn show(self, amount: i64) -> String {
        match amount {
            0 => "0".to_owned(),
            _ => format!("{}{}", amount / self.size, self.suffix),
        }
    }
}

/// Interns names of resources that are offered, or were; dense indices are handed out in order of first use.
#[derive(Clone, Debug)]
pub struct ResourceNames {
    names: Vec<String>,
    index: FxHashMap<String, ResIx>,
    by_name: Vec<ResIx>,
    /// By index.
    is_offered: Vec<bool>,
    /// Those of which that has changed.
    turned: Vec<ResIx>,
}

impl Default for ResourceNames {
    fn default() -> Self {
        let mut names = Self {
            names: Vec::new(),
            index: FxHashMap::default(),
            by_name: Vec::new(),
            is_offered: Vec::new(),
            turned: Vec::new(),
        };
        for name in ["cpu", "memory", "pods", NOBODYS_NAME] {
            names.intern(name);
        }
        names.is_offered.fill(true);
        // Somebody may ask for a resource of this very name.
        names.index.remove(NOBODYS_NAME);
        names
    }
}

impl ResourceNames {
    /// Index of `name`, new if it was not known.
    pub fn intern(&mut self, name: &str) -> ResIx {
        if let Some(&ix) = self.index.get(name) {
            return ix;
        }
        // 65,535 names of resources that are offered are beyond any cluster: what is more is offered by nobody.
        let Ok(next) = u16::try_from(self.names.len()) else {
            return NOBODYS;
        };
        let ix = ResIx(next);
        self.names.push(name.to_owned());
        self.is_offered.push(false);
        self.index.insert(name.to_owned(), ix);
        self.by_name.push(ix);
        let names = &self.names;
        self.by_name[FIXED.min(ix.0 as usize)..].sort_by_key(|ix| &names[ix.0 as usize]);
        ix
    }

    /// Index of `name`, if known.
    pub fn get(&self, name: &str) -> Option<ResIx> {
        self.index.get(name).copied()
    }

    /// Name of a dimension.
    pub fn name(&self, ix: ResIx) -> &str {
        &self.names[ix.0 as usize]
    }

    /// Number of dimensions.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Never true: cpu, memory and pods are always known.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Whether somebody offers a resource.
    pub(crate) fn is_offered(&self, ix: ResIx) -> bool {
        self.is_offered[ix.0 as usize]
    }

    fn set_offered(&mut self, ix: ResIx, is_offered: bool) {
        if std::mem::replace(&mut self.is_offered[ix.0 as usize], is_offered) != is_offered {
            self.turned.push(ix);
        }
    }

    /// Takes in who offers what. The resources that are offered since the last time, or no longer.
    pub(crate) fn settle_offers(&mut self, is_offered: impl Fn(ResIx) -> bool) -> Vec<ResIx> {
        for at in FIXED..self.names.len() {
            let ix = ResIx(at as u16);
            self.set_offered(ix, is_offered(ix));
        }
        std::mem::take(&mut self.turned)
    }

    /// Index of `name`, if somebody offers it.
    pub(crate) fn offered(&self, name: &str) -> Option<ResIx> {
        self.get(name).filter(|ix| self.is_offered(*ix))
    }

    /// All dimensions in reporting order: cpu, memory, pods, [`NOBODYS`], then the others by name.
    pub fn in_order(&self) -> &[ResIx] {
        &self.by_name
    }

    /// What is asked as a vector, and of it what nobody offers.
    pub(crate) fn asked<'a>(
        &self,
        amounts: impl Iterator<Item = &'a (String, i64)>,
    ) -> (ResVec, Vec<(String, i64)>) {
        let (mut vector, mut strange) = (ResVec::default(), Vec::new());
        for (name, amount) in amounts {
            match self.offered(name) {
                Some(ix) => vector.set(ix, *amount),
                None if *amount > 0 => strange.push((name.clone(), *amount)),
                None => {}
            }
        }
        strange.sort_unstable();
        vector.set(NOBODYS, ONE_NAME.saturating_mul(strange.len() as i64));
        (vector, strange)
    }

    /// A vector from amounts that are offered.
    pub fn vector(&mut self, amounts: &[(String, i64)]) -> ResVec {
        let mut vector = ResVec::default();
        for (name, amount) in amounts {
            let ix = self.intern(name);
            vector.set(ix, *amount);
            if *amount > 0 {
                self.set_offered(ix, true);
            }
        }
        vector
    }
}

/// Dense amounts by [`ResIx`]; dimensions beyond its length are 0.
#[derive(Clone, Debug, Default)]
pub struct ResVec(SmallVec<[i64; 6]>);

impl ResVec {
    /// Amount of one dimension.
    pub fn get(&self, ix: ResIx) -> i64 {
        self.0.get(ix.0 as usize).copied().unwrap_or(0)
    }

    /// Sets one dimension.
    pub fn set(&mut self, ix: ResIx, amount: i64) {
        let at = ix.0 as usize;
        if at >= self.0.len() {
            if amount == 0 {
                return;
            }
            self.0.resize(at + 1, 0);
        }
        self.0[at] = amount;
    }

    /// Adds to one dimension; wraps beyond 64 bits.
    pub fn shift(&mut self, ix: ResIx, by: i64) {
        self.set(ix, self.get(ix).wrapping_add(by));
    }

    /// Amounts in index order; dimensions beyond the end are 0.
    pub fn as_slice(&self) -> &[i64] {
        &self.0
    }

    /// Dimensions with an amount other than 0.
    pub fn iter(&self) -> impl Iterator<Item = (ResIx, i64)> + '_ {
        self.0
            .iter()
            .enumerate()
            .filter(|(_, amount)| **amount != 0)
            .map(|(at, amount)| (ResIx(at as u16), *amount))
    }

    /// Adds. Wraps beyond 64 bits, so that taking away again is exact.
    pub fn add(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = mine.wrapping_add(*theirs);
        }
    }

    /// Adds, up to the bounds of 64 bits.
    pub fn add_saturating(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = mine.saturating_add(*theirs);
        }
    }

    /// Subtracts; may go negative.
    pub fn sub(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = mine.wrapping_sub(*theirs);
        }
    }

    /// `max(self - other, 0)` per dimension (spec/01 §3.1 `ExceededPart`).
    #[must_use]
    pub fn exceeding(&self, other: &Self) -> Self {
        let mut out = self.clone();
        out.sub(other);
        for amount in &mut out.0 {
            *amount = (*amount).max(0);
        }
        out
    }

    /// The smaller amount of each dimension.
    #[must_use]
    pub fn at_most(&self, other: &Self) -> Self {
        let smaller = |(ix, amount): (ResIx, i64)| (ix, amount.min(other.get(ix)));
        let mut out = Self::default();
        self.iter()
            .map(smaller)
            .for_each(|(ix, amount)| out.set(ix, amount));
        out
    }

    /// Every dimension but `pods` is 0 (spec/01 §3.1 `IsEmpty`): a best-effort request.
    pub fn is_best_effort(&self) -> bool {
        self.iter().all(|(ix, _)| ix == PODS)
    }

    /// Whether every dimension is 0.
    pub fn is_zero(&self) -> bool {
        self.0.iter().all(|amount| *amount == 0)
    }
}

/// Sums of what users ask for and nothing bounds: exact, and read at most at the bounds of 64 bits.
#[derive(Clone, Debug, Default)]
pub struct WideSum(SmallVec<[i128; 3]>);

impl WideSum {
    /// The sum of one dimension, or the nearest number of 64 bits.
    pub fn get(&self, ix: ResIx) -> i64 {
        self.0.get(ix.0 as usize).map_or(0, |sum| clamp(*sum))
    }

    /// All sums, likewise.
    #[must_use]
    pub fn clamped(&self) -> ResVec {
        ResVec(self.0.iter().map(|sum| clamp(*sum)).collect())
    }

    /// Adds amounts (`by` = 1) or takes them away (`by` = −1).
    pub fn shift(&mut self, amounts: &ResVec, by: i32) {
        self.extend(amounts.0.len());
        for (sum, amount) in self.0.iter_mut().zip(&amounts.0) {
            *sum += i128::from(*amount) * i128::from(by);
        }
    }

    /// Adds another sum, or takes it away.
    pub fn shift_sum(&mut self, other: &Self, by: i32) {
        self.extend(other.0.len());
        for (sum, amount) in self.0.iter_mut().zip(&other.0) {
            *sum += amount * i128::from(by);
        }
    }

    /// Adds to one dimension.
    pub fn shift_one(&mut self, ix: ResIx, by: i128) {
        self.extend(ix.0 as usize + 1);
        self.0[ix.0 as usize] += by;
    }

    fn extend(&mut self, dimensions: usize) {
        if self.0.len() < dimensions {
            self.0.resize(dimensions, 0);
        }
    }
}

fn clamp(sum: i128) -> i64 {
    sum.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

impl PartialEq for ResVec {
    fn eq(&self, other: &Self) -> bool {
        let longest = self.0.len().max(other.0.len());
        (0..longest).all(|at| self.get(ResIx(at as u16)) == other.get(ResIx(at as u16)))
    }
}

impl Eq for ResVec {}

impl std::hash::Hash for ResVec {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        for (ix, amount) in self.iter() {
            (ix, amount).hash(state);
        }
    }
}
