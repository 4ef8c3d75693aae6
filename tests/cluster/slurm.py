"""A real Slurm with one node on the loopback: its daemons, for as long as the tests need them.

Nothing outside its own folder changes. Nothing is installed: `missing()` says what is not there.
"""

import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

from tests.processes import wait_for

PACKAGES = "munge slurmctld slurmd slurm-client"
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "unshare")
PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"

# Everything runs as root. There are no cgroups: a job is tracked by its parents, and one that
# holds more memory than it asked for is ended at the next look, once a second.
CONFIGURATION = """\
ClusterName=onelayer
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation={folder}/controller
SlurmdSpoolDir={folder}/node
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerParameters=sched_interval=2,batch_sched_delay=0
AccountingStorageType=accounting_storage/none
GresTypes=gpu
MpiDefault=none
SwitchType=switch/none
MailProg=/bin/true
SlurmdParameters=config_overrides
ReturnToService=2
SlurmdTimeout=15
KillWait=2
MinJobAge=3600
NodeName=node NodeHostname={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={mem_mb} Gres=gpu:1
PartitionName=main Nodes=node Default=YES MaxTime=1440 DefaultTime=5
"""


def missing() -> str | None:
    """Why no Slurm can be started here, or nothing if it can."""
    if os.geteuid() != 0:
        return "a Slurm of our own needs root"
    absent = [name for name in PROGRAMS if not shutil.which(name, path=PATH)]
    if absent:
        return f"no {', '.join(absent)} here; on Debian: apt-get install {PACKAGES}"
    if subprocess.run(["unshare", "--mount", "--pid", "--fork", "true"], check=False).returncode:
        return "this container may not make namespaces, which keep Slurm's jobs together"
    return None


class Slurm:
    """A controller and a node.

    Attributes:
        environment: what a process needs in its environment to be a client.
    """

    def __init__(self, cpus: int = 4, mem_mb: int = 16000) -> None:
        # Short, because the path of a socket may have 107 characters.
        self.folder = Path(tempfile.mkdtemp(prefix="slurm-"))
        self.environment = {"SLURM_CONF": f"{self.folder}/etc/slurm.conf", "PATH": PATH}
        self.daemons: dict[str, subprocess.Popen] = {}
        host = socket.gethostname().split(".")[0]
        controller_port, node_port = free_ports(2)
        for name in ("etc", "controller", "node"):
            (self.folder / name).mkdir()
        # A file stands for a GPU that can be reserved, if not used.
        (self.folder / "gpu0").touch()
        (self.folder / "etc/gres.conf").write_text(f"Name=gpu File={self.folder}/gpu0\n")
        (self.folder / "etc/slurm.conf").write_text(
            CONFIGURATION.format(
                folder=self.folder,
                host=host,
                controller_port=controller_port,
                node_port=node_port,
                cpus=cpus,
                mem_mb=mem_mb,
            )
        )
        key = self.folder / "munge.key"
        key.touch(mode=0o400)
        key.write_bytes(os.urandom(128))

    def start(self) -> None:
        """Start what is not running, and wait until the node takes jobs."""
        self._start_munge()
        self.start_controller()
        self._start_node()
        wait_for(lambda: self.ask("sinfo", "--noheader", "--format=%T").strip() == "idle", 30)

    def _start_munge(self) -> None:
        files = {"socket": "socket", "key-file": "key", "pid-file": "pid", "log-file": "log"}
        files["seed-file"] = "seed"
        options = [f"--{option}={self.folder}/munge.{end}" for option, end in files.items()]
        # By force: it would rather not run as root.
        self._launch("munged", "munged", "--foreground", "--force", *options)
        wait_for((self.folder / "munge.socket").exists, 10)

    def start_controller(self) -> None:
        """Start the controller; a second one goes on from the state of the first."""
        self._launch("slurmctld", "slurmctld", "-D")
        wait_for(lambda: "UP" in self.ask("scontrol", "ping"), 20)

    def _start_node(self) -> None:
        # The node and all its jobs have a namespace of processes of their own, and end with it. And
        # they find our configuration where Slurm looks by itself: the plugin's job step drops
        # SLURM_CONF from the environment of its srun.
        script = 'mount --bind "$0" /etc/slurm && slurmd -D & wait'
        self._launch(
            "slurmd",
            *("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"),
            *("sh", "-c", script, f"{self.folder}/etc"),
        )

    def _launch(self, name: str, *command: str) -> None:
        with open(self.folder / f"{name}.out", "ab") as out:
            self.daemons[name] = subprocess.Popen(
                command,
                env=os.environ | self.environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def kill_controller(self) -> None:
        """`kill -9` the controller."""
        controller = self.daemons.pop("slurmctld")
        controller.kill()
        controller.wait()

    def ask(self, *command: str) -> str:
        """Standard output of a client (`squeue`, `scontrol`, ...), whether it succeeds or not."""
        return subprocess.run(
            command,
            env=os.environ | self.environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        ).stdout

    def jobs(self) -> list[dict[str, str]]:
        """All jobs since the start, oldest first: rule and wildcards, state, requests, folder."""
        fields = {"id": "%i", "rule": "%k", "state": "%T", "mem": "%m", "cpus": "%C"}
        fields |= {"minutes": "%l", "folder": "%Z"}
        form = f"--format={'|'.join(fields.values())}"
        table = self.ask("squeue", "--states=all", "--noheader", "--sort=i", form)
        rows = (line.strip().split("|") for line in table.splitlines())
        return [dict(zip(fields, row, strict=True)) for row in rows]

    def stop(self) -> None:
        """End every daemon and every job, and remove the folder."""
        for daemon in self.daemons.values():
            daemon.kill()
            daemon.wait()
        shutil.rmtree(self.folder)

    def logs(self) -> str:
        """What the daemons said, for the message of a failure."""
        files = [*self.folder.glob("*.log"), *self.folder.glob("*.out")]
        return "\n".join(f"{f.name}:\n{f.read_text(errors='replace')[-2000:]}" for f in files)


def free_ports(number: int) -> list[int]:
    """Ports of the loopback on which nobody listens."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports
