using System;
using System.IO;
using System.Runtime.InteropServices;

namespace Oscilloscope
{
    internal static class Rt
    {
        private const string Lib = "cudart64_12";

        [DllImport(Lib)] public static extern int cudaMalloc(out IntPtr ptr, UIntPtr size);
        [DllImport(Lib)] public static extern int cudaFree(IntPtr ptr);
        [DllImport(Lib)] public static extern int cudaMemcpy(IntPtr dst, float[] src, UIntPtr size, int kind);
        [DllImport(Lib)] public static extern int cudaMemcpy([Out] float[] dst, IntPtr src, UIntPtr size, int kind);

        public static void Check(int status, string op)
        {
            if (status != 0) throw new InvalidOperationException($"{op} returned {status}");
        }
    }

    public static class WaveformLoader
    {
        private static float[] Parse(string path)
        {
            string[] lines = File.ReadAllLines(path);
            var samples = new float[lines.Length];
            for (int i = 0; i < lines.Length; i++) samples[i] = float.Parse(lines[i]);
            if (samples.Length == 0) throw new InvalidDataException(path);
            return samples;
        }

        public static float[] Echo(string path, int maxSamples)
        {
            var bytes = (UIntPtr)((ulong)maxSamples * sizeof(float));
            Rt.Check(Rt.cudaMalloc(out IntPtr device, bytes), "cudaMalloc");
            float[] samples = Parse(path);
            if (samples.Length > maxSamples)
                throw new InvalidDataException($"{path} has {samples.Length} samples");
            var used = (UIntPtr)((ulong)samples.Length * sizeof(float));
            Rt.Check(Rt.cudaMemcpy(device, samples, used, 1), "upload");
            var echo = new float[samples.Length];
            Rt.Check(Rt.cudaMemcpy(echo, device, used, 2), "download");
            Rt.Check(Rt.cudaFree(device), "cudaFree");
            return echo;
        }

        public static int Main(string[] args)
        {
            foreach (string path in args)
            {
                try
                {
                    Console.WriteLine($"{path}: {Echo(path, 1 << 20).Length} samples");
                }
                catch (InvalidDataException e)
                {
                    Console.Error.WriteLine(e.Message);
                }
            }
            return 0;
        }
    }
}
