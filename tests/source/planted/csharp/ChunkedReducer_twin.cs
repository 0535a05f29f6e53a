using System;
using ManagedCuda;
using ManagedCuda.BasicTypes;

namespace Analytics
{
    public static class ChunkedReducer
    {
        public static double Sum(CudaKernel reduce, float[] values, int chunk)
        {
            double total = 0.0;
            float[] buffer = new float[chunk];
            using CudaDeviceVariable<float> result = new CudaDeviceVariable<float>(1);
            reduce.BlockDimensions = new dim3(256);
            reduce.GridDimensions = new dim3(1);
            for (int at = 0; at < values.Length; at += chunk)
            {
                int n = Math.Min(chunk, values.Length - at);
                Array.Clear(buffer, 0, chunk);
                Array.Copy(values, at, buffer, 0, n);
                using CudaDeviceVariable<float> device = new CudaDeviceVariable<float>(chunk);
                device.CopyToDevice(buffer);
                reduce.Run(device.DevicePointer, n, result.DevicePointer);
                float[] part = new float[1];
                result.CopyToHost(part);
                total += part[0];
            }
            return total;
        }
    }
}
