// Synchronises a destroyed stream, in another method than the one that destroys it.
using System;
using System.Runtime.InteropServices;

static class Cuda
{
    [DllImport("libcuda.so.1")] public static extern int cuInit(uint flags);
    [DllImport("libcuda.so.1")] public static extern int cuDevicePrimaryCtxRetain(out IntPtr context, int device);
    [DllImport("libcuda.so.1")] public static extern int cuCtxSetCurrent(IntPtr context);
    [DllImport("libcuda.so.1")] public static extern int cuStreamCreate(out IntPtr stream, uint flags);
    [DllImport("libcuda.so.1")] public static extern int cuStreamSynchronize(IntPtr stream);
    [DllImport("libcuda.so.1", EntryPoint = "cuStreamDestroy_v2")] public static extern int cuStreamDestroy(IntPtr stream);
}

class Pipeline
{
    IntPtr stream;

    public void Open()
    {
        Cuda.cuStreamCreate(out stream, 0);
    }

    public void Close()
    {
        Cuda.cuStreamDestroy(stream);
    }

    public int Flush()
    {
        return Cuda.cuStreamSynchronize(stream);
    }
}

static class Program
{
    static void Main()
    {
        IntPtr context;
        Cuda.cuInit(0);
        Cuda.cuDevicePrimaryCtxRetain(out context, 0);
        Cuda.cuCtxSetCurrent(context);
        Pipeline pipeline = new Pipeline();
        pipeline.Open();
        pipeline.Close();
        Console.WriteLine(pipeline.Flush());
    }
}
