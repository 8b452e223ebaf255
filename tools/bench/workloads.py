# The workloads of `make bench` as data: our model string, the peers' name for it, and the targets.
from dataclasses import dataclass


@dataclass(frozen=True)
class Workload:
    name: str
    model: str      # FILE of `plait bench`
    peer: str       # WORKLOAD of peer_torch.py and peer_ort.py
    dtype: str
    at_least: float   # ours is to be this many times as fast as the peer
    reach_for: float
    ort: bool = False   # ONNX Runtime runs it too
    against: str = ""   # the target names this peer's mode ("eager"); else it is the best peer


def _model(text):
    return "model:" + text


_SMALL_RWKV4 = "rwkv4?layers=3&width=128&vocab=256&context=64&copy=0&batch=4"

WORKLOADS = (
    Workload("mlp_f32", _model("mlp?dtype=f32&train=1"), "mlp", "f32", 10, 40),
    Workload("conv_add_f32", _model("conv_add?dtype=f32"), "conv_add", "f32", 1.0, 1.6, ort=True),
    Workload("conv_add_bf16", _model("conv_add?dtype=bf16"), "conv_add", "bf16", 2, 4),
    Workload("conv_add_f16", _model("conv_add?dtype=f16"), "conv_add", "f16", 2, 3),
    Workload("resnet50_f32", _model("resnet50?batch=10&dtype=f32"), "resnet50", "f32", 1.1, 1.5,
             ort=True),
    Workload("resnet50_bf16", _model("resnet50?batch=10&dtype=bf16"), "resnet50", "bf16", 2.5, 4),
    Workload("rwkv4_train", _model(_SMALL_RWKV4 + "&dtype=f32&train=1&optimizer=adam"),
             "rwkv4_train", "f32", 25, 40, against="eager"),
    Workload("vgg19_train", _model("vgg19?batch=4&dtype=f32&train=1&optimizer=sgd"),
             "vgg19_train", "f32", 1.1, 1.4),
    Workload("resnet50_train", _model("resnet50?batch=8&dtype=f32&train=1&optimizer=sgd"),
             "resnet50_train", "f32", 1.1, 1.4),
)


def chosen(only):
    """The workloads named by `only`: names, or peers' names for all dtypes; None: all."""
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
