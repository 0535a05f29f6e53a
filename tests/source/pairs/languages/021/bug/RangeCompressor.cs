using System;
using System.Runtime.InteropServices;

namespace Sar.Processing
{
    internal static class CuFft
    {
        private const string Lib = "cufft64_11";
        public const int C2C = 0x29;
        public const int Forward = -1, Inverse = 1;

        [DllImport(Lib)] public static extern int cufftPlan1d(out int plan, int nx, int type, int batch);
        [DllImport(Lib)] public static extern int cufftSetStream(int plan, IntPtr stream);
        [DllImport(Lib)] public static extern int cufftExecC2C(int plan, IntPtr idata, IntPtr odata, int direction);
        [DllImport(Lib)] public static extern int cufftDestroy(int plan);
    }

    internal static class CuRt
    {
        [DllImport("cudart64_12")] public static extern int cudaStreamSynchronize(IntPtr stream);
    }

    public sealed class FftException : Exception
    {
        public FftException(string op, int code) : base(op + " failed with " + code) { Code = code; }
        public int Code { get; }
    }

    /// <summary>Multiplies spectra with the chirp replica; implemented in the kernels assembly.</summary>
    public interface IReplicaMultiplier
    {
        void Apply(IntPtr spectra, int samples, int pulses, IntPtr stream);
    }

    public sealed class RangeCompressor
    {
        private readonly IReplicaMultiplier _replica;

        public RangeCompressor(IReplicaMultiplier replica)
        {
            _replica = replica ?? throw new ArgumentNullException(nameof(replica));
        }

        /// <summary>In-place compression of a burst. Burst geometry changes from burst to burst.</summary>
        public void Compress(IntPtr data, int samples, int pulses, IntPtr stream)
        {
            Check(CuFft.cufftPlan1d(out int plan, samples, CuFft.C2C, pulses), "cufftPlan1d");
            Check(CuFft.cufftSetStream(plan, stream), "cufftSetStream");
            Check(CuFft.cufftExecC2C(plan, data, data, CuFft.Forward), "forward");
            _replica.Apply(data, samples, pulses, stream);
            Check(CuFft.cufftExecC2C(plan, data, data, CuFft.Inverse), "inverse");
            Check(CuRt.cudaStreamSynchronize(stream), "cudaStreamSynchronize");
            CuFft.cufftDestroy(plan);
        }

        public int CompressAll(Burst[] bursts, IntPtr stream, Action<Burst, Exception> onBad)
        {
            int good = 0;
            foreach (Burst b in bursts)
            {
                try
                {
                    Compress(b.Data, b.Samples, b.Pulses, stream);
                    good++;
                }
                catch (FftException e)
                {
                    onBad(b, e);
                }
            }
            return good;
        }

        private static void Check(int rc, string op)
        {
            if (rc != 0) throw new FftException(op, rc);
        }
    }

    public struct Burst
    {
        public IntPtr Data;
        public int Samples;
        public int Pulses;
    }
}
