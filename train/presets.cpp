// The presets' texts. Models stand at their documents' sizes; `-small` is for two cores.
#include "train/presets.h"

#include <string>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace plait::train {
namespace {

constexpr std::string_view kMlp = R"([model]
name = "mlp"
dtype = "f32"

[data]
kind = "synthetic"
valid_fraction = 0.1

[train]
batch = 64
steps = 1000

[optimizer]
kind = "sgd"
lr = 0.01

[eval]
every = 200

[output]
folder = "runs/mlp"
)";

constexpr std::string_view kConvAdd = R"([model]
name = "conv_add"
dtype = "f32"

[data]
kind = "synthetic"

[train]
batch = 1
steps = 100

[optimizer]
kind = "sgd"
lr = 0.01

[output]
folder = "runs/conv_add"
)";

constexpr std::string_view kResNet50 =
    R"(# Images: data.kind=images data.path=FOLDER model.classes=data
[model]
name = "resnet50"

[data]
kind = "synthetic"
valid_fraction = 0.05

[train]
batch = 10
steps = 1000

[optimizer]
kind = "sgd"
lr = 0.01
momentum = 0.9
weight_decay = 1e-4

[schedule]
kind = "step"
warmup_steps = 50
step_every = 300
gamma = 0.1

[eval]
every = 250

[output]
folder = "runs/resnet50"
log_every = 1
)";

constexpr std::string_view kVgg19 =
    R"(# Images: data.kind=images data.path=FOLDER model.classes=data
[model]
name = "vgg19"

[data]
kind = "synthetic"
valid_fraction = 0.05

[train]
batch = 32
steps = 1000
clip = 5.0

[optimizer]
kind = "sgd"
lr = 0.01
momentum = 0.9
weight_decay = 5e-4

[schedule]
kind = "polynomial"
warmup_steps = 50
power = 2.0

[eval]
every = 250

[output]
folder = "runs/vgg19"
log_every = 1
)";

constexpr std::string_view kUnet = R"([model]
name = "unet"

[data]
kind = "synthetic"
valid_fraction = 0.05

[train]
batch = 4
steps = 2000

[optimizer]
kind = "adam"
lr = 1e-3

[schedule]
kind = "linear"
warmup_steps = 50

[eval]
every = 250

[output]
folder = "runs/unet"
)";

constexpr std::string_view kGpt2 = R"([model]
name = "gpt2"
vocab = "data"

[data]
kind = "text"
unit = "byte"
valid_fraction = 0.05

[train]
batch = 4
steps = 10000
accumulate = 4
clip = 1.0
precision = "bf16"

[optimizer]
kind = "adamw"
lr = 6e-4
beta2 = 0.95
weight_decay = 0.1

[schedule]
kind = "cosine"
warmup_steps = 500
min_lr = 6e-5

[eval]
every = 500

[output]
folder = "runs/gpt2"

[sample]
length = 400
temperature = 0.8
top_p = 0.95
)";

constexpr std::string_view kRwkv4 = R"([model]
name = "rwkv4"
vocab = "data"

[data]
kind = "text"
unit = "char"
valid_fraction = 0.05

[train]
batch = 8
steps = 10000
clip = 1.0
precision = "bf16"

[optimizer]
kind = "adam"
lr = 8e-4
beta2 = 0.99

[schedule]
kind = "cosine"
warmup_steps = 200
min_lr = 1e-5

[eval]
every = 500

[output]
folder = "runs/rwkv4"

[sample]
length = 400
temperature = 0.8
top_p = 0.95
)";

constexpr std::string_view kRwkv4Small = R"([model]
name = "rwkv4"
layers = 3
width = 128
vocab = "data"
context = 128
copy = 0

[data]
kind = "text"
unit = "byte"
valid_fraction = 0.05

[train]
batch = 16
steps = 1000
clip = 1.0

[optimizer]
kind = "adam"
lr = 3e-3
beta2 = 0.99

[schedule]
kind = "cosine"
warmup_steps = 50
min_lr = 1e-4

[eval]
every = 250

[checkpoint]
every = 250

[output]
folder = "runs/rwkv4-small"

[sample]
prompt = "// "
length = 400
temperature = 0.8
top_p = 0.9
)";

constexpr std::string_view kRwkv4Log = R"([model]
name = "rwkv4"
layers = 4
width = 256
context = 256
copy = 64
mask = 0
init = "xavier"

[data]
kind = "text"
unit = "char"
one_chunk = true

[train]
batch = 2    # every row is the same: more of them give the same update
steps = 600

[optimizer]
kind = "adam"
lr = 8e-4

[output]
folder = "runs/rwkv4-log"
log_every = 1
)";

constexpr Preset kPresets[] = {
    {"mlp", "the two-layer perceptron on made-up data", kMlp},
    {"conv_add", "the convolution and addition on made-up data", kConvAdd},
    {"resnet50", "ResNet-50 on made-up images of 224 x 224", kResNet50},
    {"vgg19", "VGG-19 on made-up images of 224 x 224", kVgg19},
    {"rwkv4", "RWKV-4 at the log's size, on Plait's own sources, by characters", kRwkv4},
    {"gpt2", "GPT-2 at its first size, on Plait's own sources, by bytes", kGpt2},
    {"unet", "U-Net on made-up images of 128 x 128", kUnet},
    {"rwkv4-small", "what `make train` runs: a small RWKV-4 on Plait's own sources", kRwkv4Small},
    {"rwkv4-log", "the log's run at a smaller width: one chunk in every row, memorised", kRwkv4Log},
};

}  // namespace

std::span<const Preset> all_presets() { return kPresets; }

const Preset& preset_named(std::string_view name) {
  std::vector<std::string> names;
  for (const Preset& preset : kPresets) {
    if (preset.name == name) return preset;
    names.emplace_back(preset.name);
  }
  fail("there is no preset '", name, "'.", suggestion(name, names), " There are ",
       join(names, ", "));
}

}  // namespace plait::train
