using System;
using System.Runtime.InteropServices;

public enum cudaMemcpyKind
{
    cudaMemcpyHostToHost = 0,
    cudaMemcpyHostToDevice = 1,
    cudaMemcpyDeviceToHost = 2,
    cudaMemcpyDeviceToDevice = 3,
}

public static unsafe class VolumeLoader
{
    [DllImport("cudart64_12.dll")]
    private static extern int cudaMalloc(void** pointer, nuint bytes);

    [DllImport("cudart64_12.dll")]
    private static extern int cudaMemcpy(void* destination, void* source, nuint bytes, cudaMemcpyKind kind);

    [DllImport("cudart64_12.dll")]
    private static extern int cudaFree(void* pointer);

    public static void* Load(ushort[] voxels)
    {
        void* device = null;
        nuint bytes = (nuint)(voxels.Length * sizeof(ushort));
        int status = cudaMalloc(&device, bytes);
        if (status != 0)
            throw new OutOfMemoryException($"cudaMalloc: {status}");
        fixed (ushort* source = voxels)
        {
            status = cudaMemcpy(device, source, bytes, cudaMemcpyKind.cudaMemcpyHostToDevice);
        }
        if (status != 0)
        {
            cudaFree(device);
            throw new InvalidOperationException($"cudaMemcpy: {status}");
        }
        return device;
    }
}
