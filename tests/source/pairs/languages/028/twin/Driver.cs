using System;
using System.Runtime.InteropServices;

namespace Pacs.Decode
{
    internal static class Driver
    {
        private const string Lib = "nvcuda";

        [DllImport(Lib)] public static extern int cuInit(uint flags);
        [DllImport(Lib)] public static extern int cuDeviceGet(out int dev, int ordinal);
        [DllImport(Lib)] public static extern int cuDevicePrimaryCtxRetain(out IntPtr ctx, int dev);
        [DllImport(Lib)] public static extern int cuDevicePrimaryCtxRelease_v2(int dev);
        [DllImport(Lib)] public static extern int cuCtxPushCurrent_v2(IntPtr ctx);
        [DllImport(Lib)] public static extern int cuCtxPopCurrent_v2(out IntPtr ctx);
        [DllImport(Lib)] public static extern int cuMemAlloc_v2(out IntPtr dptr, nuint bytes);
        [DllImport(Lib)] public static extern int cuMemFree_v2(IntPtr dptr);
        [DllImport(Lib)] public static extern int cuMemHostAlloc(out IntPtr p, nuint bytes, uint flags);
        [DllImport(Lib)] public static extern int cuMemFreeHost(IntPtr p);
        [DllImport(Lib)] public static extern int cuMemcpyHtoD_v2(IntPtr dst, IntPtr src, nuint bytes);

        public const uint HostAllocPortable = 1;
        public const uint HostAllocWriteCombined = 4;

        public static void Ok(int rc)
        {
            if (rc != 0) throw new COMException("CUDA driver", rc);
        }
    }

    internal sealed class GpuContext
    {
        public static readonly GpuContext Shared = new GpuContext(0);

        public IntPtr Handle { get; }

        private GpuContext(int ordinal)
        {
            Driver.Ok(Driver.cuInit(0));
            Driver.Ok(Driver.cuDeviceGet(out int dev, ordinal));
            Driver.Ok(Driver.cuDevicePrimaryCtxRetain(out IntPtr h, dev));
            Handle = h;
        }

        public void Run(Action a)
        {
            Driver.Ok(Driver.cuCtxPushCurrent_v2(Handle));
            try { a(); }
            finally { Driver.cuCtxPopCurrent_v2(out _); }
        }
    }
}
