"""Another kind of gate is one module and one line in `KINDS`: configuration, run, logs and commands follow."""

from __future__ import annotations

import json
import subprocess
import sys

from .gates import ROOT, Gauntlet

# In a process of its own, since the table of kinds is read when the package is imported.
DRIVER = """
import json, os, sys, time, types
root, project = sys.argv[1:]
sys.path.insert(0, root)
import taskie.gauntlet
taskie.gauntlet.KINDS["probe"] = "probes"
from taskie import logs
from taskie.gauntlet.record import name_of
from taskie.gauntlet.verdict import GateResult
from taskie.programs import Command
from taskie.values import Value

class ProbeGate(Value):
    name: str
    words: str
    parallel = True
    fail_fast = False
    run_in_ci = True
    run_locally = True
    slots = (None,)
    def described(self, gates): return f"probe {self.words}"
    def about(self, job, run): return run.coverage.content(job)
    def begin(self, job, run): return ProbeRun(job, run)

class ProbeRun:
    def __init__(self, job, run):
        self.job, self.run = job, run
    def command(self):
        self.log = os.path.join(self.run.log_dir, f"{name_of(self.job)}.{self.run.number}.log")
        self.fd = logs.create(self.log)
        argv = ["/bin/echo", self.job.gate.words]
        return Command("project", argv, self.run.root, self.run.env, self.fd, self.fd)
    def result(self, outcome):
        return GateResult(self.job.key, "failed", f"said {logs.tail(self.fd)[0]}", log=self.log)

module = types.ModuleType("taskie.gauntlet.probes")
module.SUFFIXES, module.FRONTMATTER = (".yml",), False
module.gate = lambda name, document, root, settings, problems: ProbeGate(name, document.content["words"])
module.built_in = dict
sys.modules["taskie.gauntlet.probes"] = module

from taskie import cli
from taskie.gauntlet.engine import stop
from taskie.config import Config
from taskie.guard import Turn
from taskie.project import Context
os.chdir(project)
context = Context(project, project, Config(), dict(os.environ), time.monotonic() + 60)
result = stop(Turn(False), context)
print(json.dumps([result.status, result.message, [gate.summary for gate in result.gates]]))
cli.main(["gauntlet", "list"])
cli.main(["gauntlet", "probe", "greeting"])
"""


def test_a_third_kind(gauntlet: Gauntlet) -> None:
    gauntlet.write(".gauntlet/probes/greeting.yml", "words: hello\n")
    gauntlet.configure(entry_points=[{"path": ".", "probes": ["greeting"]}])
    gauntlet.settle()
    gauntlet.write("new", "x\n")
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, str(ROOT), str(gauntlet.path)],
        env=gauntlet.project.env,
        capture_output=True,
        text=True,
        check=True,
    )
    first, *rest = done.stdout.splitlines()
    assert json.loads(first) == ["failed", "1 of 1 gate failed: probe greeting", ["said hello"]]
    assert "  probe   greeting             probe hello" in rest
    assert "1 of 1 gate failed: probe greeting." in rest
    assert {"probe_._greeting.1.log", "probe_._greeting.2.log"} <= set(gauntlet.files())
