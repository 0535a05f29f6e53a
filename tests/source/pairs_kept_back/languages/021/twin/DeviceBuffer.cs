using System;
using System.Runtime.InteropServices;

namespace Ember.Gpu
{
    internal static class Cu
    {
        private const string Dll = "nvcuda";

        [DllImport(Dll, EntryPoint = "cuMemAlloc_v2")]
        public static extern int MemAlloc(out ulong ptr, UIntPtr bytes);
        [DllImport(Dll, EntryPoint = "cuMemFree_v2")]
        public static extern int MemFree(ulong ptr);
        [DllImport(Dll, EntryPoint = "cuMemsetD32_v2")]
        public static extern int MemsetD32(ulong ptr, uint value, UIntPtr count);
        [DllImport(Dll, EntryPoint = "cuMemcpyHtoD_v2")]
        public static extern int CopyIn(ulong dst, float[] src, UIntPtr bytes);
        [DllImport(Dll, EntryPoint = "cuMemcpyDtoH_v2")]
        public static extern int CopyOut(float[] dst, ulong src, UIntPtr bytes);
        [DllImport(Dll, EntryPoint = "cuLaunchKernel")]
        public static extern int Launch(IntPtr fn, uint gx, uint gy, uint gz, uint bx, uint by, uint bz,
                                        uint shared, IntPtr stream, IntPtr[] args, IntPtr extra);

        public static void Must(int rc, string what)
        {
            if (rc != 0) throw new InvalidOperationException($"{what}: CUDA error {rc}");
        }
    }

    /// Linear device memory of floats.
    public sealed class DeviceBuffer : IDisposable
    {
        private ulong _ptr;
        private readonly int _count;

        public DeviceBuffer(int count)
        {
            _count = count;
            Cu.Must(Cu.MemAlloc(out _ptr, (UIntPtr)(4UL * (ulong)count)), "alloc");
        }

        public ulong Address => _ptr;
        public int Count => _count;

        public void Clear() => Cu.Must(Cu.MemsetD32(_ptr, 0, (UIntPtr)(ulong)_count), "clear");

        public void Write(float[] src)
        {
            if (src.Length > _count) throw new ArgumentException("too long");
            Cu.Must(Cu.CopyIn(_ptr, src, (UIntPtr)(4UL * (ulong)src.Length)), "upload");
        }

        public void Read(float[] dst)
        {
            if (dst.Length > _count) throw new ArgumentException("too long");
            Cu.Must(Cu.CopyOut(dst, _ptr, (UIntPtr)(4UL * (ulong)dst.Length)), "download");
        }

        public void Dispose()
        {
            if (_ptr == 0) return;
            ulong p = _ptr;
            _ptr = 0;
            Cu.MemFree(p);
        }
    }
}
