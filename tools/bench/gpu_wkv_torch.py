# RWKV-4's recurrence for PyTorch on a GPU: the author's kernel where its sources are in a folder
# that the user names, else our own in Triton, else a scan of plain operations that torch.compile
# fuses.
import pathlib

import torch
import torch.nn.functional as F

SOURCES = ("wkv_op.cpp", "wkv_cuda.cu")  # of RWKV-LM's RWKV-v4/cuda
LOWEST = -1e38


def joined(first, second):
    """Two spans of time as one: (decay, numerator, denominator, exponent) of each."""
    w0, p0, q0, o0 = first
    w1, p1, q1, o1 = second
    top = torch.maximum(o0 + w1, o1)
    a, e = torch.exp(o0 + w1 - top), torch.exp(o1 - top)
    return w0 + w1, a * p0 + e * p1, a * q0 + e * q1, top


def later(x, steps, fill):
    return F.pad(x, (0, 0, steps, 0), value=fill)[:, :x.shape[1]]


def scan(w, u, k, v):
    """All prefixes in log2(T) rounds, each joined with the one half as far back; (B, T, C)."""
    state = (w.expand_as(k), v, torch.ones_like(k), k)
    fills = (0.0, 0.0, 0.0, LOWEST)
    steps = 1
    while steps < k.shape[1]:
        state = joined(tuple(later(x, steps, fill) for x, fill in zip(state, fills)), state)
        steps *= 2
    _, p, q, o = (later(x, 1, fill) for x, fill in zip(state, fills))
    top = torch.maximum(o, u + k)
    a, e = torch.exp(o - top), torch.exp(u + k - top)
    return (a * p + e * v) / (a * q + e)


def has_kernel(folder):
    return folder and all((pathlib.Path(folder) / name).is_file() for name in SOURCES)


def author_kernel(folder, longest):
    """The kernel of BlinkDL/RWKV-LM as an operation that torch.compile leaves whole."""
    from torch.utils import cpp_extension
    cpp_extension.load(name="wkv", sources=[str(pathlib.Path(folder) / s) for s in SOURCES],
                       is_python_module=True,
                       extra_cuda_cflags=["--maxrregcount", "60", "--use_fast_math", "-O3",
                                          f"-DTmax={longest}"])
    module = torch.ops.wkv

    @torch.library.custom_op("peer::wkv", mutates_args=())
    def forward(w: torch.Tensor, u: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        y = torch.empty_like(k)
        module.forward(*k.shape, w, u, k, v, y)
        return y

    @torch.library.custom_op("peer::wkv_backward", mutates_args=())
    def backward(w: torch.Tensor, u: torch.Tensor, k: torch.Tensor, v: torch.Tensor,
                 dy: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        batch, _, width = k.shape
        dw, du = w.new_zeros(batch, width), w.new_zeros(batch, width)
        dk, dv = torch.zeros_like(k), torch.zeros_like(v)
        module.backward(*k.shape, w, u, k, v, dy, dw, du, dk, dv)
        return dw, du, dk, dv

    @forward.register_fake
    def _(w, u, k, v):
        return torch.empty_like(k)

    @backward.register_fake
    def _(w, u, k, v, dy):
        batch, _, width = k.shape
        return (w.new_empty(batch, width), w.new_empty(batch, width), torch.empty_like(k),
                torch.empty_like(v))

    def remember(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    def gradients(ctx, dy):
        dw, du, dk, dv = backward(*ctx.saved_tensors, dy.contiguous())
        return dw.sum(0), du.sum(0), dk, dv

    forward.register_autograd(gradients, setup_context=remember)
    return forward


def results_and_gradients(inner, operands, dy):
    own = [x.clone().requires_grad_() for x in operands]
    y = inner(*own)
    return [y, *torch.autograd.grad(y, own, dy)]


def triton_kernel(width, time):
    """Ours, once it agrees with the scan on a small problem."""
    import gpu_wkv_triton as own
    if not own.fits(1, time, width):
        raise ValueError(f"no Triton kernel for {time} moments of {width} columns")
    columns, moments = own.COLUMNS, 4 * own.SPAN
    random = torch.Generator("cuda").manual_seed(3)
    w, u = (torch.randn(columns, device="cuda", generator=random) for _ in range(2))
    k, v, dy = (torch.randn(2, moments, columns, device="cuda", generator=random)
                for _ in range(3))
    operands = (-torch.exp(w), u, 3 * k, v)
    for got, expected in zip(results_and_gradients(own.forward, operands, dy),
                             results_and_gradients(scan, operands, dy)):
        torch.testing.assert_close(got, expected, rtol=1e-3, atol=1e-3)
    return own.forward


def wkv_for(folder, longest, width):
    """(function of float tensors, its name)."""
    keep_halves = False
    if has_kernel(folder):
        inner, name = author_kernel(folder, longest), "author's wkv"
    else:
        try:
            inner, name, keep_halves = triton_kernel(width, longest), "our wkv in Triton", True
        except Exception as error:  # no Triton, or one that cannot compile it
            why = (str(error).strip() or type(error).__name__).splitlines()[0][:80]
            inner, name = scan, f"wkv as a scan (no Triton kernel: {why})"

    def call(w, u, k, v):
        with torch.autocast("cuda", enabled=False):
            if not keep_halves:
                k, v = k.float(), v.float()
            return inner(w.float(), u.float(), k.contiguous(), v.contiguous())
    return call, name
