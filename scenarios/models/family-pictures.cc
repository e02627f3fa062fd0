/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Models of pictures, and other networks that are no language models.
 */
#include "scenarios/models/family.h"

namespace training
{

namespace
{

void
ReadVit(Config& c, Transformer& t, ModelSpec& model)
{
    ReadUsual(c, t);
    t.ffn = c.Count("intermediate_size", kMostFfn);
    PatchShape& p = t.patches;
    p.image = c.Count("image_size", 1 << 14);
    p.patch = c.Count("patch_size", 1 << 14);
    p.channels = c.Given("num_channels") ? c.Count("num_channels", 1 << 14) : 3;
    p.classes = c.Given("id2label") && c.In().At("id2label").is_object()
                    ? static_cast<uint32_t>(c.In().At("id2label").size())
                    : c.Count("num_labels", kMostWords, 2);
    t.dropout = c.Positive("hidden_dropout_prob", 0);
    t.causal = false;
    if (!c.Flag("qkv_bias", true))
    {
        c.In().Fail("qkv_bias", "is not known here; allowed: true");
    }
    if (p.patch > 0 && p.image % p.patch != 0)
    {
        c.In().Fail("patch_size", "does not divide image_size, " + std::to_string(p.image));
    }
    model.hasSequence = false;
    model.sequence = 1;
}

// clang-format off
const char* const kPictureZoo = R"zoo(
[
 {"name": "vit-b-16", "aliases": ["vit-base-patch16-224"], "family": "ViT", "layers": 12, "hidden": 768,
  "heads": 12, "image": 224, "patch": 16, "dropout": false, "parameters_published": 86567656,
  "source": "torchvision vit_b_16 (count and shapes: torchvision/models/vision_transformer.py)"},
 {"name": "vit-l-16", "aliases": ["vit-large-patch16-224"], "family": "ViT", "layers": 24, "hidden": 1024,
  "heads": 16, "image": 224, "patch": 16, "dropout": false, "parameters_published": 304326632,
  "source": "torchvision vit_l_16 (count and shapes: torchvision/models/vision_transformer.py)"},
 {"name": "vit-h-14", "aliases": ["vit-huge-patch14-224"], "family": "ViT", "layers": 32, "hidden": 1280,
  "heads": 16, "image": 224, "patch": 14, "dropout": false, "parameters_published": 632045800,
  "source": "torchvision vit_h_14 (count and shapes: torchvision/models/vision_transformer.py)"},
 {"name": "resnet-18", "family": "ResNet", "image": 224, "parameters_published": 11689512,
  "source": "torchvision resnet18 (torchvision/models/resnet.py)",
  "layers": [
   {"name": "stem", "ops": [["conv", 64, 7, 2, 3], ["bn"], ["relu"], ["maxpool", 3, 2, 1]]},
   {"name": "layer1", "repeat": 2, "ops": [["conv", 64, 3, 1, 1], ["bn"], ["relu"], ["conv", 64, 3, 1, 1], ["bn"]], "residual": true},
   {"name": "layer2.0", "ops": [["conv", 128, 3, 2, 1], ["bn"], ["relu"], ["conv", 128, 3, 1, 1], ["bn"]], "residual": true, "shortcut": [["conv", 128, 1, 2, 0], ["bn"]]},
   {"name": "layer2", "repeat": 1, "first": 1, "ops": [["conv", 128, 3, 1, 1], ["bn"], ["relu"], ["conv", 128, 3, 1, 1], ["bn"]], "residual": true},
   {"name": "layer3.0", "ops": [["conv", 256, 3, 2, 1], ["bn"], ["relu"], ["conv", 256, 3, 1, 1], ["bn"]], "residual": true, "shortcut": [["conv", 256, 1, 2, 0], ["bn"]]},
   {"name": "layer3", "repeat": 1, "first": 1, "ops": [["conv", 256, 3, 1, 1], ["bn"], ["relu"], ["conv", 256, 3, 1, 1], ["bn"]], "residual": true},
   {"name": "layer4.0", "ops": [["conv", 512, 3, 2, 1], ["bn"], ["relu"], ["conv", 512, 3, 1, 1], ["bn"]], "residual": true, "shortcut": [["conv", 512, 1, 2, 0], ["bn"]]},
   {"name": "layer4", "repeat": 1, "first": 1, "ops": [["conv", 512, 3, 1, 1], ["bn"], ["relu"], ["conv", 512, 3, 1, 1], ["bn"]], "residual": true},
   {"name": "fc", "ops": [["avgpool"], ["linear", 1000]]}
  ]},
 {"name": "resnet-34", "family": "ResNet", "image": 224, "parameters_published": 21797672,
  "source": "torchvision resnet34 (torchvision/models/resnet.py)",
  "layers": [
   {"name": "stem", "ops": [["conv", 64, 7, 2, 3], ["bn"], ["relu"], ["maxpool", 3, 2, 1]]},
   {"name": "layer1", "repeat": 3, "ops": [["conv", 64, 3, 1, 1], ["bn"], ["relu"], ["conv", 64, 3, 1, 1], ["bn"]], "residual": true},
   {"name": "layer2.0", "ops": [["conv", 128, 3, 2, 1], ["bn"], ["relu"], ["conv", 128, 3, 1, 1], ["bn"]], "residual": true, "shortcut": [["conv", 128, 1, 2, 0], ["bn"]]},
   {"name": "layer2", "repeat": 3, "first": 1, "ops": [["conv", 128, 3, 1, 1], ["bn"], ["relu"], ["conv", 128, 3, 1, 1], ["bn"]], "residual": true},
   {"name": "layer3.0", "ops": [["conv", 256, 3, 2, 1], ["bn"], ["relu"], ["conv", 256, 3, 1, 1], ["bn"]], "residual": true, "shortcut": [["conv", 256, 1, 2, 0], ["bn"]]},
   {"name": "layer3", "repeat": 5, "first": 1, "ops": [["conv", 256, 3, 1, 1], ["bn"], ["relu"], ["conv", 256, 3, 1, 1], ["bn"]], "residual": true},
   {"name": "layer4.0", "ops": [["conv", 512, 3, 2, 1], ["bn"], ["relu"], ["conv", 512, 3, 1, 1], ["bn"]], "residual": true, "shortcut": [["conv", 512, 1, 2, 0], ["bn"]]},
   {"name": "layer4", "repeat": 2, "first": 1, "ops": [["conv", 512, 3, 1, 1], ["bn"], ["relu"], ["conv", 512, 3, 1, 1], ["bn"]], "residual": true},
   {"name": "fc", "ops": [["avgpool"], ["linear", 1000]]}
  ]},
 {"name": "resnet-50", "family": "ResNet", "image": 224, "parameters_published": 25557032,
  "source": "torchvision resnet50 (stride in the 3x3 convolution, \"v1.5\")",
  "layers": [
   {"name": "stem", "ops": [["conv", 64, 7, 2, 3], ["bn"], ["relu"], ["maxpool", 3, 2, 1]]},
   {"name": "layer1.0",
    "ops": [["conv", 64, 1, 1, 0], ["bn"], ["relu"], ["conv", 64, 3, 1, 1], ["bn"], ["relu"], ["conv", 256, 1, 1, 0], ["bn"]],
    "residual": true, "shortcut": [["conv", 256, 1, 1, 0], ["bn"]]},
   {"name": "layer1.1",
    "ops": [["conv", 64, 1, 1, 0], ["bn"], ["relu"], ["conv", 64, 3, 1, 1], ["bn"], ["relu"], ["conv", 256, 1, 1, 0], ["bn"]],
    "residual": true},
   {"name": "layer1.2",
    "ops": [["conv", 64, 1, 1, 0], ["bn"], ["relu"], ["conv", 64, 3, 1, 1], ["bn"], ["relu"], ["conv", 256, 1, 1, 0], ["bn"]],
    "residual": true},
   {"name": "layer2.0",
    "ops": [["conv", 128, 1, 1, 0], ["bn"], ["relu"], ["conv", 128, 3, 2, 1], ["bn"], ["relu"], ["conv", 512, 1, 1, 0], ["bn"]],
    "residual": true, "shortcut": [["conv", 512, 1, 2, 0], ["bn"]]},
   {"name": "layer2.1",
    "ops": [["conv", 128, 1, 1, 0], ["bn"], ["relu"], ["conv", 128, 3, 1, 1], ["bn"], ["relu"], ["conv", 512, 1, 1, 0], ["bn"]],
    "residual": true},
   {"name": "layer2.2",
    "ops": [["conv", 128, 1, 1, 0], ["bn"], ["relu"], ["conv", 128, 3, 1, 1], ["bn"], ["relu"], ["conv", 512, 1, 1, 0], ["bn"]],
    "residual": true},
   {"name": "layer2.3",
    "ops": [["conv", 128, 1, 1, 0], ["bn"], ["relu"], ["conv", 128, 3, 1, 1], ["bn"], ["relu"], ["conv", 512, 1, 1, 0], ["bn"]],
    "residual": true},
   {"name": "layer3.0",
    "ops": [["conv", 256, 1, 1, 0], ["bn"], ["relu"], ["conv", 256, 3, 2, 1], ["bn"], ["relu"], ["conv", 1024, 1, 1, 0], ["bn"]],
    "residual": true, "shortcut": [["conv", 1024, 1, 2, 0], ["bn"]]},
   {"name": "layer3.1",
    "ops": [["conv", 256, 1, 1, 0], ["bn"], ["relu"], ["conv", 256, 3, 1, 1], ["bn"], ["relu"], ["conv", 1024, 1, 1, 0], ["bn"]],
    "residual": true},
   {"name": "layer3.2",
    "ops": [["conv", 256, 1, 1, 0], ["bn"], ["relu"], ["conv", 256, 3, 1, 1], ["bn"], ["relu"], ["conv", 1024, 1, 1, 0], ["bn"]],
    "residual": true},
   {"name": "layer3.3",
    "ops": [["conv", 256, 1, 1, 0], ["bn"], ["relu"], ["conv", 256, 3, 1, 1], ["bn"], ["relu"], ["conv", 1024, 1, 1, 0], ["bn"]],
    "residual": true},
   {"name": "layer3.4",
    "ops": [["conv", 256, 1, 1, 0], ["bn"], ["relu"], ["conv", 256, 3, 1, 1], ["bn"], ["relu"], ["conv", 1024, 1, 1, 0], ["bn"]],
    "residual": true},
   {"name": "layer3.5",
    "ops": [["conv", 256, 1, 1, 0], ["bn"], ["relu"], ["conv", 256, 3, 1, 1], ["bn"], ["relu"], ["conv", 1024, 1, 1, 0], ["bn"]],
    "residual": true},
   {"name": "layer4.0",
    "ops": [["conv", 512, 1, 1, 0], ["bn"], ["relu"], ["conv", 512, 3, 2, 1], ["bn"], ["relu"], ["conv", 2048, 1, 1, 0], ["bn"]],
    "residual": true, "shortcut": [["conv", 2048, 1, 2, 0], ["bn"]]},
   {"name": "layer4.1",
    "ops": [["conv", 512, 1, 1, 0], ["bn"], ["relu"], ["conv", 512, 3, 1, 1], ["bn"], ["relu"], ["conv", 2048, 1, 1, 0], ["bn"]],
    "residual": true},
   {"name": "layer4.2",
    "ops": [["conv", 512, 1, 1, 0], ["bn"], ["relu"], ["conv", 512, 3, 1, 1], ["bn"], ["relu"], ["conv", 2048, 1, 1, 0], ["bn"]],
    "residual": true},
   {"name": "fc", "ops": [["avgpool"], ["linear", 1000]]}
  ]},
 {"name": "resnet-101", "family": "ResNet", "image": 224, "parameters_published": 44549160,
  "source": "torchvision resnet101 (torchvision/models/resnet.py)",
  "layers": [
   {"name": "stem", "ops": [["conv", 64, 7, 2, 3], ["bn"], ["relu"], ["maxpool", 3, 2, 1]]},
   {"name": "layer1.0", "ops": [["conv", 64, 1, 1, 0], ["bn"], ["relu"], ["conv", 64, 3, 1, 1], ["bn"], ["relu"], ["conv", 256, 1, 1, 0], ["bn"]], "residual": true, "shortcut": [["conv", 256, 1, 1, 0], ["bn"]]},
   {"name": "layer1", "repeat": 2, "first": 1, "ops": [["conv", 64, 1, 1, 0], ["bn"], ["relu"], ["conv", 64, 3, 1, 1], ["bn"], ["relu"], ["conv", 256, 1, 1, 0], ["bn"]], "residual": true},
   {"name": "layer2.0", "ops": [["conv", 128, 1, 1, 0], ["bn"], ["relu"], ["conv", 128, 3, 2, 1], ["bn"], ["relu"], ["conv", 512, 1, 1, 0], ["bn"]], "residual": true, "shortcut": [["conv", 512, 1, 2, 0], ["bn"]]},
   {"name": "layer2", "repeat": 3, "first": 1, "ops": [["conv", 128, 1, 1, 0], ["bn"], ["relu"], ["conv", 128, 3, 1, 1], ["bn"], ["relu"], ["conv", 512, 1, 1, 0], ["bn"]], "residual": true},
   {"name": "layer3.0", "ops": [["conv", 256, 1, 1, 0], ["bn"], ["relu"], ["conv", 256, 3, 2, 1], ["bn"], ["relu"], ["conv", 1024, 1, 1, 0], ["bn"]], "residual": true, "shortcut": [["conv", 1024, 1, 2, 0], ["bn"]]},
   {"name": "layer3", "repeat": 22, "first": 1, "ops": [["conv", 256, 1, 1, 0], ["bn"], ["relu"], ["conv", 256, 3, 1, 1], ["bn"], ["relu"], ["conv", 1024, 1, 1, 0], ["bn"]], "residual": true},
   {"name": "layer4.0", "ops": [["conv", 512, 1, 1, 0], ["bn"], ["relu"], ["conv", 512, 3, 2, 1], ["bn"], ["relu"], ["conv", 2048, 1, 1, 0], ["bn"]], "residual": true, "shortcut": [["conv", 2048, 1, 2, 0], ["bn"]]},
   {"name": "layer4", "repeat": 2, "first": 1, "ops": [["conv", 512, 1, 1, 0], ["bn"], ["relu"], ["conv", 512, 3, 1, 1], ["bn"], ["relu"], ["conv", 2048, 1, 1, 0], ["bn"]], "residual": true},
   {"name": "fc", "ops": [["avgpool"], ["linear", 1000]]}
  ]},
 {"name": "resnet-152", "family": "ResNet", "image": 224, "parameters_published": 60192808,
  "source": "torchvision resnet152 (torchvision/models/resnet.py)",
  "layers": [
   {"name": "stem", "ops": [["conv", 64, 7, 2, 3], ["bn"], ["relu"], ["maxpool", 3, 2, 1]]},
   {"name": "layer1.0", "ops": [["conv", 64, 1, 1, 0], ["bn"], ["relu"], ["conv", 64, 3, 1, 1], ["bn"], ["relu"], ["conv", 256, 1, 1, 0], ["bn"]], "residual": true, "shortcut": [["conv", 256, 1, 1, 0], ["bn"]]},
   {"name": "layer1", "repeat": 2, "first": 1, "ops": [["conv", 64, 1, 1, 0], ["bn"], ["relu"], ["conv", 64, 3, 1, 1], ["bn"], ["relu"], ["conv", 256, 1, 1, 0], ["bn"]], "residual": true},
   {"name": "layer2.0", "ops": [["conv", 128, 1, 1, 0], ["bn"], ["relu"], ["conv", 128, 3, 2, 1], ["bn"], ["relu"], ["conv", 512, 1, 1, 0], ["bn"]], "residual": true, "shortcut": [["conv", 512, 1, 2, 0], ["bn"]]},
   {"name": "layer2", "repeat": 7, "first": 1, "ops": [["conv", 128, 1, 1, 0], ["bn"], ["relu"], ["conv", 128, 3, 1, 1], ["bn"], ["relu"], ["conv", 512, 1, 1, 0], ["bn"]], "residual": true},
   {"name": "layer3.0", "ops": [["conv", 256, 1, 1, 0], ["bn"], ["relu"], ["conv", 256, 3, 2, 1], ["bn"], ["relu"], ["conv", 1024, 1, 1, 0], ["bn"]], "residual": true, "shortcut": [["conv", 1024, 1, 2, 0], ["bn"]]},
   {"name": "layer3", "repeat": 35, "first": 1, "ops": [["conv", 256, 1, 1, 0], ["bn"], ["relu"], ["conv", 256, 3, 1, 1], ["bn"], ["relu"], ["conv", 1024, 1, 1, 0], ["bn"]], "residual": true},
   {"name": "layer4.0", "ops": [["conv", 512, 1, 1, 0], ["bn"], ["relu"], ["conv", 512, 3, 2, 1], ["bn"], ["relu"], ["conv", 2048, 1, 1, 0], ["bn"]], "residual": true, "shortcut": [["conv", 2048, 1, 2, 0], ["bn"]]},
   {"name": "layer4", "repeat": 2, "first": 1, "ops": [["conv", 512, 1, 1, 0], ["bn"], ["relu"], ["conv", 512, 3, 1, 1], ["bn"], ["relu"], ["conv", 2048, 1, 1, 0], ["bn"]], "residual": true},
   {"name": "fc", "ops": [["avgpool"], ["linear", 1000]]}
  ]},
 {"name": "resnext-50", "aliases": ["resnext50-32x4d"], "family": "ResNet", "image": 224,
  "parameters_published": 25028904, "source": "torchvision resnext50_32x4d (torchvision/models/resnet.py)",
  "layers": [
   {"name": "stem", "ops": [["conv", 64, 7, 2, 3], ["bn"], ["relu"], ["maxpool", 3, 2, 1]]},
   {"name": "layer1.0", "ops": [["conv", 128, 1, 1, 0], ["bn"], ["relu"], ["conv", 128, 3, 1, 1, 32], ["bn"], ["relu"], ["conv", 256, 1, 1, 0], ["bn"]], "residual": true, "shortcut": [["conv", 256, 1, 1, 0], ["bn"]]},
   {"name": "layer1", "repeat": 2, "first": 1, "ops": [["conv", 128, 1, 1, 0], ["bn"], ["relu"], ["conv", 128, 3, 1, 1, 32], ["bn"], ["relu"], ["conv", 256, 1, 1, 0], ["bn"]], "residual": true},
   {"name": "layer2.0", "ops": [["conv", 256, 1, 1, 0], ["bn"], ["relu"], ["conv", 256, 3, 2, 1, 32], ["bn"], ["relu"], ["conv", 512, 1, 1, 0], ["bn"]], "residual": true, "shortcut": [["conv", 512, 1, 2, 0], ["bn"]]},
   {"name": "layer2", "repeat": 3, "first": 1, "ops": [["conv", 256, 1, 1, 0], ["bn"], ["relu"], ["conv", 256, 3, 1, 1, 32], ["bn"], ["relu"], ["conv", 512, 1, 1, 0], ["bn"]], "residual": true},
   {"name": "layer3.0", "ops": [["conv", 512, 1, 1, 0], ["bn"], ["relu"], ["conv", 512, 3, 2, 1, 32], ["bn"], ["relu"], ["conv", 1024, 1, 1, 0], ["bn"]], "residual": true, "shortcut": [["conv", 1024, 1, 2, 0], ["bn"]]},
   {"name": "layer3", "repeat": 5, "first": 1, "ops": [["conv", 512, 1, 1, 0], ["bn"], ["relu"], ["conv", 512, 3, 1, 1, 32], ["bn"], ["relu"], ["conv", 1024, 1, 1, 0], ["bn"]], "residual": true},
   {"name": "layer4.0", "ops": [["conv", 1024, 1, 1, 0], ["bn"], ["relu"], ["conv", 1024, 3, 2, 1, 32], ["bn"], ["relu"], ["conv", 2048, 1, 1, 0], ["bn"]], "residual": true, "shortcut": [["conv", 2048, 1, 2, 0], ["bn"]]},
   {"name": "layer4", "repeat": 2, "first": 1, "ops": [["conv", 1024, 1, 1, 0], ["bn"], ["relu"], ["conv", 1024, 3, 1, 1, 32], ["bn"], ["relu"], ["conv", 2048, 1, 1, 0], ["bn"]], "residual": true},
   {"name": "fc", "ops": [["avgpool"], ["linear", 1000]]}
  ]},
 {"name": "vgg-11", "family": "VGG", "image": 224, "parameters_published": 132863336,
  "source": "torchvision vgg11 (without batch normalization)",
  "layers": [
   {"name": "conv1_1", "ops": [["conv+bias", 64, 3, 1, 1], ["relu"], ["maxpool", 2, 2, 0]]},
   {"name": "conv2_1", "ops": [["conv+bias", 128, 3, 1, 1], ["relu"], ["maxpool", 2, 2, 0]]},
   {"name": "conv3_1", "ops": [["conv+bias", 256, 3, 1, 1], ["relu"]]},
   {"name": "conv3_2", "ops": [["conv+bias", 256, 3, 1, 1], ["relu"], ["maxpool", 2, 2, 0]]},
   {"name": "conv4_1", "ops": [["conv+bias", 512, 3, 1, 1], ["relu"]]},
   {"name": "conv4_2", "ops": [["conv+bias", 512, 3, 1, 1], ["relu"], ["maxpool", 2, 2, 0]]},
   {"name": "conv5_1", "ops": [["conv+bias", 512, 3, 1, 1], ["relu"]]},
   {"name": "conv5_2", "ops": [["conv+bias", 512, 3, 1, 1], ["relu"], ["maxpool", 2, 2, 0]]},
   {"name": "fc6", "ops": [["linear", 4096], ["relu"], ["dropout"]]},
   {"name": "fc7", "ops": [["linear", 4096], ["relu"], ["dropout"]]},
   {"name": "fc8", "ops": [["linear", 1000]]}
  ]},
 {"name": "vgg-16", "family": "VGG", "image": 224, "parameters_published": 138357544,
  "source": "torchvision vgg16 (without batch normalization)",
  "layers": [
   {"name": "conv1_1", "ops": [["conv+bias", 64, 3, 1, 1], ["relu"]]},
   {"name": "conv1_2", "ops": [["conv+bias", 64, 3, 1, 1], ["relu"], ["maxpool", 2, 2, 0]]},
   {"name": "conv2_1", "ops": [["conv+bias", 128, 3, 1, 1], ["relu"]]},
   {"name": "conv2_2", "ops": [["conv+bias", 128, 3, 1, 1], ["relu"], ["maxpool", 2, 2, 0]]},
   {"name": "conv3_1", "ops": [["conv+bias", 256, 3, 1, 1], ["relu"]]},
   {"name": "conv3_2", "ops": [["conv+bias", 256, 3, 1, 1], ["relu"]]},
   {"name": "conv3_3", "ops": [["conv+bias", 256, 3, 1, 1], ["relu"], ["maxpool", 2, 2, 0]]},
   {"name": "conv4_1", "ops": [["conv+bias", 512, 3, 1, 1], ["relu"]]},
   {"name": "conv4_2", "ops": [["conv+bias", 512, 3, 1, 1], ["relu"]]},
   {"name": "conv4_3", "ops": [["conv+bias", 512, 3, 1, 1], ["relu"], ["maxpool", 2, 2, 0]]},
   {"name": "conv5_1", "ops": [["conv+bias", 512, 3, 1, 1], ["relu"]]},
   {"name": "conv5_2", "ops": [["conv+bias", 512, 3, 1, 1], ["relu"]]},
   {"name": "conv5_3", "ops": [["conv+bias", 512, 3, 1, 1], ["relu"], ["maxpool", 2, 2, 0]]},
   {"name": "fc6", "ops": [["linear", 4096], ["relu"], ["dropout"]]},
   {"name": "fc7", "ops": [["linear", 4096], ["relu"], ["dropout"]]},
   {"name": "fc8", "ops": [["linear", 1000]]}
  ]},
 {"name": "vgg-19", "family": "VGG", "image": 224, "parameters_published": 143667240,
  "source": "torchvision vgg19 (without batch normalization)",
  "layers": [
   {"name": "conv1_1", "ops": [["conv+bias", 64, 3, 1, 1], ["relu"]]},
   {"name": "conv1_2", "ops": [["conv+bias", 64, 3, 1, 1], ["relu"], ["maxpool", 2, 2, 0]]},
   {"name": "conv2_1", "ops": [["conv+bias", 128, 3, 1, 1], ["relu"]]},
   {"name": "conv2_2", "ops": [["conv+bias", 128, 3, 1, 1], ["relu"], ["maxpool", 2, 2, 0]]},
   {"name": "conv3_1", "ops": [["conv+bias", 256, 3, 1, 1], ["relu"]]},
   {"name": "conv3_2", "ops": [["conv+bias", 256, 3, 1, 1], ["relu"]]},
   {"name": "conv3_3", "ops": [["conv+bias", 256, 3, 1, 1], ["relu"]]},
   {"name": "conv3_4", "ops": [["conv+bias", 256, 3, 1, 1], ["relu"], ["maxpool", 2, 2, 0]]},
   {"name": "conv4_1", "ops": [["conv+bias", 512, 3, 1, 1], ["relu"]]},
   {"name": "conv4_2", "ops": [["conv+bias", 512, 3, 1, 1], ["relu"]]},
   {"name": "conv4_3", "ops": [["conv+bias", 512, 3, 1, 1], ["relu"]]},
   {"name": "conv4_4", "ops": [["conv+bias", 512, 3, 1, 1], ["relu"], ["maxpool", 2, 2, 0]]},
   {"name": "conv5_1", "ops": [["conv+bias", 512, 3, 1, 1], ["relu"]]},
   {"name": "conv5_2", "ops": [["conv+bias", 512, 3, 1, 1], ["relu"]]},
   {"name": "conv5_3", "ops": [["conv+bias", 512, 3, 1, 1], ["relu"]]},
   {"name": "conv5_4", "ops": [["conv+bias", 512, 3, 1, 1], ["relu"], ["maxpool", 2, 2, 0]]},
   {"name": "fc6", "ops": [["linear", 4096], ["relu"], ["dropout"]]},
   {"name": "fc7", "ops": [["linear", 4096], ["relu"], ["dropout"]]},
   {"name": "fc8", "ops": [["linear", 1000]]}
  ]},
 {"name": "inception-v3", "family": "Inception", "image": 299, "parameters_published": 27161264,
  "source": "torchvision inception_v3, with the auxiliary classifier (torchvision/models/inception.py)",
  "layers": [
   {"name": "Conv2d_1a_3x3", "ops": [["conv", 32, 3, 2, 0], ["bn"], ["relu"]]},
   {"name": "Conv2d_2a_3x3", "ops": [["conv", 32, 3, 1, 0], ["bn"], ["relu"]]},
   {"name": "Conv2d_2b_3x3", "ops": [["conv", 64, 3, 1, 1], ["bn"], ["relu"], ["maxpool", 3, 2, 0]]},
   {"name": "Conv2d_3b_1x1", "ops": [["conv", 80, 1, 1, 0], ["bn"], ["relu"]]},
   {"name": "Conv2d_4a_3x3", "ops": [["conv", 192, 3, 1, 0], ["bn"], ["relu"], ["maxpool", 3, 2, 0]]},
   {"name": "Mixed_5b", "ops": [{"concat": [[["conv", 64, 1, 1, 0], ["bn"], ["relu"]], [["conv", 48, 1, 1, 0], ["bn"], ["relu"], ["conv", 64, 5, 1, 2], ["bn"], ["relu"]], [["conv", 64, 1, 1, 0], ["bn"], ["relu"], ["conv", 96, 3, 1, 1], ["bn"], ["relu"], ["conv", 96, 3, 1, 1], ["bn"], ["relu"]], [["avgpool", 3, 1, 1], ["conv", 32, 1, 1, 0], ["bn"], ["relu"]]]}]},
   {"name": "Mixed_5c", "ops": [{"concat": [[["conv", 64, 1, 1, 0], ["bn"], ["relu"]], [["conv", 48, 1, 1, 0], ["bn"], ["relu"], ["conv", 64, 5, 1, 2], ["bn"], ["relu"]], [["conv", 64, 1, 1, 0], ["bn"], ["relu"], ["conv", 96, 3, 1, 1], ["bn"], ["relu"], ["conv", 96, 3, 1, 1], ["bn"], ["relu"]], [["avgpool", 3, 1, 1], ["conv", 64, 1, 1, 0], ["bn"], ["relu"]]]}]},
   {"name": "Mixed_5d", "ops": [{"concat": [[["conv", 64, 1, 1, 0], ["bn"], ["relu"]], [["conv", 48, 1, 1, 0], ["bn"], ["relu"], ["conv", 64, 5, 1, 2], ["bn"], ["relu"]], [["conv", 64, 1, 1, 0], ["bn"], ["relu"], ["conv", 96, 3, 1, 1], ["bn"], ["relu"], ["conv", 96, 3, 1, 1], ["bn"], ["relu"]], [["avgpool", 3, 1, 1], ["conv", 64, 1, 1, 0], ["bn"], ["relu"]]]}]},
   {"name": "Mixed_6a", "ops": [{"concat": [[["conv", 384, 3, 2, 0], ["bn"], ["relu"]], [["conv", 64, 1, 1, 0], ["bn"], ["relu"], ["conv", 96, 3, 1, 1], ["bn"], ["relu"], ["conv", 96, 3, 2, 0], ["bn"], ["relu"]], [["maxpool", 3, 2, 0]]]}]},
   {"name": "Mixed_6b", "ops": [{"concat": [[["conv", 192, 1, 1, 0], ["bn"], ["relu"]], [["conv", 128, 1, 1, 0], ["bn"], ["relu"], ["conv", 128, [1, 7], 1, [0, 3]], ["bn"], ["relu"], ["conv", 192, [7, 1], 1, [3, 0]], ["bn"], ["relu"]], [["conv", 128, 1, 1, 0], ["bn"], ["relu"], ["conv", 128, [7, 1], 1, [3, 0]], ["bn"], ["relu"], ["conv", 128, [1, 7], 1, [0, 3]], ["bn"], ["relu"], ["conv", 128, [7, 1], 1, [3, 0]], ["bn"], ["relu"], ["conv", 192, [1, 7], 1, [0, 3]], ["bn"], ["relu"]], [["avgpool", 3, 1, 1], ["conv", 192, 1, 1, 0], ["bn"], ["relu"]]]}]},
   {"name": "Mixed_6c", "ops": [{"concat": [[["conv", 192, 1, 1, 0], ["bn"], ["relu"]], [["conv", 160, 1, 1, 0], ["bn"], ["relu"], ["conv", 160, [1, 7], 1, [0, 3]], ["bn"], ["relu"], ["conv", 192, [7, 1], 1, [3, 0]], ["bn"], ["relu"]], [["conv", 160, 1, 1, 0], ["bn"], ["relu"], ["conv", 160, [7, 1], 1, [3, 0]], ["bn"], ["relu"], ["conv", 160, [1, 7], 1, [0, 3]], ["bn"], ["relu"], ["conv", 160, [7, 1], 1, [3, 0]], ["bn"], ["relu"], ["conv", 192, [1, 7], 1, [0, 3]], ["bn"], ["relu"]], [["avgpool", 3, 1, 1], ["conv", 192, 1, 1, 0], ["bn"], ["relu"]]]}]},
   {"name": "Mixed_6d", "ops": [{"concat": [[["conv", 192, 1, 1, 0], ["bn"], ["relu"]], [["conv", 160, 1, 1, 0], ["bn"], ["relu"], ["conv", 160, [1, 7], 1, [0, 3]], ["bn"], ["relu"], ["conv", 192, [7, 1], 1, [3, 0]], ["bn"], ["relu"]], [["conv", 160, 1, 1, 0], ["bn"], ["relu"], ["conv", 160, [7, 1], 1, [3, 0]], ["bn"], ["relu"], ["conv", 160, [1, 7], 1, [0, 3]], ["bn"], ["relu"], ["conv", 160, [7, 1], 1, [3, 0]], ["bn"], ["relu"], ["conv", 192, [1, 7], 1, [0, 3]], ["bn"], ["relu"]], [["avgpool", 3, 1, 1], ["conv", 192, 1, 1, 0], ["bn"], ["relu"]]]}]},
   {"name": "Mixed_6e", "ops": [{"concat": [[["conv", 192, 1, 1, 0], ["bn"], ["relu"]], [["conv", 192, 1, 1, 0], ["bn"], ["relu"], ["conv", 192, [1, 7], 1, [0, 3]], ["bn"], ["relu"], ["conv", 192, [7, 1], 1, [3, 0]], ["bn"], ["relu"]], [["conv", 192, 1, 1, 0], ["bn"], ["relu"], ["conv", 192, [7, 1], 1, [3, 0]], ["bn"], ["relu"], ["conv", 192, [1, 7], 1, [0, 3]], ["bn"], ["relu"], ["conv", 192, [7, 1], 1, [3, 0]], ["bn"], ["relu"], ["conv", 192, [1, 7], 1, [0, 3]], ["bn"], ["relu"]], [["avgpool", 3, 1, 1], ["conv", 192, 1, 1, 0], ["bn"], ["relu"]]]}]},
   {"name": "AuxLogits", "aside": true, "ops": [["avgpool", 5, 3, 0], ["conv", 128, 1, 1, 0], ["bn"], ["relu"], ["conv", 768, 5, 1, 0], ["bn"], ["relu"], ["avgpool"], ["linear", 1000]]},
   {"name": "Mixed_7a", "ops": [{"concat": [[["conv", 192, 1, 1, 0], ["bn"], ["relu"], ["conv", 320, 3, 2, 0], ["bn"], ["relu"]], [["conv", 192, 1, 1, 0], ["bn"], ["relu"], ["conv", 192, [1, 7], 1, [0, 3]], ["bn"], ["relu"], ["conv", 192, [7, 1], 1, [3, 0]], ["bn"], ["relu"], ["conv", 192, 3, 2, 0], ["bn"], ["relu"]], [["maxpool", 3, 2, 0]]]}]},
   {"name": "Mixed_7b", "ops": [{"concat": [[["conv", 320, 1, 1, 0], ["bn"], ["relu"]], [["conv", 384, 1, 1, 0], ["bn"], ["relu"], {"concat": [[["conv", 384, [1, 3], 1, [0, 1]], ["bn"], ["relu"]], [["conv", 384, [3, 1], 1, [1, 0]], ["bn"], ["relu"]]]}], [["conv", 448, 1, 1, 0], ["bn"], ["relu"], ["conv", 384, 3, 1, 1], ["bn"], ["relu"], {"concat": [[["conv", 384, [1, 3], 1, [0, 1]], ["bn"], ["relu"]], [["conv", 384, [3, 1], 1, [1, 0]], ["bn"], ["relu"]]]}], [["avgpool", 3, 1, 1], ["conv", 192, 1, 1, 0], ["bn"], ["relu"]]]}]},
   {"name": "Mixed_7c", "ops": [{"concat": [[["conv", 320, 1, 1, 0], ["bn"], ["relu"]], [["conv", 384, 1, 1, 0], ["bn"], ["relu"], {"concat": [[["conv", 384, [1, 3], 1, [0, 1]], ["bn"], ["relu"]], [["conv", 384, [3, 1], 1, [1, 0]], ["bn"], ["relu"]]]}], [["conv", 448, 1, 1, 0], ["bn"], ["relu"], ["conv", 384, 3, 1, 1], ["bn"], ["relu"], {"concat": [[["conv", 384, [1, 3], 1, [0, 1]], ["bn"], ["relu"]], [["conv", 384, [3, 1], 1, [1, 0]], ["bn"], ["relu"]]]}], [["avgpool", 3, 1, 1], ["conv", 192, 1, 1, 0], ["bn"], ["relu"]]]}]},
   {"name": "fc", "ops": [["avgpool"], ["dropout"], ["linear", 1000]]}
  ]},
 {"name": "alexnet", "family": "AlexNet", "image": 224, "parameters_published": 61100840,
  "source": "torchvision alexnet (torchvision/models/alexnet.py)",
  "layers": [
   {"name": "conv1", "ops": [["conv+bias", 64, 11, 4, 2], ["relu"], ["maxpool", 3, 2, 0]]},
   {"name": "conv2", "ops": [["conv+bias", 192, 5, 1, 2], ["relu"], ["maxpool", 3, 2, 0]]},
   {"name": "conv3", "ops": [["conv+bias", 384, 3, 1, 1], ["relu"]]},
   {"name": "conv4", "ops": [["conv+bias", 256, 3, 1, 1], ["relu"]]},
   {"name": "conv5", "ops": [["conv+bias", 256, 3, 1, 1], ["relu"], ["maxpool", 3, 2, 0]]},
   {"name": "fc6", "ops": [["dropout"], ["linear", 4096], ["relu"]]},
   {"name": "fc7", "ops": [["dropout"], ["linear", 4096], ["relu"]]},
   {"name": "fc8", "ops": [["linear", 1000]]}
  ]},
 {"name": "s2vt", "family": "S2VT", "input": 4096, "steps": 80,
  "source": "Venugopalan et al., arXiv 1505.00487; frames' features of 4096 and 80 steps: vsubhashini/caffe@af29330 examples/s2vt; 1000 hidden units, 500 for a frame and a word, 46,098 words: assumed, as with them it has the 349 MB that PipeDream's authors say (models.json)",
  "layers": [
   {"name": "frames", "ops": [["linear", 500]]},
   {"name": "lstm1", "ops": [["lstm", 1000]]},
   {"name": "words", "ops": [{"concat": [[], [["embedding", 46098, 500]]]}]},
   {"name": "lstm2", "ops": [["lstm", 1000]]},
   {"name": "predict", "ops": [["linear", 46098], ["softmax"]]}
  ]},
 {"name": "mlp-mnist", "family": "MLP", "input": 784,
  "source": "two-GPU perceptron on MNIST: 784x512, 512x512, 512x10 with ReLU; tensor parallelism shares out the first two: assumed",
  "layers": [
   {"name": "fc1", "ops": [["linear", 512, "columns"], ["relu"]]},
   {"name": "fc2", "ops": [["linear", 512, "rows"], ["relu"]]},
   {"name": "fc3", "ops": [["linear", 10], ["softmax"]]}
  ]}
]
)zoo";
// clang-format on

} // namespace

ModelFamily
PictureFamily()
{
    return {{{"vit", "ViT", "ViT", ReadVit}}, kPictureZoo};
}

} // namespace training
