"""``cuvet run`` where nothing can be written: the program, its exit code and the report are kept."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

REAL = ("--device", "real")


def run_on_small_disk(cuvet, disk: Path, filled: str, *command: object) -> subprocess.CompletedProcess[str]:
    """``cuvet run`` whose recordings go to a disk of 300 KiB; ``filled``: what a shell does there before."""
    disk.mkdir()
    unshare = ["unshare", "-Urm"]
    if subprocess.run([*unshare, "mount", "-t", "tmpfs", "none", disk], check=False).returncode:
        pytest.skip("a disk of its own needs user and mount namespaces")
    run = shlex.join(cuvet.command("run", *REAL, "--trace", disk / "trace", "--", *command))
    script = (
        f"mount -t tmpfs -o size=300k none {disk}; cd {disk}; {filled}; {run}; code=$?; ls -A trace >&2; exit $code"
    )
    return subprocess.run(
        [*unshare, "sh", "-c", script], env=cuvet.environment, capture_output=True, text=True, timeout=120, check=False
    )


def test_a_disk_that_becomes_full_costs_neither_exit_code_nor_report(cuvet, program) -> None:
    done = run_on_small_disk(cuvet, cuvet.tmp_path / "disk", ":", program("streams"), "30000", "5")
    assert done.returncode == 5
    assert "60,003 calls" in done.stderr
    assert "its recording could not grow: the disk is full" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_disk_that_the_program_fills_leaves_the_end_unsaid(cuvet, program) -> None:
    fill = f"dd if=/dev/zero of={cuvet.tmp_path}/disk/filler bs=1k 2>/dev/null; {program('streams')} 10 5"
    done = run_on_small_disk(cuvet, cuvet.tmp_path / "disk", ":", "sh", "-c", fill)
    assert done.returncode == 5
    assert "could not be written (No space left on device)" in done.stderr
    assert "empty: this process was not recorded" in done.stderr
    assert ".meta.json" not in done.stderr


def test_a_disk_that_was_full_before(cuvet, program) -> None:
    fill = "dd if=/dev/zero of=filler bs=1k 2>/dev/null"
    done = run_on_small_disk(cuvet, cuvet.tmp_path / "disk", fill, program("streams"), "10", "5")
    assert done.returncode == 5
    assert "empty: this process was not recorded" in done.stderr
    assert "meta.json could not be written (No space left on device)" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_recording_whose_end_could_not_be_written_is_analysed(cuvet, program) -> None:
    ran = cuvet.run(REAL, [program("streams"), "10", "5"])
    (ran.trace / "meta.json").write_bytes(b"")
    again = cuvet("analyze", ran.trace)
    assert again.returncode == 0
    assert "23 calls" in again.stdout
    assert "how the program ended is not known" in again.stdout


def test_what_a_program_does_to_its_recording_costs_no_exit_code(cuvet, program) -> None:
    """It is told after the names of other shapes stood there for the first look."""
    spoil = "mkfifo 1-1.cuvet; mkdir 2-2.cuvet; ln -s loop loop; ln -s loop 3-3.cuvet; echo x >x-y.cuvet; rm meta.json; mkdir meta.json"
    script = f"cd $CUVET_TRACE; {spoil}; {program('stale')} 1; exit 6"
    done = cuvet("run", *REAL, "--", "sh", "-c", script, NULL_DRIVER_FAIL="cuStreamSynchronize=400")
    assert done.returncode == 6
    assert "error[CV201]" in done.stderr
    assert "Traceback" not in done.stderr
    gone = cuvet("run", *REAL, "--", "sh", "-c", f"{program('streams')} 10; rm -r $CUVET_TRACE; exit 5")
    assert gone.returncode == 5
    assert "meta.json could not be written" in gone.stderr


@pytest.mark.parametrize("redirection", ["2>/dev/full", "2>&1 >/dev/null | exec 0<&-"])
def test_a_report_that_nobody_can_read_leaves_the_programs_exit_code(cuvet, program, redirection: str) -> None:
    script = (
        f"({shlex.join(cuvet.command('run', *REAL, '--', program('stale'), '1'))}; echo $? >&3) 3>code {redirection}"
    )
    environment = {**cuvet.environment, "NULL_DRIVER_FAIL": "cuStreamSynchronize=400"}
    subprocess.run(["sh", "-c", script], cwd=cuvet.tmp_path, env=environment, check=False, timeout=120)
    assert (cuvet.tmp_path / "code").read_text() == "0\n"


@pytest.mark.parametrize("where", ["inside", "outside"])
def test_without_any_file_that_may_grow(cuvet, program, where: str) -> None:
    run = shlex.join(cuvet.command("run", *REAL, "--"))
    limited = f"ulimit -f 0; {program('streams')} 10 5"
    script = (
        f"{run} sh -c {shlex.quote(limited)}" if where == "inside" else f"ulimit -f 0; {run} {program('streams')} 10 5"
    )
    done = subprocess.run(["sh", "-c", script], env=cuvet.environment, capture_output=True, text=True, check=False)
    assert done.returncode == 5
    assert "empty: this process was not recorded" in done.stderr
    assert "Traceback" not in done.stderr
    assert ("meta.json could not be written (File too large)" in done.stderr) == (where == "outside")
