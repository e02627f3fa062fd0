/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Memory beyond the GPUs', as asked for. A row of the option table is bound to each member
 * (Option::As) and describes it.
 */
#ifndef SCENARIOS_ASKED_MEMORY_H
#define SCENARIOS_ASKED_MEMORY_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace scenario::asked
{

struct Memory
{
    std::optional<std::string> tiers;
    std::optional<std::string> remote;
    std::optional<std::vector<std::string>> place;
    std::optional<uint32_t> prefetchLayers;
    std::optional<uint32_t> servers;
    std::optional<std::vector<std::string>> rate;
    std::optional<std::string> sweep;
};

} // namespace scenario::asked

#endif // SCENARIOS_ASKED_MEMORY_H
