using System;
using System.Linq;
using ManagedCuda;
using ManagedCuda.BasicTypes;
using ManagedCuda.VectorTypes;

namespace Aperture.Thumbs
{
    /// Makes previews for the asset browser. One instance per worker thread.
    public sealed class Thumbnailer : IDisposable
    {
        private const int Bins = 256;

        private readonly CudaContext _ctx;
        private readonly CudaKernel _histogram;
        private readonly CudaKernel _shrink;

        public Thumbnailer(int gpu, string ptxPath)
        {
            _ctx = new CudaContext(gpu);
            try
            {
                CUmodule module = _ctx.LoadModulePTX(ptxPath);
                _histogram = new CudaKernel("luma_histogram", module, _ctx);
                _shrink = new CudaKernel("area_shrink", module, _ctx);
            }
            catch
            {
                _ctx.Dispose();
                throw;
            }
        }

        /// Returns null for pictures that show nothing (one single tone).
        public byte[] Render(byte[] rgba, int width, int height, int box)
        {
            if (rgba.Length != width * height * 4)
                throw new ArgumentException("pixel data does not match the size");

            float scale = Math.Min(1f, (float)box / Math.Max(width, height));
            int tw = Math.Max(1, (int)(width * scale));
            int th = Math.Max(1, (int)(height * scale));

            using (var src = new CudaDeviceVariable<byte>(rgba.Length))
            {
                src.CopyToDevice(rgba);

                var hist = new CudaDeviceVariable<uint>(Bins);
                hist.Memset(0u);
                _histogram.BlockDimensions = new dim3(256);
                _histogram.GridDimensions = new dim3((uint)((width * height + 255) / 256));
                _histogram.Run(src.DevicePointer, width * height, hist.DevicePointer);

                var counts = new uint[Bins];
                hist.CopyToHost(counts);
                if (counts.Count(c => c != 0) < 2)
                    return null;

                byte lo = Percentile(counts, 0.005);
                byte hi = Percentile(counts, 0.995);
                hist.Dispose();

                var thumb = new byte[tw * th * 4];
                using (var dst = new CudaDeviceVariable<byte>(thumb.Length))
                {
                    _shrink.BlockDimensions = new dim3(16, 16);
                    _shrink.GridDimensions = new dim3((uint)((tw + 15) / 16), (uint)((th + 15) / 16));
                    _shrink.Run(src.DevicePointer, width, height, dst.DevicePointer, tw, th,
                                (int)lo, (int)hi);
                    dst.CopyToHost(thumb);
                }
                return thumb;
            }
        }

        private static byte Percentile(uint[] counts, double q)
        {
            double want = q * counts.Sum(c => (double)c);
            double seen = 0;
            for (int i = 0; i < counts.Length; i++)
            {
                seen += counts[i];
                if (seen >= want)
                    return (byte)i;
            }
            return 255;
        }

        public void Dispose()
        {
            _ctx.Dispose();
        }
    }
}
