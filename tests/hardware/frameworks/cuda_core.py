"""cuda.core: compile, launch, streams, events, buffers."""

from cuda.core import Device, LaunchConfig, Program, ProgramOptions, launch

CODE = """
extern "C" __global__ void fill(int *p, int n, int v) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) p[i] = v;
}
"""

device = Device()
device.set_current()
stream = device.create_stream()
options = ProgramOptions(std="c++17", arch=f"sm_{device.arch}")
kernel = Program(CODE, code_type="c++", options=options).compile("cubin").get_kernel("fill")
buffer = device.allocate(4096, stream=stream)
event = stream.record()
launch(stream, LaunchConfig(grid=4, block=256), kernel, buffer, 1024, 7)
other = device.create_stream()
other.wait(stream)
event.sync()
buffer.close(stream)
stream.sync()
other.close()
stream.close()
print("done")
