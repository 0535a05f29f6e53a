using System;
using System.Runtime.InteropServices;

namespace Capture.Interop
{
    [UnmanagedFunctionPointer(CallingConvention.StdCall)]
    internal delegate void HostFn(IntPtr userData);

    internal static class NativeCuda
    {
        private const string Lib = "cudart64_12";

        [DllImport(Lib)] internal static extern int cudaStreamCreateWithFlags(out IntPtr stream, uint flags);
        [DllImport(Lib)] internal static extern int cudaStreamDestroy(IntPtr stream);
        [DllImport(Lib)] internal static extern int cudaStreamSynchronize(IntPtr stream);
        [DllImport(Lib)] internal static extern int cudaLaunchHostFunc(IntPtr stream, HostFn fn, IntPtr userData);
        [DllImport(Lib)] internal static extern int cudaHostAlloc(out IntPtr p, nuint bytes, uint flags);
        [DllImport(Lib)] internal static extern int cudaFreeHost(IntPtr p);
        [DllImport(Lib)] internal static extern int cudaMemcpyAsync(IntPtr dst, IntPtr src, nuint bytes, int kind, IntPtr stream);

        internal const uint NonBlocking = 1;
        internal const int DeviceToHost = 2;

        internal static void ThrowOnError(int rc, string call)
        {
            if (rc != 0) throw new ExternalException(call, rc);
        }
    }
}
