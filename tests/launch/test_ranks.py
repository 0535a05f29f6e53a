"""The rank of each process: from the environment into the recording, and into the report."""

from __future__ import annotations

import json
import socket
import stat
import subprocess
from pathlib import Path

import pytest

from cuvet import ranks
from cuvet.findings import ProcessRank, Rank
from cuvet.meta import Meta, read_meta

REAL = ("--device", "real")
HOST = socket.gethostname()


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1"}, (3, 8, 1)),
        (
            {"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "0"},
            (2, 4, 0),
        ),
        ({"PMIX_RANK": "5"}, (5, None, None)),
        ({"PMI_RANK": "0", "PMI_SIZE": "2"}, (0, 2, None)),
        ({"SLURM_PROCID": "7", "SLURM_NTASKS": "16", "SLURM_LOCALID": "3"}, (7, 16, 3)),
        ({"JOB_COMPLETION_INDEX": "4"}, (4, None, None)),
        (
            {"RANK": "1", "WORLD_SIZE": "2", "SLURM_PROCID": "0", "SLURM_NTASKS": "1", "SLURM_LOCALID": "0"},
            (1, 2, None),
        ),
        ({"RANK": "8", "WORLD_SIZE": "2"}, (8, None, None)),
    ],
)
def test_what_launchers_tell(environment: dict[str, str], expected: tuple[int, int | None, int | None]) -> None:
    rank, size, local = expected
    assert ranks.rank_in(environment, "node1") == Rank(rank=rank, size=size, local_rank=local, host="node1")


@pytest.mark.parametrize("environment", [{}, {"RANK": ""}, {"RANK": "-1"}, {"RANK": "9" * 5000}, {"RANK": "²"}])
def test_no_launcher_tells(environment: dict[str, str]) -> None:
    assert ranks.rank_in(environment, "node1") is None


def test_it_stands_in_the_recording_and_in_every_report(cuvet, program) -> None:
    ran = cuvet.run(REAL, [program("stale")], RANK="3", WORLD_SIZE="8", LOCAL_RANK="1")
    rank = Rank(rank=3, size=8, local_rank=1, host=HOST)
    assert read_meta(ran.trace).rank == rank
    assert stat.S_IMODE((ran.trace / "meta.json").stat().st_mode) == 0o600
    assert [each.rank for each in ran.report.ranks] == [rank]
    (finding,) = ran.report.findings
    assert [site.rank for site in (finding.site, finding.objects[0].created, finding.objects[0].destroyed)] == [
        rank
    ] * 3
    again = cuvet("analyze", ran.trace)
    assert again.stdout.count(f"[rank 3 of 8 on {HOST}, thread ") == 3
    document = json.loads(cuvet("analyze", "--format", "json", ran.trace).stdout)
    assert document["ranks"][0]["rank"] == {"rank": 3, "size": 8, "local_rank": 1, "host": HOST}


@pytest.mark.parametrize("environment", [{}, {"RANK": "0", "WORLD_SIZE": "1"}])
def test_a_program_alone_is_not_told_of_ranks(cuvet, program, environment: dict[str, str]) -> None:
    ran = cuvet.run(REAL, [program("stale")], **environment)
    assert len(ran.report.ranks) == len(environment) / 2
    assert "rank" not in cuvet("analyze", ran.trace).stdout


def test_each_process_of_a_launcher_that_cuvet_started_has_its_own(cuvet, program) -> None:
    """As torchrun does: it sets the variables for each of those that it starts."""
    start = f"for rank in 0 1; do RANK=$rank WORLD_SIZE=2 {program('stale')} 1 & done; wait"
    ran = cuvet.run(REAL, ["sh", "-c", start], SLURM_PROCID="0")
    assert sorted(each.rank.rank for each in ran.report.ranks) == [0, 1]
    assert {each.rank.size for each in ran.report.ranks} == {2}
    assert ran.report.first_failure is None


def test_it_is_kept_should_cuvet_be_killed(cuvet, program, tmp_path: Path) -> None:
    start = f"RANK=1 WORLD_SIZE=2 exec {program('stale')} 5"
    process = subprocess.Popen(
        cuvet.command("run", *REAL, "--trace", tmp_path / "rec", "--", "sh", "-c", start),
        stderr=subprocess.DEVNULL,
        env={**cuvet.environment, "RANK": "0"},
    )
    kept = False
    while not kept and process.poll() is None:
        path = tmp_path / "rec/meta.json"
        kept = path.exists() and path.stat().st_size > 0 and bool(read_meta(tmp_path / "rec").ranks)
    process.kill()
    process.wait()
    meta = read_meta(tmp_path / "rec")
    assert (kept, meta.exit_code) == (True, None)  # it was killed before the program had ended
    assert [(told.rank.rank, told.rank.size) for told in meta.ranks] == [(1, 2)]


def test_of_ranks_that_one_program_started_the_first_failure_is_named(cuvet, program) -> None:
    """Rank 1 ends at once with an error, and rank 0 when its input ends."""
    start = f"for rank in 0 1; do RANK=$rank WORLD_SIZE=2 {program('ranks')} stale & done; wait; exit 1"
    ran = cuvet.run(("--device", "emulated"), ["sh", "-c", start], NULL_DRIVER_FAIL="")
    first = ran.report.first_failure
    assert (first.rank.rank, first.finding, first.followers) == (1, True, ())
    (finding,) = ran.report.findings
    assert (finding.ranks, finding.site.rank) == ((1,), first.rank)


def test_a_process_whose_environment_was_not_seen() -> None:
    """It has the rank that cuvet was started with, unless others show that a launcher was started below."""
    outer, inner = Rank(rank=0), Rank(rank=1, size=2)
    assert Meta(rank=outer).rank_of(7) == outer
    assert Meta(rank=outer, ranks=(ProcessRank(process=6, rank=outer),)).rank_of(7) == outer
    assert Meta(rank=outer, ranks=(ProcessRank(process=6, rank=inner),)).rank_of(7) is None
    assert Meta().rank_of(7) is None


def test_a_host_cannot_write_control_characters(cuvet, program) -> None:
    ran = cuvet.run(REAL, [program("stale")], RANK="3", WORLD_SIZE="8")
    path = ran.trace / "meta.json"
    path.write_text(path.read_text().replace(json.dumps(HOST), '"a\\u001b[31m"'))
    told = cuvet("analyze", ran.trace).stdout
    assert "on a\\x1b[31m, thread" in told
    assert "\x1b" not in told
