/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The longest that IEEE 802.3 lets a port take: to obey a pause (annex 31B.3.7, "timing
 * considerations for PAUSE operation"), and in its interface, MAC Control, MAC, PCS, FEC, PMA and
 * PMD, sending and receiving together. What real ports take is less and unpublished; these are what
 * headroom has to be made for if nothing else is known. By default this simulator's ports take none
 * of it, and its headroom allows for none: every value that is not 0 costs buffer (at 100 Gb/s 25
 * kB and 2 x 15 kB for each port and lossless priority) for a delay that devices do not state.
 *
 * Sources. Response, in quanta of 512 bit times: sonic-net/sonic-swss@18913fa,
 * cfgmgr/buffer_headroom_mellanox.lua, table pause_quanta_per_speed, "defined in IEEE 802.3
 * 31B.3.7" (800 Gb/s as 400: so there); for 10 Gb/s it has 67, and 60 is in the second source. The
 * same in bit times (30,720 at 10 Gb/s, 40,960 at 25, 60,416 at 40, 201,728 at 100, 463,360 at
 * 400), and the interface's: "Detecting, troubleshooting and preventing congestion in storage
 * networks", Cisco Press 2023, chapter 7, "Pause threshold for long distance links", as excerpted
 * at besthub.dev, "How to compute headroom for lossless Ethernet links (part 2)": 8,192 bit times
 * at 10 Gb/s, 6,144 at 25, 24,576 at 40, 122,880 at 100. No source was at hand for interfaces of 50
 * Gb/s and above 100 Gb/s.
 */
#ifndef RDMA_CORE_PFC_DELAYS_H
#define RDMA_CORE_PFC_DELAYS_H

#include "units.h"

#include <array>
#include <cstdint>

namespace rdma
{

struct PfcDelayBound
{
    BitRate rate;
    uint32_t responseQuanta;    ///< of 512 bit times
    uint32_t interfaceBitTimes; ///< 0: not known
};

inline constexpr std::array<PfcDelayBound, 8> kPfcDelayBounds = {{
    {Gbps(10), 67, 8192},
    {Gbps(25), 80, 6144},
    {Gbps(40), 118, 24576},
    {Gbps(50), 147, 0},
    {Gbps(100), 394, 122880},
    {Gbps(200), 453, 0},
    {Gbps(400), 905, 0},
    {Gbps(800), 905, 0},
}};

} // namespace rdma

#endif // RDMA_CORE_PFC_DELAYS_H
