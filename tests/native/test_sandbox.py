"""Programs that forbid themselves system calls on pain of death: seccomp."""

from __future__ import annotations

import errno

from tests.native.conftest import SHIM, Bench

SANDBOX = r"""
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
static const int FORBIDDEN[] = {
    SYS_openat, SYS_pwrite64, SYS_ftruncate, SYS_fallocate, SYS_prlimit64, SYS_process_vm_readv, SYS_msync, SYS_fstat, SYS_fcntl,
    SYS_prctl, SYS_close, SYS_socket, SYS_rt_sigtimedwait,
#ifdef SYS_open
    SYS_open, SYS_stat, SYS_getrlimit,
#endif
};
enum { COUNT = sizeof FORBIDDEN / sizeof *FORBIDDEN };
static void forbid(void) {
    struct sock_filter filter[2 * COUNT + 2] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    for (int i = 0; i < COUNT; i++) {
        filter[1 + 2 * i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, FORBIDDEN[i], 0, 1);
        filter[2 + 2 * i] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    }
    filter[2 * COUNT + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {2 * COUNT + 2, filter};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
}
static void make_streams(int count) {
    handle s;
    for (int i = 0; i < count; i++) { CHECK(cuStreamCreate(&s, 1) == 0); CHECK(cuStreamDestroy_v2(s) == 0); }
}
static void *work(void *count) { cuCtxSetCurrent(context); make_streams((long)count); return 0; }
"""


def test_a_program_in_a_sandbox_is_recorded_and_lives(bench: Bench) -> None:
    run = bench.run(
        f"""{SANDBOX}
        int main(void) {{
            handle module, function;
            pthread_t thread;
            static char memory[4096];
            start();
            make_streams(10);
            forbid();
            make_streams(1000);
            CHECK(pthread_create(&thread, 0, work, (void *)1000) == 0 && pthread_join(thread, 0) == 0);
            CHECK(cuModuleLoadData(&module, "image") == 209);
            CHECK(cuMemHostRegister_v2(memory, 4096, 0) == 712);
            CHECK(cuModuleGetFunction(&function, 0, "name") == 0);
            if (fork() == 0) {{ make_streams(1); exit(0); }}
            int status;
            wait(&status);
            return WIFEXITED(status) && !WEXITSTATUS(status) ? 7 : 8;
        }}""",
        options=(str(SHIM), "-D_GNU_SOURCE"),
        NULL_DRIVER_FAIL="cuModuleLoadData=209,cuMemHostRegister_v2=712",
    )
    assert run.returncode == 7, (run.returncode, run.stderr)
    assert len(run.trace.named("cuStreamDestroy")) == 2010
    call = run.trace.one("cuModuleLoadData")
    assert run.trace.recording.images[call.thread, call.number].data.startswith(b"image\0")
    assert (run.trace.recording.stop, run.trace.recording.problems) == (None, [])


def test_a_recording_in_a_sandbox_has_an_end(bench: Bench) -> None:
    run = bench.run(
        f"{SANDBOX} int main(void) {{ start(); forbid(); make_streams(150000); return 7; }}",
        options=(str(SHIM), "-D_GNU_SOURCE"),
    )
    assert run.returncode == 7, (run.returncode, run.stderr)
    assert run.trace.recording.stop is not None
    assert run.trace.recording.stop.error == errno.ENOSYS
    assert int(run.trace.header["dropped"]) + len(run.trace.calls) == 300002
    assert run.trace.path.stat().st_size > 4 << 20


def test_what_prctl_answers_is_the_kernels(bench: Bench) -> None:
    run = bench.run(
        """
        #include <errno.h>
        #include <sys/prctl.h>
        int main(void) {
            char name[16] = "";
            start();
            CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 0);
            CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 1) == -1 && errno == EINVAL);
            CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
            CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
            CHECK(prctl(PR_SET_NAME, "renamed") == 0 && prctl(PR_GET_NAME, name) == 0);
            puts(name);
            return 0;
        }"""
    )
    assert (run.returncode, run.stdout) == (0, "renamed\n"), run.stderr


def test_a_thread_that_restricts_itself_while_another_prepares_waits_for_it(bench: Bench) -> None:
    run = bench.run(
        f"""{SANDBOX}
        static pthread_barrier_t together;
        static void *restrict_and_work(void *unused) {{
            cuCtxSetCurrent(context);
            make_streams(1);
            pthread_barrier_wait(&together);
            forbid();
            make_streams(2000);
            return 0;
        }}
        int main(void) {{
            pthread_t threads[4];
            start();
            pthread_barrier_init(&together, 0, 4);
            for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], 0, restrict_and_work, 0) == 0);
            for (int i = 0; i < 4; i++) CHECK(pthread_join(threads[i], 0) == 0);
            return 7;
        }}""",
        options=(str(SHIM), "-D_GNU_SOURCE"),
    )
    assert run.returncode == 7, (run.returncode, run.stderr)
    assert len(run.trace.named("cuStreamDestroy")) == 8004


def test_a_child_that_shares_memory_restricts_itself_and_not_its_parent(bench: Bench) -> None:
    run = bench.run(
        f"""{SANDBOX}
        int main(void) {{
            start();
            int status, child = vfork();
            if (child == 0) {{ prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); _exit(0); }}
            waitpid(child, &status, 0);
            make_streams(30000);
            return 7;
        }}""",
        options=(str(SHIM), "-D_GNU_SOURCE"),
    )
    assert run.returncode == 7, (run.returncode, run.stderr)
    assert (run.trace.recording.stop, run.trace.recording.header["dropped"]) == (None, 0)
    assert len(run.trace.named("cuStreamDestroy")) == 30000
