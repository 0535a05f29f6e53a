"""Device code made by the toolkit's own tools, and files around it made by the host's."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from tests.device.support import TOOLKIT

PTX = """.version 9.0
.target {arch}
.address_size 64
.visible .entry _Z6secondIfEvPT_(.param .u64 p) {{ ret; }}
.visible .entry first() {{ ret; }}
"""


@dataclass
class Samples:
    """Makes files in ``directory``, each once."""

    directory: Path
    made: dict[str, Path] = field(default_factory=dict)

    def ptx(self, arch: str) -> Path:
        path = self.directory / f"{arch}.ptx"
        path.write_text(PTX.format(arch=arch), encoding="utf-8")
        return path

    def cubin(self, arch: str) -> Path:
        path = self.directory / f"{arch}.cubin"
        return path if path.exists() else self._run(path, "ptxas", f"-arch={arch}", "-o", path, self.ptx(arch))

    def ltoir(self, arch: str) -> Path:
        path, text = self.directory / f"{arch}.ltoir", self.directory / "k.cu"
        text.write_text("__global__ void k() {}", encoding="utf-8")
        lto = arch.replace("sm_", "lto_")
        return self._run(path, "nvcc", "-dlto", "-ltoir", f"-arch={lto}", "-o", path, text)

    def fatbin(self, *images: str, mode: str = "size", name: str = "code") -> Path:
        """Of images like ``sm_90a cubin`` and ``sm_75 ptx``."""
        path = self.directory / f"{name}.fatbin"
        options = []
        for image in images:
            arch, kind = image.split()
            file = {"cubin": self.cubin, "ptx": self.ptx, "ltoir": self.ltoir}[kind](arch)
            kind = {"cubin": "elf", "ptx": "ptx", "ltoir": "nvvm"}[kind]
            options.append(f"--image3=kind={kind},sm={arch.removeprefix('sm_')},file={file}")
        return self._run(path, "fatbinary", "--64", f"--compress-mode={mode}", f"--create={path}", *options)

    def object(self, *fatbins: Path, section: str = ".nv_fatbin", name: str = "host.o") -> Path:
        """With the fatbins one after another in the section, as a linker puts them."""
        path = self.directory / name
        lines = [f'.section {section}, "a"', *(f'.align 8\n.incbin "{fatbin}"' for fatbin in fatbins)]
        assembly = path.with_suffix(".s")
        assembly.write_text("\n".join([*lines, '.section .note.GNU-stack,""', ""]), encoding="utf-8")
        return self._host(path, "-c", str(assembly))

    def linked(self, *objects: Path, name: str, shared: bool = True) -> Path:
        main = self.directory / "main.c"
        main.write_text("int main(void) { return 0; }", encoding="utf-8")
        return self._host(self.directory / name, *(["-shared"] if shared else []), str(main), *map(str, objects))

    def archive(self, *objects: Path, name: str = "lib.a", options: str = "rcs") -> Path:
        path = self.directory / name
        path.unlink(missing_ok=True)
        subprocess.run(["ar", options, path, *objects], check=True, capture_output=True)
        return path

    def _host(self, path: Path, *arguments: str) -> Path:
        subprocess.run(["cc", "-o", path, *arguments], check=True, capture_output=True)
        return path

    def _run(self, path: Path, tool: str, *arguments: str | Path) -> Path:
        subprocess.run([TOOLKIT / "bin" / tool, *arguments], check=True, capture_output=True)
        return path
