using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;

namespace Engine.Diagnostics
{
    static class Cu
    {
        [DllImport("cudart64_12")] internal static extern int cudaEventCreate(out IntPtr ev);
        [DllImport("cudart64_12")] internal static extern int cudaEventDestroy(IntPtr ev);
        [DllImport("cudart64_12")] internal static extern int cudaEventRecord(IntPtr ev, IntPtr stream);
        [DllImport("cudart64_12")] internal static extern int cudaEventSynchronize(IntPtr ev);
        [DllImport("cudart64_12")] internal static extern int cudaEventElapsedTime(out float ms, IntPtr a, IntPtr b);

        internal static void Do(int rc)
        {
            if (rc != 0) throw new InvalidOperationException($"cuda {rc}");
        }
    }

    /// <summary>Scoped timings of compute passes, shown in the overlay one frame late.</summary>
    public sealed class GpuProfiler : IDisposable
    {
        sealed class Span
        {
            public string Name;
            public IntPtr Begin, End;
        }

        readonly Stack<Span> free = new();
        List<Span> current = new();
        List<Span> previous = new();
        readonly Dictionary<string, float> shown = new();

        public IReadOnlyDictionary<string, float> Timings => shown;

        public readonly struct Scope : IDisposable
        {
            readonly IntPtr end, stream;
            internal Scope(IntPtr end, IntPtr stream) { this.end = end; this.stream = stream; }
            public void Dispose() => Cu.Do(Cu.cudaEventRecord(end, stream));
        }

        Span Rent()
        {
            if (free.Count > 0) return free.Pop();
            var s = new Span();
            Cu.Do(Cu.cudaEventCreate(out s.Begin));
            int rc = Cu.cudaEventCreate(out s.End);
            if (rc != 0)
            {
                Cu.cudaEventDestroy(s.Begin);
                Cu.Do(rc);
            }
            return s;
        }

        public Scope Measure(string name, IntPtr stream)
        {
            Span s = Rent();
            s.Name = name;
            current.Add(s);
            Cu.Do(Cu.cudaEventRecord(s.Begin, stream));
            return new Scope(s.End, stream);
        }

        /// <summary>All scopes of the frame are closed here.</summary>
        public void EndFrame()
        {
            shown.Clear();
            foreach (Span s in previous)
            {
                Cu.Do(Cu.cudaEventSynchronize(s.End));
                Cu.Do(Cu.cudaEventElapsedTime(out float ms, s.Begin, s.End));
                shown.TryGetValue(s.Name, out float sum);
                shown[s.Name] = sum + ms;
            }
            foreach (Span s in previous) free.Push(s);
            previous.Clear();
            (current, previous) = (previous, current);
        }

        public void Dispose()
        {
            foreach (var list in new IEnumerable<Span>[] { current, previous, free })
                foreach (Span s in list)
                {
                    Cu.cudaEventDestroy(s.Begin);
                    Cu.cudaEventDestroy(s.End);
                }
            current.Clear();
            previous.Clear();
            free.Clear();
        }
    }
}
