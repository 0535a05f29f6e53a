using System;
using ManagedCuda;
using ManagedCuda.BasicTypes;

namespace Tracking
{
    public sealed class DepthReader : IDisposable
    {
        private readonly CudaStream stream = new CudaStream();
        private readonly CudaPageLockedHostMemory<float> host;

        public DepthReader(int pixels)
        {
            host = new CudaPageLockedHostMemory<float>(pixels);
        }

        public float Nearest(CudaDeviceVariable<float> depth)
        {
            host.AsyncCopyFromDevice(depth, stream.Stream);
            stream.Synchronize();
            float nearest = float.MaxValue;
            for (int i = 0; i < (int)host.Size; i++)
                nearest = Math.Min(nearest, host[i]);
            return nearest;
        }

        public void Dispose()
        {
            stream.Synchronize();
            host.Dispose();
            stream.Dispose();
        }
    }
}
