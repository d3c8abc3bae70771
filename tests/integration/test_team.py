"""Two members on a team's servers: MLflow on PostgreSQL, artefacts and DVC's data in an S3 store.

The servers are those of docs/team/compose.yaml, by the commands that stand there, without Docker.
"""

import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from mlflow.tracking import MlflowClient
from ruamel.yaml import YAML

from tests.integration.conftest import ROOT, Clone

pytestmark = pytest.mark.slow
COMPOSE = ROOT / "docs" / "team" / "compose.yaml"
POSTGRES = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"))), None)
BINARIES = Path(sys.executable).parent
# Small, so that what is tested here is not the model; long enough for a tracker to die within.
SETTINGS = (
    "evaluate.num_attention_plots=0",
    "export.precisions=[float32]",
    "export.shortlist=null",
    "train.max_epochs=30",
    "train.log_every_steps=5",
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def running(
    command: list[str], log: Path, is_up: Callable[[], bool], **options
) -> Iterator["subprocess.Popen[bytes]"]:
    """A server in a process group of its own, from when it is up; killed outright at the end."""
    with log.open("ab") as file:
        server = subprocess.Popen(
            command, stdout=file, stderr=subprocess.STDOUT, start_new_session=True, **options
        )
    try:
        deadline = time.monotonic() + 400  # some 20 on a machine that does nothing else
        while not is_up():
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        yield server
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()


def listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


class Servers:
    """PostgreSQL and the store for as long as the context lasts; the tracker comes and goes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.services = YAML(typ="safe", pure=True).load(COMPOSE)["services"]
        self.passwords = {
            name: secrets.token_hex(8)
            for name in ("DATABASE_PASSWORD", "STORE_KEY", "STORE_SECRET")
        }
        self.database_port, self.store_port, self.port = free_port(), free_port(), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.store_url = f"http://127.0.0.1:{self.store_port}"
        (folder / "objects" / "team").mkdir(parents=True)

    def command(self, service: str) -> list[str]:
        """The service's, on this machine's ports and folders."""
        return [self._here(word) for word in self.services[service]["command"]]

    def environment(self, service: str) -> dict[str, str]:
        given = self.services[service]["environment"]
        return os.environ | {name: self._here(value) for name, value in given.items()}

    def _here(self, word: str) -> str:
        word = re.sub(r"\$\{(\w+)[^}]*\}", lambda found: self.passwords.get(found[1], ""), word)
        places = {
            "database:5432": f"127.0.0.1:{self.database_port}",
            "store:9000": f"127.0.0.1:{self.store_port}",
            ":9000": f"127.0.0.1:{self.store_port}",
            "/data": str(self.folder / "objects"),
            "0.0.0.0": "127.0.0.1",
            "5000": str(self.port),
        }
        for there, here in places.items():
            word = here if word == there else word.replace(f"@{there}/", f"@{here}/")
            word = word.replace(f"http://{there}", f"http://{here}")
        return word

    @contextmanager
    def database(self) -> Iterator[None]:
        """Debian's PostgreSQL, which refuses to run as root."""
        assert POSTGRES is not None
        user = {"user": "postgres", "group": "postgres", "extra_groups": []}
        options = user if os.geteuid() == 0 else {}
        with tempfile.TemporaryDirectory(prefix="team-") as name:
            folder = Path(name)  # short, for its socket, and open to its user
            password = folder / "password"
            password.write_text(self.passwords["DATABASE_PASSWORD"])
            if options:
                shutil.chown(folder, "postgres", "postgres")
                shutil.chown(password, "postgres", "postgres")
            data = [f"--pgdata={folder / 'data'}", "--username=mlflow", "--no-sync"]
            login = ["--auth=scram-sha-256", f"--pwfile={password}"]
            initdb = [POSTGRES / "initdb", *data, *login]
            subprocess.run(initdb, cwd=folder, stdout=subprocess.DEVNULL, check=True, **options)
            command = [str(POSTGRES / "postgres"), "-D", str(folder / "data"), "-k", str(folder)]
            command += ["-h", "127.0.0.1", "-p", str(self.database_port), "-c", "fsync=off"]
            log = self.folder / "database.log"
            with running(command, log, self._takes_logins, cwd=folder, **options):
                yield

    def _takes_logins(self) -> bool:
        import psycopg2

        secret = {"user": "mlflow", "password": self.passwords["DATABASE_PASSWORD"]}
        try:
            made = psycopg2.connect(
                host="127.0.0.1", port=self.database_port, dbname="postgres", **secret
            )
        except psycopg2.OperationalError:
            return False
        made.autocommit = True
        made.cursor().execute("CREATE DATABASE mlflow")
        made.close()
        return True

    @contextmanager
    def store(self) -> Iterator[None]:
        command = [str(BINARIES / "rclone"), *self.command("store"), "--config", ""]
        environment = self.environment("store")
        log = self.folder / "store.log"
        with running(command, log, lambda: listens(self.store_port), env=environment):
            yield

    @contextmanager
    def tracker(self) -> Iterator["subprocess.Popen[bytes]"]:
        command = [sys.executable, "-m", *self.command("tracker")]
        environment = self.environment("tracker")
        environment["PATH"] = f"{BINARIES}{os.pathsep}{environment['PATH']}"
        options = {"cwd": self.folder, "env": environment}
        with running(command, self.folder / "tracker.log", self.answers, **options) as server:
            yield server

    def answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=2):
                return True
        except OSError:
            return False

    def objects(self, prefix: str) -> list[str]:
        """Names in the store, as a client of it sees them."""
        import boto3

        keys = self.passwords["STORE_KEY"], self.passwords["STORE_SECRET"]
        client = boto3.client("s3", "us-east-1", None, True, None, self.store_url, *keys)
        pages = client.get_paginator("list_objects_v2").paginate(Bucket="team", Prefix=prefix)
        return [one["Key"] for page in pages for one in page.get("Contents", ())]


@pytest.fixture(scope="module")
def servers(tmp_path_factory) -> Iterator[Servers]:
    if POSTGRES is None:
        pytest.skip("PostgreSQL is not installed (`apt-get install postgresql`)")
    for module in ("boto3", "dvc_s3", "psycopg2"):
        pytest.importorskip(module, reason="the extra `team` is not installed")
    if not (BINARIES / "rclone").exists():
        pytest.skip("the extra `team`, and with it rclone, is not installed")
    servers = Servers(tmp_path_factory.mktemp("servers"))
    with servers.database(), servers.store():
        yield servers


def join(folder: Path, origin: Path, name: str, servers: Servers) -> Clone:
    """What docs/team.md asks of a new member."""
    member = object.__new__(Clone)
    member.folder, member.variables = folder, {"MLFLOW_TRACKING_URI": servers.url}
    subprocess.run(["git", "clone", "--quiet", str(origin), str(folder)], check=True)
    member.run("git", "config", "user.name", name)
    member.run("git", "config", "user.email", f"{name}@example.org")
    write_secrets(member, servers)
    return member


def write_secrets(member: Clone, servers: Servers) -> None:
    # Into .dvc/config.local, which git ignores.
    for option, variable in (("access_key_id", "STORE_KEY"), ("secret_access_key", "STORE_SECRET")):
        value = servers.passwords[variable]
        member.dvc("remote", "modify", "--local", "store", option, value)


def at_once(*calls: Callable[[], object]) -> list:
    with ThreadPoolExecutor(len(calls)) as pool:
        return [one.result() for one in [pool.submit(call) for call in calls]]


def runs(tracker: MlflowClient, kind: str) -> Mapping[str, object]:
    """The runs of a kind by the user who made them; each has made one."""
    experiments = [e.experiment_id for e in tracker.search_experiments()]
    found = tracker.search_runs(experiments, f"tags.kind = '{kind}'")
    by_user = {run.data.tags["mlflow.user"]: run for run in found}
    assert len(by_user) == len(found)
    return by_user


def read_report(member: Clone, name: str) -> dict:
    return json.loads(member.read(f"reports/{name}.json"))


@pytest.fixture(scope="module")
def members(clone, servers, tmp_path_factory) -> tuple[Clone, Clone]:
    """Ada, who set the project up, and Bo, who joined: data in the store, nothing trained."""
    ada, folder = clone, tmp_path_factory.mktemp("team")
    ada.variables = {"MLFLOW_TRACKING_URI": servers.url}
    ada.run("git", "config", "user.name", "Ada")
    ada.make_tiny(*SETTINGS)
    ada.dvc("remote", "add", "--default", "store", "s3://team/dvc")
    ada.dvc("remote", "modify", "store", "endpointurl", servers.store_url)
    write_secrets(ada, servers)
    ada.dvc("repro", "pretrain")
    ada.commit("data")
    ada.run("git", "branch", "--move", "ada")
    ada.run("git", "init", "--quiet", "--bare", str(folder / "origin"))
    ada.run("git", "remote", "add", "origin", str(folder / "origin"))
    at_once(
        lambda: ada.run("git", "push", "--quiet", "origin", "ada:main"), lambda: ada.dvc("push")
    )
    ada.run("git", "-C", str(folder / "origin"), "symbolic-ref", "HEAD", "refs/heads/main")
    return ada, join(folder / "bo", folder / "origin", "Bo", servers)


def test_two_members_work_at_once_and_outlive_the_trackers_death(servers, members):
    ada, bo = members
    bo.run("git", "checkout", "--quiet", "-b", "bo")
    params = bo.read("params.yaml")
    assert "  seed: 1\n" in params[params.index("\ntrain:") :]
    head, tail = params.split("\ntrain:")
    changed = "\ntrain:".join([head, tail.replace("  seed: 1\n", "  seed: 2\n", 1)])
    (bo.folder / "params.yaml").write_text(changed)
    bo.commit("another seed")

    tracker = MlflowClient(servers.url)
    with ExitStack() as stack, ThreadPoolExecutor(2) as pool:
        first = stack.enter_context(ExitStack())
        first.enter_context(servers.tracker())
        # Bo has nothing but git's files: DVC takes the data from the store.
        work = [
            pool.submit(ada.dvc, "repro"),
            pool.submit(bo.dvc, "repro", "--pull", "evaluate"),
        ]
        while len([run for run in runs(tracker, "model").values() if run.data.metrics]) < 2:
            assert not any(one.done() for one in work), [one.result() for one in work]
            time.sleep(0.1)
        first.close()  # kill -9, in the middle of both trainings
        assert not servers.answers()
        stack.enter_context(servers.tracker())
        printed = [one.result().stdout for one in work]

        for told in printed:
            assert "Running stage 'train'" in told
        assert "Running stage 'clean'" not in printed[1]
        at_once(lambda: ada.pipeline("sync"), lambda: bo.pipeline("sync"))
        check_tracked(servers, tracker, ada, bo)
        for member, branch in ((ada, "ada"), (bo, "bo")):
            member.commit("trained")
            member.run("git", "push", "--quiet", "origin", branch)
        at_once(lambda: ada.dvc("push"), lambda: bo.dvc("push"))
        check_compared(tracker, ada, bo)
        check_promoted(tracker, ada, bo)


def check_tracked(servers: Servers, tracker: MlflowClient, ada: Clone, bo: Clone) -> None:
    models, evaluations = runs(tracker, "model"), runs(tracker, "evaluation")
    assert models.keys() == evaluations.keys() == {"Ada", "Bo"}
    for name, member in (("Ada", ada), ("Bo", bo)):
        model, scored = models[name], evaluations[name]
        assert model.info.status == scored.info.status == "FINISHED"
        assert scored.data.tags["mlflow.parentRunId"] == model.info.run_id
        assert scored.data.metrics["bleu"] == round(read_report(member, "evaluate")["bleu"], 2)
        assert scored.data.params["train.seed"] == {"Ada": "1", "Bo": "2"}[name]
        rows = member.read("reports/train_curve.csv").splitlines()[1:]
        history = tracker.get_metric_history(model.info.run_id, "train_loss")
        assert sorted(one.step for one in history) == [int(row.split(",")[0]) for row in rows]
        # What was written lies in the store, and nothing in the clone.
        assert servers.objects(f"mlflow/{model.info.experiment_id}/{scored.info.run_id}/")
        assert not (member.folder / "mlruns" / "mlflow.db").exists()
    (version,) = tracker.search_model_versions()
    assert version.tags["model_hash"] == models["Ada"].data.tags["model_hash"]


def check_compared(tracker: MlflowClient, ada: Clone, bo: Clone) -> None:
    """By git and DVC's store in one clone, by MLflow and its artefacts in the other."""
    ada.run("git", "fetch", "--quiet")
    other = runs(tracker, "model")["Ada"].info.run_id
    by_dvc, by_mlflow = (
        json.loads(done.stdout)
        for done in at_once(
            lambda: ada.pipeline("compare", "--json", "HEAD", "origin/bo"),
            lambda: bo.pipeline("compare", "--json", other, "workspace"),
        )
    )
    assert by_dvc["params"] == by_mlflow["params"] == {"train.seed": {"a": "1", "b": "2"}}
    assert by_dvc["bleu_difference"] == by_mlflow["bleu_difference"]
    for side, member in (("a", ada), ("b", bo)):
        bleu = read_report(member, "evaluate")["bleu"]
        assert by_dvc[side]["figures"]["bleu"] == by_mlflow[side]["figures"]["bleu"] == bleu


def check_promoted(tracker: MlflowClient, ada: Clone, bo: Clone) -> None:
    bo.run("git", "fetch", "--quiet")
    bo.run("git", "checkout", "--quiet", "--detach", "origin/ada")
    _, told = at_once(lambda: bo.dvc("pull"), lambda: ada.pipeline("promote").stdout)
    assert "version 1 is the champion now" in told
    # Bo has Ada's translator now; to MLflow it is no other.
    synced, told = at_once(
        lambda: bo.pipeline("sync").stdout, lambda: bo.pipeline("promote").stdout
    )
    assert "translator, version 1" in synced
    assert "version 1 is the champion already" in told
    assert runs(tracker, "evaluation")["Ada"].data.tags["champion"] == "version 1"
    assert len(tracker.search_model_versions()) == 1
