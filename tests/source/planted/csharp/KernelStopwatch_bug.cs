using System;
using ManagedCuda;
using ManagedCuda.BasicTypes;

namespace Benchmarks
{
    public class KernelStopwatch
    {
        private readonly CudaKernel kernel;
        private readonly int repeats;

        public KernelStopwatch(CudaKernel kernel, int repeats)
        {
            this.kernel = kernel;
            this.repeats = repeats;
        }

        public float Measure(params object[] arguments)
        {
            using CudaEvent start = new CudaEvent(CUEventFlags.DisableTiming);
            using CudaEvent stop = new CudaEvent(CUEventFlags.DisableTiming);
            using CudaStream stream = new CudaStream();
            kernel.RunAsync(stream.Stream, arguments);
            start.Record(stream.Stream);
            for (int i = 0; i < repeats; i++)
                kernel.RunAsync(stream.Stream, arguments);
            stop.Record(stream.Stream);
            stop.Synchronize();
            return CudaEvent.ElapsedTime(start, stop) / repeats;
        }
    }
}
