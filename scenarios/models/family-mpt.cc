/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * MPT.
 */
#include "scenarios/models/family.h"

namespace training
{

namespace
{

// clang-format off
const char* const kMptZoo = R"zoo(
[
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
  "source": "mosaicml/llm-foundry scripts/train/yamls and scripts/train/benchmarking (counts at 2,048 tokens)"}
]
)zoo";
// clang-format on

} // namespace

ModelFamily
MptFamily()
{
    return {{}, kMptZoo};
}

} // namespace training
