using System;
using System.Runtime.InteropServices;

public sealed class SignalStore : IDisposable
{
    [DllImport("libcudart.so.12")]
    private static extern int cudaMalloc(ref IntPtr pointer, ulong bytes);

    [DllImport("libcudart.so.12")]
    private static extern int cudaMemcpy(IntPtr destination, double[] source, ulong bytes, int kind);

    [DllImport("libcudart.so.12")]
    private static extern int cudaFree(IntPtr pointer);

    private IntPtr device = IntPtr.Zero;

    public SignalStore(double[] samples)
    {
        int status = cudaMalloc(ref device, (ulong)samples.Length * sizeof(double));
        if (status != 0)
            throw new OutOfMemoryException();
        status = cudaMemcpy(device, samples, (ulong)samples.Length * sizeof(double), 1);
        if (status != 0)
        {
            Dispose();
            throw new InvalidOperationException($"copy failed with {status}");
        }
    }

    public void Dispose()
    {
        if (device != IntPtr.Zero)
        {
            cudaFree(device);
            device = IntPtr.Zero;
        }
    }
}
