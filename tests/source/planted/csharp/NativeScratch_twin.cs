using System;
using System.Runtime.InteropServices;

namespace Simulation
{
    internal static class Native
    {
        [DllImport("cudart64_12")]
        public static extern int cudaMalloc(out IntPtr pointer, UIntPtr size);

        [DllImport("cudart64_12")]
        public static extern int cudaMemset(IntPtr pointer, int value, UIntPtr size);

        [DllImport("cudart64_12")]
        public static extern int cudaFree(IntPtr pointer);
    }

    public static class NativeScratch
    {
        public static bool Clear(ulong bytes)
        {
            if (Native.cudaMalloc(out IntPtr pointer, (UIntPtr)bytes) != 0)
                return false;
            int status = Native.cudaMemset(pointer, 0, (UIntPtr)bytes);
            if (status != 0)
            {
                Console.Error.WriteLine($"memset failed: {status}");
            }
            int released = Native.cudaFree(pointer);
            return status == 0 && released == 0;
        }
    }
}
