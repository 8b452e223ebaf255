# The workloads' networks in plain PyTorch (1.13 or later, no torchvision), for the peers alone.
# Sizes and parameter counts are those of the `model:` strings in workloads.py.
import torch
import torch.nn.functional as F
from torch import nn

RESNET_BLOCKS = (3, 4, 6, 3)
EXPANSION = 4
VGG_CONVS = (2, 2, 4, 4, 4)


class ConvAdd(nn.Module):
    def __init__(self, channels=128, filters=256, kernel=3):
        super().__init__()
        self.conv = nn.Conv2d(channels, filters, kernel, bias=False)

    def forward(self, x, addend):
        return self.conv(x) + addend


def conv_norm(inputs, outputs, kernel, stride, folded):
    """A convolution and its batch norm; folded: one convolution with bias."""
    conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=folded)
    nn.init.kaiming_normal_(conv.weight, mode="fan_out", nonlinearity="relu")
    if not folded:
        return nn.Sequential(conv, nn.BatchNorm2d(outputs))
    nn.init.zeros_(conv.bias)
    return conv


class Bottleneck(nn.Module):
    def __init__(self, inputs, planes, stride, projected, folded):
        super().__init__()
        outputs = EXPANSION * planes
        self.first = conv_norm(inputs, planes, 1, 1, folded)
        self.second = conv_norm(planes, planes, 3, stride, folded)
        self.third = conv_norm(planes, outputs, 1, 1, folded)
        self.projection = conv_norm(inputs, outputs, 1, stride, folded) if projected else None

    def forward(self, x):
        y = F.relu(self.first(x), inplace=True)
        y = F.relu(self.second(y), inplace=True)
        y = self.third(y)
        return F.relu(y + (x if self.projection is None else self.projection(x)), inplace=True)


class ResNet50(nn.Module):
    """folded: the inference form, which ends in probabilities; else logits, with batch norms."""

    def __init__(self, folded, width=64, classes=1000):
        super().__init__()
        self.folded = folded
        self.stem = conv_norm(3, width, 7, 2, folded)
        blocks, inputs = [], width
        for layer, count in enumerate(RESNET_BLOCKS):
            planes = width << layer
            for block in range(count):
                stride = 2 if layer > 0 and block == 0 else 1
                blocks.append(Bottleneck(inputs, planes, stride, block == 0, folded))
                inputs = EXPANSION * planes
        self.blocks = nn.Sequential(*blocks)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x):
        y = F.max_pool2d(F.relu(self.stem(x), inplace=True), 3, stride=2, padding=1)
        logits = self.fc(torch.flatten(self.pool(self.blocks(y)), 1))
        return torch.softmax(logits, -1) if self.folded else logits


class Vgg19(nn.Module):
    def __init__(self, width=64, hidden=4096, classes=1000, dropout=0.5):
        super().__init__()
        layers, inputs = [], 3
        for stage, count in enumerate(VGG_CONVS):
            outputs = width << min(stage, 3)
            for _ in range(count):
                conv = nn.Conv2d(inputs, outputs, 3, padding=1)
                nn.init.kaiming_normal_(conv.weight, mode="fan_out", nonlinearity="relu")
                nn.init.zeros_(conv.bias)
                layers += [conv, nn.ReLU(inplace=True)]
                inputs = outputs
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(
            nn.Linear(inputs * 7 * 7, hidden), nn.ReLU(inplace=True), nn.Dropout(dropout),
            nn.Linear(hidden, hidden), nn.ReLU(inplace=True), nn.Dropout(dropout),
            nn.Linear(hidden, classes))
        for layer in self.classifier:
            if isinstance(layer, nn.Linear):
                nn.init.normal_(layer.weight, std=0.01)
                nn.init.zeros_(layer.bias)

    def forward(self, x):
        return self.classifier(torch.flatten(self.features(x), 1))


def wkv(w, u, k, v):
    """RWKV-4's recurrence over time as a loop of plain operations; k and v are (B, T, C)."""
    batch, context, width = k.shape
    p = torch.zeros(batch, width)
    q = torch.zeros(batch, width)
    o = torch.full((batch, width), -1e38)
    ys = []
    for t in range(context):
        kt, vt = k[:, t], v[:, t]
        top = torch.maximum(o, u + kt)
        a, e = torch.exp(o - top), torch.exp(u + kt - top)
        ys.append((a * p + e * vt) / (a * q + e))
        top = torch.maximum(w + o, kt)
        a, e = torch.exp(w + o - top), torch.exp(kt - top)
        p, q, o = a * p + e * vt, a * q + e, top
    return torch.stack(ys, 1)


def mixed(x, before, mix):
    return x * mix + before * (1 - mix)


class RwkvBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        for name in ("mix_k", "mix_v", "mix_r", "channel_mix_k", "channel_mix_r"):
            setattr(self, name, nn.Parameter(torch.rand(1, 1, width)))
        self.decay, self.first = nn.Parameter(torch.randn(width)), nn.Parameter(torch.randn(width))
        for name in ("key", "value", "receptance", "output", "channel_receptance"):
            setattr(self, name, nn.Linear(width, width, bias=False))
        self.channel_key = nn.Linear(width, 4 * width, bias=False)
        self.channel_value = nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        h = self.ln1(x)
        before = F.pad(h, (0, 0, 1, -1))
        k, v = self.key(mixed(h, before, self.mix_k)), self.value(mixed(h, before, self.mix_v))
        r = torch.sigmoid(self.receptance(mixed(h, before, self.mix_r)))
        x = x + self.output(r * wkv(-torch.exp(self.decay), self.first, k, v))
        h = self.ln2(x)
        before = F.pad(h, (0, 0, 1, -1))
        k = torch.relu(self.channel_key(mixed(h, before, self.channel_mix_k))) ** 2
        r = torch.sigmoid(self.channel_receptance(mixed(h, before, self.channel_mix_r)))
        return x + r * self.channel_value(k)


def rwkv4(layers=3, width=128, vocab=256):
    """Token indices to logits; without copy head."""
    blocks = [RwkvBlock(width) for _ in range(layers)]
    return nn.Sequential(nn.Embedding(vocab, width), nn.LayerNorm(width), *blocks,
                         nn.LayerNorm(width), nn.Linear(width, vocab, bias=False))
