//! All ways in which a node may not fit, in one list (spec/04 §7.3, R8, R14).

use std::sync::Arc;

use crate::ledger::{FamilyCode, NodeCards};
use crate::nvidia::vgpu::check::{CHECKS, Check};
use crate::nvidia::vgpu::config::VgpuConfig;
use crate::nvidia::vgpu::register::REGISTER;
use crate::nvidia::vgpu::sharing::{MODES, SharingMode};
use crate::request::Failure;

/// Why a node has no cards: what [`crate::NodeCards::absent`] means for this family. The first is the
/// default, so that a node without cards stores nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoVgpuCards {
    /// No register annotation.
    NotRegistered,
    /// The family is off.
    Off,
    /// Nothing in the annotation can be decoded.
    Unreadable,
    /// The node has none of the count resource to give.
    NothingAllocatable,
}

impl NoVgpuCards {
    const ALL: [Self; 4] = [
        Self::NotRegistered,
        Self::Off,
        Self::Unreadable,
        Self::NothingAllocatable,
    ];

    /// As the ledger keeps it.
    pub const fn code(self) -> FamilyCode {
        FamilyCode::new(self as u16)
    }

    /// Why this node has none.
    pub fn of(cards: &NodeCards) -> Self {
        let code = usize::from(cards.absent.get());
        let known = Self::ALL.get(code).copied();
        known.unwrap_or(Self::NotRegistered)
    }
}

const COUNT: u8 = 4;
const UUID: u8 = 5;
/// One per set of modes, as bits.
const MODE: u8 = 6;
/// One per check, evictions do not help.
const NEVER: u8 = MODE + (1 << MODES);
/// One per check, evictions help.
const LATER: u8 = NEVER + CHECKS.len() as u8;

/// Why a node does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The node has no cards, by reason.
    Absent(NoVgpuCards),
    /// The node has fewer cards than one container wants.
    Count,
    /// No card has an allowed UUID.
    Uuid,
    /// No card has the mode; modes it has, as bits.
    Mode(u8),
    /// Too few cards pass this check. Whether evictions could help.
    Cards(Check, bool),
}

impl Stop {
    /// Index into the list.
    pub fn index(self) -> u8 {
        match self {
            Self::Absent(reason) => reason as u8,
            Self::Count => COUNT,
            Self::Uuid => UUID,
            Self::Mode(modes) => MODE + (modes & ((1 << MODES) - 1)),
            Self::Cards(check, false) => NEVER + check as u8,
            Self::Cards(check, true) => LATER + check as u8,
        }
    }
}

/// The lists that pods share: without a mode, then by mode.
pub fn lists(config: &VgpuConfig) -> [Arc<[Failure]>; MODES + 1] {
    let of = |mode| list(config, mode).into();
    let [hami_core, mps, mig] = SharingMode::ALL.map(|mode| of(Some(mode)));
    [of(None), hami_core, mps, mig]
}

fn list(config: &VgpuConfig, mode: Option<SharingMode>) -> Vec<Failure> {
    let mut texts = vec![
        format!("node has no annotation {REGISTER}: run volcano-vgpu-device-plugin on it"),
        "vGPU is off: set deviceshare.VGPUEnable: true".to_owned(),
        format!("node annotation {REGISTER} has no readable card: restart its device plugin"),
        format!(
            "node has no {} allocatable: is its device plugin running?",
            config.nvidia.count_name
        ),
        "no enough gpu cards".to_owned(),
        // Which ones is told with the nearest miss: reasons of nodes are few and shared.
        "no GPU matches UUID constraints".to_owned(),
    ];
    texts.extend((0..1 << MODES).map(|modes| mode_text(mode, modes)));
    texts.extend(CHECKS.map(text));
    let fixed = texts.into_iter().map(|text| (text, false));
    let passing = CHECKS.map(|check| (text(check), true));
    let failure = |(text, evictions_help)| Failure {
        text,
        evictions_help,
    };
    fixed.chain(passing).map(failure).collect()
}

fn mode_text(mode: Option<SharingMode>, modes: u8) -> String {
    let names = SharingMode::ALL
        .into_iter()
        .filter(|of| modes & (1 << of.at()) != 0);
    let names: Vec<&str> = names.map(SharingMode::name).collect();
    format!(
        "pod required sharing mode {} is not the same as the node mode {}",
        mode.map_or("any", SharingMode::name),
        names.join(", ")
    )
}

fn text(check: Check) -> String {
    let why = match check {
        Check::Usable => "unhealthy or without geometry",
        Check::Mode => "too few of one sharing mode",
        Check::Index => "volcano.sh/gpu-index",
        Check::Uuid => "UUID lists",
        Check::Type => "type lists",
        Check::Size => "more memory than a card has",
        Check::Slots => "slots",
        Check::Group => "group spread",
        Check::Rule => "exclusivity rule",
        Check::Memory => "memory",
        Check::Cores => "cores",
        Check::Exclusive => "100 cores need an idle card",
        Check::Held => "held exclusively",
        Check::Instance => "no free MIG instance",
    };
    format!("not enough gpu fitted on this node ({why})")
}
