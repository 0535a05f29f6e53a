from cuvet.model import Call, ModelView
from cuvet.rules.images import FILES
from cuvet.rules.rule import CallRule, Violations


class ImageFileNotFound(CallRule):
    """
    checks: The file of a load does not exist or cannot be opened. Often the program passes the image's text instead of its file name.
    why: There is nothing to load, and later calls have no function to launch.
    instead: Use a path that does not depend on the working directory. `cuModuleLoadData` loads an image in memory.
    limits: None.
    """

    code = "CV657"
    summary = "a module is loaded from a file that cannot be opened"
    help = "check the path: relative paths start at the working directory of the process"
    entry_points = frozenset(FILES)
    evidence = """
    measured: CUDA_ERROR_FILE_NOT_FOUND (module_load_missing_file)
    documented: the file specified was not found (CUDA Driver API, Data types used by CUDA driver, CUresult)
    """
    VALID = r"""
## PTX with its terminator
module = cu.cuModuleLoadData(cu.ptx)
cu.cuModuleUnload(module)

## file that exists
import tempfile
with tempfile.NamedTemporaryFile(suffix=".ptx") as file:
    file.write(cu.ptx.rstrip(b"\0"))
    file.flush()
    cu.cuModuleUnload(cu.cuModuleLoad(file.name))
"""
    INVALID = """
## no such file
cu.cuModuleLoad("/nonexistent.cubin")  # error: [image-file-not-found]
"""

    @classmethod
    def check(cls, call: Call, model: ModelView) -> Violations:
        argument = call.index(FILES[call.name])
        name = call.inputs.get(argument, b"").split(b"\0")[0].decode("utf-8", "replace")
        if not name:
            return
        text = ".version" in name or "\n" in name
        message = "the text of an image is given as its file name" if text else f"{name} cannot be opened"
        yield cls.refused(message, argument=argument, outcomes=(0, 301))
