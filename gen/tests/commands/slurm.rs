//! A sweep on a real Slurm: one controller and two nodes on this machine, reachable from this machine only.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use snapbox::cmd::cargo_bin;

use crate::support::cluster_command;
use sim::process::Tool;

/// Daemons that end with the test.
struct Cluster {
    folder: tempfile::TempDir,
}

impl Cluster {
    fn start() -> Self {
        let cluster = Self { folder: tempfile::tempdir().unwrap() };
        // Slurm's nodes and munge look at who can write above their files.
        fs::set_permissions(cluster.path(""), fs::Permissions::from_mode(0o755)).unwrap();
        for folder in ["munge", "state", "spool-n1", "spool-n2"] {
            fs::create_dir(cluster.path(folder)).unwrap();
        }
        let key = cluster.path("munge/key");
        fs::write(&key, [0x5a; 128]).unwrap();
        fs::set_permissions(&key, fs::Permissions::from_mode(0o400)).unwrap();
        fs::write(cluster.path("slurm.conf"), cluster.configuration()).unwrap();
        let option = |name: &str, file: &str| format!("--{name}={}", cluster.path(file).display());
        cluster.daemon(
            Tool::new("/usr/sbin/munged")
                .arg("--force")
                .arg(option("key-file", "munge/key"))
                .arg(option("socket", "munge/socket"))
                .arg(option("pid-file", "munge.pid"))
                .arg(option("log-file", "munge/log"))
                .arg(option("seed-file", "munge/seed")),
        );
        cluster.daemon(Tool::new("/usr/sbin/slurmctld").arg("-c"));
        for node in ["n1", "n2"] {
            cluster.daemon(Tool::new("/usr/sbin/slurmd").args(["-N", node]));
        }
        let start = Instant::now();
        while cluster.idle_nodes() < 2 {
            assert!(start.elapsed() < Duration::from_secs(60), "the nodes do not come up:\n{}", cluster.logs());
            std::thread::sleep(Duration::from_millis(200));
        }
        cluster
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn configuration(&self) -> String {
        let host = Tool::new("hostname").arg("-s").run().unwrap().stdout.trim().to_owned();
        let path = |name: &str| self.path(name).display().to_string();
        let ports: Vec<_> = (0..3).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let ports: Vec<_> = ports.iter().map(|l| l.local_addr().unwrap().port()).collect();
        format!(
            "ClusterName=test\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\nSlurmUser=root\nAuthType=auth/munge\n\
             AuthInfo=socket={}\nCryptoType=crypto/munge\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n\
             SwitchType=switch/none\nMpiDefault=none\nReturnToService=2\nMaxArraySize=6\nSchedulerType=sched/backfill\n\
             SchedulerParameters=defer,batch_sched_delay=0,sched_interval=1,bf_interval=1\n\
             SelectType=select/linear\nJobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\n\
             StateSaveLocation={}\nSlurmdSpoolDir={}-%n\nSlurmctldPidFile={}\nSlurmdPidFile={}-%n.pid\n\
             SlurmctldLogFile={}\nSlurmdLogFile={}-%n.log\n\
             NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={} CPUs=1 State=UNKNOWN\n\
             NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={} CPUs=1 State=UNKNOWN\n\
             PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP\n",
            ports[0],
            path("munge/socket"),
            path("state"),
            path("spool"),
            path("slurmctld.pid"),
            path("slurmd"),
            path("slurmctld.log"),
            path("slurmd"),
            ports[1],
            ports[2],
        )
    }

    /// Starts a program that puts itself into the background.
    fn daemon(&self, tool: Tool) {
        let tool = tool.env("SLURM_CONF", self.path("slurm.conf"));
        let output = tool.run().unwrap();
        assert!(output.success(), "{}: {}", tool.command_line(), output.log());
    }

    fn idle_nodes(&self) -> usize {
        let output =
            Tool::new("sinfo").args(["-h", "-N", "-o", "%T"]).env("SLURM_CONF", self.path("slurm.conf")).run().unwrap();
        output.stdout.lines().filter(|state| *state == "idle").count()
    }

    fn logs(&self) -> String {
        let read = |name: &str| fs::read_to_string(self.path(name)).unwrap_or_default();
        ["munge/log", "slurmctld.log", "slurmd-n1.log", "slurmd-n2.log"].map(read).join("\n")
    }

    /// Runs the sweep and returns exit code, standard output and standard error.
    fn sweep(&self, sweep: &Path, more: &[&str]) -> (Option<i32>, String, String) {
        let store = self.path("store");
        let output = cluster_command(sweep, &self.path("out"), &store, more)
            .env("SLURM_CONF", self.path("slurm.conf"))
            .timeout(Duration::from_secs(240))
            .run()
            .unwrap();
        (output.code, output.stdout, output.stderr)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for name in ["slurmd-n1.pid", "slurmd-n2.pid", "slurmctld.pid", "munge.pid"] {
            if let Ok(pid) = fs::read_to_string(self.path(name)) {
                let _ = Tool::new("kill").arg(pid.trim()).run();
            }
        }
        // They still write into the folder that is about to go.
        std::thread::sleep(Duration::from_millis(500));
    }
}

const SWEEP: &str = r#"
block = "mac_mesh"
stages = ["gen", "synth"]
[fixed]
accumulator_width = 8
operand_width = 3
[axes]
rows = [1, 2, 3, 4]
columns = [1, 2]
"#;

const SEARCH: &str = r#"
block = "mac_mesh"
stages = ["gen"]
objectives = ["rows", "verilog_bytes", "10 - columns"]
[search]
population = 4
generations = 1
[fixed]
accumulator_width = 12
[axes]
operand_width = [2, 3, 4]
rows = { from = 1, to = 6 }
columns = { from = 1, to = 6 }
"#;

/// Eight points in arrays of at most five tasks, both nodes; then one more point: one more job; then a failing node
/// program. All on one cluster, because its start takes seconds.
#[test]
fn points_run_as_job_arrays_and_only_once() {
    let cluster = Cluster::start();
    let sweep = cluster.path("mesh.toml");
    fs::write(&sweep, SWEEP).unwrap();
    let (code, out, err) = cluster.sweep(&sweep, &[]);
    assert_eq!(code, Some(0), "{out}{err}\n{}", cluster.logs());
    assert!(out.starts_with("mesh: 8 points, 8 passed\n"), "{out}");
    let submitted =
        |err: &str| err.lines().filter(|l| l.starts_with("submitted ")).map(str::to_owned).collect::<Vec<_>>();
    let lines = submitted(&err);
    assert_eq!(lines.len(), 2, "{err}");
    assert!(lines[0].starts_with("submitted 5 points") && lines[1].starts_with("submitted 3 points"), "{err}");
    let csv = fs::read_to_string(cluster.path("out/results.csv")).unwrap();
    assert_eq!(csv.lines().count(), 9, "{csv}");
    for node in ["n1", "n2"] {
        let log = fs::read_to_string(cluster.path(&format!("slurmd-{node}.log"))).unwrap();
        assert!(
            log.contains("task_p_slurmd_batch_request") || log.to_lowercase().contains("launching batch job"),
            "{log}"
        );
    }

    // Everything is known: nothing is submitted.
    let (code, _, err) = cluster.sweep(&sweep, &["--resume"]);
    assert_eq!((code, submitted(&err).len()), (Some(0), 0), "{err}");

    // A search on the same cluster: an array for each generation. It finds what it finds here, and is known then.
    let search = cluster.path("search.toml");
    fs::write(&search, SEARCH).unwrap();
    let explore = |more: &[&str]| {
        let tool = Tool::new(cargo_bin!("senbazuru").display().to_string()).arg("explore").arg(&search).args(more);
        let output =
            tool.env("SLURM_CONF", cluster.path("slurm.conf")).timeout(Duration::from_secs(240)).run().unwrap();
        assert_eq!(output.code, Some(0), "{}", output.log());
        (output.stdout, submitted(&output.stderr).len())
    };
    let place = |name: &str| cluster.path(name).display().to_string();
    let (shared, logs, here) = (place("searched"), place("logs"), place("here"));
    let there = ["--engine", "slurm", "--store", &shared, "--logs", &logs, "--together", "2"];
    let (out, arrays) = explore(&there);
    assert_eq!(arrays, 2, "{out}");
    assert_eq!((explore(&there), explore(&["--store", &here])), ((out.clone(), 0), (out, 0)));

    // An interrupted sweep: its array sits in the queue, held; the next run refuses, or waits for it.
    fs::write(&sweep, SWEEP.replace("rows = [1, 2, 3, 4]", "rows = [1, 2, 3, 4, 5]")).unwrap();
    let interrupted =
        cluster_command(&sweep, &cluster.path("out"), &cluster.path("store"), &["--sbatch=--begin=now+6"])
            .env("SLURM_CONF", cluster.path("slurm.conf"))
            .timeout(Duration::from_secs(4))
            .run();
    assert!(matches!(interrupted, Err(sim::process::ProcessError::Timeout { .. })), "{interrupted:?}");
    let (code, _, err) = cluster.sweep(&sweep, &[]);
    assert_eq!(code, Some(2), "{err}");
    assert!(err.contains("still in the queue") && err.contains("--resume"), "{err}");
    let (code, out, err) = cluster.sweep(&sweep, &["--resume"]);
    assert_eq!((code, submitted(&err).len()), (Some(0), 0), "{out}{err}");
    assert!(out.starts_with("mesh: 10 points, 10 passed\n"), "{out}");
}
