using System;
using System.IO;
using System.Runtime.InteropServices;

namespace Pacs.Decode
{
    internal abstract class CudaMemory : SafeHandle
    {
        protected CudaMemory(nuint bytes) : base(IntPtr.Zero, ownsHandle: true) => Bytes = bytes;

        public nuint Bytes { get; }
        public override bool IsInvalid => handle == IntPtr.Zero;
        public IntPtr Address => handle;

        protected abstract int Free();

        protected override bool ReleaseHandle()
        {
            if (Driver.cuCtxPushCurrent_v2(GpuContext.Shared.Handle) != 0) return false;
            int rc = Free();
            Driver.cuCtxPopCurrent_v2(out _);
            return rc == 0;
        }
    }

    internal sealed class DeviceMemory : CudaMemory
    {
        public DeviceMemory(nuint bytes) : base(bytes)
        {
            GpuContext.Shared.Run(() =>
            {
                Driver.Ok(Driver.cuMemAlloc_v2(out IntPtr p, bytes));
                SetHandle(p);
            });
        }

        protected override int Free() => Driver.cuMemFree_v2(handle);
    }

    internal sealed class UploadMemory : CudaMemory
    {
        public UploadMemory(nuint bytes) : base(bytes)
        {
            GpuContext.Shared.Run(() =>
            {
                Driver.Ok(Driver.cuMemHostAlloc(out IntPtr p, bytes,
                    Driver.HostAllocPortable | Driver.HostAllocWriteCombined));
                SetHandle(p);
            });
        }

        protected override int Free() => Driver.cuMemFree_v2(handle);
    }

    /// <summary>Brings one DICOM pixel fragment to the device.</summary>
    internal static class FragmentLoader
    {
        public static DeviceMemory Load(Stream s, int length)
        {
            using var up = new UploadMemory((nuint)length);
            byte[] tmp = new byte[Math.Min(length, 1 << 16)];
            int done = 0;
            while (done < length)
            {
                int n = s.Read(tmp, 0, Math.Min(tmp.Length, length - done));
                if (n == 0) throw new EndOfStreamException();
                Marshal.Copy(tmp, 0, up.Address + done, n);
                done += n;
            }
            var dev = new DeviceMemory((nuint)length);
            try
            {
                GpuContext.Shared.Run(() =>
                    Driver.Ok(Driver.cuMemcpyHtoD_v2(dev.Address, up.Address, up.Bytes)));
            }
            catch
            {
                dev.Dispose();
                throw;
            }
            return dev;
        }
    }
}
