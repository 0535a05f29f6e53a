using System;
using System.Runtime.InteropServices;

public sealed class AudioUploader
{
    [DllImport("nvcuda")]
    private static extern int cuMemHostRegister_v2(IntPtr pointer, UIntPtr bytes, uint flags);

    [DllImport("nvcuda")]
    private static extern int cuMemHostUnregister(IntPtr pointer);

    [DllImport("nvcuda")]
    private static extern int cuMemcpyHtoDAsync_v2(ulong destination, IntPtr source, UIntPtr bytes, IntPtr stream);

    [DllImport("nvcuda")]
    private static extern int cuStreamSynchronize(IntPtr stream);

    private readonly IntPtr stream;

    public AudioUploader(IntPtr stream) => this.stream = stream;

    private static void Check(int status, string call)
    {
        if (status != 0)
            throw new InvalidOperationException($"{call} returned {status}");
    }

    public void Upload(ulong device, float[] samples)
    {
        GCHandle handle = GCHandle.Alloc(samples, GCHandleType.Pinned);
        try
        {
            IntPtr source = handle.AddrOfPinnedObject();
            UIntPtr bytes = (UIntPtr)(samples.Length * sizeof(float));
            Check(cuMemHostRegister_v2(source, bytes, 0), "cuMemHostRegister");
            int copied = cuMemcpyHtoDAsync_v2(device, source, bytes, stream);
            Check(cuMemHostUnregister(source), "cuMemHostUnregister");
            Check(copied, "cuMemcpyHtoDAsync");
        }
        finally
        {
            handle.Free();
        }
    }
}
