using System;
using System.Threading;
using System.Threading.Channels;

namespace Broadcast.Gpu
{
    /// Brings rendered frames back to the host for the SDI card.
    public sealed class FrameReader : IDisposable
    {
        private readonly int _frameBytes;
        private readonly IntPtr[] _slots;
        private readonly SemaphoreSlim _idle;
        private readonly Channel<int> _arrived = Channel.CreateUnbounded<int>();
        private readonly CudaRt.HostFn _onArrived;
        private IntPtr _stream;
        private int _next;

        public FrameReader(int frameBytes, int depth)
        {
            _frameBytes = frameBytes;
            _slots = new IntPtr[depth];
            _idle = new SemaphoreSlim(depth, depth);
            _onArrived = OnArrived;
            try
            {
                CudaRt.Ok(CudaRt.cudaStreamCreateWithFlags(out _stream, CudaRt.NonBlocking));
                for (int i = 0; i < depth; i++)
                    CudaRt.Ok(CudaRt.cudaHostAlloc(out _slots[i], (UIntPtr)(uint)frameBytes, 0));
            }
            catch
            {
                Dispose();
                throw;
            }
        }

        /// Called by the render thread only. The frame must stay untouched until
        /// it comes out of Take.
        public void Enqueue(IntPtr devFrame, IntPtr renderedEvent)
        {
            _idle.Wait();
            int slot = _next;
            try
            {
                CudaRt.Ok(CudaRt.cudaStreamWaitEvent(_stream, renderedEvent, 0));
                CudaRt.Ok(CudaRt.cudaMemcpyAsync(_slots[slot], devFrame, (UIntPtr)(uint)_frameBytes,
                                                 CudaRt.DeviceToHost, _stream));
                CudaRt.Ok(CudaRt.cudaLaunchHostFunc(_stream, _onArrived, (IntPtr)slot));
            }
            catch
            {
                CudaRt.cudaStreamSynchronize(_stream);
                _idle.Release();
                throw;
            }
            _next = (slot + 1) % _slots.Length;
        }

        private void OnArrived(IntPtr userData)
        {
            _arrived.Writer.TryWrite((int)userData);
        }

        /// Called by the output thread; `sink` must copy what it needs.
        public bool Take(Action<IntPtr, int> sink, CancellationToken stop)
        {
            int slot;
            try
            {
                while (!_arrived.Reader.TryRead(out slot))
                {
                    if (!_arrived.Reader.WaitToReadAsync(stop).AsTask().GetAwaiter().GetResult())
                        return false;
                }
            }
            catch (OperationCanceledException)
            {
                return false;
            }
            try
            {
                sink(_slots[slot], _frameBytes);
            }
            finally
            {
                _idle.Release();
            }
            return true;
        }

        /// Both threads have ended by now.
        public void Dispose()
        {
            if (_stream != IntPtr.Zero)
            {
                CudaRt.cudaStreamSynchronize(_stream);
                CudaRt.cudaStreamDestroy(_stream);
                _stream = IntPtr.Zero;
            }
            for (int i = 0; i < _slots.Length; i++)
            {
                if (_slots[i] != IntPtr.Zero)
                    CudaRt.cudaFreeHost(_slots[i]);
                _slots[i] = IntPtr.Zero;
            }
        }
    }
}
