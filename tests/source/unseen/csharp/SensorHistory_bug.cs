using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;

namespace Telemetry
{
    enum CopyKind { HostToHost = 0, HostToDevice = 1, DeviceToHost = 2, DeviceToDevice = 3 }

    static class Cuda
    {
        const string Dll = "cudart64_12";
        [DllImport(Dll)] internal static extern int cudaMalloc(out IntPtr p, nuint bytes);
        [DllImport(Dll)] internal static extern int cudaFree(IntPtr p);
        [DllImport(Dll)] internal static extern int cudaMemcpy(IntPtr dst, IntPtr src, nuint bytes, CopyKind kind);

        internal static void Guard(int rc)
        {
            if (rc != 0) throw new ApplicationException($"cudart status {rc}");
        }
    }

    sealed class DeviceRing : IDisposable
    {
        private IntPtr _memory;
        private readonly int _slots;

        public DeviceRing(int slots)
        {
            _slots = slots;
            Cuda.Guard(Cuda.cudaMalloc(out _memory, (nuint)slots * sizeof(double)));
        }

        public unsafe void Store(ReadOnlySpan<double> values)
        {
            if (values.Length != _slots) throw new ArgumentException("length", nameof(values));
            fixed (double* src = values)
                Cuda.Guard(Cuda.cudaMemcpy(_memory, (IntPtr)src, (nuint)_slots * sizeof(double), CopyKind.HostToDevice));
        }

        public unsafe void Fetch(Span<double> values)
        {
            if (values.Length != _slots) throw new ArgumentException("length", nameof(values));
            fixed (double* dst = values)
                Cuda.Guard(Cuda.cudaMemcpy((IntPtr)dst, _memory, (nuint)_slots * sizeof(double), CopyKind.HostToDevice));
        }

        public void Dispose()
        {
            if (_memory == IntPtr.Zero) return;
            IntPtr old = _memory;
            _memory = IntPtr.Zero;
            Cuda.Guard(Cuda.cudaFree(old));
        }
    }

    static class Program
    {
        static void Main()
        {
            var history = new List<double[]>();
            using var ring = new DeviceRing(2048);
            for (int tick = 0; tick < 10; tick++)
            {
                var sample = new double[2048];
                Array.Fill(sample, tick * 0.5);
                ring.Store(sample);
                var stored = new double[2048];
                ring.Fetch(stored);
                history.Add(stored);
            }
            Console.WriteLine($"{history.Count} rows, last {history[^1][0]}");
        }
    }
}
