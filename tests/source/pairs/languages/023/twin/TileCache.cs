using System;
using System.Collections.Generic;

namespace MapViewer.Gpu
{
    public sealed class TileCache : IDisposable
    {
        private readonly Dictionary<long, TileBuffer> _tiles = new Dictionary<long, TileBuffer>();
        private readonly Queue<long> _age = new Queue<long>();
        private readonly List<TileBuffer> _pinnedOverview = new List<TileBuffer>();
        private readonly int _capacity;
        private readonly int _tileBytes;

        public TileCache(int capacity, int tileBytes)
        {
            _capacity = capacity;
            _tileBytes = tileBytes;
        }

        private static long Key(int z, int x, int y) => ((long)z << 56) | ((long)x << 28) | (uint)y;

        public IntPtr Get(int z, int x, int y, Func<byte[]> load)
        {
            long key = Key(z, x, y);
            if (_tiles.TryGetValue(key, out TileBuffer hit)) return hit.Ptr;

            byte[] texels = load();
            while (_tiles.Count >= _capacity && _age.Count > 0)
            {
                long old = _age.Dequeue();
                _tiles[old].Dispose();
                _tiles.Remove(old);
            }

            var tile = new TileBuffer(_tileBytes);
            try
            {
                tile.Fill(texels);
            }
            catch
            {
                tile.Dispose();
                throw;
            }
            _tiles.Add(key, tile);
            if (z <= 2) _pinnedOverview.Add(tile);
            else _age.Enqueue(key);
            return tile.Ptr;
        }

        public int Pinned => _pinnedOverview.Count;

        public void DropOverview()
        {
            var keys = new List<long>();
            foreach (var kv in _tiles)
                if ((kv.Key >> 56) <= 2) keys.Add(kv.Key);
            foreach (long k in keys) _tiles.Remove(k);
            foreach (TileBuffer t in _pinnedOverview) t.Dispose();
            _pinnedOverview.Clear();
        }

        public void Dispose()
        {
            foreach (TileBuffer t in _pinnedOverview) t.Dispose();
            _pinnedOverview.Clear();
            foreach (TileBuffer t in _tiles.Values) t.Dispose();
            _tiles.Clear();
            _age.Clear();
        }
    }
}
