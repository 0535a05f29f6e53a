"""What the program does to itself: limits on the size of files, a full disk, closed descriptors."""

from __future__ import annotations

import errno
import subprocess
from pathlib import Path

import pytest
from tests.native.conftest import SHIM, Bench, Seen

LIMITED = """
#include <sys/resource.h>
static void limit(rlim_t bytes) {
    struct rlimit most = {bytes, RLIM_INFINITY};
    CHECK(setrlimit(RLIMIT_FSIZE, &most) == 0);
}
static void make_streams(int count) {
    handle s;
    for (int i = 0; i < count; i++) { CHECK(cuStreamCreate(&s, 1) == 0); CHECK(cuStreamDestroy_v2(s) == 0); }
}
static int is_pending(int number) {
    sigset_t set;
    CHECK(sigpending(&set) == 0);
    return sigismember(&set, number);
}
static int is_untouched(int number) {
    struct sigaction action;
    sigset_t set;
    CHECK(sigaction(number, 0, &action) == 0 && sigprocmask(SIG_BLOCK, 0, &set) == 0);
    return action.sa_handler == SIG_DFL && !sigismember(&set, number) && !is_pending(number);
}
"""


@pytest.mark.parametrize("bytes_left", [0, 70_000, 200_000])
def test_a_limit_on_files_that_comes_later_stops_the_recording_only(bench: Bench, bytes_left: int) -> None:
    run = bench.run(f"""{LIMITED}
        int main(void) {{
            start();
            limit({bytes_left});
            make_streams(3000);
            CHECK(is_untouched(SIGXFSZ));
            return 7;
        }}""")
    assert run.returncode == 7, run.stderr
    assert (run.stderr, run.trace.recording.problems) == ("", [])
    assert int(run.trace.header["dropped"]) + len(run.trace.calls) == 6002
    assert run.trace.recording.stop is not None
    assert run.trace.recording.stop.error == errno.EFBIG


@pytest.mark.parametrize("most", [0, 1000])
def test_where_no_file_may_grow_an_empty_one_says_so(bench: Bench, most: int) -> None:
    program = bench.compile(
        f"{LIMITED} int main(void) {{ limit({most}); start(); make_streams(100); return is_untouched(SIGXFSZ) ? 7 : 8; }}",
        str(SHIM),
    )
    done = subprocess.run([program], env=bench.environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (7, "")
    (recording,) = (bench.folder / "trace").iterdir()
    assert recording.stat().st_size == 0


def test_a_limit_that_comes_between_the_look_and_the_write_does_no_harm(bench: Bench) -> None:
    """The program's own getrlimit says that there is no limit, so the kernel raises SIGXFSZ; one that the program blocks stays."""
    run = bench.run(
        f"""{LIMITED}
        int getrlimit(__rlimit_resource_t resource, struct rlimit *most) {{
            most->rlim_cur = most->rlim_max = RLIM_INFINITY;
            return 0;
        }}
        int main(int count, char **arguments) {{
            start();
            limit(0);
            make_streams(3000);
            CHECK(is_untouched(SIGXFSZ));
            sigset_t set;
            sigemptyset(&set);
            sigaddset(&set, SIGXFSZ);
            sigprocmask(SIG_BLOCK, &set, 0);
            raise(SIGXFSZ);
            make_streams(3000);
            CHECK(is_pending(SIGXFSZ));
            signal(SIGXFSZ, SIG_IGN);
            return 7;
        }}""",
        options=(str(SHIM), "-rdynamic", "-D_GNU_SOURCE"),
    )
    assert run.returncode == 7, run.stderr
    assert run.trace.recording.stop is not None
    assert run.trace.recording.stop.error == errno.EFBIG


def on_small_disk(folder: Path, kilobytes: int, command: list[str], environment: dict[str, str]) -> tuple[int, str]:
    """Exit code and stderr of a command that sees a disk of its own at ``folder``; what is left on it is copied to ``copied``."""
    if subprocess.run(["unshare", "-Urm", "mount", "-t", "tmpfs", "none", folder], check=False).returncode:
        pytest.skip("a disk of its own needs user and mount namespaces")
    script = f'mount -t tmpfs -o size={kilobytes}k none "$0" || exit 99; "$@"; code=$?; cp -r "$0" "$0/../copied"; exit $code'
    done = subprocess.run(
        ["unshare", "-Urm", "sh", "-c", script, folder, *command],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


def test_a_full_disk_stops_the_recording_only(bench: Bench) -> None:
    program = bench.compile(f"{LIMITED} int main(void) {{ start(); make_streams(20000); return 7; }}", str(SHIM))
    environment = bench.environment()
    assert on_small_disk(bench.folder / "trace", 300, [str(program)], environment) == (7, "")
    (path,) = (bench.folder / "copied").iterdir()
    trace = Seen(path)
    assert trace.recording.problems == []
    assert int(trace.header["dropped"]) + len(trace.calls) == 40002
    assert len(trace.calls) > 0
    assert trace.recording.stop is not None
    assert trace.recording.stop.error == errno.ENOSPC


def test_a_disk_that_is_full_from_the_start_leaves_an_empty_file(bench: Bench) -> None:
    program = bench.compile(f"{LIMITED} int main(void) {{ start(); make_streams(3000); return 7; }}", str(SHIM))
    filled = [
        "sh",
        "-c",
        'dd if=/dev/zero of="$1/filler" 2>/dev/null; exec "$0"',
        str(program),
        str(bench.folder / "trace"),
    ]
    assert on_small_disk(bench.folder / "trace", 300, filled, bench.environment()) == (7, "")
    (path,) = (bench.folder / "copied").glob("*.cuvet")
    assert path.stat().st_size == 0
