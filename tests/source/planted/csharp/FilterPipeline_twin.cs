using System;
using ManagedCuda;
using ManagedCuda.BasicTypes;

namespace Imaging
{
    public sealed class FilterPipeline
    {
        private readonly CudaContext context;
        private readonly CudaKernel kernel;

        public FilterPipeline(CudaContext context, byte[] ptx)
        {
            this.context = context;
            kernel = context.LoadKernelPTX(ptx, "box_filter");
        }

        public float[] Apply(float[] image, int width, int height)
        {
            CudaStream stream = new CudaStream();
            CudaDeviceVariable<float> input = image;
            CudaDeviceVariable<float> output = new CudaDeviceVariable<float>(image.Length);
            kernel.BlockDimensions = new dim3(16, 16);
            kernel.GridDimensions = new dim3((width + 15) / 16, (height + 15) / 16);
            kernel.RunAsync(stream.Stream, input.DevicePointer, output.DevicePointer, width, height);
            stream.Synchronize();
            float[] result = output;
            input.Dispose();
            output.Dispose();
            stream.Dispose();
            return result;
        }
    }
}
