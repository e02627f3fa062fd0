/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What carries flows, as asked for.
 */
#ifndef SCENARIOS_SPEC_PROTOCOL_H
#define SCENARIOS_SPEC_PROTOCOL_H

#include <cstdint>
#include <string>

namespace scenario
{

/// Flows by RDMA, or by TCP over the same ports.
struct ProtocolSpec
{
    bool tcp = false;
    // Of TCP:
    std::string control;       ///< of the names of --tcp-control
    std::string controlType;   ///< its TypeId in ns-3
    uint32_t packetMtu = 1500; ///< bytes of an IP packet, its headers included
};

} // namespace scenario

#endif // SCENARIOS_SPEC_PROTOCOL_H
