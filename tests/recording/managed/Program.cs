using System;
using System.Runtime.InteropServices;

namespace Work
{
    static class Cuda
    {
        [DllImport("cuda", EntryPoint = "cuStreamDestroy_v2")] public static extern int Destroy(IntPtr stream);
        [DllImport("cuda")] public static extern int cuStreamSynchronize(IntPtr stream);
    }

    class Pipeline
    {
        IntPtr stream;

        public class Inner
        {
            public void Close(Pipeline of)
            {
                Cuda.Destroy(of.stream);
            }
        }

        public void Flush()
        {
            Flush(false);
        }

        public void Flush(bool twice)
        {
            Cuda.cuStreamSynchronize(stream);
            if (twice)
                Cuda.cuStreamSynchronize(stream);
        }

        public int Wait(int how)
        {
            switch (how)
            {
                case 0: return 0;
                case 1: return 2;
                case 2: return 4;
                case 3: return 8;
            }
            return Cuda.cuStreamSynchronize(stream);
        }

        public void Both()
        {
            Wait(1);
            Cuda.cuStreamSynchronize(stream);
        }
    }

    static class Program
    {
        static void Main()
        {
            var pipeline = new Pipeline();
            pipeline.Flush();
            new Pipeline.Inner().Close(pipeline);
            Console.WriteLine(pipeline.Wait(7));
            pipeline.Both();
        }
    }
}
