using System;
using System.Collections.Generic;
using System.IO;
using System.Text;

namespace Terrain.Compute
{
    /// Erosion kernels, reloaded whenever the artist's build drops a new PTX.
    /// Used on the simulation thread only.
    public sealed class KernelLibrary : IDisposable
    {
        private readonly string _path;
        private readonly Dictionary<string, IntPtr> _functions = new Dictionary<string, IntPtr>();
        private IntPtr _module;
        private DateTime _stamp;

        public KernelLibrary(string path)
        {
            _path = path;
            _stamp = File.GetLastWriteTimeUtc(path);
            _module = Driver.Load(ReadImage(path));
        }

        private static byte[] ReadImage(string path)
        {
            // the driver wants PTX text to end with a zero
            return Encoding.ASCII.GetBytes(File.ReadAllText(path) + "\0");
        }

        public bool Refresh()
        {
            DateTime stamp = File.GetLastWriteTimeUtc(_path);
            if (stamp == _stamp)
                return false;

            IntPtr fresh;
            try
            {
                fresh = Driver.Load(ReadImage(_path));
            }
            catch (Exception e) when (e is DriverException || e is IOException)
            {
                Console.Error.WriteLine($"keeping old kernels: {e.Message}");
                _stamp = stamp;
                return false;
            }

            IntPtr old = _module;
            _module = fresh;
            _stamp = stamp;
            Driver.WaitAll();
            Driver.Unload(old);
            return true;
        }

        private IntPtr Find(string name)
        {
            if (!_functions.TryGetValue(name, out IntPtr fn))
            {
                fn = Driver.Function(_module, name);
                _functions.Add(name, fn);
            }
            return fn;
        }

        public unsafe void Erode(ulong height, ulong water, int w, int h, float rate)
        {
            IntPtr[] args =
            {
                (IntPtr)(&height), (IntPtr)(&water), (IntPtr)(&w), (IntPtr)(&h), (IntPtr)(&rate),
            };
            Driver.Launch(Find("erode"), Tiles(w, h), (16, 16), args);
        }

        public unsafe void Settle(ulong height, int w, int h, float talus)
        {
            IntPtr[] args = { (IntPtr)(&height), (IntPtr)(&w), (IntPtr)(&h), (IntPtr)(&talus) };
            Driver.Launch(Find("settle"), Tiles(w, h), (16, 16), args);
        }

        private static (uint, uint) Tiles(int w, int h) =>
            ((uint)((w + 15) / 16), (uint)((h + 15) / 16));

        public void Dispose()
        {
            if (_module == IntPtr.Zero)
                return;
            _functions.Clear();
            IntPtr m = _module;
            _module = IntPtr.Zero;
            Driver.WaitAll();
            Driver.Unload(m);
        }
    }

    public sealed class ErosionSim
    {
        private readonly KernelLibrary _kernels;
        private readonly ulong _height, _water;
        private readonly int _w, _h;

        public ErosionSim(KernelLibrary kernels, ulong height, ulong water, int w, int h)
        {
            _kernels = kernels;
            _height = height;
            _water = water;
            _w = w;
            _h = h;
        }

        public void Tick()
        {
            _kernels.Refresh();
            _kernels.Erode(_height, _water, _w, _h, 0.02f);
            _kernels.Settle(_height, _w, _h, 0.6f);
        }
    }
}
