#!/usr/bin/env python3
# Makes tests/fixtures/*.safetensors with PyTorch (1.13 or later, no other library but numpy).
# Everything is computed in f64 from fixed seeds; making them again gives the same bytes.
import argparse
import pathlib
import sys

import torch

sys.dont_write_bytecode = True  # leave no caches beside the sources
from fixtures import check, gan, language, ops, optimizers, small, tensor_file, training, vision

MODELS = {
    "mlp": small.mlp,
    "conv_add": small.conv_add,
    "resnet50": vision.resnet50,
    "vgg19": vision.vgg19,
    "rwkv4": language.rwkv4,
    "rwkv4_nocopy": lambda: language.rwkv4(copy=0),
    "gpt2": language.gpt2,
    "unet": vision.unet,
}
OTHERS = {
    "resnet50_folded": vision.resnet50_folded,
    "wkv": language.wkv_fixture,
    "optimizers": optimizers.optimizers_fixture,
    "gan": gan.gan_fixture,
    "ops": ops.ops_fixture,
}


def main():
    parser = argparse.ArgumentParser(description="Make the PyTorch fixtures.")
    parser.add_argument("names", nargs="*", help="fixtures to make (default: all)")
    parser.add_argument("--out", type=pathlib.Path, help="folder (default: tests/fixtures)",
                        default=pathlib.Path(__file__).parent.parent / "tests" / "fixtures")
    parser.add_argument("--check", action="store_true",
                        help="write nothing; check the stored files and their gradients")
    parser.add_argument("--float32", action="store_true",
                        help="write nothing; print what computing in f32 changes")
    options = parser.parse_args()
    unknown = set(options.names) - MODELS.keys() - OTHERS.keys()
    if unknown:
        sys.exit(f"no fixture named {', '.join(sorted(unknown))}; "
                 f"there are {', '.join([*MODELS, *OTHERS])}")
    torch.set_num_threads(1)  # one order of summation
    for name in options.names or [*MODELS, *OTHERS]:
        path, model = options.out / (name + ".safetensors"), None
        if name in MODELS:
            model = MODELS[name]()
            tensors, metadata = training.record(model), training.metadata(model)
        else:
            tensors, metadata = OTHERS[name]()
        if options.float32:
            for row in check.float32_deviation(model, tensors) if model else []:
                print(f"{name:<13} {row[0]:<13} {row[1]:.1e}  {row[2]}")
            continue
        if options.check and name == "gan":
            gan.check_gan(path, tensors, metadata)
        elif options.check:
            check.check_file(path, tensors, metadata)
            if model:
                check.check_model_gradients(name, model, tensors)
                check.check_margin(name, model)
            elif name == "wkv":
                check.check_wkv(tensors)
            elif name == "ops":
                check.check_op_gradients()
        else:
            options.out.mkdir(parents=True, exist_ok=True)
            tensor_file.write(path, tensors, metadata)
        print(check.size_line(path), flush=True)
    if options.check:
        check.check_counts()


if __name__ == "__main__":
    main()
