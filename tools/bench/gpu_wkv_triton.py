# RWKV-4's recurrence as Triton kernels, forward and backward, for a peer that is as fast as one
# would write it: time is cut into spans that run side by side and are joined by a closed form.
#   a[t] = exp(w) a[t-1] + exp(k[t]) v[t]      b[t] = exp(w) b[t-1] + exp(k[t])
#   y[t] = (a[t-1] + exp(u + k[t]) v[t]) / (b[t-1] + exp(u + k[t]))
# a and b are p and q times exp(o); dp and dq are their derivatives by w, times exp(-o).
import torch
import triton
import triton.language as tl

LOWEST = tl.constexpr(-1e38)
SPAN, COLUMNS, JOINED_COLUMNS = 32, 128, 8


@triton.jit
def place(T, C, SPAN: tl.constexpr, COLUMNS: tl.constexpr):
    """Columns of this program, where its span begins in (B, T, C), and itself in (B, T/SPAN, C)."""
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    span = tl.program_id(1)
    batch = tl.program_id(2)
    first = (batch * T + span * SPAN) * C + column
    own = (batch * tl.num_programs(1) + span) * C + column
    return column, first, own


@triton.jit
def step(w, k, v, p, q, o, dp, dq):
    """The state behind one more moment."""
    top = tl.maximum(w + o, k)
    old = tl.exp(w + o - top)
    new = tl.exp(k - top)
    return old * p + new * v, old * q + new, top, old * (dp + p), old * (dq + q)


@triton.jit
def spans_kernel(w_at, k_at, v_at, p_at, q_at, o_at, dp_at, dq_at, T, C,
                 SPAN: tl.constexpr, COLUMNS: tl.constexpr):
    """The state that each span alone ends in."""
    column, at, own = place(T, C, SPAN, COLUMNS)
    w = tl.load(w_at + column)
    k = tl.load(k_at + at).to(tl.float32)
    v = tl.load(v_at + at).to(tl.float32)
    p = tl.zeros([COLUMNS], tl.float32)
    q = tl.zeros([COLUMNS], tl.float32)
    o = tl.full([COLUMNS], LOWEST, tl.float32)
    dp = tl.zeros([COLUMNS], tl.float32)
    dq = tl.zeros([COLUMNS], tl.float32)
    for t in range(SPAN):
        at += C
        more = (t + 1 < SPAN) & (column < C)
        next_k = tl.load(k_at + at, mask=more, other=0).to(tl.float32)
        next_v = tl.load(v_at + at, mask=more, other=0).to(tl.float32)
        p, q, o, dp, dq = step(w, k, v, p, q, o, dp, dq)
        k = next_k
        v = next_v
    tl.store(p_at + own, p)
    tl.store(q_at + own, q)
    tl.store(o_at + own, o)
    tl.store(dp_at + own, dp)
    tl.store(dq_at + own, dq)


@triton.jit
def join_kernel(w_at, p_at, q_at, o_at, dp_at, dq_at, to_p, to_q, to_o, to_dp, to_dq, C,
                BACKWARD: tl.constexpr, SPAN: tl.constexpr, SPANS: tl.constexpr,
                COLUMNS: tl.constexpr):
    """What comes into each span from all before it; BACKWARD: from all behind it, where there is
    nothing to derive."""
    column = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    span = tl.arange(0, SPANS)
    at = (tl.program_id(1) * SPANS + span[:, None]) * C + column[None, :]  # (span, column)
    w = tl.load(w_at + column)
    into = span[:, None, None]
    come = span[None, :, None]
    away = (come - into if BACKWARD else into - come) - 1  # spans between the two
    steps = (away * SPAN).to(tl.float32)
    o = tl.load(o_at + at)
    exponent = tl.where(away >= 0, o[None, :, :] + steps * w[None, None, :], LOWEST)
    top = tl.max(exponent, axis=1)
    scale = tl.where(away >= 0, tl.exp(exponent - top[:, None, :]), 0.0)
    p = tl.load(p_at + at)
    q = tl.load(q_at + at)
    tl.store(to_p + at, tl.sum(scale * p[None, :, :], axis=1))
    tl.store(to_q + at, tl.sum(scale * q[None, :, :], axis=1))
    tl.store(to_o + at, top)
    if not BACKWARD:
        dp = tl.load(dp_at + at)
        dq = tl.load(dq_at + at)
        tl.store(to_dp + at, tl.sum(scale * (dp[None, :, :] + steps * p[None, :, :]), axis=1))
        tl.store(to_dq + at, tl.sum(scale * (dq[None, :, :] + steps * q[None, :, :]), axis=1))


@triton.jit
def result_kernel(w_at, u_at, k_at, v_at, p_at, q_at, o_at, y_at, T, C,
                  SPAN: tl.constexpr, COLUMNS: tl.constexpr):
    column, at, own = place(T, C, SPAN, COLUMNS)
    w = tl.load(w_at + column)
    u = tl.load(u_at + column)
    p = tl.load(p_at + own)
    q = tl.load(q_at + own)
    o = tl.load(o_at + own)
    none = tl.zeros([COLUMNS], tl.float32)
    k = tl.load(k_at + at).to(tl.float32)
    v = tl.load(v_at + at).to(tl.float32)
    for t in range(SPAN):
        more = (t + 1 < SPAN) & (column < C)
        next_k = tl.load(k_at + at + C, mask=more, other=0).to(tl.float32)
        next_v = tl.load(v_at + at + C, mask=more, other=0).to(tl.float32)
        top = tl.maximum(o, u + k)
        old = tl.exp(o - top)
        new = tl.exp(u + k - top)
        y = (old * p + new * v) / (old * q + new)
        tl.store(y_at + at, y.to(y_at.dtype.element_ty))
        p, q, o, _, _ = step(w, k, v, p, q, o, none, none)
        at += C
        k = next_k
        v = next_v


@triton.jit
def forth_kernel(w_at, u_at, k_at, v_at, dy_at, p_at, q_at, o_at, dp_at, dq_at, g_at, y_at, top_at,
                 gp_at, gq_at, go_at, dw_at, du_at, T, C,
                 SPAN: tl.constexpr, COLUMNS: tl.constexpr):
    """Through each span forward: what the way back needs of each moment (g, y, top), what the span
    hands to those before it (gp, gq, go), and its part of the gradients of w and u."""
    column, at, own = place(T, C, SPAN, COLUMNS)
    w = tl.load(w_at + column)
    u = tl.load(u_at + column)
    p = tl.load(p_at + own)
    q = tl.load(q_at + own)
    o = tl.load(o_at + own)
    dp = tl.load(dp_at + own)
    dq = tl.load(dq_at + own)
    gp = tl.zeros([COLUMNS], tl.float32)
    gq = tl.zeros([COLUMNS], tl.float32)
    go = tl.full([COLUMNS], LOWEST, tl.float32)
    dw = tl.zeros([COLUMNS], tl.float32)
    du = tl.zeros([COLUMNS], tl.float32)
    far = tl.zeros([COLUMNS], tl.float32)  # w times the moments since the span began
    k = tl.load(k_at + at).to(tl.float32)
    v = tl.load(v_at + at).to(tl.float32)
    dy = tl.load(dy_at + at).to(tl.float32)
    for t in range(SPAN):
        more = (t + 1 < SPAN) & (column < C)
        next_k = tl.load(k_at + at + C, mask=more, other=0).to(tl.float32)
        next_v = tl.load(v_at + at + C, mask=more, other=0).to(tl.float32)
        next_dy = tl.load(dy_at + at + C, mask=more, other=0).to(tl.float32)
        top = tl.maximum(o, u + k)
        old = tl.exp(o - top)
        new = tl.exp(u + k - top)
        under = 1.0 / (old * q + new)
        y = (old * p + new * v) * under
        g = dy * under
        tl.store(g_at + at, g)
        tl.store(y_at + at, y)
        tl.store(top_at + at, top)
        du += new * g * (v - y)
        dw += old * g * (dp - y * dq)
        high = tl.maximum(go, far - top)
        kept = tl.exp(go - high)
        added = tl.exp(far - top - high) * g
        gp = kept * gp + added
        gq = kept * gq - added * y
        go = high
        far += w
        p, q, o, dp, dq = step(w, k, v, p, q, o, dp, dq)
        at += C
        k = next_k
        v = next_v
        dy = next_dy
    tl.store(gp_at + own, gp)
    tl.store(gq_at + own, gq)
    tl.store(go_at + own, go)
    tl.store(dw_at + own, dw)
    tl.store(du_at + own, du)


@triton.jit
def back_kernel(w_at, u_at, k_at, v_at, g_at, y_at, top_at, gp_at, gq_at, go_at, dk_at, dv_at, T, C,
                SPAN: tl.constexpr, COLUMNS: tl.constexpr):
    """Through each span backward: the gradients of k and v."""
    column, first, own = place(T, C, SPAN, COLUMNS)
    w = tl.load(w_at + column)
    u = tl.load(u_at + column)
    gp = tl.load(gp_at + own)
    gq = tl.load(gq_at + own)
    go = tl.load(go_at + own)
    at = first + (SPAN - 1) * C
    k = tl.load(k_at + at).to(tl.float32)
    v = tl.load(v_at + at).to(tl.float32)
    g = tl.load(g_at + at)
    y = tl.load(y_at + at)
    top = tl.load(top_at + at)
    for t in range(SPAN):
        more = (t + 1 < SPAN) & (column < C)
        next_k = tl.load(k_at + at - C, mask=more, other=0).to(tl.float32)
        next_v = tl.load(v_at + at - C, mask=more, other=0).to(tl.float32)
        next_g = tl.load(g_at + at - C, mask=more, other=0)
        next_y = tl.load(y_at + at - C, mask=more, other=0)
        next_top = tl.load(top_at + at - C, mask=more, other=0)
        now = tl.exp(u + k - top) * g
        later = tl.exp(k + go)
        dv = now + later * gp
        dk = now * (v - y) + later * (v * gp + gq)
        tl.store(dv_at + at, dv.to(dv_at.dtype.element_ty))
        tl.store(dk_at + at, dk.to(dk_at.dtype.element_ty))
        high = tl.maximum(w + go, -top)
        kept = tl.exp(w + go - high)
        added = tl.exp(-top - high) * g
        gp = kept * gp + added
        gq = kept * gq - added * y
        go = high
        at -= C
        k = next_k
        v = next_v
        g = next_g
        y = next_y
        top = next_top


def joined(w, state, backward):
    """Of each span what join_kernel says; state: p, q, o and, unless backward, dp, dq."""
    batch, spans, width = state[0].shape
    out = [torch.empty_like(x) for x in state]
    unused = [state[0]] * (5 - len(state))
    join_kernel[(width // JOINED_COLUMNS, batch)](
        w, *state, *unused, *out, *unused, width, BACKWARD=backward, SPAN=SPAN, SPANS=spans,
        COLUMNS=JOINED_COLUMNS, num_warps=8)
    return out


def incoming(w, k, v):
    """p, q, o, dp, dq as they come into each span; (B, T / SPAN, C) each."""
    batch, time, width = k.shape
    state = [w.new_empty(batch, time // SPAN, width) for _ in range(5)]
    grid = (width // COLUMNS, time // SPAN, batch)
    spans_kernel[grid](w, k, v, *state, time, width, SPAN=SPAN, COLUMNS=COLUMNS, num_warps=1)
    return joined(w, state, False)


def fits(batch, time, width):
    spans = time // SPAN
    return time % SPAN == 0 and spans & (spans - 1) == 0 and width % COLUMNS == 0 and batch > 0


@torch.library.custom_op("peer::wkv_triton", mutates_args=())
def forward(w: torch.Tensor, u: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    batch, time, width = k.shape
    state, y = incoming(w, k, v), torch.empty_like(k)
    grid = (width // COLUMNS, time // SPAN, batch)
    result_kernel[grid](w, u, k, v, *state[:3], y, time, width, SPAN=SPAN, COLUMNS=COLUMNS,
                        num_warps=1)
    return y


@torch.library.custom_op("peer::wkv_triton_backward", mutates_args=())
def backward(w: torch.Tensor, u: torch.Tensor, k: torch.Tensor, v: torch.Tensor,
             dy: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    batch, time, width = k.shape
    state = incoming(w, k, v)
    moments = [w.new_empty(batch, time, width) for _ in range(3)]
    handed = [torch.empty_like(state[0]) for _ in range(3)]
    dw, du = torch.empty_like(state[0]), torch.empty_like(state[0])
    dk, dv = torch.empty_like(k), torch.empty_like(v)
    grid = (width // COLUMNS, time // SPAN, batch)
    sizes = {"SPAN": SPAN, "COLUMNS": COLUMNS, "num_warps": 1}
    forth_kernel[grid](w, u, k, v, dy, *state, *moments, *handed, dw, du, time, width, **sizes)
    coming = joined(w, handed, True)
    back_kernel[grid](w, u, k, v, *moments, *coming, dk, dv, time, width, **sizes)
    return dw.sum((0, 1)), du.sum((0, 1)), dk, dv


@forward.register_fake
def _(w, u, k, v):
    return torch.empty_like(k)


@backward.register_fake
def _(w, u, k, v, dy):
    return torch.empty_like(w), torch.empty_like(u), torch.empty_like(k), torch.empty_like(v)


def remember(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


forward.register_autograd(
    lambda ctx, dy: backward(*ctx.saved_tensors, dy.contiguous()), setup_context=remember)
