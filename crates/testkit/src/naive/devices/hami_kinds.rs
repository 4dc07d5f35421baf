//! Types of chips that HAMi hands out, by the rules alone (spec/05 §3.1).

/// A type of chips, as the device configuration of HAMi has it.
pub struct Kind {
    pub name: &'static str,
    /// MiB that are given out, and that there are.
    pub memory: i64,
    pub capacity: i64,
    pub cores: i64,
    /// AI CPUs; 0 where they are not told.
    pub cpus: i64,
    /// Name, MiB, AI cores, AI CPUs; smallest first.
    pub templates: &'static [(&'static str, i64, i64, i64)],
}

const fn kind(
    name: &'static str,
    (memory, capacity): (i64, i64),
    (cores, cpus): (i64, i64),
    templates: &'static [(&'static str, i64, i64, i64)],
) -> Kind {
    Kind {
        name,
        memory,
        capacity,
        cores,
        cpus,
        templates,
    }
}

/// All of them (spec/05 §3.1).
pub const KINDS: [Kind; 6] = [
    kind(
        "Ascend310P",
        (21_527, 24_576),
        (8, 7),
        &[
            ("vir01", 3072, 1, 1),
            ("vir02", 6144, 2, 2),
            ("vir04", 12_288, 4, 4),
        ],
    ),
    kind(
        "Ascend910A",
        (32_768, 32_768),
        (30, 0),
        &[
            ("vir02", 2184, 2, 0),
            ("vir04", 4369, 4, 0),
            ("vir08", 8738, 8, 0),
            ("vir16", 17_476, 16, 0),
        ],
    ),
    kind(
        "Ascend910B2",
        (65_536, 65_536),
        (24, 6),
        &[
            ("vir03_1c_8g", 8192, 3, 1),
            ("vir06_1c_16g", 16_384, 6, 1),
            ("vir12_3c_32g", 32_768, 12, 3),
        ],
    ),
    kind(
        "Ascend910B3",
        (65_536, 65_536),
        (20, 7),
        &[
            ("vir05_1c_16g", 16_384, 5, 1),
            ("vir10_3c_32g", 32_768, 10, 3),
        ],
    ),
    kind(
        "Ascend910B4",
        (32_768, 32_768),
        (20, 7),
        &[("vir05_1c_8g", 8192, 5, 1), ("vir10_3c_16g", 16_384, 10, 3)],
    ),
    kind(
        "Ascend910B4-1",
        (65_536, 65_536),
        (20, 7),
        &[
            ("vir05_1c_16g", 16_384, 5, 1),
            ("vir10_3c_32g", 32_768, 10, 3),
        ],
    ),
];

impl Kind {
    /// The template of just that memory: name, AI cores, AI CPUs.
    pub fn template(&self, memory: i64) -> Option<(&'static str, i64, i64)> {
        let mut templates = self.templates.iter();
        let found = templates.find(|(_, of, ..)| *of == memory);
        found.map(|(name, _, cores, cpus)| (*name, *cores, *cpus))
    }

    /// The smallest template that is large enough, else the whole chip.
    pub fn round_up(&self, memory: i64) -> i64 {
        let mut templates = self.templates.iter();
        let found = templates.find(|(_, of, ..)| *of >= memory);
        found.map_or(self.memory, |(_, of, ..)| *of)
    }
}
