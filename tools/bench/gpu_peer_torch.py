#!/usr/bin/env python3
"""The workloads of the GPU bench in PyTorch, served: see gpu_serve.py.

Usage: gpu_peer_torch.py [FOLDER]
  FOLDER     with RWKV-4's wkv kernel of its author (wkv_op.cpp, wkv_cuda.cu)
A workload is asked for by
  WORKLOAD   mlp, conv_add, resnet50, vgg19_train, rwkv4_train
  PRECISION  f32, tf32, f16, bf16 (training: autocast)
  ROW        runs captured in one CUDA graph
Forms: eager and torch.compile, each as a CUDA graph. Times are the device's (CUDA events).
"""
import sys

import torch
import torch.nn.functional as F
from torch import nn

sys.dont_write_bytecode = True  # leave no caches beside the sources
import gpu_serve
import gpu_wkv_torch
import peer_torch
import torch_models

DEVICE = "cuda"
HALVES = {"f16": torch.float16, "bf16": torch.bfloat16}
WARM_CALLS = 5
TUNED = "max-autotune-no-cudagraphs"
CONTEXT, WIDTH, LAYERS, VOCAB, COPY, SEQUENCES = 1024, 1024, 6, 6064, 256, 4


def captured(call, row):
    """`row` calls as one CUDA graph."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(WARM_CALLS):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(row):
            call()
    return graph.replay, row


def on_device(x, dtype=torch.float32):
    x = x.to(DEVICE, dtype)
    return x.to(memory_format=torch.channels_last) if x.dim() == 4 else x


def without_gradients(run, *inputs):
    def call():
        with torch.no_grad():
            run(*inputs)
    return call


def compiled(run, mode=None):
    torch._dynamo.reset()
    return torch.compile(run, mode=mode)


def mlp(precision, row, _folder):
    dtype = HALVES.get(precision, torch.float32)
    net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8)).to(DEVICE, dtype)
    x, t = (torch.randn(64, 8, device=DEVICE).to(dtype) for _ in range(2))
    parameters = list(net.parameters())
    weights = [p.detach().clone() for p in parameters]

    def autograd_step():
        y = net(x)
        gradients = torch.autograd.grad(y, parameters, (y - t).detach() * (2.0 / y.numel()))
        with torch.no_grad():
            torch._foreach_add_(parameters, gradients, alpha=-peer_torch.LEARNING_RATE)

    def by_hand(mode):
        return captured(without_gradients(compiled(peer_torch.mlp_by_hand, mode), x, t, *weights),
                        row)
    return {"eager": lambda: captured(autograd_step, row),
            "compile": lambda: by_hand(None), "compile tuned": lambda: by_hand(TUNED)}


def inference(net, inputs, row, tuned):
    forms = {"eager": lambda: captured(without_gradients(net, *inputs), row),
             "compile": lambda: captured(without_gradients(compiled(net), *inputs), row)}
    if tuned:
        forms["compile tuned"] = lambda: captured(
            without_gradients(compiled(net, TUNED), *inputs), row)
    return forms


def channels_last_net(net, dtype):
    return net.to(DEVICE, dtype).to(memory_format=torch.channels_last)


def conv_add(precision, row, _folder):
    dtype = HALVES.get(precision, torch.float32)
    net = channels_last_net(torch_models.ConvAdd().eval(), dtype)
    inputs = (on_device(torch.randn(1, 128, 28, 28), dtype),
              on_device(torch.randn(1, 256, 26, 26), dtype))
    return inference(net, inputs, row, tuned=True)


def resnet50(precision, row, _folder):
    dtype = HALVES.get(precision, torch.float32)
    net = channels_last_net(torch_models.ResNet50(folded=True).eval(), dtype)
    return inference(net, (on_device(torch.randn(10, 3, 224, 224), dtype),), row, tuned=False)


def training(net, update, x, targets, precision, row):
    def loss_of(x, targets):
        with torch.autocast("cuda", HALVES.get(precision, torch.bfloat16),
                            enabled=precision in HALVES):
            logits = net(x)
            return F.cross_entropy(logits.reshape(-1, logits.shape[-1]).float(),
                                   targets.reshape(-1))

    def form(loss):
        def step():
            loss(x, targets).backward()
            update.step()
            update.zero_grad(set_to_none=False)
        return captured(step, row)
    return {"eager": lambda: form(loss_of), "compile": lambda: form(compiled(loss_of))}


def vgg19_train(precision, row, _folder):
    net = channels_last_net(torch_models.Vgg19().train(), torch.float32)
    update = torch.optim.SGD(net.parameters(), lr=peer_torch.LEARNING_RATE, fused=True)
    x = on_device(torch.randn(32, 3, 224, 224))
    labels = torch.randint(0, 1000, (32,), device=DEVICE)
    return training(net, update, x, labels, precision, row)


class Rwkv4(nn.Module):
    """Tokens to logits, with copy head."""

    def __init__(self):
        super().__init__()
        blocks = [torch_models.RwkvBlock(WIDTH) for _ in range(LAYERS)]
        self.body = nn.Sequential(nn.Embedding(VOCAB, WIDTH), nn.LayerNorm(WIDTH), *blocks,
                                  nn.LayerNorm(WIDTH))
        self.head = nn.Linear(WIDTH, VOCAB, bias=False)
        self.query, self.key = (nn.Linear(WIDTH, COPY, bias=False) for _ in range(2))
        self.register_buffer("past", torch.tril(torch.ones(CONTEXT, CONTEXT)))

    def forward(self, tokens):
        x = self.body(tokens)
        scores = self.query(x) @ self.key(x).transpose(-2, -1) * (1 / COPY)
        scores = scores.masked_fill(self.past == 0, 0)
        return self.head(x) + scores @ F.one_hot(tokens, VOCAB).to(scores.dtype)


def rwkv4_train(precision, row, folder):
    torch_models.wkv, how = gpu_wkv_torch.wkv_for(folder, CONTEXT, WIDTH)
    net = Rwkv4().to(DEVICE)
    update = torch.optim.Adam(net.parameters(), lr=8e-4, fused=True, capturable=True)
    tokens, targets = (torch.randint(0, VOCAB, (SEQUENCES, CONTEXT), device=DEVICE)
                       for _ in range(2))
    forms = training(net, update, tokens, targets, precision, row)
    return {f"{name}, {how}": form for name, form in forms.items()}


WORKLOADS = {make.__name__: make for make in (mlp, conv_add, resnet50, vgg19_train, rwkv4_train)}


def by_events(call):
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) * 1e-3


class Workloads:
    """Makes them, and notes the most bytes that were allocated while each form was built."""

    def __init__(self, folder):
        self.folder, self.peaks = folder, {}

    def make(self, workload, precision, row):
        torch.manual_seed(0)
        tf32 = precision != "f32"
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
        torch.backends.cudnn.benchmark = True
        self.peaks, before = {}, torch.cuda.memory_allocated()
        forms = WORKLOADS[workload](precision, row, self.folder)
        return {name: self.noted(name, build, before) for name, build in forms.items()}

    def noted(self, name, build, before):
        def call():
            torch.cuda.reset_peak_memory_stats()
            made = build()
            self.peaks[name] = torch.cuda.max_memory_allocated() - before
            return made
        return call


def forget():
    torch._dynamo.reset()
    torch.cuda.empty_cache()


def main():
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    workloads = Workloads(sys.argv[1] if len(sys.argv) == 2 else "")
    torch.zeros(1, device=DEVICE)
    gpu_serve.serve(workloads.make, by_events, forget, lambda: {
        "device": torch.cuda.get_device_name(), "peak_bytes": workloads.peaks})


if __name__ == "__main__":
    main()
