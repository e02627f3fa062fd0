/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The cost of a communication library (NCCL) beyond the links: time to start, time per message, and
 * the part of a link's rate that each protocol leaves to data. Part of a server preset, or of a
 * user's server:
 *
 *     "library": {"launch": "28us", "exchange_launch": "13us", "exchange_nics": 1, "post": "2us",
 *                 "ll":       {"base": "0us", "inside": "600ns", "outside": "2.7us",
 *                              "inside_share": 0.25, "outside_share": 0.5},
 *                 "ll128":    {..., "between_servers": false},
 *                 "simple":   {...},
 *                 "exchange": {...},
 *                 "nvls":     {...},
 *                 "channels": {"inside": "163Gbps", "outside": "107Gbps", "in_server": 32,
 *                              "a_nic": 4, "most": 16},
 *                 "expects":  {"nic_rate": "120Gbps", "net_latency": "10us", ...},
 *                 "fall": [{"gpus": 16, "all_reduce": 361.7, "all_gather": 184.6,
 *                           "reduce_scatter": 181.6}, ...], "fall_a_gpu": 27,
 *                 "source": "where the numbers come from"}
 *
 * or, with `"base": "dgx-h100"`, the library of that server, except for the keys that are given (in
 * "ll" and the like, number by number).
 *
 * **Law.** A collective of protocol p begins `launch + base` after a rank has entered it. A message
 * between GPUs of a server arrives `inside` after its last byte has left its port, whose rate for
 * it is `inside_share` of what messages get there (ScaleUp::efficiency). A message between servers
 * is given to the NIC `outside` after it could have been, and is longer by 1 / `outside_share`, on
 * the wire too: flags are data to a network. For bytes beyond `bulk_from` the factor is 1 /
 * `bulk_share` (without it, `outside_share` holds for all bytes): networks of clouds let a burst
 * through and slow down longer messages. The law is per message, without memory: each has its
 * burst, whatever went before. Operations that only move data (alltoall, sendrecv, ...; NCCL's
 * grouped sends and receives) have launch and times of their own, `exchange`. There a pair of GPUs
 * is limited to its share of `channels`, if given; collectives/tuner/exchange-rates.h has their
 * number. (Operations that add up or pass on use all channels for their neighbour.) Operations of a
 * server's switch that adds up and copies have times of their own, too, `nvls` (left out: as
 * `simple`); their messages are between a GPU and the switch.
 *
 * **Posts.** One thread a GPU gives messages to NICs (NCCL's proxy), `post` each. Grouped sends to
 * other servers therefore leave one after another, `post` apart. In a group over several servers a
 * message between GPUs of a server takes `post` longer, with Simple three times `post`, as NCCL's
 * tuning.cc has it (netOverhead).
 *
 * **Protocols** (NCCL's; "LL, LL128 and Simple" in its documentation of NCCL_PROTO): LL stores 4
 * bytes of data with 4 bytes of flag, LL128 120 bytes with 8, Simple data alone, and then says so.
 * LL128 needs stores of 128 bytes that arrive whole: over NVLink always, between servers only with
 * NICs near the GPUs (src/graph/tuning.cc allows it up to a PCIe switch between them).
 *
 * **Choice.** A library chooses by the times that it expects, which may differ from the real ones.
 * `expects` has its view of groups on several servers: the rate of NICs, the latency that their
 * plug-in reports, and the time of a post to them. collectives/tuner/nccl-times.h has the rest.
 * Without `expects`, choices are by the real times of messages.
 *
 * **Fall.** Some networks give a collective less the more GPUs it has, for reasons that no link
 * shows. `fall` has bus bandwidths (GB/s, as nccl-tests) that were measured over several servers,
 * by GPUs; between them they are interpolated over the logarithm of the GPUs, outside of them the
 * nearest holds. A group with g GPUs in a server has at most g times `fall_a_gpu`. The formula of a
 * collective (--collective-times=formula, dlplan) is no less than this; messages do not know it.
 *
 * **Constants.** NCCL publishes its own expectations, in src/graph/tuning.cc. Real machines take
 * longer. So presets have numbers fitted to tables measured on such machines: a small set for all
 * operations, sizes and numbers of GPUs. docs/validation.md has the remaining errors.
 */
#ifndef TOPOLOGIES_LIBRARY_MODEL_H
#define TOPOLOGIES_LIBRARY_MODEL_H

#include "contrib/rdma/core/units.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace topo
{

/// The way a message is sent. kExchange is no protocol of its own, but has times of its own.
enum class Protocol : uint8_t
{
    kLl,
    kLl128,
    kSimple,
    kExchange,
    kNvls, ///< Simple by way of a switch that adds up and copies (ScaleUp::adds)
};

constexpr uint32_t kProtocols = 5;

/// The way of a message inside a server: 0, as its links have it; else of a protocol.
/// \param between in a group over several servers
constexpr uint8_t
WayNumber(Protocol protocol, bool between)
{
    return static_cast<uint8_t>(1 + static_cast<uint32_t>(protocol) + (between ? kProtocols : 0));
}

/// Those among which a collective that adds up or passes on may choose.
constexpr std::array<Protocol, 3> kChoosableProtocols = {Protocol::kLl,
                                                         Protocol::kLl128,
                                                         Protocol::kSimple};

/// "ll", "ll128", "simple", "exchange"; of kNvls, as in NCCL, "simple".
const char* ToString(Protocol protocol);

struct ProtocolTimes
{
    rdma::Duration base;        ///< time of a collective, in addition to the launch
    rdma::Duration inside;      ///< time of a message in a server
    rdma::Duration outside;     ///< time of a message between servers
    double insideShare = 1;     ///< share of the port's rate that data get, in (0, 1]
    double outsideShare = 1;    ///< data over bytes on the wire, in (0, 1]
    bool betweenServers = true; ///< may be used between servers
    uint64_t bulkFrom = 0;      ///< bytes of a message with outsideShare; 0: all
    double bulkShare = 1;       ///< data over bytes on the wire beyond bulkFrom, as outsideShare

    /// The bytes on the wire of a message between servers. \param data bytes \return bytes, rounded
    /// up
    uint64_t BytesOnWire(uint64_t data) const
    {
        // Doubles have 53 bits: what needs no arithmetic stays as it is.
        return outsideShare == 1 && bulkFrom == 0
                   ? data
                   : static_cast<uint64_t>(std::ceil(OnWire(static_cast<double>(data))));
    }

    /// As BytesOnWire, not rounded.
    double OnWire(double data) const
    {
        return bulkFrom == 0 || data <= static_cast<double>(bulkFrom)
                   ? data / outsideShare
                   : static_cast<double>(bulkFrom) / outsideShare +
                         (data - static_cast<double>(bulkFrom)) / bulkShare;
    }
};

/// The channels of grouped sends and receives.
struct ExchangeChannels
{
    rdma::BitRate inside;  ///< rate of one channel in a server
    rdma::BitRate outside; ///< rate of one channel between servers, on the wire
    uint32_t inServer = 0; ///< channels of a group in one server; 0: no limit for a pair
    uint32_t aNic = 0; ///< channels of a group in several servers, for each NIC of a server in use
    uint32_t most = 0; ///< most channels of a group in several servers
};

/// The properties of links between servers that a library assumes when it chooses.
struct LibraryExpectations
{
    /// Rate of a NIC's share; 0: the library chooses by the real times of messages.
    rdma::BitRate nicRate;
    rdma::Duration netLatency;  ///< latency of a message, in addition to the one for all networks
    rdma::Duration netOverhead; ///< time of a post
};

/// Bus bandwidth of large collectives over several servers, B/s.
struct MeasuredFall
{
    uint32_t gpus = 0;
    double allReduce = 0;
    double allGather = 0;
    double reduceScatter = 0;
};

struct LibraryModel
{
    rdma::Duration launch;         ///< launch of a collective
    rdma::Duration exchangeLaunch; ///< launch of grouped sends and receives (`exchange`)
    rdma::Duration post;           ///< time that a GPU's thread takes to give a message to a NIC
    /// NICs that exchanges use, from the first on; 0: each GPU the one beside it.
    uint32_t exchangeNics = 0;
    ExchangeChannels channels;
    LibraryExpectations expects;
    std::vector<MeasuredFall> fall; ///< by rising numbers of GPUs; empty: none was measured
    double fallAGpu = 0;            ///< B/s, for each GPU that a group has in a server; 0: no limit
    std::array<ProtocolTimes, kProtocols> protocols; ///< by Protocol
    std::string source;                              ///< document of every constant, or "assumed"

    const ProtocolTimes& Of(Protocol protocol) const
    {
        return protocols[static_cast<std::size_t>(protocol)];
    }

    /// \return what a message inside a server takes in a group over several servers, beyond
    /// ProtocolTimes::inside
    rdma::Duration PostInside(Protocol protocol) const
    {
        return protocol == Protocol::kExchange || protocol == Protocol::kNvls
                   ? rdma::Duration()
                   : rdma::Duration(protocol == Protocol::kSimple ? 3 * post.ps : post.ps);
    }

    ProtocolTimes& Of(Protocol protocol)
    {
        return protocols[static_cast<std::size_t>(protocol)];
    }
};

} // namespace topo

#endif // TOPOLOGIES_LIBRARY_MODEL_H
