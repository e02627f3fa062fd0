/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Made by `scripts/published --bands` from tests/golden/training/compared-steps.csv.
 */
#include "scenarios/compared/step-band.h"

namespace compared
{

// clang-format off

const std::vector<StepBand>&
ComparedSteps()
{
    static const std::vector<StepBand> groups{
        {{"Ampere", "", "dense transformer"},
         195, 0.9212, 1.0860, 0.8061, {"16 bits", "TF32"}},
        {{"Ampere", "", "dense transformer, above 16,384 tokens"},
         18, 0.9330, 1.0911, 0.8947, {"16 bits"}},
        {{"Ampere", "16 bits", "dense transformer"},
         185, 0.9191, 1.0860, 0.8065, {}},
        {{"Ampere", "16 bits", "dense transformer, above 16,384 tokens"},
         18, 0.9330, 1.0911, 0.8947, {}},
        {{"Ampere", "TF32", "dense transformer"},
         10, 0.9582, 1.1244, 0.8182, {}},
        {{"Blackwell", "", "dense transformer"},
         16, 0.8575, 1.0544, 0.8824, {"16 bits", "fp8"}},
        {{"Blackwell", "", "mixture of experts"},
         11, 0.8812, 1.2828, 0.8333, {"16 bits", "fp8"}},
        {{"Blackwell", "16 bits", "dense transformer"},
         13, 0.9609, 1.0544, 0.8571, {}},
        {{"Blackwell", "16 bits", "mixture of experts"},
         9, 0.9556, 1.2828, 0.8000, {}},
        {{"Hopper", "", "dense transformer"},
         26, 0.9044, 1.0924, 0.8519, {"16 bits", "fp8"}},
        {{"Hopper", "", "mixture of experts"},
         7, 1.0179, 1.3310, 0.7500, {"16 bits", "fp8"}},
        {{"Hopper", "16 bits", "dense transformer"},
         14, 0.8908, 1.0924, 0.8667, {}},
        {{"Hopper", "16 bits", "mixture of experts"},
         6, 1.0179, 1.3310, 0.7143, {}},
        {{"Hopper", "fp8", "dense transformer"},
         12, 0.9165, 1.1139, 0.8462, {}},
        {{"Volta", "", "dense transformer"},
         10, 0.9260, 1.0358, 0.8182, {"16 bits", "fp32"}},
        {{"Volta", "16 bits", "dense transformer"},
         6, 0.9260, 1.0358, 0.7143, {}},
    };
    return groups;
}

} // namespace compared
