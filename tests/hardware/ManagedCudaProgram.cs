// A program over ManagedCuda (https://github.com/kunzmi/managedCuda), for managed_cuda.sh. Without an argument it is in order; "undisposed"
// leaves its objects to their finalizers; "stale" records an event on the stream that it disposed of.
using System;
using ManagedCuda;
using ManagedCuda.BasicTypes;

static class Program
{
    static void Copy(CudaStream stream)
    {
        using (var values = new CudaDeviceVariable<float>(1024))
        using (var pinned = new CudaPageLockedHostMemory<float>(1024))
        {
            for (int i = 0; i < 1024; i++) pinned[i] = i;
            pinned.AsyncCopyToDevice(values, stream.Stream);
            stream.Synchronize();
            values.Memset(0);
            float[] back = values;
            Console.WriteLine(back.Length);
        }
    }

    static void Time(CudaStream stream)
    {
        using (var start = new CudaEvent())
        using (var stop = new CudaEvent())
        {
            start.Record(stream.Stream);
            stop.Record(stream.Stream);
            stop.Synchronize();
            Console.WriteLine(CudaEvent.ElapsedTime(start, stop) >= 0);
        }
    }

    static void Register()
    {
        float[] values = new float[4096];
        using (var registered = new CudaRegisteredHostMemory<float>(System.Runtime.InteropServices.Marshal.AllocHGlobal(4 * 4096), 4096))
        {
            registered.Register(CUMemHostRegisterFlags.None);
            registered.Unregister();
        }
        Console.WriteLine(values.Length);
    }

    static void Use(CUstream stream)
    {
        var done = new CudaEvent();
        try
        {
            done.Record(stream);
        }
        catch (CudaException)
        {
            Console.WriteLine("refused");
        }
        done.Dispose();
    }

    static void Leave()
    {
        var stream = new CudaStream();
        var values = new CudaDeviceVariable<int>(64);
        values.MemsetAsync(1, stream.Stream);
    }

    static int Main(string[] args)
    {
        string how = args.Length > 0 ? args[0] : "";
        var context = new PrimaryContext(0);
        context.SetCurrent();
        Console.WriteLine(CudaContext.GetDeviceCount() > 0);
        var stream = new CudaStream();
        Copy(stream);
        Time(stream);
        Register();
        CUstream raw = stream.Stream;
        if (how == "undisposed") { Leave(); return 0; }
        stream.Dispose();
        if (how == "stale") Use(raw);
        context.Dispose();
        return 0;
    }
}
