using System;
using System.Collections.Concurrent;
using System.Threading;
using System.Threading.Tasks;
using ManagedCuda;
using ManagedCuda.BasicTypes;
using ManagedCuda.VectorTypes;

namespace Turnstile.Biometrics
{
    public readonly struct Match
    {
        public readonly int Person;
        public readonly float Score;
        public Match(int person, float score) { Person = person; Score = score; }
    }

    /// 1:N search over face templates. Requests are served by one worker.
    public sealed class MatchService : IDisposable
    {
        private const int Dim = 512;

        private sealed class Request
        {
            public float[] Probe;
            public TaskCompletionSource<Match> Reply =
                new TaskCompletionSource<Match>(TaskCreationOptions.RunContinuationsAsynchronously);
        }

        private readonly CudaContext _ctx;
        private readonly CudaKernel _cosine;
        private readonly CudaDeviceVariable<float> _gallery;
        private readonly CudaDeviceVariable<float> _probe;
        private readonly CudaDeviceVariable<float> _scores;
        private readonly int _people;
        private readonly BlockingCollection<Request> _queue = new BlockingCollection<Request>(256);
        private readonly Thread _worker;

        public MatchService(float[] templates, string ptx)
        {
            if (templates.Length == 0 || templates.Length % Dim != 0)
                throw new ArgumentException("templates");
            _people = templates.Length / Dim;
            _ctx = new CudaContext(0, CUCtxFlags.BlockingSync);
            try
            {
                _cosine = _ctx.LoadKernelPTX(ptx, "cosine_scores");
                _cosine.BlockDimensions = new dim3(256);
                _cosine.GridDimensions = new dim3((uint)((_people + 255) / 256));
                _gallery = new CudaDeviceVariable<float>(templates.Length);
                _gallery.CopyToDevice(templates);
                _probe = new CudaDeviceVariable<float>(Dim);
                _scores = new CudaDeviceVariable<float>(_people);
            }
            catch
            {
                Release();
                throw;
            }
            _worker = new Thread(Serve) { IsBackground = true, Name = "match-gpu" };
            _worker.Start();
        }

        public Task<Match> SearchAsync(float[] probe)
        {
            if (probe.Length != Dim)
                throw new ArgumentException("probe");
            var r = new Request { Probe = probe };
            _queue.Add(r);
            return r.Reply.Task;
        }

        private void Serve()
        {
            var host = new float[_people];
            foreach (Request r in _queue.GetConsumingEnumerable())
            {
                try
                {
                    _probe.CopyToDevice(r.Probe);
                    _cosine.Run(_gallery.DevicePointer, _probe.DevicePointer, _people,
                                _scores.DevicePointer);
                    _scores.CopyToHost(host);
                    int best = 0;
                    for (int i = 1; i < host.Length; i++)
                        if (host[i] > host[best]) best = i;
                    r.Reply.SetResult(new Match(best, host[best]));
                }
                catch (Exception e)
                {
                    r.Reply.SetException(e);
                }
            }
        }

        private void Release()
        {
            _scores?.Dispose();
            _probe?.Dispose();
            _gallery?.Dispose();
            _ctx.Dispose();
        }

        public void Dispose()
        {
            _queue.CompleteAdding();
            _worker.Join();
            _ctx.SetCurrent();
            Release();
            _queue.Dispose();
        }
    }
}
