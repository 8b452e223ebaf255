#!/usr/bin/env python3
"""One workload of the bench in PyTorch on the CPU; prints one line of JSON.

Usage: peer_torch.py WORKLOAD DTYPE MODE SECONDS [CORES]
  WORKLOAD  mlp, conv_add, resnet50, rwkv4_train, vgg19_train, resnet50_train
  DTYPE     f32, bf16 or f16
  MODE      eager, or compile (torch.compile; the inference forms with frozen weights)
Where a workload has several forms (autograd, by hand), the fastest counts and all are listed.
"""
import json
import re
import sys

import torch
import torch.nn.functional as F

sys.dont_write_bytecode = True  # leave no caches beside the sources
import timing
import torch_models

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}
FROZEN = {"freezing": True}
LEARNING_RATE = 0.01


def compiled(call, **options):
    if not hasattr(torch, "compile"):
        raise RuntimeError(f"PyTorch {torch.__version__} has no torch.compile")
    return torch.compile(call, **options)


def channels_last(x, dtype=torch.float32):
    return x.to(dtype).to(memory_format=torch.channels_last)


def mlp_by_hand(x, t, w0, b0, w1, b1):
    h = torch.relu(F.linear(x, w0, b0))
    y = F.linear(h, w1, b1)
    dy = (y - t) * (2.0 / y.numel())
    dw1, db1 = dy.t() @ h, dy.sum(0)
    dh = (dy @ w1) * (h > 0)
    dw0, db0 = dh.t() @ x, dh.sum(0)
    w0.sub_(LEARNING_RATE * dw0)
    b0.sub_(LEARNING_RATE * db0)
    w1.sub_(LEARNING_RATE * dw1)
    b1.sub_(LEARNING_RATE * db1)


def mlp(dtype, mode):
    net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU(), torch.nn.Linear(8, 8))
    net = net.to(dtype)
    x, t = torch.randn(64, 8).to(dtype), torch.randn(64, 8).to(dtype)
    parameters = list(net.parameters())
    weights = [p.detach().clone() for p in parameters]

    def autograd_step():
        y = net(x)
        gradients = torch.autograd.grad(y, parameters, (y - t).detach() * (2.0 / y.numel()))
        with torch.no_grad():
            torch._foreach_add_(parameters, gradients, alpha=-LEARNING_RATE)

    def by_hand(step):
        def call():
            with torch.no_grad():
                step(x, t, *weights)
        return call

    if mode == "compile":
        return net, {"by hand": by_hand(compiled(mlp_by_hand))}
    return net, {"autograd": autograd_step, "by hand": by_hand(mlp_by_hand)}


def conv_add(dtype, mode):
    net = channels_last(torch_models.ConvAdd().eval(), dtype)
    x = channels_last(torch.randn(1, 128, 28, 28), dtype)
    addend = channels_last(torch.randn(1, 256, 26, 26), dtype)
    return net, inference_forms(net, (x, addend), mode, plain_too=True)


def resnet50(dtype, mode):
    net = channels_last(torch_models.ResNet50(folded=True).eval(), dtype)
    x = channels_last(torch.randn(10, 3, 224, 224), dtype)
    return net, inference_forms(net, (x,), mode)


def inference_forms(net, inputs, mode, plain_too=False):
    def call_of(run):
        def call():
            with torch.no_grad():
                run(*inputs)
        return call

    if mode == "eager":
        return {"eager": call_of(net)}
    forms = {"frozen": call_of(compiled(net, options=FROZEN))}
    if plain_too:
        forms["plain"] = call_of(compiled(lambda *given: net(*given)))
    return forms


def optimizer(kind, net, **settings):
    """The fused form where this PyTorch has it for the CPU: the fastest one counts."""
    try:
        return kind(net.parameters(), fused=True, **settings)
    except (TypeError, RuntimeError):
        return kind(net.parameters(), **settings)


def training_forms(net, update, x, targets, mode):
    def loss_of(x, targets):
        logits = net(x)
        return F.cross_entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))

    loss = compiled(loss_of) if mode == "compile" else loss_of

    def step():
        update.zero_grad(set_to_none=True)
        loss(x, targets).backward()
        update.step()

    return {mode: step}


def rwkv4_train(dtype, mode):
    net = torch_models.rwkv4().to(dtype)
    tokens, targets = torch.randint(0, 256, (4, 64)), torch.randint(0, 256, (4, 64))
    update = optimizer(torch.optim.Adam, net, lr=8e-4)
    return net, training_forms(net, update, tokens, targets, mode)


def image_training(net, batch, dtype, mode, **settings):
    net = channels_last(net.train(), dtype)
    x = channels_last(torch.randn(batch, 3, 224, 224), dtype)
    labels = torch.randint(0, 1000, (batch,))
    update = optimizer(torch.optim.SGD, net, lr=LEARNING_RATE, **settings)
    return net, training_forms(net, update, x, labels, mode)


def vgg19_train(dtype, mode):
    return image_training(torch_models.Vgg19(), 4, dtype, mode)


def resnet50_train(dtype, mode):
    return image_training(torch_models.ResNet50(folded=False), 8, dtype, mode,
                          momentum=0.9, weight_decay=1e-4)


WORKLOADS = {make.__name__: make for make in (mlp, conv_add, resnet50, rwkv4_train, vgg19_train,
                                              resnet50_train)}


def blas_name():
    """Which BLAS serves the matrix products: a reference one is many times too slow to count."""
    built = re.search(r"BLAS_INFO=(\w+)", torch.__config__.show())
    if built and built.group(1) != "generic":
        return built.group(1)
    try:
        with open("/proc/self/maps", encoding="utf-8") as maps:
            loaded = re.search(r"openblas|mkl|blis|atlas|libblas", maps.read())
    except OSError:
        loaded = None
    if not loaded:
        return "unknown"
    return "reference" if loaded.group() == "libblas" else loaded.group()


def main():
    arguments = sys.argv[1:]
    if len(arguments) not in (4, 5) or arguments[0] not in WORKLOADS \
            or arguments[1] not in DTYPES or arguments[2] not in ("eager", "compile"):
        sys.exit(__doc__)
    workload, dtype, mode = arguments[:3]
    seconds, cores = float(arguments[3]), int(arguments[4]) if len(arguments) == 5 else 2
    torch.manual_seed(0)
    torch.set_num_threads(cores)
    try:
        net, forms = WORKLOADS[workload](DTYPES[dtype], mode)
        result = timing.best_form(forms, seconds)
    except Exception as error:  # whatever it is, the bench wants one line about it
        first_line = (str(error).strip() or "no message").splitlines()[0]
        sys.exit(f"{type(error).__name__}: {first_line}")
    parameters = sum(p.numel() for p in net.parameters())
    print(json.dumps({**result, "parameters": parameters, "threads": torch.get_num_threads(),
                      "version": torch.__version__, "blas": blas_name()}))


if __name__ == "__main__":
    main()
