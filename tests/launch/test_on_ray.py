"""``cuvet analyze --on ray``: the same verdicts as without. What needs ray is run where it is installed."""

from __future__ import annotations

import json
import os
import shutil
import signal
from contextlib import suppress
from pathlib import Path

import pytest

from cuvet.analysis.verdicts import Options
from cuvet.analysis.workers import DIED, Unreadable
from cuvet.findings import Finding
from cuvet.launch import on_ray

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


def test_without_ray_it_is_said_how_to_get_it(cuvet, job: Path) -> None:
    missing = cuvet.tmp_path / "missing"
    missing.mkdir()
    (missing / "ray.py").write_text("raise ImportError\n")
    path = f"{missing}:{cuvet.environment['PYTHONPATH']}"
    done = cuvet("analyze", "--on", "ray", job, PYTHONPATH=path)
    assert (done.returncode, done.stdout, done.stderr) == (
        2,
        "",
        "cuvet: --on ray needs ray: pip install 'cuvet[ray]'\n",
    )
