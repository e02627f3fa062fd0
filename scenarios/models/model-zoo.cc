/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The zoo. It is JSON of the form that users write too (model-json.cc), kept in the binary so that
 * it is found from any folder. Where `parameters_published` stands, the arithmetic on the shapes
 * gives exactly that number (ParseModelJson insists).
 */
#include "scenarios/models/model-zoo.h"

#include "scenarios/models/zoo-json.h"

namespace training
{

namespace
{

// clang-format off
const char* const kZoo = R"zoo(
[
 {"name": "bloom-560m", "family": "BLOOM", "layers": 24, "hidden": 1024, "heads": 16, "vocab": 250880,
  "sequence": 2048, "embedding_norm": true, "parameters_published": 559214592,
  "source": "bigscience/bloom-560m config.json (Hugging Face); count published there"},
 {"name": "bloom-1b1", "family": "BLOOM", "layers": 24, "hidden": 1536, "heads": 16, "vocab": 250880,
  "sequence": 2048, "embedding_norm": true, "parameters_published": 1065314304,
  "source": "bigscience/bloom-1b1 config.json (Hugging Face); count published there"},
 {"name": "bloom-1b7", "family": "BLOOM", "layers": 24, "hidden": 2048, "heads": 16, "vocab": 250880,
  "sequence": 2048, "embedding_norm": true, "parameters_published": 1722408960,
  "source": "bigscience/bloom-1b7 config.json (Hugging Face); count published there"},
 {"name": "bloom-3b", "family": "BLOOM", "layers": 30, "hidden": 2560, "heads": 32, "vocab": 250880,
  "sequence": 2048, "embedding_norm": true, "parameters_published": 3002557440,
  "source": "bigscience/bloom-3b config.json (Hugging Face); count published there"},
 {"name": "bloom-7b1", "family": "BLOOM", "layers": 30, "hidden": 4096, "heads": 32, "vocab": 250880,
  "sequence": 2048, "embedding_norm": true, "parameters_published": 7069016064,
  "source": "bigscience/bloom-7b1 config.json (Hugging Face); count published there"},
 {"name": "bloom-176b", "aliases": ["bloom"], "family": "BLOOM", "layers": 70, "hidden": 14336, "heads": 112,
  "vocab": 250880, "sequence": 2048, "embedding_norm": true, "parameters_published": 176247271424,
  "source": "bigscience/bloom config.json (Hugging Face); count published there"},
 {"name": "gpt2", "aliases": ["gpt2-small", "gpt2-124m", "gpt2-117m"], "family": "GPT-2", "layers": 12,
  "hidden": 768, "heads": 12, "vocab": 50257, "positions": 1024, "sequence": 1024,
  "parameters_published": 124439808, "source": "gpt2 config.json (Hugging Face); count published there"},
 {"name": "gpt2-medium", "aliases": ["gpt2-355m", "gpt2-345m"], "family": "GPT-2", "layers": 24, "hidden": 1024,
  "heads": 16, "vocab": 50257, "positions": 1024, "sequence": 1024, "parameters_published": 354823168,
  "source": "gpt2-medium config.json (Hugging Face); count published there"},
 {"name": "gpt2-large", "aliases": ["gpt2-774m"], "family": "GPT-2", "layers": 36, "hidden": 1280, "heads": 20,
  "vocab": 50257, "positions": 1024, "sequence": 1024, "parameters_published": 774030080,
  "source": "gpt2-large config.json (Hugging Face); count published there"},
 {"name": "gpt2-xl", "aliases": ["gpt2-1.5b", "gpt2-1558m"], "family": "GPT-2", "layers": 48, "hidden": 1600,
  "heads": 25, "vocab": 50257, "positions": 1024, "sequence": 1024, "parameters_published": 1557611200,
  "source": "gpt2-xl config.json (Hugging Face); count published there"},
 {"name": "gpt3-125m", "aliases": ["gpt3-small"], "family": "GPT-3", "layers": 12, "hidden": 768, "heads": 12,
  "vocab": 50257, "positions": 2048, "sequence": 2048, "source": "Brown et al. 2020, table 2.1"},
 {"name": "gpt3-350m", "aliases": ["gpt3-medium"], "family": "GPT-3", "layers": 24, "hidden": 1024, "heads": 16,
  "vocab": 50257, "positions": 2048, "sequence": 2048, "source": "Brown et al. 2020, table 2.1"},
 {"name": "gpt3-760m", "aliases": ["gpt3-large"], "family": "GPT-3", "layers": 24, "hidden": 1536, "heads": 16,
  "vocab": 50257, "positions": 2048, "sequence": 2048, "source": "Brown et al. 2020, table 2.1"},
 {"name": "gpt3-1.3b", "aliases": ["gpt3-xl"], "family": "GPT-3", "layers": 24, "hidden": 2048, "heads": 16,
  "vocab": 50257, "positions": 2048, "sequence": 2048, "source": "Brown et al. 2020, table 2.1",
  "note": "the table says 24 heads of 128, which is not 2048; 16 are taken"},
 {"name": "gpt3-2.7b", "family": "GPT-3", "layers": 32, "hidden": 2560, "heads": 32, "vocab": 50257,
  "positions": 2048, "sequence": 2048, "source": "Brown et al. 2020, table 2.1"},
 {"name": "gpt3-6.7b", "family": "GPT-3", "layers": 32, "hidden": 4096, "heads": 32, "vocab": 50257,
  "positions": 2048, "sequence": 2048, "source": "Brown et al. 2020, table 2.1"},
 {"name": "gpt3-13b", "family": "GPT-3", "layers": 40, "hidden": 5120, "heads": 40, "vocab": 50257,
  "positions": 2048, "sequence": 2048, "source": "Brown et al. 2020, table 2.1",
  "note": "the table says 5140, which 40 heads of 128 contradict; 5120 is taken"},
 {"name": "gpt3-175b", "aliases": ["gpt3"], "family": "GPT-3", "layers": 96, "hidden": 12288, "heads": 96,
  "vocab": 50257, "positions": 2048, "sequence": 2048, "source": "Brown et al. 2020, table 2.1"},
 {"name": "llama2-7b", "family": "Llama", "layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 32, "ffn": 11008,
  "vocab": 32000, "sequence": 4096, "tied_embeddings": false, "gated_mlp": true, "norm": "rms", "bias": false,
  "dropout": false, "parameters_published": 6738415616,
  "source": "meta-llama config.json (Hugging Face); Llama 3: arXiv 2407.21783, table 3"},
 {"name": "llama2-13b", "family": "Llama", "layers": 40, "hidden": 5120, "heads": 40, "kv_heads": 40, "ffn": 13824,
  "vocab": 32000, "sequence": 4096, "tied_embeddings": false, "gated_mlp": true, "norm": "rms", "bias": false,
  "dropout": false, "parameters_published": 13015864320,
  "source": "meta-llama config.json (Hugging Face); Llama 3: arXiv 2407.21783, table 3"},
 {"name": "llama2-70b", "family": "Llama", "layers": 80, "hidden": 8192, "heads": 64, "kv_heads": 8, "ffn": 28672,
  "vocab": 32000, "sequence": 4096, "tied_embeddings": false, "gated_mlp": true, "norm": "rms", "bias": false,
  "dropout": false, "parameters_published": 68976648192,
  "source": "meta-llama config.json (Hugging Face); Llama 3: arXiv 2407.21783, table 3"},
 {"name": "llama3-8b", "aliases": ["llama3.1-8b"], "family": "Llama", "layers": 32, "hidden": 4096, "heads": 32,
  "kv_heads": 8, "ffn": 14336, "vocab": 128256, "sequence": 8192, "tied_embeddings": false, "gated_mlp": true,
  "norm": "rms", "bias": false, "dropout": false, "parameters_published": 8030261248,
  "source": "meta-llama config.json (Hugging Face); Llama 3: arXiv 2407.21783, table 3"},
 {"name": "llama3-70b", "aliases": ["llama3.1-70b"], "family": "Llama", "layers": 80, "hidden": 8192, "heads": 64,
  "kv_heads": 8, "ffn": 28672, "vocab": 128256, "sequence": 8192, "tied_embeddings": false, "gated_mlp": true,
  "norm": "rms", "bias": false, "dropout": false, "parameters_published": 70553706496,
  "source": "meta-llama config.json (Hugging Face); Llama 3: arXiv 2407.21783, table 3"},
 {"name": "llama3-405b", "aliases": ["llama3.1-405b"], "family": "Llama", "layers": 126, "hidden": 16384,
  "heads": 128, "kv_heads": 8, "ffn": 53248, "vocab": 128256, "sequence": 8192, "tied_embeddings": false,
  "gated_mlp": true, "norm": "rms", "bias": false, "dropout": false, "parameters_published": 405853388800,
  "source": "meta-llama config.json (Hugging Face); Llama 3: arXiv 2407.21783, table 3"},
 {"name": "megatron-1.7b", "family": "Megatron-LM", "layers": 24, "hidden": 2304, "heads": 24, "vocab": 51200,
  "positions": 2048, "sequence": 2048, "source": "Narayanan et al., SC'21 (arXiv 2104.04473), table 1"},
 {"name": "megatron-3.6b", "family": "Megatron-LM", "layers": 30, "hidden": 3072, "heads": 32, "vocab": 51200,
  "positions": 2048, "sequence": 2048, "source": "Narayanan et al., SC'21 (arXiv 2104.04473), table 1"},
 {"name": "megatron-7.5b", "family": "Megatron-LM", "layers": 36, "hidden": 4096, "heads": 32, "vocab": 51200,
  "positions": 2048, "sequence": 2048, "source": "Narayanan et al., SC'21 (arXiv 2104.04473), table 1"},
 {"name": "megatron-18.4b", "family": "Megatron-LM", "layers": 40, "hidden": 6144, "heads": 48, "vocab": 51200,
  "positions": 2048, "sequence": 2048, "source": "Narayanan et al., SC'21 (arXiv 2104.04473), table 1"},
 {"name": "megatron-39.1b", "family": "Megatron-LM", "layers": 48, "hidden": 8192, "heads": 64, "vocab": 51200,
  "positions": 2048, "sequence": 2048, "source": "Narayanan et al., SC'21 (arXiv 2104.04473), table 1"},
 {"name": "megatron-76.1b", "family": "Megatron-LM", "layers": 60, "hidden": 10240, "heads": 80, "vocab": 51200,
  "positions": 2048, "sequence": 2048, "source": "Narayanan et al., SC'21 (arXiv 2104.04473), table 1"},
 {"name": "megatron-145.6b", "family": "Megatron-LM", "layers": 80, "hidden": 12288, "heads": 96, "vocab": 51200,
  "positions": 2048, "sequence": 2048, "source": "Narayanan et al., SC'21 (arXiv 2104.04473), table 1"},
 {"name": "megatron-310.1b", "family": "Megatron-LM", "layers": 96, "hidden": 16384, "heads": 128, "vocab": 51200,
  "positions": 2048, "sequence": 2048, "source": "Narayanan et al., SC'21 (arXiv 2104.04473), table 1"},
 {"name": "megatron-529.6b", "family": "Megatron-LM", "layers": 105, "hidden": 20480, "heads": 128, "vocab": 51200,
  "positions": 2048, "sequence": 2048, "source": "Narayanan et al., SC'21 (arXiv 2104.04473), table 1"},
 {"name": "megatron-1008b", "aliases": ["megatron-1t"], "family": "Megatron-LM", "layers": 128, "hidden": 25600,
  "heads": 160, "vocab": 51200, "positions": 2048, "sequence": 2048,
  "source": "Narayanan et al., SC'21 (arXiv 2104.04473), table 1"},
 {"name": "mpt-125m", "family": "MPT", "layers": 12, "hidden": 768, "heads": 12, "vocab": 50368, "positions": 2048,
  "sequence": 2048, "dropout": false, "parameters_published": 125311488,
  "source": "mosaicml/llm-foundry scripts/train/yamls and scripts/train/benchmarking (counts at 2,048 tokens)"},
 {"name": "mpt-350m", "family": "MPT", "layers": 24, "hidden": 1024, "heads": 16, "vocab": 50368,
  "positions": 2048, "sequence": 2048, "dropout": false, "parameters_published": 355985408,
  "source": "mosaicml/llm-foundry scripts/train/yamls and scripts/train/benchmarking (counts at 2,048 tokens)"},
 {"name": "mpt-760m", "family": "MPT", "layers": 24, "hidden": 1536, "heads": 12, "vocab": 50368,
  "positions": 2048, "sequence": 2048, "dropout": false, "parameters_published": 760470528,
  "source": "mosaicml/llm-foundry scripts/train/yamls and scripts/train/benchmarking (counts at 2,048 tokens)"},
 {"name": "mpt-1b", "family": "MPT", "layers": 24, "hidden": 2048, "heads": 16, "vocab": 50368, "positions": 2048,
  "sequence": 2048, "dropout": false, "parameters_published": 1315950592,
  "source": "mosaicml/llm-foundry scripts/train/yamls and scripts/train/benchmarking (counts at 2,048 tokens)"},
 {"name": "mpt-3b", "family": "MPT", "layers": 32, "hidden": 2560, "heads": 20, "vocab": 50368, "positions": 2048,
  "sequence": 2048, "dropout": false, "parameters_published": 2651837440,
  "source": "mosaicml/llm-foundry scripts/train/yamls and scripts/train/benchmarking (counts at 2,048 tokens)"},
 {"name": "mpt-7b", "family": "MPT", "layers": 32, "hidden": 4096, "heads": 32, "vocab": 50368, "positions": 2048,
  "sequence": 2048, "dropout": false, "parameters_published": 6658859008,
  "source": "mosaicml/llm-foundry scripts/train/yamls and scripts/train/benchmarking (counts at 2,048 tokens)"},
 {"name": "mpt-13b", "family": "MPT", "layers": 40, "hidden": 5120, "heads": 40, "vocab": 50368, "positions": 2048,
  "sequence": 2048, "dropout": false, "parameters_published": 12853954560,
  "source": "mosaicml/llm-foundry scripts/train/yamls and scripts/train/benchmarking (counts at 2,048 tokens)"},
 {"name": "mpt-30b", "family": "MPT", "layers": 48, "hidden": 7168, "heads": 56, "vocab": 50368, "positions": 2048,
  "sequence": 2048, "dropout": false, "parameters_published": 29975214080,
  "source": "mosaicml/llm-foundry scripts/train/yamls and scripts/train/benchmarking (counts at 2,048 tokens)"},
 {"name": "mpt-70b", "family": "MPT", "layers": 80, "hidden": 8192, "heads": 64, "vocab": 50368, "positions": 2048,
  "sequence": 2048, "dropout": false, "parameters_published": 64862437376,
  "source": "mosaicml/llm-foundry scripts/train/yamls and scripts/train/benchmarking (counts at 2,048 tokens)"},
 {"name": "bert-large", "aliases": ["bert-large-uncased"], "family": "BERT", "lm_head": false,
  "parameters_published": 335141888, "source": "bert-large-uncased config.json (Hugging Face); with the pooler",
  "layers": 24, "hidden": 1024, "heads": 16, "vocab": 30522, "positions": 512, "token_types": 2, "sequence": 512,
  "embedding_norm": true, "final_norm": false, "pooler": true},
 {"name": "bert-large-pretraining", "aliases": ["bert-large-mlm"], "family": "BERT", "masked_lm_head": true,
  "parameters_published": 336226108, "source": "bert-large-uncased config.json (Hugging Face), BertForPreTraining",
  "layers": 24, "hidden": 1024, "heads": 16, "vocab": 30522, "positions": 512, "token_types": 2, "sequence": 512,
  "embedding_norm": true, "final_norm": false, "pooler": true},
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
  ]}
]
)zoo";

// clang-format on

const nlohmann::json&
Zoo()
{
    static const nlohmann::json zoo = nlohmann::json::parse(kZoo);
    return zoo;
}

} // namespace

std::vector<std::string>
ModelNames()
{
    return NamesIn(Zoo());
}

std::vector<std::pair<std::string, std::string>>
ModelSpellings()
{
    return SpellingsIn(Zoo());
}

std::optional<ModelSpec>
FindModel(std::string_view name)
{
    return FindIn(Zoo(), "model zoo", name, ParseModelJson);
}

} // namespace training
