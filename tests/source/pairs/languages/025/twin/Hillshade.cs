using System;
using System.IO;
using System.Runtime.InteropServices;
using System.Threading;
using System.Threading.Tasks;
using ManagedCuda;
using ManagedCuda.VectorTypes;

namespace Terrain.Tiles
{
    /// <summary>Shades elevation tiles for the tile server.</summary>
    public sealed class Hillshade : IDisposable
    {
        public const int TileSize = 512;

        private readonly CudaContext _ctx;
        private readonly CudaKernel _kernel;
        private readonly SemaphoreSlim _gate = new SemaphoreSlim(1, 1);

        public Hillshade(string ptxPath, int device)
        {
            _ctx = new CudaContext(device);
            try
            {
                _kernel = _ctx.LoadKernel(ptxPath, "hillshade_f32");
            }
            catch
            {
                _ctx.Dispose();
                throw;
            }
            _kernel.BlockDimensions = new dim3(16, 16);
            _kernel.GridDimensions = new dim3(TileSize / 16, TileSize / 16);
        }

        public async Task<byte[]> ShadeAsync(string demPath, float azimuth, float altitude, CancellationToken ct)
        {
            byte[] raw = await File.ReadAllBytesAsync(demPath, ct).ConfigureAwait(false);
            if (raw.Length != TileSize * TileSize * sizeof(float))
                throw new InvalidDataException(demPath);
            float[] heights = MemoryMarshal.Cast<byte, float>(raw).ToArray();

            await _gate.WaitAsync(ct).ConfigureAwait(false);
            try
            {
                return Shade(heights, azimuth, altitude);
            }
            finally
            {
                _gate.Release();
            }
        }

        private byte[] Shade(float[] heights, float azimuth, float altitude)
        {
            _ctx.SetCurrent();
            using var dem = new CudaDeviceVariable<float>(heights.Length);
            using var shade = new CudaDeviceVariable<byte>(heights.Length);
            dem.CopyToDevice(heights);
            _kernel.Run(dem.DevicePointer, shade.DevicePointer, TileSize, azimuth, altitude);
            var result = new byte[heights.Length];
            shade.CopyToHost(result);
            return result;
        }

        public void Dispose()
        {
            _gate.Wait();
            _ctx.SetCurrent();
            _ctx.UnloadKernel(_kernel);
            _ctx.Dispose();
            _gate.Dispose();
        }
    }

    public static class TileEndpoint
    {
        private static Hillshade _shader;

        public static void Start(string ptx) => _shader = new Hillshade(ptx, 0);

        public static async Task WriteTileAsync(Stream body, string root, int z, int x, int y, CancellationToken ct)
        {
            string path = Path.Combine(root, $"{z}/{x}/{y}.dem");
            byte[] px = await _shader.ShadeAsync(path, 315f, 45f, ct).ConfigureAwait(false);
            await body.WriteAsync(px, ct).ConfigureAwait(false);
        }

        public static void Stop() => _shader.Dispose();
    }
}
