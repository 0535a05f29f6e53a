using System;
using System.Globalization;
using System.IO;
using ILGPU;
using ILGPU.Runtime;
using ILGPU.Runtime.Cuda;

namespace Dailies.Grading
{
    /// Applies the look of a scene (three 1D curves) to RGB10 frames.
    public sealed class ColorGrader : IDisposable
    {
        private const int Steps = 1024;

        private readonly Context _context;
        private readonly Accelerator _gpu;
        private readonly Action<Index1D, ArrayView1D<uint, Stride1D.Dense>,
                                ArrayView1D<float, Stride1D.Dense>> _grade;
        private MemoryBuffer1D<float, Stride1D.Dense> _look;

        public ColorGrader(int device)
        {
            _context = Context.Create(b => b.Cuda());
            try
            {
                _gpu = _context.CreateCudaAccelerator(device);
                _grade = _gpu.LoadAutoGroupedStreamKernel<
                    Index1D, ArrayView1D<uint, Stride1D.Dense>,
                    ArrayView1D<float, Stride1D.Dense>>(GradePixel);
                SetLook(Identity());
            }
            catch
            {
                Dispose();
                throw;
            }
        }

        private static float[] Identity()
        {
            var t = new float[3 * Steps];
            for (int i = 0; i < t.Length; i++)
                t[i] = (i % Steps) / (float)(Steps - 1);
            return t;
        }

        private static void GradePixel(Index1D i, ArrayView1D<uint, Stride1D.Dense> px,
                                       ArrayView1D<float, Stride1D.Dense> curves)
        {
            uint p = px[i];
            float r = curves[(int)((p >> 20) & 1023)];
            float g = curves[Steps + (int)((p >> 10) & 1023)];
            float b = curves[2 * Steps + (int)(p & 1023)];
            px[i] = ((uint)(r * 1023f) << 20) | ((uint)(g * 1023f) << 10) | (uint)(b * 1023f);
        }

        public void LoadLook(string path)
        {
            string[] lines = File.ReadAllLines(path);
            if (lines.Length != Steps)
                throw new InvalidDataException($"{path}: {lines.Length} lines");
            var t = new float[3 * Steps];
            for (int i = 0; i < Steps; i++)
            {
                string[] c = lines[i].Split(' ', StringSplitOptions.RemoveEmptyEntries);
                for (int k = 0; k < 3; k++)
                    t[k * Steps + i] = Math.Clamp(float.Parse(c[k], CultureInfo.InvariantCulture), 0f, 1f);
            }
            SetLook(t);
        }

        private void SetLook(float[] curves)
        {
            var next = _gpu.Allocate1D(curves);
            _look?.Dispose();
            _look = next;
        }

        public void Apply(uint[] frame)
        {
            if (frame.Length == 0)
                return;
            using var px = _gpu.Allocate1D(frame);
            _grade((int)px.Length, px.View, _look.View);
            _gpu.Synchronize();
            px.CopyToCPU(frame);
        }

        public void Dispose()
        {
            _look?.Dispose();
            _gpu?.Dispose();
            _context.Dispose();
        }
    }
}
