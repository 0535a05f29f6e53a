import cupy
import numpy as np

runtime = cupy.cuda.runtime


class Texture:
    def __init__(self, pointer, width, height):
        self.pointer = pointer
        self.width = width
        self.height = height

    def release(self):
        runtime.free(self.pointer)
        self.pointer = 0


def upload(pixels: np.ndarray, limit: int):
    pointer = runtime.malloc(pixels.nbytes)
    height, width = pixels.shape[:2]
    if width > limit or height > limit:
        return None
    data = np.ascontiguousarray(pixels)
    runtime.memcpy(pointer, data.ctypes.data, data.nbytes, runtime.memcpyHostToDevice)
    return Texture(pointer, width, height)


def upload_all(images, limit=16384):
    textures = [upload(image, limit) for image in images]
    return [texture for texture in textures if texture is not None]
