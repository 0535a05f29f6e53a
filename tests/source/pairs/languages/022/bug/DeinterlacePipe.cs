using System;
using ManagedCuda;
using ManagedCuda.BasicTypes;
using ManagedCuda.VectorTypes;

namespace Broadcast.Video
{
    /// <summary>Field weaving on one stream, scaling to the preview size on another.</summary>
    public sealed class DeinterlacePipe : IDisposable
    {
        private const int Depth = 3;

        private readonly CudaContext _ctx;
        private readonly int _w, _h, _pw, _ph;
        private readonly CudaKernel _weave, _shrink;
        private readonly CudaStream _fields = new CudaStream(CUStreamFlags.NonBlocking);
        private readonly CudaStream _preview = new CudaStream(CUStreamFlags.NonBlocking);
        private readonly CudaDeviceVariable<byte>[] _frame = new CudaDeviceVariable<byte>[Depth];
        private readonly CudaEvent[] _woven = new CudaEvent[Depth];
        private readonly CudaEvent[] _shrunk = new CudaEvent[Depth];
        private readonly CudaDeviceVariable<byte> _small;
        private readonly byte[] _host;
        private int _n;

        public DeinterlacePipe(CudaContext ctx, string ptx, int w, int h, int pw, int ph)
        {
            _ctx = ctx;
            _w = w; _h = h; _pw = pw; _ph = ph;
            _host = new byte[pw * ph];
            try
            {
                _weave = Prepare(ptx, "weave_luma", w, h);
                _shrink = Prepare(ptx, "shrink_luma", pw, ph);
                for (int i = 0; i < Depth; i++)
                {
                    _frame[i] = new CudaDeviceVariable<byte>(w * h);
                    _woven[i] = new CudaEvent(CUEventFlags.DisableTiming);
                    _shrunk[i] = new CudaEvent(CUEventFlags.DisableTiming);
                }
                _small = new CudaDeviceVariable<byte>(pw * ph);
            }
            catch
            {
                Release();
                throw;
            }
        }

        private CudaKernel Prepare(string ptx, string name, int w, int h)
        {
            CudaKernel k = _ctx.LoadKernel(ptx, name);
            k.BlockDimensions = new dim3(32, 8);
            k.GridDimensions = new dim3((uint)(w + 31) / 32, (uint)(h + 7) / 8);
            return k;
        }

        /// <summary>Both fields must stay valid until Preview of this frame returned.</summary>
        public void Push(CUdeviceptr top, CUdeviceptr bottom)
        {
            int s = _n % Depth;
            _fields.WaitEvent(_shrunk[s].Event);
            _woven[s].Record(_fields.Stream);
            _weave.RunAsync(_fields.Stream, top, bottom, _frame[s].DevicePointer, _w, _h);

            _preview.WaitEvent(_woven[s].Event);
            _shrink.RunAsync(_preview.Stream, _frame[s].DevicePointer, _w, _h,
                             _small.DevicePointer, _pw, _ph);
            _shrunk[s].Record(_preview.Stream);
            _n++;
        }

        public byte[] Preview()
        {
            _preview.Synchronize();
            _small.CopyToHost(_host);
            return (byte[])_host.Clone();
        }

        public void Dispose()
        {
            _fields.Synchronize();
            _preview.Synchronize();
            Release();
        }

        private void Release()
        {
            for (int i = 0; i < Depth; i++)
            {
                _frame[i]?.Dispose();
                _woven[i]?.Dispose();
                _shrunk[i]?.Dispose();
            }
            _small?.Dispose();
            _fields.Dispose();
            _preview.Dispose();
            if (_weave != null) _ctx.UnloadKernel(_weave);
            if (_shrink != null) _ctx.UnloadKernel(_shrink);
        }
    }
}
