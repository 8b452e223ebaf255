# The workloads of `make gpu-bench` as data: our command, the peers' name for it, and the targets in
# milliseconds on an H200.
from dataclasses import dataclass


@dataclass(frozen=True)
class Workload:
    name: str
    model: str       # FILE of `plait bench`
    flags: tuple     # of `plait bench`
    peer: str        # WORKLOAD of the peers' scripts
    precision: str   # and their PRECISION
    row: int         # runs in one launch or replay, ours and theirs
    at_most_ms: float
    reach_for_ms: float
    jax: bool = False   # JAX runs it too
    tuned: bool = False  # ours picks its contractions by measuring (--measure), cold runs apart
    at_most_bytes: float = 0
    reach_for_bytes: float = 0


_VGG19 = "model:vgg19?batch=32&train=1&optimizer=sgd"
_RWKV4 = ("model:rwkv4?layers=6&width=1024&vocab=6064&context=1024&copy=256&batch=4&train=1"
          "&optimizer=adam")
_TF32 = ("--fp32", "tf32")

WORKLOADS = (
    Workload("mlp_f16", "model:mlp?dtype=f16&train=1", (), "mlp", "f16", 1, 0.014, 0.008,
             jax=True),
    Workload("mlp_f16_x100", "model:mlp?dtype=f16&train=1", (), "mlp", "f16", 100, 0.005, 0.002,
             jax=True),
    Workload("conv_add_f16", "model:conv_add?dtype=f16", (), "conv_add", "f16", 100, 0.0055, 0.004,
             tuned=True),
    Workload("resnet50_tf32", "model:resnet50?batch=10&dtype=f32", _TF32, "resnet50", "tf32", 1,
             0.85, 0.6, jax=True, tuned=True),
    Workload("resnet50_f16", "model:resnet50?batch=10&dtype=f16", (), "resnet50", "f16", 1,
             0.50, 0.3, jax=True, tuned=True),
    Workload("vgg19_tf32", _VGG19, _TF32, "vgg19_train", "tf32", 1, 17.5, 15, jax=True,
             tuned=True),
    Workload("vgg19_bf16", _VGG19 + "&precision=bf16", _TF32, "vgg19_train", "bf16", 1, 8.0, 6.5,
             jax=True, tuned=True),
    Workload("rwkv4_bf16", _RWKV4 + "&precision=bf16", _TF32, "rwkv4_train", "bf16", 1, 5.5, 4.2,
             tuned=True,
             at_most_bytes=2.5e9, reach_for_bytes=2.1e9),
)


def chosen(only):
    """The workloads named by `only`: names, or peers' names for all of them; None: all."""
    if only is None:
        return list(WORKLOADS)
    wanted = [name for name in only.split(",") if name]
    for name in wanted:
        if not any(name in (w.name, w.peer) for w in WORKLOADS):
            raise ValueError(f"no workload named {name!r}; there are "
                             + ", ".join(w.name for w in WORKLOADS))
    if not wanted:
        raise ValueError("--only names no workload")
    return [w for w in WORKLOADS if w.name in wanted or w.peer in wanted]
