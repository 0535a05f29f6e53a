"""``cuvet inspect``: what it prints, its JSON, its exit codes."""

from __future__ import annotations

import json
import runpy
import struct
import zipfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cuvet.cli import main
from cuvet.image import elf, inspection
from cuvet.image.errors import ImageError
from cuvet.reports.inspect import SCHEMA_FILE

from .samples import Samples


def as_json(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> dict[str, Any]:
    main(["inspect", "--format", "json", *map(str, arguments)])
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, json.loads(SCHEMA_FILE.read_text()))
    return document


def lines(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> list[str]:
    main(["inspect", *map(str, arguments)])
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out.splitlines()


def test_folded(capsys: pytest.CaptureFixture[str], samples: Samples) -> None:
    one = samples.fatbin("sm_90a cubin", "sm_80 ptx", mode="none", name="one")
    file = samples.object(one, one, samples.fatbin("sm_80 cubin", mode="size", name="two"))
    head, *rows, total = lines(capsys, file)
    assert head.startswith(f"{file}: object file, ") and head.endswith(" kB, 5 entries")
    assert [row.split()[:4] for row in rows] == [
        ["sm_80", "PTX", "9.0", "2"],
        ["sm_80", "cubin", "1", rows[1].split()[3]],
        ["sm_90a", "cubin", "2", rows[2].split()[3]],
    ]
    assert "zstd" in rows[1] and "unpacked" in rows[1]
    assert total == "5 entries in 1 file"


def test_entries_and_kernels(capsys: pytest.CaptureFixture[str], samples: Samples) -> None:
    file = samples.object(samples.fatbin("sm_90 cubin", "sm_80 ptx"))
    _, first, second, *rest = lines(capsys, "--entries", "--kernels", file)
    assert first.split()[:3] == ["1", "sm_90", "cubin"] and ".nv_fatbin+0x" in first
    assert second.split()[:3] == ["2", "sm_80", "PTX"]
    made, count, kernel, taken, *_ = rest
    assert made.startswith("  made by CUDA 1") and count == "  2 kernels" and kernel == "    first  [sm_90, sm_80 PTX]"
    assert taken.split()[0] == "sm_90" and taken.endswith(" registers")


def test_json(capsys: pytest.CaptureFixture[str], samples: Samples) -> None:
    file = samples.fatbin("sm_100f cubin", "sm_90a ptx", "sm_90 ltoir", mode="size")
    document = as_json(capsys, "--kernels", "--gpu", "sm_103", "--driver", "13.0", file)
    (found,) = document["files"]
    assert [(code["kind"], code["arch"], code["ptx_version"]) for code in found["code"]] == [
        ("cubin", "sm_100f", None),
        ("ptx", "sm_90a", "9.0"),
        ("ltoir", "sm_90", None),
    ]
    assert [code["kernels"] for code in found["code"]] == [
        ["first", "_Z6secondIfEvPT_"],
        ["_Z6secondIfEvPT_", "first"],
        None,
    ]
    assert {code["compression"] for code in found["code"]} == {"zstd"}
    (verdict,) = found["verdicts"]
    assert (verdict["gpu"], verdict["outcome"], verdict["fatbins"]) == ("sm_103", "runs", {"runs": 1})
    assert document["driver"] == "CUDA 13.0"


def test_the_checked_in_schema_is_that_of_the_types() -> None:
    tool = runpy.run_path(str(Path(__file__).parents[2] / "tools/generate_schema.py"))
    assert tool["schema"](inspection.Inspection, inspection.SCHEMA) == SCHEMA_FILE.read_text()


def test_verdict(capsys: pytest.CaptureFixture[str], samples: Samples) -> None:
    """Why, what to do, and the rule's name; the exit code says that it fails."""
    file = samples.fatbin("sm_90a cubin")
    assert main(["inspect", "--gpu", "sm_100", str(file)]) == 1
    shown = capsys.readouterr().out
    assert "  sm_100: has no code for sm_100" in shown
    assert "CUDA_ERROR_NO_BINARY_FOR_GPU (209)" in shown
    assert "= because: machine code for sm_90a is for sm_90 only" in shown
    assert "= help: nvcc -gencode arch=compute_100,code=sm_100" in shown
    assert "= more: cuvet explain image-wrong-gpu" in shown
    assert main(["inspect", "--gpu", "sm_90", str(file)]) == 0
    assert "  sm_90: runs the machine code of sm_90a" in capsys.readouterr().out


def test_some_fatbins_of_a_library_may_lack_code(capsys: pytest.CaptureFixture[str], samples: Samples) -> None:
    """A library that chooses among its kernels runs; that not all do is a note, not a failure."""
    file = samples.object(samples.fatbin("sm_90 cubin", name="one"), samples.fatbin("sm_80 cubin", name="two"))
    assert main(["inspect", "--gpu", "sm_90", str(file)]) == 0
    assert "= note: 1 of the 2 fatbins fail: has no code for sm_90" in capsys.readouterr().out


def test_all_gpus(capsys: pytest.CaptureFixture[str], samples: Samples) -> None:
    """A line each, and no failure: it is a question, not a demand."""
    assert main(["inspect", "--gpu", "all", str(samples.cubin("sm_90"))]) == 0
    shown = capsys.readouterr().out
    assert "  sm_90: runs the machine code of sm_90\n" in shown
    assert "  sm_120: has no code" in shown
    assert "because" not in shown


@pytest.mark.parametrize("content", [b"print()\n", b""])
def test_named_files_without_device_code_are_told(
    content: bytes, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_bytes(content)
    assert main(["inspect", str(file)]) == 0
    assert capsys.readouterr().out.startswith(f"{file}: neither a binary nor PTX, {len(content)} B, no device code\n")


def test_others_are_counted(
    capsys: pytest.CaptureFixture[str], samples: Samples, tmp_path_factory: pytest.TempPathFactory
) -> None:
    root = tmp_path_factory.mktemp("root")
    (root / "code.cubin").write_bytes(samples.cubin("sm_90").read_bytes())
    (root / "broken.so").write_bytes(samples.object(samples.fatbin("sm_90 cubin")).read_bytes()[:-200])
    (root / "notes.txt").write_text("no code")
    (root / "tool.exe").write_bytes(b"MZ" + bytes(100))
    assert main(["inspect", str(root)]) == 2
    shown = capsys.readouterr().out.splitlines()
    assert "  error: truncated" in shown[1]
    assert shown[-1] == (
        "1 entry in 1 file; 1 other file has no device code; 1 Windows binary not examined; 1 file could not be read, or only in part"
    )


def test_wheel(capsys: pytest.CaptureFixture[str], samples: Samples) -> None:
    wheel = samples.directory / "some.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as file:
        file.write(samples.object(samples.fatbin("sm_90 cubin")), "some/library.so")
    head, _, total = lines(capsys, wheel)
    assert head.startswith(f"{wheel}:some/library.so: object file")
    assert total == "1 entry in 1 file"
    with zipfile.ZipFile(wheel, "w") as file:
        file.writestr("some/__init__.py", "")
    assert lines(capsys, wheel)[0].endswith("no device code")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("nothing.so",), "nothing.so does not exist, or cannot be reached"),
        (("--gpu", "hopper", "."), "'hopper' is no architecture"),
        (("--driver", "new", "."), "'new' is no driver version"),
        (
            ("--output", "/nowhere/report", "empty"),
            "cannot write the report to /nowhere/report: No such file or directory",
        ),
        (("tool.exe",), "tool.exe is a Windows binary"),
    ],
)
def test_a_mistake_is_one_line(
    arguments: tuple[str, ...],
    line: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tool.exe").write_bytes(b"MZ")
    (tmp_path / "empty").touch()
    assert main(["inspect", *arguments]) == 2
    assert capsys.readouterr().err.startswith(f"cuvet: {line}")


def test_names_that_are_no_text(capsys: pytest.CaptureFixture[str], samples: Samples) -> None:
    """File names are bytes; a terminal is not controlled by them, and JSON is UTF-8."""
    file = Path(str(samples.directory) + "/\udcff\x1b[31m.cubin")
    file.write_bytes(samples.cubin("sm_90").read_bytes())
    (found,) = as_json(capsys, file)["files"]
    assert found["path"].endswith("\\udcff\x1b[31m.cubin")
    head, *_ = lines(capsys, file)
    assert "\\udcff\\x1b[31m.cubin: cubin" in head


SHARED = """.version 8.0
.target sm_80
.address_size 64
.visible .entry takes(.param .u64 p) {
  .shared .align 4 .b8 block[4096];
  .reg .u64 %rd<2>; .reg .u32 %r<2>;
  ld.param.u64 %rd1, [p]; ld.shared.u32 %r1, [block]; st.u32 [%rd1], %r1; ret; }
"""


def test_what_kernels_take_is_told(capsys: pytest.CaptureFixture[str], samples: Samples, tmp_path: Path) -> None:
    source, cubin = tmp_path / "shared.ptx", tmp_path / "shared.cubin"
    source.write_text(SHARED)
    samples._run(cubin, "ptxas", "-arch=sm_80", "-o", cubin, source)
    (code,) = as_json(capsys, "--kernels", cubin)["files"][0]["code"]
    (taken,) = code["resources"]
    assert code["kernels"] == ["takes"] and code["toolkit"].startswith("1")
    assert (taken["shared_bytes"], taken["stack_bytes"], taken["local_bytes"]) == (4096, 0, 0)
    assert taken["registers"] > 0 and taken["constant_bytes"] >= 8
    assert any("4096 B shared" in line for line in lines(capsys, "--kernels", cubin))


def test_without_kernels_nothing_is_unpacked(capsys: pytest.CaptureFixture[str], samples: Samples) -> None:
    (code,) = as_json(capsys, samples.cubin("sm_90"))["files"][0]["code"]
    assert (code["kernels"], code["resources"], code["toolkit"]) == (None, None, None)


def test_an_entry_is_extracted(
    capsys: pytest.CaptureFixture[str], samples: Samples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = samples.object(samples.fatbin("sm_90 cubin", "sm_80 ptx", mode="size", name="packed"), name="packed.o")
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    assert main(["inspect", "--extract", "1", str(file)]) == 0
    assert Path("packed.1.sm_90.cubin").read_bytes() == samples.cubin("sm_90").read_bytes()
    assert "wrote packed.1.sm_90.cubin" in capsys.readouterr().err
    assert [path.name for path in Path().iterdir()] == ["packed.1.sm_90.cubin"]
    assert main(["inspect", "--extract", "all", str(samples.cubin("sm_90"))]) == 0


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--extract", "7"), "has 1 entries"),
        (("--extract", "one"), "give the number"),
        (("--extract", "1"), "File exists"),
    ],
)
def test_what_cannot_be_extracted_is_told(
    capsys: pytest.CaptureFixture[str],
    samples: Samples,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, str],
    says: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sm_90.1.sm_90.cubin").write_text("mine")
    assert main(["inspect", *words, str(samples.cubin("sm_90"))]) == 2
    assert says in capsys.readouterr().err
    assert (tmp_path / "sm_90.1.sm_90.cubin").read_text() == "mine"


def test_machine_code_of_a_newer_toolkit_is_not_said_to_run(
    capsys: pytest.CaptureFixture[str], samples: Samples
) -> None:
    file = samples.cubin("sm_90")
    toolkit = as_json(capsys, "--kernels", file)["files"][0]["code"][0]["toolkit"]
    for driver, outcome in (("535", "unknown"), (toolkit, "runs")):
        (verdict,) = as_json(capsys, "--gpu", "sm_90", "--driver", driver, file)["files"][0]["verdicts"]
        assert verdict["outcome"] == outcome, verdict


def test_machine_code_of_another_gpu_on_a_tegra_is_open(capsys: pytest.CaptureFixture[str], samples: Samples) -> None:
    bare, beside = samples.fatbin("sm_86 cubin", name="bare"), samples.fatbin("sm_86 cubin", "sm_80 ptx", name="beside")
    outcomes = {
        (file.stem, gpu): as_json(capsys, "--gpu", gpu, file)["files"][0]["verdicts"][0]["outcome"]
        for file in (bare, beside)
        for gpu in ("sm_86", "sm_87", "sm_89")
    }
    assert outcomes == {
        ("bare", "sm_86"): "runs",
        ("bare", "sm_87"): "unknown",
        ("bare", "sm_89"): "runs",
        ("beside", "sm_86"): "runs",
        ("beside", "sm_87"): "compiles",
        ("beside", "sm_89"): "runs",
    }


def test_sections_of_object_files_that_take_no_room_are_no_truncation(samples: Samples, tmp_path: Path) -> None:
    """As .nv_debug.shared of libnccl and bitsandbytes: its type is one of CUDA's own, its size larger than the file."""
    source, cubin = tmp_path / "shared.ptx", tmp_path / "shared.cubin"
    source.write_text(SHARED)
    samples._run(cubin, "ptxas", "-arch=sm_80", "-o", cubin, source)
    data = bytearray(cubin.read_bytes())
    number = next(
        i for i, each in enumerate(elf.parse(bytes(data)).sections) if each.name.startswith(".nv.shared.takes")
    )
    header = struct.unpack_from("<Q", data, 40)[0] + 64 * number
    struct.pack_into("<Q", data, header + 32, 1 << 20)  # sh_size
    for kind, whole in ((8, True), (0x7000000A, True), (0x70000007, True), (0x70000001, False)):
        struct.pack_into("<I", data, header + 4, kind)  # sh_type
        if whole:
            assert not elf.parse(bytes(data)).sections[number].data
        else:
            with pytest.raises(ImageError, match="truncated"):
                elf.parse(bytes(data))
