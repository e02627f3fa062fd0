/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Packet memory of well-known switch chips. Makers say little; the figures are those of public
 * notes and articles, 1 MB taken for 10^6 B. A chip's memory that is cut into slices (Tomahawk,
 * Tomahawk 2: four) is modelled as one pool.
 *
 * [W] Jim Warner, "Packet buffers", people.ucsc.edu/~warner/Bufs: pages trident3,
 *     mellanox-spectrum (also says Tomahawk), tomahawk-ii
 * [P] port-buffers.forwardingplane.net/concepts: pages trident-ii, broadcom-trident3,
 *     broadcom-tomahawk2
 * [R] router-switch.com, "Mellanox SN2700 EOL replacement and alternative switches"
 */
#ifndef RDMA_CORE_SWITCH_CHIPS_H
#define RDMA_CORE_SWITCH_CHIPS_H

#include <cstdint>
#include <string>
#include <vector>

namespace rdma
{

struct SwitchChip
{
    const char* name;
    uint64_t bufferBytes;
    const char* source;
};

inline const std::vector<SwitchChip>&
SwitchChips()
{
    static const std::vector<SwitchChip> all = {
        {"trident2", 12000000, "12 MB [P]"},
        {"trident3", 32000000, "32 MB (X7, X5, X4) [W] [P]"},
        {"tomahawk", 16000000, "16 MB, in four slices [W]"},
        {"tomahawk2", 42000000, "42 MB, in four slices [W] [P]"},
        {"tomahawk3", 64000000, "64 MB, assumed"},
        {"tomahawk4", 113000000, "113 MB, assumed"},
        {"spectrum", 16000000, "16 MB [W]"},
        {"spectrum2", 42000000, "42 MB [R]"},
    };
    return all;
}

/// \return null if there is no chip of this name
inline const SwitchChip*
FindSwitchChip(const std::string& name)
{
    for (const SwitchChip& chip : SwitchChips())
    {
        if (name == chip.name)
        {
            return &chip;
        }
    }
    return nullptr;
}

} // namespace rdma

#endif // RDMA_CORE_SWITCH_CHIPS_H
