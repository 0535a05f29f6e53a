using System;
using System.Runtime.InteropServices;

internal static class Nv
{
    [DllImport("nvcuda")] public static extern int cuInit(uint flags);
    [DllImport("nvcuda")] public static extern int cuDeviceGet(out int device, int ordinal);
    [DllImport("nvcuda")] public static extern int cuDevicePrimaryCtxRetain(out IntPtr ctx, int device);
    [DllImport("nvcuda", EntryPoint = "cuDevicePrimaryCtxRelease_v2")] public static extern int cuDevicePrimaryCtxRelease(int device);
    [DllImport("nvcuda")] public static extern int cuCtxSetCurrent(IntPtr ctx);
    [DllImport("nvcuda", EntryPoint = "cuMemAlloc_v2")] public static extern int cuMemAlloc(out ulong ptr, UIntPtr bytes);
    [DllImport("nvcuda", EntryPoint = "cuMemFree_v2")] public static extern int cuMemFree(ulong ptr);
    [DllImport("nvcuda", EntryPoint = "cuMemcpyHtoD_v2")] public static extern int cuMemcpyHtoD(ulong dst, byte[] src, UIntPtr bytes);
    [DllImport("nvcuda")] public static extern int cuEventCreate(out IntPtr ev, uint flags);
    [DllImport("nvcuda")] public static extern int cuEventRecord(IntPtr ev, IntPtr stream);
    [DllImport("nvcuda")] public static extern int cuEventSynchronize(IntPtr ev);
    [DllImport("nvcuda", EntryPoint = "cuEventDestroy_v2")] public static extern int cuEventDestroy(IntPtr ev);

    public static void Do(int code)
    {
        if (code != 0) throw new Exception("CUDA driver error " + code);
    }
}

internal static class UploadProfiler
{
    private static void Upload(byte[] payload, bool marked)
    {
        var size = (UIntPtr)(uint)payload.Length;
        IntPtr marker = IntPtr.Zero;
        if (marked) Nv.Do(Nv.cuEventCreate(out marker, 0x2));
        try
        {
            Nv.Do(Nv.cuMemAlloc(out ulong dst, size));
            try
            {
                Nv.Do(Nv.cuMemcpyHtoD(dst, payload, size));
                if (marked)
                {
                    Nv.Do(Nv.cuEventRecord(marker, IntPtr.Zero));
                    Nv.Do(Nv.cuEventSynchronize(marker));
                    Console.WriteLine($"{payload.Length} bytes reached the device");
                }
            }
            finally
            {
                Nv.Do(Nv.cuMemFree(dst));
            }
        }
        finally
        {
            if (marked) Nv.Do(Nv.cuEventDestroy(marker));
        }
    }

    private static void Main()
    {
        Nv.Do(Nv.cuInit(0));
        Nv.Do(Nv.cuDeviceGet(out int device, 0));
        Nv.Do(Nv.cuDevicePrimaryCtxRetain(out IntPtr ctx, device));
        try
        {
            Nv.Do(Nv.cuCtxSetCurrent(ctx));
            for (int i = 0; i < 5; i++)
                Upload(new byte[1 << (16 + i)], marked: i % 2 == 0);
        }
        finally
        {
            Nv.Do(Nv.cuDevicePrimaryCtxRelease(device));
        }
    }
}
