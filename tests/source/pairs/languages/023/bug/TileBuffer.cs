using System;
using System.Runtime.InteropServices;

namespace MapViewer.Gpu
{
    internal static class Rt
    {
        private const string Dll = "cudart64_12.dll";
        public const int HostToDevice = 1;

        [DllImport(Dll)] public static extern int cudaMalloc(out IntPtr p, UIntPtr bytes);
        [DllImport(Dll)] public static extern int cudaFree(IntPtr p);
        [DllImport(Dll)] public static extern int cudaMemcpy(IntPtr dst, byte[] src, UIntPtr bytes, int kind);
        [DllImport(Dll)] private static extern IntPtr cudaGetErrorString(int code);

        public static void Ok(int code)
        {
            if (code != 0)
                throw new InvalidOperationException(Marshal.PtrToStringAnsi(cudaGetErrorString(code)));
        }
    }

    internal struct TileBuffer : IDisposable
    {
        private IntPtr _ptr;
        private readonly int _bytes;

        public TileBuffer(int bytes)
        {
            _bytes = bytes;
            Rt.Ok(Rt.cudaMalloc(out _ptr, (UIntPtr)(uint)bytes));
        }

        public IntPtr Ptr => _ptr;

        public void Fill(byte[] texels)
        {
            if (texels.Length > _bytes) throw new ArgumentException("tile too large", nameof(texels));
            Rt.Ok(Rt.cudaMemcpy(_ptr, texels, (UIntPtr)(uint)texels.Length, Rt.HostToDevice));
        }

        public void Dispose()
        {
            if (_ptr == IntPtr.Zero) return;
            IntPtr p = _ptr;
            _ptr = IntPtr.Zero;
            Rt.Ok(Rt.cudaFree(p));
        }
    }
}
