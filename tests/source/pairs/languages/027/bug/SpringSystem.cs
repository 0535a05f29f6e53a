using System;
using System.Numerics;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;

namespace Cloth
{
    [StructLayout(LayoutKind.Sequential)]
    public struct Node
    {
        public Vector3 Pos;
        public float InvMass;
        public Vector3 Vel;
        public float Pad;
    }

    public sealed unsafe class SpringSystem : IDisposable
    {
        const string Rt = "cudart64_12";
        [DllImport(Rt)] static extern int cudaMalloc(void** p, nuint bytes);
        [DllImport(Rt)] static extern int cudaFree(void* p);
        [DllImport(Rt)] static extern int cudaMemcpy(void* dst, void* src, nuint bytes, int kind);

        [DllImport("clothkernels")]
        static extern int cloth_step(void* nodes, int nodeCount, void* links, int linkCount, float dt);

        const int ToDevice = 1, ToHost = 2;

        void* nodes;
        void* links;
        readonly int nodeCount;
        readonly int linkCount;

        public SpringSystem(ReadOnlySpan<Node> initial, ReadOnlySpan<Link> springs)
        {
            nodeCount = initial.Length;
            linkCount = springs.Length;
            try
            {
                nodes = Upload(initial);
                links = Upload(springs);
            }
            catch
            {
                Dispose();
                throw;
            }
        }

        static void* Upload<T>(ReadOnlySpan<T> src) where T : unmanaged
        {
            nuint bytes = (nuint)src.Length * (nuint)Unsafe.SizeOf<T>();
            void* d;
            Must(cudaMalloc(&d, bytes));
            fixed (T* s = src)
            {
                int rc = cudaMemcpy(d, s, bytes, ToDevice);
                if (rc != 0)
                {
                    cudaFree(d);
                    Must(rc);
                }
            }
            return d;
        }

        public void Step(float dt, int substeps)
        {
            for (int i = 0; i < substeps; i++)
                Must(cloth_step(nodes, nodeCount, links, linkCount, dt / substeps));
        }

        public void Read(Span<Node> dst)
        {
            if (dst.Length < nodeCount) throw new ArgumentException("span too short", nameof(dst));
            fixed (Node* p = dst)
                Must(cudaMemcpy(p, nodes, (nuint)nodeCount * (nuint)sizeof(Node), ToHost));
        }

        public void Pin(ReadOnlySpan<int> which)
        {
            Node[] tmp = new Node[nodeCount];
            Read(tmp);
            foreach (int i in which)
            {
                tmp[i].InvMass = 0;
                tmp[i].Vel = Vector3.Zero;
            }
            fixed (Node* p = tmp)
                Must(cudaMemcpy(nodes, p, (nuint)tmp.Length, ToDevice));
        }

        public void Dispose()
        {
            if (links != null) cudaFree(links);
            if (nodes != null) cudaFree(nodes);
            links = nodes = null;
        }

        static void Must(int rc)
        {
            if (rc != 0) throw new InvalidOperationException("CUDA error " + rc);
        }
    }

    [StructLayout(LayoutKind.Sequential)]
    public struct Link
    {
        public int A, B;
        public float Rest, Stiffness;
    }
}
