using System;
using ManagedCuda;
using ManagedCuda.BasicTypes;

namespace Inference
{
    public sealed class InferenceSession : IDisposable
    {
        private readonly CudaKernel forward;
        private readonly CudaDeviceVariable<float> weights;
        private readonly CudaDeviceVariable<float> activations;
        private readonly CudaStream stream;

        public InferenceSession(CudaKernel forward, float[] parameters, int width)
        {
            this.forward = forward;
            weights = new CudaDeviceVariable<float>(parameters.Length);
            activations = new CudaDeviceVariable<float>(width);
            stream = new CudaStream();
            weights.CopyToDevice(parameters);
        }

        public float[] Run(float[] input)
        {
            activations.CopyToDevice(input);
            forward.RunAsync(stream.Stream, weights.DevicePointer, activations.DevicePointer, input.Length);
            stream.Synchronize();
            float[] output = new float[input.Length];
            activations.CopyToHost(output);
            return output;
        }

        public void Dispose()
        {
            stream.Synchronize();
            activations.Dispose();
            weights.Dispose();
            stream.Dispose();
        }
    }
}
