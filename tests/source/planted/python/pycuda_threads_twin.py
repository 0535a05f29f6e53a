import threading

import numpy as np
import pycuda.driver as drv

drv.init()


class Worker(threading.Thread):
    def __init__(self, ordinal, data):
        super().__init__()
        self.ordinal = ordinal
        self.data = data
        self.result = None

    def run(self):
        context = drv.Device(self.ordinal).make_context()
        free, _ = drv.mem_get_info()
        if self.data.nbytes > free:
            context.pop()
            context.detach()
            return
        try:
            pointer = drv.to_device(self.data)
            self.result = drv.from_device_like(pointer, self.data)
            pointer.free()
        finally:
            context.pop()
            context.detach()


def main():
    data = np.arange(1 << 16, dtype=np.float32)
    workers = [Worker(i, data) for i in range(drv.Device.count())]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


if __name__ == "__main__":
    main()
