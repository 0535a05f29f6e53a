using System;
using ManagedCuda;
using ManagedCuda.VectorTypes;

namespace Fractals
{
    public sealed class MandelbrotRenderer
    {
        private readonly CudaKernel kernel;
        private readonly int width;
        private readonly int height;

        public MandelbrotRenderer(CudaContext context, string path, int width, int height)
        {
            kernel = context.LoadKernel(path, "mandelbrot");
            this.width = width;
            this.height = height;
        }

        public uint[] Render(double centerX, double centerY, double scale)
        {
            using CudaDeviceVariable<uint> pixels = new CudaDeviceVariable<uint>(width * height);
            kernel.BlockDimensions = new dim3(64, 32, 1);
            kernel.GridDimensions = new dim3((width + 31) / 32, (height + 31) / 32, 1);
            kernel.Run(pixels.DevicePointer, width, height, centerX, centerY, scale);
            uint[] image = new uint[width * height];
            pixels.CopyToHost(image);
            return image;
        }
    }
}
