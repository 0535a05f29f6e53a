"""``cuvet analyze --on ray`` and ``cuvet check --on ray``: the same as without. What needs ray is run where it is installed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest

from cuvet import source
from cuvet.analysis.verdicts import Options
from cuvet.analysis.workers import DIED, Unreadable
from cuvet.findings import Finding
from cuvet.launch import on_ray
from cuvet.source.tool.files import File
from cuvet.source.tool.workers import DIED as DIED_OF_FILE
from cuvet.source.tool.workers import Job

RANKS = 6


@pytest.fixture
def job(cuvet, program) -> Path:
    """Ranks that all make the same mistake, and a recording that cannot be read."""
    ran = cuvet.run(("--device", "emulated"), [program("stale")], RANK="0", WORLD_SIZE=str(RANKS))
    job = cuvet.tmp_path / "job"
    for rank in range(RANKS):
        meta = json.loads(shutil.copytree(ran.trace, job / f"rec.{rank}").joinpath("meta.json").read_bytes())
        meta["rank"]["rank"], meta["ranks"] = rank, []
        (job / f"rec.{rank}/meta.json").write_text(json.dumps(meta))
    (path,) = (job / "rec.5").glob("*.cuvet")
    path.write_bytes(b"nothing" * 1000)
    return job


def test_the_report_is_the_same(cuvet, job: Path) -> None:
    pytest.importorskip("ray")
    options = ("--format", "json", "--source-root", Path(__file__).parent, job)
    local, on_ray = cuvet("analyze", *options), cuvet("analyze", "--on", "ray", *options)
    assert (on_ray.returncode, on_ray.stdout) == (0, local.stdout), on_ray.stderr
    report = json.loads(on_ray.stdout)
    assert [(each["name"], each["ranks"]) for each in report["findings"]] == [
        ("stream-use-after-destroy", [0, 1, 2, 3, 4])
    ]
    assert report["not_checked"][0].endswith("byte 0: not a cuvet recording")


@pytest.mark.parametrize(
    ("ranks", "deaths", "why"),
    [
        ((0, 1, 2, 3, 4), 1, ""),
        ((2,), 2, DIED),
    ],
)
def test_if_a_worker_is_killed_nothing_is_lost_unless_the_next_one_is(
    job: Path, ranks: tuple[int, ...], deaths: int, why: str
) -> None:
    pytest.importorskip("ray")

    def dies(finding: Finding) -> bool:
        for number in range(deaths):
            with suppress(FileExistsError):
                (job.parent / f"death{number}").touch(exist_ok=False)
                os.kill(os.getpid(), signal.SIGKILL)
        return False

    outcomes = on_ray.judged([job / f"rec.{rank}" for rank in ranks], Options(ignored=dies), lambda count: None)
    assert len(list(job.parent.glob("death*"))) == deaths
    if why:
        assert outcomes == [Unreadable(why=f"{job / 'rec.2'}: {why}")]
    else:
        found = [[each.name for each in outcome.verdict.report.findings] for outcome in outcomes]
        assert found == [["stream-use-after-destroy"]] * len(ranks)


@pytest.mark.parametrize("command", ["analyze", "check"])
def test_without_ray_it_is_said_how_to_get_it(cuvet, job: Path, command: str) -> None:
    (job / "a.cu").write_text(RIGHT)
    missing = cuvet.tmp_path / "missing"
    missing.mkdir()
    (missing / "ray.py").write_text("raise ImportError\n")
    path = f"{missing}:{cuvet.environment['PYTHONPATH']}"
    done = cuvet(command, "--on", "ray", job, PYTHONPATH=path)
    assert (done.returncode, done.stdout, done.stderr) == (
        2,
        "",
        "cuvet: --on ray needs ray: pip install 'cuvet[ray]'\n",
    )


RIGHT = "void f() { cudaStream_t s; cudaStreamCreate(&s); cudaStreamDestroy(s); }\n"
WRONG = "void f{} () {{ cudaStream_t s; cudaStreamCreate(&s); cudaStreamDestroy(s); cudaStreamSynchronize(s); }}\n"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    """Files with a mistake each, one across two files, and one that cannot be read."""
    folder = tmp_path / "src"
    folder.mkdir()
    for number in range(6):
        (folder / f"{number}.cu").write_text(RIGHT + WRONG.format(number))
    (folder / "ends.cu").write_text("void ends(cudaStream_t s) { cudaStreamDestroy(s); }\n")
    (folder / "uses.cu").write_text(
        "void ends(cudaStream_t s);\nvoid uses() { cudaStream_t s; cudaStreamCreate(&s); ends(s); cudaStreamSynchronize(s); }\n"
    )
    (folder / "large.cu").write_text("// \n" * (3 << 20))
    return folder


def test_sources_are_checked_as_without(cuvet, sources: Path) -> None:
    pytest.importorskip("ray")
    options = ("check", "--no-cache", "--format", "json", "src")
    local = subprocess.run(cuvet.command(*options), capture_output=True, env=cuvet.environment, cwd=sources.parent)
    command = cuvet.command(*options, "--on", "ray")
    on = subprocess.run(command, capture_output=True, env=cuvet.environment, cwd=sources.parent)
    assert (on.returncode, on.stdout) == (local.returncode, local.stdout), on.stderr
    report = json.loads(on.stdout)
    assert [each["name"] for each in report["findings"]].count("stream-use-after-destroy") == 7
    assert [each["file"] for each in report["not_checked"]] == ["src/large.cu"]


def test_check_takes_no_number_of_processes_there(cuvet, sources: Path) -> None:
    done = cuvet("check", "--on", "ray", "--jobs", "2", sources)
    line = "cuvet: --jobs is for processes of this machine: leave it out with --on ray\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line)


def test_a_file_of_which_processes_die_is_named_and_the_others_are_checked(sources: Path) -> None:
    pytest.importorskip("ray")
    given = [File(path.name, path) for path in sorted(sources.glob("[0-9].cu"))]
    third = given[3].name
    told: list[int] = []

    class Deadly(dict[str, object]):
        """What functions of other files do: asked of each file by the process that checks it."""

        def get(self, name: str, default: object = None) -> object:
            if name == third:
                os.kill(os.getpid(), signal.SIGKILL)
            return default

    job = Job(source.Options(), cached=False, callees=Deadly())
    checked = on_ray.checked([given[:2], given[2:]], job, told.append)
    every = [each for chunk in checked for each in chunk]
    assert [each.file for each in every] == given
    assert [each.failure for each in every] == [DIED_OF_FILE if each.name == third else None for each in given]
    assert sum(told) == len(given)
