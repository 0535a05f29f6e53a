using System;
using ILGPU;
using ILGPU.Runtime;
using ILGPU.Runtime.Cuda;

namespace Foundry.Cooling
{
    /// <summary>Cooling of a cast slab; the UI polls the profile while the solver runs.</summary>
    public sealed class HeatField : IDisposable
    {
        private readonly Context _context;
        private readonly CudaAccelerator _gpu;
        private readonly AcceleratorStream _solver;
        private readonly Action<AcceleratorStream, Index1D, ArrayView<float>, ArrayView<float>, float> _step;
        private MemoryBuffer1D<float, Stride1D.Dense> _now;
        private MemoryBuffer1D<float, Stride1D.Dense> _next;
        private readonly object _lock = new object();

        public HeatField(int cells, float startKelvin)
        {
            _context = Context.Create(b => b.Cuda());
            try
            {
                _gpu = _context.CreateCudaAccelerator(0);
                _solver = _gpu.CreateStream();
                _step = _gpu.LoadAutoGroupedKernel<Index1D, ArrayView<float>, ArrayView<float>, float>(Step);
                _now = _gpu.Allocate1D<float>(cells);
                _next = _gpu.Allocate1D<float>(cells);

                var init = new float[cells];
                Array.Fill(init, startKelvin);
                _now.CopyFromCPU(init);
                _next.CopyFromCPU(init);
                _gpu.Synchronize();
            }
            catch
            {
                Dispose();
                throw;
            }
        }

        private static void Step(Index1D i, ArrayView<float> src, ArrayView<float> dst, float a)
        {
            if (i == 0 || i == src.Length - 1)
            {
                dst[i] = src[i] + a * 0.25f * (300f - src[i]);
                return;
            }
            dst[i] = src[i] + a * (src[i - 1] - 2f * src[i] + src[i + 1]);
        }

        public void Advance(int steps, float alpha)
        {
            lock (_lock)
            {
                for (int k = 0; k < steps; k++)
                {
                    _step(_solver, (int)_now.Length, _now.View, _next.View, alpha);
                    (_now, _next) = (_next, _now);
                }
            }
        }

        public float[] Profile()
        {
            lock (_lock)
            {
                _solver.Synchronize();
                return _now.GetAsArray1D();
            }
        }

        public void Dispose()
        {
            _solver?.Synchronize();
            _now?.Dispose();
            _next?.Dispose();
            _solver?.Dispose();
            _gpu?.Dispose();
            _context.Dispose();
        }
    }

    internal static class Program
    {
        private static void Main(string[] args)
        {
            int cells = args.Length > 0 ? int.Parse(args[0]) : 1 << 20;
            using var field = new HeatField(cells, 1750f);
            for (int minute = 0; minute < 60; minute++)
            {
                field.Advance(600, 0.21f);
                float[] t = field.Profile();
                Console.WriteLine($"{minute,3} min  skin {t[0]:F1} K  core {t[t.Length / 2]:F1} K");
            }
        }
    }
}
