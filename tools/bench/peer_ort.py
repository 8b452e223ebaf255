#!/usr/bin/env python3
"""One inference workload of the bench in ONNX Runtime on the CPU; prints one line of JSON.

Usage: peer_ort.py WORKLOAD SECONDS [CORES]      WORKLOAD: conv_add, resnet50 (f32)
The model is exported from PyTorch, which must be installed beside ONNX Runtime (and onnx).
"""
import inspect
import io
import json
import sys

import onnxruntime
import torch

sys.dont_write_bytecode = True  # leave no caches beside the sources
import timing
import torch_models

OPSET = 17 if int(torch.__version__.split(".")[0]) >= 2 else 14


def exported(net, inputs):
    """The model as ONNX bytes, by the exporter that needs no further packages."""
    takes_dynamo = "dynamo" in inspect.signature(torch.onnx.export).parameters
    file = io.BytesIO()
    torch.onnx.export(net, inputs, file, opset_version=OPSET,
                      **({"dynamo": False} if takes_dynamo else {}))
    return file.getvalue()


def conv_add():
    return torch_models.ConvAdd(), (torch.randn(1, 128, 28, 28), torch.randn(1, 256, 26, 26))


def resnet50():
    return torch_models.ResNet50(folded=True), (torch.randn(10, 3, 224, 224),)


WORKLOADS = {"conv_add": conv_add, "resnet50": resnet50}


def session_of(model, cores):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = cores
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def main():
    arguments = sys.argv[1:]
    if len(arguments) not in (2, 3) or arguments[0] not in WORKLOADS:
        sys.exit(__doc__)
    seconds, cores = float(arguments[1]), int(arguments[2]) if len(arguments) == 3 else 2
    torch.manual_seed(0)
    torch.set_num_threads(1)  # it exports; its threads are not to disturb
    try:
        net, inputs = WORKLOADS[arguments[0]]()
        session = session_of(exported(net.eval(), inputs), cores)
        names = [given.name for given in session.get_inputs()]
        feeds = {name: given.numpy() for name, given in zip(names, inputs)}
        result = timing.measure(lambda: session.run(None, feeds), seconds)
    except Exception as error:  # whatever it is, the bench wants one line about it
        first_line = (str(error).strip() or "no message").splitlines()[0]
        sys.exit(f"{type(error).__name__}: {first_line}")
    parameters = sum(p.numel() for p in net.parameters())
    print(json.dumps({**result, "parameters": parameters, "threads": cores,
                      "version": onnxruntime.__version__}))


if __name__ == "__main__":
    main()
