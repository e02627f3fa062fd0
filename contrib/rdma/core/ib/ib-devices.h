/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * InfiniBand switches and adapters by generation, all Mellanox's (NVIDIA's).
 *
 * Latency of a switch: first bit in to first bit out of a packet that is cut through, ports equally
 * fast, nothing in its way. Latency of an adapter: a small message from memory to memory over a
 * cable, both adapters together, without software; half of it belongs to each end. Buffer of a
 * port: of all its VLs together.
 *
 * Makers publish latencies in product briefs and say nothing of buffers. One figure is known:
 * Mellanox's own simulation model has 1,000 flits of 64 B a port for InfiniScale IV, which is 2,000
 * B for each Gb/s of the port. That ratio is assumed of all others.
 *
 * [O] Mellanox's InfiniBand flit-level model for OMNeT++ (ib_flit_sim, 2013), modules.ini: "IS4
 * total of flits in IBUF =
 *     1000", delays ISWDelay and VSWDelay of 50 ns each
 * [B] the maker's product brief of a switch with this chip, as generally quoted; the original was
 * not at hand [R] router-switch.com, "NVIDIA Quantum-2 QM9700 vs Spectrum-4 SN5400"
 * [W] Wikipedia, "InfiniBand", table of data rates: adapter latency
 * [C] "NVIDIA ConnectX-6 Ethernet Adapter Cards User Manual", introduction: "sub-600ns latency"
 * [V] eight data VLs and VL 15, MTU 256 to 4,096: [B] for switches and adapters alike
 *
 * Cables. NDR: copper to 3 m, with amplifiers to 5 m, multimode fibre between transceivers to 50 m,
 * single-mode to 500 m and more; no active optical cables ("LinkX user guide for 400Gbps 100G-PAM4
 * ...", 100G-PAM4 product line overview, docs.nvidia.com/networking/display/400g100gpam4ovpub;
 * "Interconnect structured cabling requirements for InfiniBand NDR/XDR ...": multimode and splitter
 * cables of 50 m in all, with patch panels,
 * docs.nvidia.com/networking/display/intrcnctcabreqndr400eth; "DGX SuperPOD design guide: cabling
 * data centers", NDR overview). XDR: active copper and single-mode fibre, splitters to 50 m, no
 * multimode, no passive copper (docs.nvidia.com/networking/display/800g200pam4list). Rows of racks
 * (servers to leaves, leaves to spines of one hall) are wired with those of 50 m; 128 KiB of
 * credits a lane fill NDR over some 150 m and XDR over some 65 m (ib-credit-reach.h). A metre takes
 * 5 ns: "Detecting, troubleshooting and preventing congestion in storage networks", Cisco Press,
 * chapter 7 (pfc-delays.h); sonic-swss's buffer_headroom_mellanox.lua has 198,000 km/s.
 */
#ifndef CONTRIB_RDMA_CORE_IB_IB_DEVICES_H
#define CONTRIB_RDMA_CORE_IB_IB_DEVICES_H

#include "contrib/rdma/core/nearest-name.h"
#include "contrib/rdma/core/units.h"
#include "ib-link.h"
#include "ib-sizes.h"

#include <cctype>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rdma
{

struct IbSwitchDevice
{
    const char* name;
    IbLink link;      ///< the fastest that its ports run
    uint32_t ports;   ///< of that link
    Duration latency; ///< port to port, cut through
    Bytes portBuffer; ///< of a port, all VLs
    uint8_t dataVls;
    uint32_t mtu; ///< the greatest, bytes
    const char* source;
};

struct IbAdapterDevice
{
    const char* name;
    IbLink link;
    Duration latency; ///< both adapters of a path together
    Bytes portBuffer;
    uint8_t dataVls;
    uint32_t mtu;
    const char* source;
};

/// Delay of a metre of copper or fibre.
constexpr Duration kDelayPerMetre = Nanoseconds(5);

/// Length of the usual longer cable of a generation, metres: multimode fibre and splitters from NDR
/// on. Before that this simulator's 200 m of every fabric, which the credits of these rates fill.
constexpr uint32_t
IbCableMetres(IbSpeed speed)
{
    return speed >= IbSpeed::kNdr ? 50 : 200;
}

namespace detail
{

/// 2,000 B for each Gb/s.
constexpr Bytes
IbAssumedBuffer(IbLink link)
{
    return Bytes(link.Rate().bps / 500000);
}

/// A name without blanks, hyphens and underscores, in lower case: makers write theirs in many ways.
inline std::string
BareName(std::string_view name)
{
    std::string bare;
    for (const char c : name)
    {
        if (c != '-' && c != ' ' && c != '_')
        {
            bare += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        }
    }
    return bare;
}

template <typename Device>
const Device*
FindDevice(const std::vector<Device>& devices, std::string_view name)
{
    const std::string bare = BareName(name);
    for (const Device& device : devices)
    {
        if (bare == BareName(device.name))
        {
            return &device;
        }
    }
    return nullptr;
}

template <typename Device>
std::vector<std::string>
DeviceNames(const std::vector<Device>& devices)
{
    std::vector<std::string> names;
    for (const Device& device : devices)
    {
        names.emplace_back(device.name);
    }
    return names;
}

/// The slowest (first) device that is as fast as a speed.
template <typename Device>
const Device&
DeviceFor(const std::vector<Device>& devices, IbSpeed speed)
{
    for (const Device& device : devices)
    {
        if (device.link.speed >= speed)
        {
            return device;
        }
    }
    return devices.back();
}

} // namespace detail

/// By speed, slowest first.
inline const std::vector<IbSwitchDevice>&
IbSwitches()
{
    static const auto make =
        [](const char* name, IbSpeed speed, uint32_t ports, int64_t ns, const char* source) {
            const IbLink link{speed, 4};
            return IbSwitchDevice{name,
                                  link,
                                  ports,
                                  Nanoseconds(ns),
                                  detail::IbAssumedBuffer(link),
                                  8,
                                  4096,
                                  source};
        };
    static const std::vector<IbSwitchDevice> all = {
        make("infiniscale-3", IbSpeed::kDdr, 24, 200, "24 ports, 200 ns, buffer: assumed [V]"),
        make("infiniscale-4", IbSpeed::kQdr, 36, 100, "36 ports [B], 100 ns [O], 64,000 B [O] [V]"),
        make("switchx",
             IbSpeed::kFdr,
             36,
             170,
             "36 ports, 170 ns (SX6036) [B], buffer: assumed [V]"),
        make("switch-ib",
             IbSpeed::kEdr,
             36,
             90,
             "36 ports, 90 ns (SB7700) [B], buffer: assumed [V]"),
        make("switch-ib-2",
             IbSpeed::kEdr,
             36,
             90,
             "36 ports, 90 ns (SB7800) [B], buffer: assumed [V]"),
        make("quantum",
             IbSpeed::kHdr,
             40,
             130,
             "40 ports, 130 ns (QM8700) [B], buffer: assumed [V]"),
        make("quantum-2",
             IbSpeed::kNdr,
             64,
             150,
             "64 ports [B], 150 ns (less than that) [R], buffer: assumed [V]"),
        make("quantum-x800",
             IbSpeed::kXdr,
             144,
             150,
             "144 ports (Q3400-RA) [B]; 150 ns, buffer: assumed [V]"),
    };
    return all;
}

/// By speed, slowest first.
inline const std::vector<IbAdapterDevice>&
IbAdapters()
{
    static const auto make = [](const char* name, IbSpeed speed, int64_t ns, const char* source) {
        const IbLink link{speed, 4};
        return IbAdapterDevice{name,
                               link,
                               Nanoseconds(ns),
                               detail::IbAssumedBuffer(link),
                               8,
                               4096,
                               source};
    };
    static const std::vector<IbAdapterDevice> all = {
        make("connectx-2", IbSpeed::kQdr, 1300, "1.3 us [W], buffer: assumed [V]"),
        make("connectx-3", IbSpeed::kFdr, 700, "0.7 us [W], buffer: assumed [V]"),
        make("connectx-4", IbSpeed::kEdr, 700, "0.7 us [B], buffer: assumed [V]"),
        make("connectx-5", IbSpeed::kEdr, 600, "0.6 us [B], buffer: assumed [V]"),
        make("connectx-6", IbSpeed::kHdr, 600, "0.6 us (less than that) [C], buffer: assumed [V]"),
        make("connectx-7", IbSpeed::kNdr, 600, "0.6 us, as ConnectX-6, and buffer: assumed [V]"),
        make("connectx-8", IbSpeed::kXdr, 600, "0.6 us, as ConnectX-6, and buffer: assumed [V]"),
    };
    return all;
}

/// By name, in any case, with hyphens and blanks or without ("Switch-IB 2", "switchib2"). Null if
/// there is none.
inline const IbSwitchDevice*
FindIbSwitch(std::string_view name)
{
    return detail::FindDevice(IbSwitches(), name);
}

inline const IbAdapterDevice*
FindIbAdapter(std::string_view name)
{
    return detail::FindDevice(IbAdapters(), name);
}

inline std::vector<std::string>
IbSwitchNames()
{
    return detail::DeviceNames(IbSwitches());
}

inline std::vector<std::string>
IbAdapterNames()
{
    return detail::DeviceNames(IbAdapters());
}

/// The name that a wrong one was probably meant to be; empty if none is near.
inline std::string
NearestIbSwitchName(std::string_view name)
{
    return NearestName(name, IbSwitchNames());
}

inline std::string
NearestIbAdapterName(std::string_view name)
{
    return NearestName(name, IbAdapterNames());
}

/// Blocks of 64 bytes for each of `vls` VLs that share a port's buffer alike. Less than
/// IbLargestPacketBlocks(mtu), and packets of that MTU never pass.
constexpr uint32_t
IbVlBlocks(Bytes portBuffer, uint32_t vls)
{
    return static_cast<uint32_t>(portBuffer.value / kIbBlockBytes / vls);
}

/// The first generation that runs a speed.
inline const IbSwitchDevice&
IbSwitchFor(IbSpeed speed)
{
    return detail::DeviceFor(IbSwitches(), speed);
}

inline const IbAdapterDevice&
IbAdapterFor(IbSpeed speed)
{
    return detail::DeviceFor(IbAdapters(), speed);
}

} // namespace rdma

#endif // CONTRIB_RDMA_CORE_IB_IB_DEVICES_H
