import sys

import torch
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler

from dist_env import DistEnv


def build_loader(dataset, env, bs):
    sampler = None
    if env.distributed:
        sampler = DistributedSampler(dataset, env.world, env.rank, shuffle=True)
    return DataLoader(dataset, bs, sampler=sampler, shuffle=sampler is None,
                      num_workers=4, pin_memory=True, drop_last=True), sampler


def fit(model, dataset, epochs, bs, ckpt):
    env = DistEnv()
    env.start()
    try:
        model = model.cuda()
        net = DDP(model) if env.distributed else model
        opt = torch.optim.Adam(net.parameters(), 1e-3)
        ctc = torch.nn.CTCLoss(zero_infinity=True)
        loader, sampler = build_loader(dataset, env, bs)

        for ep in range(epochs):
            if sampler is not None:
                sampler.set_epoch(ep)
            acc, steps = 0.0, 0
            for feats, flen, text, tlen in loader:
                feats = feats.cuda(non_blocking=True)
                text = text.cuda(non_blocking=True)
                logp = net(feats).log_softmax(-1).transpose(0, 1)
                loss = ctc(logp, text, flen, tlen)
                opt.zero_grad(set_to_none=True)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(net.parameters(), 5.0)
                opt.step()
                acc += loss.item()
                steps += 1
            m = env.mean(acc / max(steps, 1))
            if env.is_main:
                print(f"epoch {ep} loss {m:.4f}", file=sys.stderr)
                torch.save(model.state_dict(), ckpt)
    finally:
        env.stop()
