using System;
using System.Collections.Generic;
using ManagedCuda;
using ManagedCuda.BasicTypes;
using ManagedCuda.CudaBlas;
using ManagedCuda.VectorTypes;

namespace Desk.Risk
{
    /// <summary>
    /// One valuation run: scenario matrix times exposures, then the loss quantile on the host.
    /// Sessions are opened and closed for every book.
    /// </summary>
    public sealed class RiskSession : IDisposable
    {
        private readonly CudaContext _ctx;
        private readonly CudaBlas _blas;
        private readonly CudaDeviceVariable<double> _scenarios;
        private readonly CudaDeviceVariable<double> _exposure;
        private readonly CudaDeviceVariable<double> _pnl;
        private readonly int _rows, _cols;
        private bool _closed;

        public RiskSession(int device, double[] scenariosColMajor, int rows, int cols)
        {
            _rows = rows;
            _cols = cols;
            _ctx = new CudaContext(device);
            try
            {
                _blas = new CudaBlas();
                _scenarios = new CudaDeviceVariable<double>((long)rows * cols);
                _exposure = new CudaDeviceVariable<double>(cols);
                _pnl = new CudaDeviceVariable<double>(rows);
                _scenarios.CopyToDevice(scenariosColMajor);
            }
            catch
            {
                Dispose();
                throw;
            }
        }

        public double[] Revalue(double[] exposure)
        {
            if (_closed) throw new ObjectDisposedException(nameof(RiskSession));
            if (exposure.Length != _cols) throw new ArgumentException("exposure");
            _ctx.SetCurrent();
            _exposure.CopyToDevice(exposure);
            _blas.Gemv(Operation.NonTranspose, _rows, _cols, 1.0, _scenarios, _rows,
                       _exposure, 1, 0.0, _pnl, 1);
            var result = new double[_rows];
            _pnl.CopyToHost(result);
            return result;
        }

        public double ValueAtRisk(double[] exposure, double level)
        {
            double[] pnl = Revalue(exposure);
            Array.Sort(pnl);
            int i = (int)Math.Floor((1.0 - level) * pnl.Length);
            return -pnl[Math.Min(i, pnl.Length - 1)];
        }

        public void Dispose()
        {
            if (_closed) return;
            _closed = true;
            _ctx.SetCurrent();
            _pnl?.Dispose();
            _exposure?.Dispose();
            _scenarios?.Dispose();
            _blas?.Dispose();
            _ctx.Dispose();
        }
    }

    public static class NightlyRun
    {
        public static Dictionary<string, double> Run(IEnumerable<Book> books, int device)
        {
            var res = new Dictionary<string, double>();
            foreach (Book b in books)
            {
                using (var s = new RiskSession(device, b.Scenarios, b.Rows, b.Cols))
                    res[b.Name] = s.ValueAtRisk(b.Exposure, 0.99);
            }
            return res;
        }
    }

    public sealed class Book
    {
        public string Name;
        public double[] Scenarios, Exposure;
        public int Rows, Cols;
    }
}
