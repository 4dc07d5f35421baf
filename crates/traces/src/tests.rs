//! Small texts of our own in each format.

use crate::machine::read_machines;
use crate::synthetic::{Synthetic, synthetic};
use crate::{TraceFormat, TraceJob, TraceMachine, TraceReading, TraceRole, read_trace};

const OWN: &str = "submit,duration,members,cpu,memory,cards,model,queue,priority,name\n";
const HELIOS: &str = "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue\n";
const ACME: &str = "job_id,user,node_num,gpu_num,cpu_num,mem_per_pod_GB,type,state,submit_time,start_time,end_time,duration,queue\n";
const OPENB: &str = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time\n";

fn reading(text: &str) -> TraceReading {
    read_trace("t", text, None).unwrap_or_else(|problem| panic!("{problem}"))
}

/// The only job of a trace about which nothing is odd.
fn job(text: &str) -> TraceJob {
    let reading = reading(text);
    assert_eq!(reading.problems, [], "{text}");
    assert_eq!(reading.jobs.len(), 1, "{text}");
    reading.jobs[0].clone()
}

/// What is said of a text, each finding as `line: message`.
fn told(text: &str) -> Vec<String> {
    let problems = match read_trace("t", text, None) {
        Ok(reading) => reading.problems,
        Err(problem) => vec![problem],
    };
    assert!(problems.iter().all(|problem| !problem.help.is_empty()));
    problems
        .iter()
        .map(|problem| format!("{}: {}", problem.line, problem.message))
        .collect()
}

#[test]
fn each_format_is_known_by_its_first_line() {
    let swf = "; MaxProcs: 128\n1 0 5 60 4 -1 -1 4 -1 -1 1 1 1 -1 2 -1 -1 -1\n";
    let philly = r#"[{"jobid": "a", "vc": "v", "submitted_time": "2001-02-03 01:11:39", "attempts": [{"start_time": "2001-02-03 01:12:09", "end_time": "2001-02-03 01:13:09", "detail": [{"ip": "m1", "gpus": ["gpu0"]}]}]}]"#;
    let texts = [
        (format!("{OWN}0,60,1,1,1Gi,1,,,,\n"), TraceFormat::Pumice),
        (
            "j,worker,1.0,Terminated,10.0,70.0,600.0,10.0,50.0,T4\n".to_owned(),
            TraceFormat::Alibaba2020,
        ),
        (
            format!("{OPENB}a,1000,1024,1,500,,LS,Running,0,60,0\n"),
            TraceFormat::Alibaba2023,
        ),
        (philly.to_owned(), TraceFormat::Philly),
        (
            format!(
                "{HELIOS}1,u,v,8,16,1,COMPLETED,2002-03-04 18:41:01,2002-03-04 18:41:01,2002-03-04 18:42:01,60,0\n"
            ),
            TraceFormat::Helios,
        ),
        (
            format!(
                "{ACME}1,u,1,8,16,1,Other,COMPLETED,2003-04-05 11:00:58+00:00,2003-04-05 11:01:08+00:00,,60,0\n"
            ),
            TraceFormat::Acme,
        ),
        (swf.to_owned(), TraceFormat::Swf),
    ];
    for (text, format) in texts {
        assert_eq!(reading(&text).format, format, "{text}");
        assert_eq!(job(&text).lasts_s, Some(60), "{text}");
        assert_eq!(TraceFormat::by_name(format.name()), Some(format));
    }
}

#[test]
fn our_own_format_has_amounts_as_kubernetes_writes_them() {
    let read = job(&format!(
        "# a note\n{OWN}1970-01-01T00:01:00Z,59.5,4,500m,1Gi,0.25,A100|H100,q,-3,\"a, b\"\n"
    ));
    let role = TraceRole {
        members: 4,
        cpu_milli: 500,
        memory_bytes: 1 << 30,
        cards_milli: 250,
        models: vec!["A100".to_owned(), "H100".to_owned()],
        is_processors: false,
    };
    let expected = TraceJob {
        name: "a, b".to_owned(),
        submit_s: 60,
        lasts_s: Some(60),
        limit_s: None,
        roles: vec![role],
        user: String::new(),
        queue: "q".to_owned(),
        priority: -3,
    };
    assert_eq!(read, expected);
}

#[test]
fn how_long_users_allowed_a_job_is_read_where_a_trace_tells_it() {
    let swf = |asked: &str| format!("1 0 5 60 4 -1 -1 4 {asked} -1 1 1 1 -1 2 -1 -1 -1\n");
    let own = |limit: &str| format!("submit,duration,cards,limit\n0,60,1,{limit}\n");
    let told = |text: &str| job(text).limit_s;
    assert_eq!(
        (told(&swf("7200")), told(&own("3600"))),
        (Some(7200), Some(3600))
    );
    assert_eq!((told(&swf("-1")), told(&own(""))), (None, None));
    assert_eq!((told(&swf("0")), told(&own("0"))), (None, None));
}

#[test]
fn whose_a_job_is_is_read_where_a_trace_tells_it() {
    let swf = |user: &str| format!("1 0 5 60 4 -1 -1 4 60 -1 1 {user} 1 -1 2 -1 -1 -1\n");
    let own = |user: &str| format!("submit,duration,cards,user\n0,60,1,{user}\n");
    let user = |text: &str| job(text).user;
    assert_eq!(
        (user(&swf("7")), user(&own("ada"))),
        ("user-7".to_owned(), "ada".to_owned())
    );
    assert_eq!(
        (user(&swf("-1")), user(&own(""))),
        (String::new(), String::new())
    );
    let helios =
        "1,u,v,10,32,4,FAILED,2002-03-04 18:41:01,2002-03-04 18:41:11,2002-03-04 18:45:36,249,10\n";
    assert_eq!(user(&format!("{HELIOS}{helios}")), "u");
    let long = own(&"a".repeat(129)) + "0,60,1,ada\n";
    assert_eq!(
        told(&long),
        ["2: the row is left out: the name of its user has 129 bytes, more than 128"]
    );
}

#[test]
fn tasks_of_a_job_are_its_roles() {
    let text = "j,ps,1.0,Terminated,100.0,200.0,600.0,30.5,,\n\
                j,worker,2.0,Terminated,90.0,300.0,400.0,10.0,150.0,T4\n";
    let read = job(text);
    assert_eq!((read.submit_s, read.lasts_s), (90, Some(210)));
    let amounts: Vec<(u32, i64, i64)> = read
        .roles
        .iter()
        .map(|role| (role.members, role.cpu_milli, role.cards_milli))
        .collect();
    assert_eq!(amounts, [(1, 6000, 0), (2, 4000, 2000)]);
    assert_eq!(read.roles[0].memory_bytes, 32_749_125_632);
}

#[test]
fn a_pod_lasts_from_when_it_was_scheduled() {
    let read = job(&format!(
        "{OPENB}a,12000,16384,1,460,big|small,LS,Running,100,400,150\n"
    ));
    assert_eq!((read.submit_s, read.lasts_s), (100, Some(250)));
    assert_eq!(read.roles[0].cards_milli, 460);
    assert_eq!(read.roles[0].models, ["big", "small"]);
    let several = job(&format!(
        "{OPENB}a,12000,16384,8,1000,nan,LS,Running,100,400,\n"
    ));
    assert_eq!(
        (several.roles[0].cards_milli, several.lasts_s),
        (8000, Some(300))
    );
    assert_eq!(several.roles[0].models, Vec::<String>::new());
}

#[test]
fn cards_of_a_job_over_nodes_are_spread_evenly() {
    let read = job(&format!(
        "{HELIOS}1,u,v,10,32,4,FAILED,2002-03-04 18:41:01,2002-03-04 18:41:11,2002-03-04 18:45:36,249,10\n"
    ));
    let amounts: Vec<(u32, i64)> = read
        .roles
        .iter()
        .map(|role| (role.members, role.cards_milli))
        .collect();
    assert_eq!(amounts, [(2, 3000), (2, 2000)]);
    assert_eq!(
        (read.queue.as_str(), read.lasts_s, read.roles[0].cpu_milli),
        ("v", Some(249), 8000)
    );
    let acme = job(&format!(
        "{ACME}1,u9,2,16,64,1000,Other,FAILED,2003-04-05 11:00:58+08:00,,,18,10.0\n"
    ));
    assert_eq!((acme.queue.as_str(), acme.submit_s), ("u9", 1_049_511_658));
    assert_eq!(acme.roles[0].memory_bytes, 1_000_000_000_000);
}

#[test]
fn attempts_of_a_job_add_up() {
    let text = r#"[
{"jobid": "a", "vc": "v", "user": "u", "status": "Pass", "submitted_time": "2001-02-03 01:11:39", "attempts": [
  {"start_time": "2001-02-03 01:12:00", "end_time": "2001-02-03 01:13:00", "detail": [{"ip": "m1", "gpus": ["gpu0"]}]},
  {"start_time": "None", "end_time": "2001-02-03 01:13:10", "detail": []},
  {"start_time": "2001-02-03 01:14:00", "end_time": "2001-02-03 01:14:30", "detail": [
    {"ip": "m1", "gpus": ["gpu0", "gpu1"]}, {"ip": "m2", "gpus": ["gpu0", "gpu1"]}, {"ip": "m3", "gpus": ["gpu0"]}]}]},
{"jobid": "b", "submitted_time": "2001-02-03 01:11:40", "attempts": []},
{"jobid": "c", "submitted_time": "2001-02-03 01:11:41", "attempts": [{"start_time": "2001-02-03 01:12:00", "end_time": null, "detail": [{"gpus": ["gpu0"]}]}]}
]"#;
    let reading = reading(text);
    let first = &reading.jobs[0];
    let amounts: Vec<(u32, i64)> = first
        .roles
        .iter()
        .map(|role| (role.members, role.cards_milli))
        .collect();
    assert_eq!(
        (first.lasts_s, amounts),
        (Some(90), vec![(2, 2000), (1, 1000)])
    );
    assert_eq!(first.user, "u");
    assert_eq!(reading.jobs[1].lasts_s, None);
    assert_eq!(
        told(text),
        [
            "7: the row is left out: it was never tried, so its size is not known",
            "0: 1 job has no end: such keep what they have got until the end of the run",
        ]
    );
}

#[test]
fn processors_may_share_a_pod() {
    let read = job("7 10 5 60 64 -1 -1 128 -1 1024 1 1 1 -1 2 -1 -1 -1\n");
    let role = &read.roles[0];
    assert!(role.is_processors);
    assert_eq!(
        (role.members, role.cpu_milli, role.memory_bytes),
        (128, 1000, 1 << 20)
    );
    assert_eq!((read.queue.as_str(), read.submit_s), ("queue-2", 10));
}

#[test]
fn what_is_wrong_with_a_row_is_told_with_its_line_and_the_rest_counts() {
    let wrong = [
        (
            "10,many,1,1,,,,,,",
            "duration is \"many\", and has to be a number that is not below 0",
        ),
        (
            "10,-5,1,1,,,,,,",
            "duration is \"-5\", and has to be a number that is not below 0",
        ),
        ("soon,60,1,1,,,,,,", "submit is \"soon\", which is no time"),
        (",60,1,1,,,,,,", "submit is missing"),
        ("10,60,0,1,,,,,,", "the job has no pods"),
        (
            "10,60,1.5,1,,,,,,",
            "members is 1.5, and has to be a whole number",
        ),
        (
            "10,60,4000000000000,1,,,,,,",
            "the job has 4294967295 pods, more than 20000",
        ),
        ("10,60,1,lots,,,,,,", "cpu is \"lots\", which is no amount"),
        (
            "10,60,1,1,,1.5,,,,",
            "cards is 1.5: more than one card, and not whole ones",
        ),
        ("10,60,1,,,,,,,", "the job asks for nothing"),
        (
            "10,60,1,1,,,,,high,",
            "priority is \"high\", which is no whole number",
        ),
        ("10,60,1", "3 values, and there are 10 columns"),
    ];
    for (row, message) in wrong {
        let text = format!("{OWN}0,60,1,1,,,,,,\n{row}\n20,60,1,1,,,,,,\n");
        assert_eq!(
            told(&text),
            [format!("3: the row is left out: {message}")],
            "{row}"
        );
        assert_eq!(reading(&text).jobs.len(), 2, "{row}");
    }
}

#[test]
fn times_that_run_backwards_leave_a_row_out() {
    let texts = [
        (
            format!("{OPENB}a,1000,1024,1,500,,LS,Running,100,50,100\n"),
            "time runs backwards: deletion_time is 50 s before scheduled_time",
        ),
        (
            format!("{OPENB}a,1000,1024,1,500,,LS,Running,100,500,50\n"),
            "time runs backwards: scheduled_time is 50 s before creation_time",
        ),
        (
            format!("{OPENB}a,1000,1024,1,1500,,LS,Running,100,500,\n"),
            "gpu_milli 1500 is more than a GPU",
        ),
        (
            "j,w,1.0,Failed,100.0,50.0,600.0,1.0,,T4\n".to_owned(),
            "time runs backwards: end_time is 50 s before start_time",
        ),
        (
            format!(
                "{HELIOS}1,u,v,8,16,1,FAILED,2002-03-04 18:41:01,2002-03-04 18:41:01,2002-03-04 18:41:00,60,0\n"
            ),
            "time runs backwards: end_time is 1 s before start_time",
        ),
    ];
    for (text, message) in texts {
        let told = told(&text);
        assert!(told[0].contains(message), "{told:?}");
        assert!(told[0].contains("no job can be read of 1 rows"), "{told:?}");
    }
    let swf = told("1 0 5 -1 4 -1 -1 4 -1 -1 1 1 1 -1 2 -1 -1 -1\n");
    assert!(swf[0].contains("its run time is not known"), "{swf:?}");
}

#[test]
fn rows_that_come_too_early_are_sorted_and_told() {
    let text = format!("{OWN}50,60,1,1,,,,,,a\n10,60,1,1,,,,,,b\n50,60,1,1,,,,,,c\n");
    let names: Vec<String> = reading(&text)
        .jobs
        .into_iter()
        .map(|job| job.name)
        .collect();
    assert_eq!(names, ["b", "a", "c"]);
    assert_eq!(
        told(&text),
        ["3: 1 rows are earlier than one before them, this is the first: jobs come by their time"]
    );
}

#[test]
fn a_long_time_without_a_job_is_told() {
    let text = format!("{OWN}0,60,1,1,,,,,,\n3600,60,1,1,,,,,,\n90000,60,1,1,,,,,,\n");
    assert_eq!(
        told(&text),
        ["0: a gap: nothing was submitted for 24.0 h, from 1.0 h after the first job on"]
    );
    let short = format!("{OWN}0,60,1,1,,,,,,\n3600,60,1,1,,,,,,\n");
    assert_eq!(told(&short), Vec::<String>::new());
}

#[test]
fn of_many_rows_that_are_left_out_the_first_are_told() {
    let rows = "x,60,1,1,,,,,,\n".repeat(15);
    let told = told(&format!("{OWN}0,60,1,1,,,,,,\n{rows}"));
    assert_eq!(told.len(), 11);
    assert_eq!(told[10], "0: 5 more rows are left out");
}

#[test]
fn a_text_that_is_no_trace_is_refused_with_what_would_be_one() {
    assert_eq!(told(""), ["0: the trace is empty"]);
    assert_eq!(told("# nothing but words\n\n"), ["0: the trace is empty"]);
    let unknown = told("a,b,c\n1,2,3\n");
    assert_eq!(
        unknown,
        ["1: this is no trace that is known; it begins with \"a,b,c\""]
    );
    let problem = read_trace("t", "a,b,c\n", None).expect_err("unknown");
    assert!(
        TraceFormat::ALL
            .iter()
            .all(|(_, name)| problem.help.contains(name)),
        "{problem}"
    );
    let forced = read_trace("t", "a,b,c\n", Some(TraceFormat::Helios)).expect_err("no column");
    assert_eq!(
        forced.message,
        "there is no column `gpu_num`; there are a, b, c"
    );
    let json = told("[{\"jobid\": 1");
    assert!(
        json[0].starts_with("1: this is no JSON list of jobs"),
        "{json:?}"
    );
    let column = told("submit,duration\n").remove(0);
    assert!(column.contains("no job can be read of 0 rows"), "{column}");
}

#[test]
fn lists_of_nodes_are_read_as_they_are_published() {
    let read = |text: &str| read_machines("n", text).unwrap_or_else(|problem| panic!("{problem}"));
    let machine = |name: &str, cpu, memory, cards, model: &str| TraceMachine {
        name: name.to_owned(),
        cpu_milli: cpu,
        memory_bytes: memory,
        cards,
        model: model.to_owned(),
    };
    assert_eq!(
        read("sn,cpu_milli,memory_mib,gpu,model\none,96000,1024,8,small\n"),
        [machine("one", Some(96_000), Some(1 << 30), 8, "small")]
    );
    assert_eq!(
        read("m1,CPU,96,1,0\n"),
        [machine("m1", Some(96_000), Some(1 << 30), 0, "")]
    );
    assert_eq!(
        read("machineId,number of GPUs, single GPU mem\nm31,8, 24GB\n"),
        [machine("m31", None, None, 8, "24GB")]
    );
    let own = read("name,cpu,memory,cards,model,count\nbig,96,1Gi,8,H100,2\n");
    assert_eq!(
        own[1],
        machine("big-1", Some(96_000), Some(1 << 30), 8, "H100")
    );
    assert_eq!(
        TraceMachine::shaped("cpu=96,memory=1Gi,cards=8,model=H100"),
        Ok(TraceMachine {
            name: String::new(),
            ..own[0].clone()
        })
    );
}

#[test]
fn a_list_of_nodes_with_a_fault_is_refused_with_its_line() {
    let said = |text: &str| {
        let problem = read_machines("n", text).expect_err("a fault");
        format!("{}: {}", problem.line, problem.message)
    };
    assert_eq!(said(""), "0: there are no nodes");
    assert_eq!(
        said("name,cpu,memory,cards,model,count\n"),
        "0: there are no nodes"
    );
    assert_eq!(
        said("sn,cpu_milli,memory_mib,gpu,model\none,many,1,8,V\n"),
        "2: cpu_milli is \"many\", and has to be a number that is not below 0"
    );
    assert_eq!(
        said("name,cpu,memory,cards,model,count\nbig,96,1Gi,8,H100,9999999\n"),
        "2: count is 9999999, more than 100000"
    );
    assert_eq!(
        TraceMachine::shaped("cpu:96"),
        Err("\"cpu:96\" is not of the form key=amount".to_owned())
    );
    assert_eq!(
        TraceMachine::shaped("gpus=8"),
        Err("\"gpus\" is none of cpu, memory, cards, model".to_owned())
    );
}

#[test]
fn a_made_up_trace_is_the_same_for_the_same_seed_and_reads_without_a_fault() {
    let what = Synthetic {
        jobs: 500,
        cards: 800,
        load_percent: 90,
        queues: 4,
        seed: 7,
    };
    let text = synthetic(&what);
    assert_eq!(text, synthetic(&what));
    assert_ne!(text, synthetic(&Synthetic { seed: 8, ..what }));
    let reading = reading(&text);
    assert_eq!((reading.jobs.len(), reading.left_out), (500, 0));
    assert!(reading.jobs.iter().any(|job| job.members() > 1));
}
