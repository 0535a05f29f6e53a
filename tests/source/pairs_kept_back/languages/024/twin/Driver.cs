using System;
using System.Runtime.InteropServices;

namespace Terrain.Compute
{
    public sealed class DriverException : Exception
    {
        public DriverException(string call, int code) : base($"{call} returned {code}") { Code = code; }
        public int Code { get; }
    }

    internal static class Driver
    {
        [DllImport("nvcuda")] private static extern int cuModuleLoadData(out IntPtr module, byte[] image);
        [DllImport("nvcuda")] private static extern int cuModuleUnload(IntPtr module);
        [DllImport("nvcuda", CharSet = CharSet.Ansi)]
        private static extern int cuModuleGetFunction(out IntPtr fn, IntPtr module, string name);
        [DllImport("nvcuda")] private static extern int cuCtxSynchronize();
        [DllImport("nvcuda")]
        private static extern int cuLaunchKernel(IntPtr fn, uint gx, uint gy, uint gz,
            uint bx, uint by, uint bz, uint shared, IntPtr stream, IntPtr[] args, IntPtr[] extra);

        private static void Check(string call, int rc)
        {
            if (rc != 0) throw new DriverException(call, rc);
        }

        public static IntPtr Load(byte[] image)
        {
            Check("cuModuleLoadData", cuModuleLoadData(out IntPtr m, image));
            return m;
        }

        public static void Unload(IntPtr m) => Check("cuModuleUnload", cuModuleUnload(m));

        public static IntPtr Function(IntPtr m, string name)
        {
            Check("cuModuleGetFunction", cuModuleGetFunction(out IntPtr f, m, name));
            return f;
        }

        public static void WaitAll() => Check("cuCtxSynchronize", cuCtxSynchronize());

        public static void Launch(IntPtr fn, (uint x, uint y) grid, (uint x, uint y) block, IntPtr[] args)
        {
            Check("cuLaunchKernel", cuLaunchKernel(fn, grid.x, grid.y, 1, block.x, block.y, 1,
                0, IntPtr.Zero, args, null));
        }
    }
}
