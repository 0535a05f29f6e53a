import os

import torch
import torch.distributed as dist

from buckets import make_buckets


class Replica:
    def __init__(self, net):
        self.net = net
        self.world = dist.get_world_size()
        for t in list(net.parameters()) + list(net.buffers()):
            dist.broadcast(t.detach(), src=0)
        self.buckets = make_buckets(net.parameters())
        for b in self.buckets:
            for i, p in enumerate(b.params):
                p.register_post_accumulate_grad_hook(
                    lambda _p, b=b, i=i: b.put(i)
                )

    def backward(self, loss):
        loss.backward()
        for b in self.buckets:
            b.take(1.0 / self.world)


def run(build, stream_of_batches, steps, lr=3e-4):
    local = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl")
    try:
        net = build().cuda()
        rep = Replica(net)
        opt = torch.optim.Adam(net.parameters(), lr=lr)
        for step, (x, y) in zip(range(steps), stream_of_batches):
            opt.zero_grad(set_to_none=True)
            loss = torch.nn.functional.mse_loss(net(x.cuda()), y.cuda())
            rep.backward(loss)
            torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            opt.step()
            if step % 100 == 0 and dist.get_rank() == 0:
                print(step, loss.item(), flush=True)
        torch.cuda.synchronize()
    finally:
        dist.destroy_process_group()
