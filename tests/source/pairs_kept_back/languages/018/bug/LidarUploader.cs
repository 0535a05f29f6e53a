using System;
using System.Runtime.InteropServices;
using ManagedCuda;
using ManagedCuda.BasicTypes;

namespace Roadscan
{
    /// A managed array the GPU can read directly.
    internal sealed class PageLockedArray : IDisposable
    {
        public readonly float[] Data;
        private IntPtr _address;

        public PageLockedArray(int length)
        {
            Data = new float[length];
            GCHandle pin = GCHandle.Alloc(Data, GCHandleType.Pinned);
            IntPtr address = pin.AddrOfPinnedObject();
            CUResult rc = DriverAPINativeMethods.MemoryManagement.cuMemHostRegister(
                address, (SizeT)(4L * length), CUMemHostRegisterFlags.None);
            pin.Free();
            if (rc != CUResult.Success)
                throw new CudaException(rc);
            _address = address;
        }

        public IntPtr Address => _address;

        public void Dispose()
        {
            if (_address == IntPtr.Zero)
                return;
            DriverAPINativeMethods.MemoryManagement.cuMemHostUnregister(_address);
            _address = IntPtr.Zero;
        }
    }

    public sealed class LidarUploader : IDisposable
    {
        private readonly CudaContext _ctx;
        private readonly CudaStream _stream;
        private readonly PageLockedArray[] _stage = new PageLockedArray[2];
        private readonly CudaEvent[] _sent = new CudaEvent[2];
        private readonly CudaDeviceVariable<float> _cloud;
        private readonly int _maxPoints;
        private int _turn;
        private bool _closed;

        public LidarUploader(CudaContext ctx, int maxPoints)
        {
            _ctx = ctx;
            _maxPoints = maxPoints;
            _ctx.SetCurrent();
            try
            {
                _stream = new CudaStream(CUStreamFlags.NonBlocking);
                _cloud = new CudaDeviceVariable<float>(4 * maxPoints);
                for (int i = 0; i < 2; i++)
                {
                    _stage[i] = new PageLockedArray(4 * maxPoints);
                    _sent[i] = new CudaEvent(CUEventFlags.DisableTiming);
                }
            }
            catch
            {
                Dispose();
                throw;
            }
        }

        /// Queues one sweep; work on Stream may use Cloud afterwards.
        public void Push(ReadOnlySpan<LidarReturn> sweep)
        {
            if (sweep.Length > _maxPoints)
                throw new ArgumentException("sweep too long");
            _ctx.SetCurrent();
            PageLockedArray stage = _stage[_turn];
            _sent[_turn].Synchronize();

            float[] d = stage.Data;
            for (int i = 0; i < sweep.Length; i++)
            {
                sweep[i].ToCartesian(out d[4 * i], out d[4 * i + 1], out d[4 * i + 2]);
                d[4 * i + 3] = sweep[i].Intensity;
            }

            CUResult rc = DriverAPINativeMethods.AsynchronousMemcpy_v2.cuMemcpyHtoDAsync_v2(
                _cloud.DevicePointer, stage.Address, (SizeT)(16L * sweep.Length), _stream.Stream);
            if (rc != CUResult.Success)
                throw new CudaException(rc);
            _sent[_turn].Record(_stream.Stream);
            _turn ^= 1;
        }

        public CUstream Stream => _stream.Stream;
        public CudaDeviceVariable<float> Cloud => _cloud;

        public void Dispose()
        {
            if (_closed)
                return;
            _closed = true;
            _ctx.SetCurrent();
            if (_stream != null)
                _stream.Synchronize();
            foreach (CudaEvent e in _sent)
                e?.Dispose();
            foreach (PageLockedArray a in _stage)
                a?.Dispose();
            _cloud?.Dispose();
            _stream?.Dispose();
        }
    }
}
