//! Templates of vNPUs of an Ascend 310P, and which of them a pod gets (spec/05 §2.6, §2.7).

use crate::ledger::{Dimension, Portion};

/// What is counted of a chip, in the order of [`Part`].
pub const DIMENSIONS: &[Dimension] = &[
    Dimension {
        name: "cores",
        is_physical: true,
    },
    Dimension {
        name: "AI CPUs",
        is_physical: true,
    },
    Dimension {
        name: "DVPP",
        is_physical: false,
    },
];

/// AI CPUs of a chip, whatever its number of AI cores is.
pub const AI_CPUS: i64 = 7;

/// A part of a chip, or all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// AI cores.
    pub cores: i64,
    /// AI CPUs.
    pub ai_cpus: i64,
    /// Units of the media processor (DVPP). A chip has as many as AI CPUs. Who needs it for himself
    /// takes all of them, who does not care takes one, and who does without takes none: since every
    /// vNPU takes an AI CPU, there is one for everybody as long as nobody has them all.
    pub dvpp: i64,
}

impl Part {
    /// What a row of a ledger says.
    #[inline]
    pub fn of(row: &[i64]) -> Self {
        match *row {
            [cores, ai_cpus, dvpp] => Self {
                cores,
                ai_cpus,
                dvpp,
            },
            _ => Self::default(),
        }
    }

    /// A whole chip.
    pub fn whole(cores: i64) -> Self {
        Self {
            cores,
            ai_cpus: AI_CPUS,
            dvpp: AI_CPUS,
        }
    }

    /// As a row of a ledger.
    pub fn row(self) -> [i64; 3] {
        [self.cores, self.ai_cpus, self.dvpp]
    }

    /// As what an allocation asks or is charged.
    pub fn portion(self) -> Portion {
        self.row().into()
    }
}

/// What a pod says of the media processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dvpp {
    /// It needs it.
    Yes,
    /// It does without.
    No,
    /// It does not care.
    #[default]
    Null,
}

/// A template of vNPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum VnpuTemplate {
    /// `vir01`.
    Vir01,
    /// `vir02`.
    Vir02,
    /// `vir02_1c`: as `vir02` with one AI CPU.
    Vir02OneCpu,
    /// `vir04`.
    Vir04,
    /// `vir04_3c`: as `vir04` with three AI CPUs.
    Vir04ThreeCpus,
    /// `vir04_3c_ndvpp`: without media processor.
    Vir04NoDvpp,
    /// `vir04_4c_dvpp`: with all of the media processor.
    Vir04Dvpp,
}

impl VnpuTemplate {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Vir01,
        Self::Vir02,
        Self::Vir02OneCpu,
        Self::Vir04,
        Self::Vir04ThreeCpus,
        Self::Vir04NoDvpp,
        Self::Vir04Dvpp,
    ];

    /// The template of so many AI cores; `None` if there is none, or none of that kind.
    pub fn select(cores: i64, dvpp: Dvpp, is_high: bool) -> Option<Self> {
        Some(match (cores, dvpp, is_high) {
            (1, Dvpp::Null, _) => Self::Vir01,
            (2, Dvpp::Null, false) => Self::Vir02OneCpu,
            (2, Dvpp::Null, true) => Self::Vir02,
            (4, Dvpp::Yes, _) => Self::Vir04Dvpp,
            (4, Dvpp::No, _) => Self::Vir04NoDvpp,
            (4, Dvpp::Null, false) => Self::Vir04ThreeCpus,
            (4, Dvpp::Null, true) => Self::Vir04,
            _ => return None,
        })
    }

    /// What a pod gets instead where this does not fit: as many AI cores with fewer AI CPUs.
    pub fn downgrade(self) -> Option<Self> {
        match self {
            Self::Vir02 => Some(Self::Vir02OneCpu),
            Self::Vir04 => Some(Self::Vir04ThreeCpus),
            _ => None,
        }
    }

    /// There are other templates with as many AI cores.
    pub fn has_others_of_its_cores(self) -> bool {
        let cores = self.part().cores;
        let mut others = Self::ALL.into_iter().filter(|other| *other != self);
        others.any(|other| other.part().cores == cores)
    }

    /// The template with a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }

    /// The template with a number ([`VnpuTemplate::code`]).
    pub fn coded(code: u16) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// Number of the template among all of them, as the ledger keeps it.
    pub fn code(self) -> u16 {
        self as u16
    }

    /// Name of the template, as the device plugin knows it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Vir01 => "vir01",
            Self::Vir02 => "vir02",
            Self::Vir02OneCpu => "vir02_1c",
            Self::Vir04 => "vir04",
            Self::Vir04ThreeCpus => "vir04_3c",
            Self::Vir04NoDvpp => "vir04_3c_ndvpp",
            Self::Vir04Dvpp => "vir04_4c_dvpp",
        }
    }

    /// What it takes of a chip.
    pub fn part(self) -> Part {
        let (cores, ai_cpus, dvpp) = match self {
            Self::Vir01 => (1, 1, 1),
            Self::Vir02 => (2, 2, 1),
            Self::Vir02OneCpu => (2, 1, 1),
            Self::Vir04 => (4, 4, 1),
            Self::Vir04ThreeCpus => (4, 3, 1),
            Self::Vir04NoDvpp => (4, 3, 0),
            Self::Vir04Dvpp => (4, 4, AI_CPUS),
        };
        Part {
            cores,
            ai_cpus,
            dvpp,
        }
    }
}
