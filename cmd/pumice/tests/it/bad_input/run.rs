//! A folder of files and a run of the binary in it.

use std::path::PathBuf;
use std::process::Command;

/// A node with room and a pod that fits: line 1 to 18.
pub const GOOD: &str = "\
apiVersion: v1
kind: Node
metadata:
  name: n1
status:
  allocatable: {cpu: \"4\", memory: 8Gi, pods: \"10\"}
---
apiVersion: v1
kind: Pod
metadata:
  name: good
spec:
  schedulerName: volcano
  containers:
  - name: main
    resources:
      requests: {cpu: \"1\"}
---
";

/// Lines of [`GOOD`]: what follows it begins on the next one.
pub const GOOD_LINES: usize = 18;

/// A folder that is removed at the end.
pub struct Folder(PathBuf);

impl Folder {
    /// A new folder; the name is that of the test.
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("pumice-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    /// Writes a file.
    pub fn with(self, file: &str, content: impl AsRef<[u8]>) -> Self {
        std::fs::write(self.0.join(file), content).expect("a file");
        self
    }

    /// Makes a folder inside.
    pub fn with_folder(self, name: &str) -> Self {
        std::fs::create_dir_all(self.0.join(name)).expect("a folder");
        self
    }

    /// Runs the binary in the folder.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_pumice"));
        let output = command
            .args(arguments)
            .current_dir(&self.0)
            .output()
            .expect("it runs");
        Ran {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).expect("text"),
            err: String::from_utf8(output.stderr).expect("text"),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is left to the system.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What a run left behind.
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// It did its work and said these things about the input.
    pub fn goes_on(self, said: &[&str]) -> Self {
        assert_eq!(self.code, Some(0), "{}", self.err);
        self.says(said)
    }

    /// It gave up because of the input and said why.
    pub fn gives_up(self, said: &[&str]) -> Self {
        assert_eq!(self.code, Some(2), "{}", self.err);
        assert_eq!(self.out, "", "nothing but messages");
        self.says(said)
    }

    fn says(self, said: &[&str]) -> Self {
        for text in said {
            assert!(self.err.contains(text), "no {text:?} in:\n{}", self.err);
        }
        let helps = self.err.matches("= help: ").count();
        let clap = self.err.contains("--help");
        assert!(
            said.is_empty() || helps > 0 || clap,
            "no remedy in:\n{}",
            self.err
        );
        self
    }

    /// Exactly these pods were bound.
    pub fn binds(self, pods: &[&str]) -> Self {
        assert_eq!(self.names("binds", "pod"), pods, "{}", self.out);
        self
    }

    /// Exactly these pods wait.
    pub fn waits(self, pods: &[&str]) -> Self {
        assert_eq!(self.names("pending", "pod"), pods, "{}", self.out);
        self
    }

    /// Number of objects in the report that were set aside.
    pub fn aside(self, count: usize) -> Self {
        let report = self.report();
        let problems = report["problems"].as_array().cloned().unwrap_or_default();
        let aside = problems
            .iter()
            .filter(|problem| problem["setAside"] == true)
            .count();
        assert_eq!(aside, count, "{}", self.err);
        self
    }

    fn names(&self, list: &str, key: &str) -> Vec<String> {
        let report = self.report();
        let lines = report[list].as_array().expect("a list");
        let mut names: Vec<String> = lines
            .iter()
            .map(|line| line[key].as_str().expect("a name").to_owned())
            .collect();
        names.sort();
        names
    }

    /// The report of `--output json`.
    pub fn report(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).expect("a report")
    }
}

/// Simulates [`GOOD`] with something behind it.
pub fn simulate(name: &str, rest: &str) -> Ran {
    let folder = Folder::new(name).with("all.yaml", format!("{GOOD}{rest}"));
    folder.run(&["simulate", "--output", "json", "all.yaml"])
}
