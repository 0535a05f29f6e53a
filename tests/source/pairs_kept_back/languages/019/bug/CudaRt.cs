using System;
using System.Runtime.InteropServices;

namespace Broadcast.Gpu
{
    internal static class CudaRt
    {
        private const string Lib = "cudart64_12";

        [UnmanagedFunctionPointer(CallingConvention.StdCall)]
        public delegate void HostFn(IntPtr userData);

        [DllImport(Lib)] public static extern int cudaHostAlloc(out IntPtr p, UIntPtr bytes, uint flags);
        [DllImport(Lib)] public static extern int cudaFreeHost(IntPtr p);
        [DllImport(Lib)] public static extern int cudaStreamCreateWithFlags(out IntPtr s, uint flags);
        [DllImport(Lib)] public static extern int cudaStreamDestroy(IntPtr s);
        [DllImport(Lib)] public static extern int cudaStreamSynchronize(IntPtr s);
        [DllImport(Lib)] public static extern int cudaStreamWaitEvent(IntPtr s, IntPtr ev, uint flags);
        [DllImport(Lib)] public static extern int cudaMemcpyAsync(IntPtr dst, IntPtr src, UIntPtr n, int kind, IntPtr s);
        [DllImport(Lib)] public static extern int cudaLaunchHostFunc(IntPtr s, HostFn fn, IntPtr userData);
        [DllImport(Lib)] private static extern IntPtr cudaGetErrorName(int err);

        public const int DeviceToHost = 2;
        public const uint NonBlocking = 1;

        public static void Ok(int err)
        {
            if (err != 0)
                throw new InvalidOperationException(Marshal.PtrToStringAnsi(cudaGetErrorName(err)));
        }
    }
}
