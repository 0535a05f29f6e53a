import argparse

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

from prefetch import DevicePrefetcher


def dice(logits, target, eps=1e-6):
    prob = logits.softmax(1)[:, 1]
    t = (target == 1).float()
    inter = (prob * t).sum((1, 2))
    return ((2 * inter + eps) / (prob.sum((1, 2)) + t.sum((1, 2)) + eps)).mean()


def run_epoch(net, opt, batches, scaler):
    total = torch.zeros((), device="cuda")
    for scan, mask in batches:
        opt.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.float16):
            out = net(scan)
            loss = F.cross_entropy(out, mask) + 1.0 - dice(out, mask)
        scaler.scale(loss).backward()
        scaler.step(opt)
        scaler.update()
        total += loss.detach()
    return (total / max(len(batches), 1)).item()


def main(net, dataset):
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=20)
    ap.add_argument("--bs", type=int, default=8)
    a = ap.parse_args()

    net = net.cuda()
    opt = torch.optim.AdamW(net.parameters(), lr=3e-4)
    scaler = torch.cuda.amp.GradScaler()
    loader = DataLoader(dataset, a.bs, shuffle=True, num_workers=6,
                        pin_memory=True, drop_last=True)
    batches = DevicePrefetcher(loader, "cuda:0", [88.0], [41.5])
    for ep in range(a.epochs):
        print(ep, run_epoch(net, opt, batches, scaler))
