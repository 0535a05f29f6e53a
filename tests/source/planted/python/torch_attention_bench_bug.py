import torch
import torch.nn.functional as F


def bench(batch, heads, length, dim, repeats=20):
    q = torch.randn(batch, heads, length, dim, device="cuda", dtype=torch.float16)
    k = torch.randn_like(q)
    v = torch.randn_like(q)
    for _ in range(3):
        F.scaled_dot_product_attention(q, k, v)
    torch.cuda.synchronize()
    begin = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(repeats):
        F.scaled_dot_product_attention(q, k, v)
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / repeats


def main():
    for length in (256, 1024, 4096):
        ms = bench(4, 16, length, 64)
        flops = 4 * 4 * 16 * length * length * 64
        print(f"{length:6d} {ms:8.3f} ms {flops / ms / 1e9:8.1f} TFLOP/s")


if __name__ == "__main__":
    main()
