using System;
using System.Collections.Generic;

namespace Ember.Gpu
{
    /// Owns every buffer that lives as long as a level.
    public sealed class BufferPool : IDisposable
    {
        private readonly List<DeviceBuffer> _all = new List<DeviceBuffer>();

        public DeviceBuffer Rent(int count)
        {
            var b = new DeviceBuffer(count);
            _all.Add(b);
            return b;
        }

        public long Bytes()
        {
            long n = 0;
            foreach (var b in _all)
                if (b.Address != 0) n += 4L * b.Count;
            return n;
        }

        public void Dispose()
        {
            for (int i = _all.Count - 1; i >= 0; i--)
                _all[i].Dispose();
            _all.Clear();
        }
    }

    /// Spark emitter; may be removed before the level ends.
    public sealed class Emitter : IDisposable
    {
        private readonly int _n;
        private readonly IntPtr _kernel;
        private readonly DeviceBuffer _pos;
        private readonly DeviceBuffer _vel;

        public Emitter(BufferPool pool, IntPtr kernel, float[] start)
        {
            _n = start.Length / 4;
            _kernel = kernel;
            _pos = pool.Rent(start.Length);
            _vel = pool.Rent(start.Length);
            _pos.Write(start);
            _vel.Clear();
        }

        public unsafe void Advance(float dt)
        {
            ulong pos = _pos.Address, vel = _vel.Address;
            int n = _n;
            IntPtr[] args = { (IntPtr)(&pos), (IntPtr)(&vel), (IntPtr)(&n), (IntPtr)(&dt) };
            uint blocks = (uint)((n + 127) / 128);
            if (blocks == 0) return;
            Cu.Must(Cu.Launch(_kernel, blocks, 1, 1, 128, 1, 1, 0, IntPtr.Zero, args, IntPtr.Zero), "advance");
        }

        public void Snapshot(float[] into) => _pos.Read(into);

        public void Dispose()
        {
            _vel.Dispose();
            _pos.Dispose();
        }
    }

    public sealed class Level : IDisposable
    {
        private readonly BufferPool _pool = new BufferPool();
        private readonly List<Emitter> _emitters = new List<Emitter>();
        private readonly IntPtr _kernel;

        public Level(IntPtr advanceKernel) => _kernel = advanceKernel;

        public Emitter Spawn(float[] start)
        {
            var e = new Emitter(_pool, _kernel, start);
            _emitters.Add(e);
            return e;
        }

        public void Remove(Emitter e)
        {
            if (_emitters.Remove(e))
                e.Dispose();
        }

        public void Tick(float dt)
        {
            foreach (var e in _emitters) e.Advance(dt);
        }

        public void Dispose()
        {
            _emitters.Clear();
            _pool.Dispose();
        }
    }
}
