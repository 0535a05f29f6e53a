using System;
using System.Collections.Concurrent;
using System.Threading;
using static Capture.Interop.NativeCuda;

namespace Capture.Interop
{
    /// <summary>Brings rendered frames to host memory and hands them to the muxer thread.</summary>
    public sealed class FrameSink : IDisposable
    {
        private readonly IntPtr _stream;
        private readonly IntPtr[] _slots;
        private readonly nuint _bytes;
        private readonly HostFn _onArrived;
        private readonly BlockingCollection<int> _arrived = new();
        private readonly BlockingCollection<int> _idle = new();
        private bool _disposed;
        private readonly Thread _muxer;
        private readonly Action<IntPtr, nuint> _consume;

        public FrameSink(int slots, nuint bytes, Action<IntPtr, nuint> consume)
        {
            _bytes = bytes;
            _consume = consume;
            _slots = new IntPtr[slots];
            _onArrived = OnArrived;
            ThrowOnError(cudaStreamCreateWithFlags(out _stream, NonBlocking), "stream");
            try
            {
                for (int i = 0; i < slots; i++)
                {
                    ThrowOnError(cudaHostAlloc(out _slots[i], bytes, 0), "cudaHostAlloc");
                    _idle.Add(i);
                }
            }
            catch
            {
                FreeNative();
                throw;
            }
            _muxer = new Thread(Mux) { IsBackground = true, Name = "muxer" };
            _muxer.Start();
        }

        /// <summary>The frame on the device is finished when this is called.</summary>
        public void Submit(IntPtr deviceFrame)
        {
            int slot = _idle.Take();
            try
            {
                ThrowOnError(cudaMemcpyAsync(_slots[slot], deviceFrame, _bytes, DeviceToHost, _stream), "copy");
                ThrowOnError(cudaLaunchHostFunc(_stream, _onArrived, (IntPtr)slot), "hostfunc");
            }
            catch
            {
                cudaStreamSynchronize(_stream);
                _idle.Add(slot);
                throw;
            }
        }

        private void OnArrived(IntPtr slot) => _arrived.Add((int)slot);

        private void Mux()
        {
            foreach (int slot in _arrived.GetConsumingEnumerable())
            {
                _consume(_slots[slot], _bytes);
                _idle.Add(slot);
            }
        }

        private void FreeNative()
        {
            foreach (IntPtr p in _slots)
                if (p != IntPtr.Zero) cudaFreeHost(p);
            cudaStreamDestroy(_stream);
        }

        public void Dispose()
        {
            if (_disposed) return;
            _disposed = true;
            cudaStreamSynchronize(_stream);
            _arrived.CompleteAdding();
            _muxer.Join();
            FreeNative();
            GC.KeepAlive(this);
        }
    }
}
