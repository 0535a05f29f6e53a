using System;
using System.Linq;
using ManagedCuda;

namespace Trading.Gpu
{
    public sealed class PrefixScanner : IDisposable
    {
        private readonly CudaContext _context;
        private readonly CudaKernel _scan;

        public PrefixScanner(string ptxPath)
        {
            _context = new CudaContext(0);
            try
            {
                _scan = _context.LoadKernelPTX(ptxPath, "block_scan");
            }
            catch
            {
                _context.Dispose();
                throw;
            }
            _scan.BlockDimensions = new ManagedCuda.VectorTypes.dim3(256, 1, 1);
        }

        public float[] Scan(float[] quantities)
        {
            var totals = new float[quantities.Length];
            var input = new CudaDeviceVariable<float>(quantities.Length);
            try
            {
                var output = new CudaDeviceVariable<float>(quantities.Length);
                try
                {
                    input.CopyToDevice(quantities);
                    uint blocks = (uint)((quantities.Length + 255) / 256);
                    _scan.GridDimensions = new ManagedCuda.VectorTypes.dim3(blocks, 1, 1);
                    _scan.Run(input.DevicePointer, output.DevicePointer, quantities.Length);
                }
                finally
                {
                    output.Dispose();
                }
                output.CopyToHost(totals);
            }
            finally
            {
                input.Dispose();
            }
            return totals;
        }

        public void Dispose()
        {
            _context.UnloadKernel(_scan);
            _context.Dispose();
        }
    }

    public static class Program
    {
        public static void Main(string[] args)
        {
            float[] book = Enumerable.Range(1, 4096).Select(i => (float)(i % 50)).ToArray();
            using (var scanner = new PrefixScanner(args.Length > 0 ? args[0] : "scan.ptx"))
            {
                float[] depth = scanner.Scan(book);
                Console.WriteLine($"depth at level 100: {depth[100]}");
            }
        }
    }
}
