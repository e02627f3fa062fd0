/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Models of Megatron-LM's papers and tables.
 */
#include "scenarios/models/family.h"

namespace training
{

namespace
{

// clang-format off
const char* const kMegatronZoo = R"zoo(
[
 {"name": "megatron-355m", "family": "Megatron-LM", "layers": 24, "hidden": 1024, "heads": 16, "vocab": 51200,
  "positions": 1024, "sequence": 1024,
  "source": "Shoeybi et al., arXiv 1909.08053, table 2; vocabulary: section 5.1"},
 {"name": "megatron-1.16b", "family": "Megatron-LM", "layers": 24, "hidden": 1920, "heads": 15, "vocab": 51200,
  "positions": 1024, "sequence": 1024,
  "source": "NVIDIA/Megatron-LM@5281919420 images/tables.tex (README of September 2020)"},
 {"name": "megatron-1.2b", "family": "Megatron-LM", "layers": 40, "hidden": 1536, "heads": 16, "vocab": 51200,
  "positions": 1024, "sequence": 1024,
  "source": "Shoeybi et al., arXiv 1909.08053, table 1; vocabulary: section 5.1"},
 {"name": "megatron-1.7b", "family": "Megatron-LM", "layers": 24, "hidden": 2304, "heads": 24, "vocab": 51200,
  "positions": 2048, "sequence": 2048, "source": "Narayanan et al., SC'21 (arXiv 2104.04473), table 1"},
 {"name": "megatron-2.03b", "family": "Megatron-LM", "layers": 30, "hidden": 2304, "heads": 18, "vocab": 51200,
  "positions": 1024, "sequence": 1024,
  "source": "NVIDIA/Megatron-LM@5281919420 images/tables.tex (README of September 2020)"},
 {"name": "megatron-2.5b", "family": "Megatron-LM", "layers": 54, "hidden": 1920, "heads": 20, "vocab": 51200,
  "positions": 1024, "sequence": 1024,
  "source": "Shoeybi et al., arXiv 1909.08053, table 1; vocabulary: section 5.1"},
 {"name": "megatron-3.6b", "family": "Megatron-LM", "layers": 30, "hidden": 3072, "heads": 32, "vocab": 51200,
  "positions": 2048, "sequence": 2048, "source": "Narayanan et al., SC'21 (arXiv 2104.04473), table 1"},
 {"name": "megatron-4.2b", "family": "Megatron-LM", "layers": 64, "hidden": 2304, "heads": 24, "vocab": 51200,
  "positions": 1024, "sequence": 1024,
  "source": "Shoeybi et al., arXiv 1909.08053, table 1; vocabulary: section 5.1"},
 {"name": "megatron-4.24b", "family": "Megatron-LM", "layers": 36, "hidden": 3072, "heads": 24, "vocab": 51200,
  "positions": 1024, "sequence": 1024,
  "source": "NVIDIA/Megatron-LM@5281919420 images/tables.tex (README of September 2020)"},
 {"name": "megatron-7.5b", "family": "Megatron-LM", "layers": 36, "hidden": 4096, "heads": 32, "vocab": 51200,
  "positions": 2048, "sequence": 2048, "source": "Narayanan et al., SC'21 (arXiv 2104.04473), table 1"},
 {"name": "megatron-8.3b", "aliases": ["gpt2-8.3b"], "family": "Megatron-LM", "layers": 72, "hidden": 3072,
  "heads": 32, "vocab": 51200, "positions": 1024, "sequence": 1024,
  "source": "Shoeybi et al., arXiv 1909.08053, table 1; vocabulary: section 5.1"},
 {"name": "megatron-8.67b", "family": "Megatron-LM", "layers": 42, "hidden": 4096, "heads": 32, "vocab": 51200,
  "positions": 1024, "sequence": 1024,
  "source": "NVIDIA/Megatron-LM@5281919420 images/tables.tex (README of September 2020)"},
 {"name": "megatron-18.4b", "family": "Megatron-LM", "layers": 40, "hidden": 6144, "heads": 48, "vocab": 51200,
  "positions": 2048, "sequence": 2048, "source": "Narayanan et al., SC'21 (arXiv 2104.04473), table 1"},
 {"name": "megatron-22b", "family": "Megatron-LM", "layers": 48, "hidden": 6144, "heads": 64, "vocab": 51200,
  "positions": 2048, "sequence": 2048,
  "source": "Korthikanti et al., arXiv 2205.05198, table 3, by calculon-ai/calculon models/megatron-22B.json"},
 {"name": "megatron-39.1b", "family": "Megatron-LM", "layers": 48, "hidden": 8192, "heads": 64, "vocab": 51200,
  "positions": 2048, "sequence": 2048, "source": "Narayanan et al., SC'21 (arXiv 2104.04473), table 1"},
 {"name": "megatron-76.1b", "family": "Megatron-LM", "layers": 60, "hidden": 10240, "heads": 80, "vocab": 51200,
  "positions": 2048, "sequence": 2048, "source": "Narayanan et al., SC'21 (arXiv 2104.04473), table 1"},
 {"name": "megatron-145.6b", "family": "Megatron-LM", "layers": 80, "hidden": 12288, "heads": 96, "vocab": 51200,
  "positions": 2048, "sequence": 2048, "source": "Narayanan et al., SC'21 (arXiv 2104.04473), table 1"},
 {"name": "megatron-174.6b", "aliases": ["megatron-175b"], "family": "Megatron-LM", "layers": 96, "hidden": 12288,
  "heads": 96, "vocab": 51200, "positions": 2048, "sequence": 2048,
  "source": "Narayanan et al., SC'21 (arXiv 2104.04473), table 2"},
 {"name": "megatron-310.1b", "family": "Megatron-LM", "layers": 96, "hidden": 16384, "heads": 128, "vocab": 51200,
  "positions": 2048, "sequence": 2048, "source": "Narayanan et al., SC'21 (arXiv 2104.04473), table 1"},
 {"name": "megatron-529.6b", "family": "Megatron-LM", "layers": 105, "hidden": 20480, "heads": 128, "vocab": 51200,
  "positions": 2048, "sequence": 2048, "source": "Narayanan et al., SC'21 (arXiv 2104.04473), table 1"},
 {"name": "mt-nlg-530b", "aliases": ["mt-nlg", "megatron-turing-530b"], "family": "Megatron-LM", "layers": 105,
  "hidden": 20480, "heads": 128, "vocab": 51200, "positions": 2048, "sequence": 2048,
  "source": "Smith et al., arXiv 2201.11990, section 2, by the row mtnlg-280 of train_throughput.csv"},
 {"name": "megatron-1008b", "aliases": ["megatron-1t"], "family": "Megatron-LM", "layers": 128, "hidden": 25600,
  "heads": 160, "vocab": 51200, "positions": 2048, "sequence": 2048,
  "source": "Narayanan et al., SC'21 (arXiv 2104.04473), table 1"}
]
)zoo";
// clang-format on

} // namespace

ModelFamily
MegatronFamily()
{
    return {{}, kMegatronZoo};
}

} // namespace training
