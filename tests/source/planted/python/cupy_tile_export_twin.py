import cupy as cp
import cupyx
import numpy as np


def export_tiles(image: cp.ndarray, tile: int, path: str) -> int:
    stream = cp.cuda.Stream(non_blocking=True)
    host = cupyx.empty_pinned((tile, tile), dtype=np.float32)
    count = 0
    with open(path, "wb") as out:
        for top in range(0, image.shape[0] - tile + 1, tile):
            for left in range(0, image.shape[1] - tile + 1, tile):
                with stream:
                    part = cp.ascontiguousarray(image[top : top + tile, left : left + tile], dtype=cp.float32)
                    part.get(stream=stream, out=host, blocking=False)
                stream.synchronize()
                out.write(host.tobytes())
                count += 1
    return count


if __name__ == "__main__":
    picture = cp.random.random((4096, 4096), dtype=cp.float32)
    cp.cuda.get_current_stream().synchronize()
    print(export_tiles(picture, 512, "tiles.bin"))
