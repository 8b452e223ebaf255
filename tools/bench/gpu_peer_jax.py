#!/usr/bin/env python3
"""The workloads of the GPU bench in JAX, served: see gpu_serve.py. A workload is asked for by
  WORKLOAD   mlp, resnet50, vgg19_train
  PRECISION  f32, tf32, f16, bf16 (training: parameters stay f32)
  ROW        runs in one call, as a loop
Times are the host's, to completion; inference is also timed as a loop of runs in one call.
"""
import os
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

sys.dont_write_bytecode = True  # leave no caches beside the sources
import gpu_serve

RANDOM = np.random.default_rng(0)
DTYPES = {"f16": jnp.float16, "bf16": jnp.bfloat16}
LAYOUT = ("NHWC", "HWIO", "NHWC")
LEARNING_RATE = 0.01
LOOPED = 20
RESNET = ((64, 3), (128, 4), (256, 6), (512, 3))
VGG = ((64, 2), (128, 2), (256, 4), (512, 4), (512, 4))


def normal(*sizes, dtype=jnp.float32, scale=1.0):
    return jnp.asarray(RANDOM.standard_normal(sizes) * scale, dtype)


def mlp(precision, row):
    dtype = DTYPES.get(precision, jnp.float32)
    x, t = normal(64, 8, dtype=dtype), normal(64, 8, dtype=dtype)
    start = tuple(normal(*sizes, dtype=dtype, scale=0.3) for sizes in ((8, 8), (8,), (8, 8), (8,)))

    def step(parameters):
        w0, b0, w1, b1 = parameters
        h = jax.nn.relu(x @ w0.T + b0)
        y = h @ w1.T + b1
        dy = (y - t) * (2 / y.size)
        dh = (dy @ w1) * (h > 0)
        gradients = (dh.T @ x, dh.sum(0), dy.T @ h, dy.sum(0))
        return tuple((p - LEARNING_RATE * g).astype(dtype) for p, g in zip(parameters, gradients))

    def form(function):
        run = jax.jit(function)
        return lambda: (lambda: jax.block_until_ready(run(start)), row)

    def loop(unroll):
        return form(lambda p: lax.fori_loop(0, row, lambda _, q: step(q), p, unroll=unroll))
    if row == 1:
        return {"call": form(step)}
    return {"loop": loop(None), "loop unrolled by 10": loop(10)}


def convolution(x, kernel, stride=1, pad=None):
    pad = (kernel.shape[0] // 2,) * 2 if pad is None else (pad, pad)
    return lax.conv_general_dilated(x, kernel, (stride, stride), (pad, pad),
                                    dimension_numbers=LAYOUT)


def conv_parameters(kernel, inputs, outputs, dtype):
    scale = (2 / (kernel * kernel * inputs)) ** 0.5
    return (normal(kernel, kernel, inputs, outputs, dtype=dtype, scale=scale),
            jnp.zeros(outputs, dtype))


def resnet_parameters(dtype):
    blocks, inputs = [], 64
    for width, count in RESNET:
        for index in range(count):
            block = [conv_parameters(1, inputs, width, dtype),
                     conv_parameters(3, width, width, dtype),
                     conv_parameters(1, width, 4 * width, dtype)]
            if index == 0:
                block.append(conv_parameters(1, inputs, 4 * width, dtype))
            blocks.append(block)
            inputs = 4 * width
    last = (normal(inputs, 1000, dtype=dtype, scale=0.02), jnp.zeros(1000, dtype))
    return conv_parameters(7, 3, 64, dtype), blocks, last


def resnet_forward(parameters, x):
    def layer(x, weights, stride=1):
        return convolution(x, weights[0], stride) + weights[1]

    stem, blocks, last = parameters
    x = jax.nn.relu(layer(x, stem, 2))
    x = lax.reduce_window(x, jnp.array(-jnp.inf, x.dtype), lax.max, (1, 3, 3, 1), (1, 2, 2, 1),
                          ((0, 0), (1, 1), (1, 1), (0, 0)))
    for number, block in enumerate(blocks):
        stride = 2 if len(block) == 4 and number > 0 else 1
        y = jax.nn.relu(layer(x, block[0]))
        y = jax.nn.relu(layer(y, block[1], stride))
        rest = layer(x, block[3], stride) if len(block) == 4 else x
        x = jax.nn.relu(layer(y, block[2]) + rest)
    return jax.nn.softmax(x.mean((1, 2)) @ last[0] + last[1])


def resnet50(precision, _row):
    dtype = DTYPES.get(precision, jnp.float32)
    parameters, x = resnet_parameters(dtype), normal(10, 224, 224, 3, dtype=dtype)
    once = jax.jit(resnet_forward)

    def many(parameters, x):  # each run depends on the one before: none is left out
        def body(_, sum_of_all):
            return sum_of_all + resnet_forward(parameters, x + sum_of_all[0, 0] * 0)
        return lax.fori_loop(0, LOOPED, body, jnp.zeros((10, 1000), dtype))
    looped = jax.jit(many)
    return {"call": lambda: (lambda: jax.block_until_ready(once(parameters, x)), 1),
            "loop": lambda: (lambda: jax.block_until_ready(looped(parameters, x)), LOOPED)}


def vgg_loss(parameters, x, labels, key, dtype):
    convolutions, dense = parameters
    h, at = x.astype(dtype), 0
    for _, count in VGG:
        for _ in range(count):
            kernel, bias = (p.astype(dtype) for p in convolutions[at])
            h = jax.nn.relu(convolution(h, kernel) + bias)
            at += 1
        batch, height, width, channels = h.shape
        h = h.reshape(batch, height // 2, 2, width // 2, 2, channels).max((2, 4))
    h = h.reshape(h.shape[0], -1)
    for number, (weight, bias) in enumerate(dense):
        h = h @ weight.astype(dtype) + bias.astype(dtype)
        if number < 2:
            kept = jax.random.bernoulli(jax.random.fold_in(key, number), 0.5, h.shape)
            h = jnp.where(kept, jax.nn.relu(h) * 2, 0)
    logs = jax.nn.log_softmax(h.astype(jnp.float32))
    return -jnp.take_along_axis(logs, labels[:, None], 1).mean()


def vgg19_train(precision, _row):
    dtype = DTYPES.get(precision, jnp.float32)
    convolutions, inputs = [], 3
    for outputs, count in VGG:
        for _ in range(count):
            convolutions.append(conv_parameters(3, inputs, outputs, jnp.float32))
            inputs = outputs
    dense = [(normal(a, b, scale=0.01), jnp.zeros(b))
             for a, b in ((25088, 4096), (4096, 4096), (4096, 1000))]
    x, labels = normal(32, 224, 224, 3), jnp.asarray(RANDOM.integers(0, 1000, 32))

    def step(parameters, key, x, labels):
        key, own = jax.random.split(key)
        gradients = jax.grad(vgg_loss)(parameters, x, labels, own, dtype)
        return jax.tree.map(lambda p, g: p - LEARNING_RATE * g, parameters, gradients), key
    run = jax.jit(step, donate_argnums=0)

    def build():
        state = [((convolutions, dense), jax.random.key(0))]

        def call():
            state[0] = run(*state[0], x, labels)
            jax.block_until_ready(state[0])
        return call, 1
    return {"call": build}


WORKLOADS = {make.__name__: make for make in (mlp, resnet50, vgg19_train)}


def by_host(call):
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


PRODUCTS = {"f32": "highest", "tf32": "tensorfloat32", "bf16": "tensorfloat32", "f16": "default"}


def make(workload, precision, row):
    jax.config.update("jax_default_matmul_precision", PRODUCTS[precision])
    return WORKLOADS[workload](precision, row)


def main():
    gpu_serve.serve(make, by_host, jax.clear_caches,
                    lambda: {"device": jax.devices()[0].device_kind})


if __name__ == "__main__":
    main()
