//! The page for people.

use std::fmt;

use super::view::{DiagView, TimesRow};

struct TimesTable<'a>(&'a str, &'a [TimesRow]);

impl fmt::Display for TimesTable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(title, rows) = self;
        let (count, seconds, share) = ("COUNT", "SECONDS", "SHARE");
        let (last, mean, longest) = ("LAST ms", "MEAN ms", "LONGEST ms");
        writeln!(
            f,
            "\n{title:<28} {count:>10} {seconds:>11} {share:>7} {last:>10} {mean:>10} {longest:>11}"
        )?;
        for row in *rows {
            writeln!(
                f,
                "{:<28} {:>10} {:>11.3} {:>6.1}% {:>10.3} {:>10.3} {:>11.3}",
                row.name,
                row.count,
                row.seconds,
                row.percent,
                row.last_ms,
                row.mean_ms,
                row.longest_ms
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for DiagView {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            since,
            seconds,
            counts,
            now,
            ..
        } = self;
        writeln!(f, "deciding thread since {since} ({seconds:.1} s)")?;
        write!(f, "{}", TimesTable("THREAD", &self.thread))?;
        write!(f, "{}", TimesTable("CYCLES (part of steps)", &self.cycles))?;
        write!(f, "{}", TimesTable("PARTS OF CYCLES", &self.parts))?;
        write!(f, "{}", TimesTable("PLUGINS (part of open)", &self.plugins))?;
        let rows = [
            ("changes taken in", counts.changes),
            ("jobs tried", counts.jobs_tried),
            ("jobs missed asleep", counts.jobs_missed),
            ("jobs admitted", counts.jobs_admitted),
            ("pods placed", counts.binds),
            ("pods evicted", counts.evictions),
            ("cycles cut short", counts.cycles_cut_short),
            ("selector steps", now.selector_steps),
        ];
        writeln!(f, "\nCOUNTS")?;
        for (name, count) in rows {
            writeln!(f, "{name:<28} {count:>10}")?;
        }
        let rows = [
            ("nodes", now.nodes),
            ("pods", now.pods),
            ("jobs", now.jobs),
            ("jobs asleep", now.jobs_asleep),
            ("Bindings under way", now.bindings),
            ("selectors to be asked", now.selectors_pending),
        ];
        writeln!(f, "\nNOW")?;
        for (name, count) in rows {
            writeln!(f, "{name:<28} {count:>10}")?;
        }
        writeln!(
            f,
            "\n{:<40} {:>14} {:>7}",
            "WORK OF NAMESPACES", "LOOKS", "SHARE"
        )?;
        for told in &self.namespaces {
            let (namespace, work) = (&told.namespace, told.work);
            writeln!(f, "{namespace:<40} {work:>14} {:>6.1}%", told.percent)?;
        }
        Ok(())
    }
}
