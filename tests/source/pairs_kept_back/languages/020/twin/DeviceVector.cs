using System;
using System.Runtime.InteropServices;

namespace CreditDesk.Var
{
    internal static class Native
    {
        [DllImport("cudart")] public static extern int cudaMalloc(out IntPtr p, UIntPtr bytes);
        [DllImport("cudart")] public static extern int cudaFree(IntPtr p);
        [DllImport("cudart")] public static extern int cudaMemcpy(IntPtr dst, IntPtr src, UIntPtr bytes, int kind);
        [DllImport("cublas")] public static extern int cublasCreate_v2(out IntPtr h);
        [DllImport("cublas")] public static extern int cublasDestroy_v2(IntPtr h);
        [DllImport("cublas")]
        public static extern int cublasDgemv_v2(IntPtr h, int trans, int m, int n, in double alpha,
            IntPtr a, int lda, IntPtr x, int incx, in double beta, IntPtr y, int incy);

        public static void Cuda(int rc)
        {
            if (rc != 0) throw new ExternalException("CUDA error", rc);
        }

        public static void Blas(int rc)
        {
            if (rc != 0) throw new ExternalException("cuBLAS status", rc);
        }
    }

    public sealed unsafe class DeviceVector<T> : IDisposable where T : unmanaged
    {
        public int Length { get; }
        public IntPtr Ptr { get; private set; }

        public DeviceVector(int length)
        {
            Length = length;
            Native.Cuda(Native.cudaMalloc(out IntPtr p, ByteCount(length)));
            Ptr = p;
        }

        private static UIntPtr ByteCount(int n) => (UIntPtr)((ulong)n * (ulong)sizeof(T));

        public void Set(ReadOnlySpan<T> host)
        {
            if (host.Length != Length) throw new ArgumentException("length");
            fixed (T* p = host)
                Native.Cuda(Native.cudaMemcpy(Ptr, (IntPtr)p, ByteCount(host.Length), 1));
        }

        public T[] Get()
        {
            var host = new T[Length];
            fixed (T* p = host)
                Native.Cuda(Native.cudaMemcpy((IntPtr)p, Ptr, ByteCount(host.Length), 2));
            return host;
        }

        public void Dispose()
        {
            if (Ptr != IntPtr.Zero) Native.cudaFree(Ptr);
            Ptr = IntPtr.Zero;
        }
    }

    /// Profit and loss of a book under historical scenarios.
    public sealed class ScenarioEngine : IDisposable
    {
        private readonly int _scenarios, _factors;
        private readonly DeviceVector<double> _moves;   // column major, scenarios x factors
        private IntPtr _blas;

        public ScenarioEngine(double[] moves, int scenarios, int factors)
        {
            _scenarios = scenarios;
            _factors = factors;
            Native.Blas(Native.cublasCreate_v2(out _blas));
            try
            {
                _moves = new DeviceVector<double>(scenarios * factors);
                _moves.Set(moves);
            }
            catch
            {
                Dispose();
                throw;
            }
        }

        public double ValueAtRisk(double[] sensitivities, double level)
        {
            using var x = new DeviceVector<double>(_factors);
            using var pnl = new DeviceVector<double>(_scenarios);
            x.Set(sensitivities);
            Native.Blas(Native.cublasDgemv_v2(_blas, 0, _scenarios, _factors, 1.0,
                _moves.Ptr, _scenarios, x.Ptr, 1, 0.0, pnl.Ptr, 1));
            double[] all = pnl.Get();
            Array.Sort(all);
            int k = Math.Clamp((int)((1.0 - level) * _scenarios), 0, _scenarios - 1);
            return -all[k];
        }

        public void Dispose()
        {
            _moves?.Dispose();
            if (_blas != IntPtr.Zero) Native.cublasDestroy_v2(_blas);
            _blas = IntPtr.Zero;
        }
    }
}
