/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * What a communication library (NCCL) takes beyond the links: time to start, time a message, and
 * the part of a link's rate that each of its protocols leaves to data. Of a server preset, or of a
 * user's server:
 *
 *     "library": {"launch": "28us", "exchange_launch": "13us", "exchange_nics": 1,
 *                 "ll":       {"base": "0us", "inside": "600ns", "outside": "2.7us",
 *                              "inside_share": 0.25, "outside_share": 0.5},
 *                 "ll128":    {..., "between_servers": false},
 *                 "simple":   {...},
 *                 "exchange": {...},
 *                 "nvls":     {...},
 *                 "channels": {"inside": "163Gbps", "outside": "107Gbps", "in_server": 32,
 *                              "a_nic": 4, "most": 16},
 *                 "expects":  {"nic_rate": "120Gbps", "net_latency": "10us", ...},
 *                 "source": "where the numbers come from"}
 *
 * or, with `"base": "dgx-h100"`, what that one has, but for what is given (of "ll" and the like
 * each number by itself).
 *
 * **Law.** A collective of protocol p begins `launch + base` after a rank has entered it. A message
 * between GPUs of a server arrives `inside` after its last byte has left its port, whose rate for
 * it is `inside_share` of what messages get there (ScaleUp::efficiency). A message between servers
 * is given to the NIC `outside` after it could have been, and is longer by 1 / `outside_share`, on
 * the wire too: flags are data to a network. Of what a message has beyond `bulk_from` bytes it is
 * 1 / `bulk_share` (all of it `outside_share`, if that is not given): networks of clouds let a
 * burst through and slow down what is longer. The law is one of messages, without memory: each has
 * its burst, whatever went before. What is sent and received without adding up (alltoall, sendrecv,
 * ...; NCCL's grouped sends and receives) has launch and times of its own, `exchange`, and a pair
 * of GPUs gets no more than its share of `channels` carries, as far as they are given: how many
 * that are, collectives/exchange-rates.h says. (What adds up or passes on uses all channels for its
 * neighbour.) What a server's switch adds up and copies has times of its own, too, `nvls` (left
 * out: as `simple`), whose messages are between a GPU and the switch.
 *
 * **Protocols** (NCCL's; "LL, LL128 and Simple" in its documentation of NCCL_PROTO): LL stores 4
 * bytes of data with 4 bytes of flag, LL128 120 bytes with 8, Simple data alone, and then says so.
 * LL128 needs stores of 128 bytes that arrive whole: over NVLink always, between servers only with
 * NICs near the GPUs (src/graph/tuning.cc allows it up to a PCIe switch between them).
 *
 * **Choice.** A library chooses by what it expects, and that may be something else than what
 * messages take. `expects` says it, for groups on several servers: how fast it thinks NICs are,
 * what their plug-in says of their latency, and what it counts for a post to them;
 * collectives/nccl-times.h has the rest. Without it choices are by what messages take.
 *
 * **Constants.** Published is what NCCL itself expects, in src/graph/tuning.cc; what machines need
 * is more, so presets have numbers fitted to tables that were measured on such machines, a small
 * set of numbers for all operations, sizes and numbers of GPUs. docs/validation.md has the errors
 * that are left.
 */
#ifndef TOPOLOGIES_LIBRARY_MODEL_H
#define TOPOLOGIES_LIBRARY_MODEL_H

#include "contrib/rdma/core/units.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <string>

namespace topo
{

/// How a message is sent; kExchange: what is not a protocol of its own, but has times of its own.
enum class Protocol : uint8_t
{
    kLl,
    kLl128,
    kSimple,
    kExchange,
    kNvls, ///< Simple by way of a switch that adds up and copies (ScaleUp::adds)
};

constexpr uint32_t kProtocols = 5;
/// Those among which a collective that adds up or passes on may choose.
constexpr std::array<Protocol, 3> kChoosableProtocols = {Protocol::kLl,
                                                         Protocol::kLl128,
                                                         Protocol::kSimple};

/// "ll", "ll128", "simple", "exchange"; of kNvls, as in NCCL, "simple".
const char* ToString(Protocol protocol);

struct ProtocolTimes
{
    rdma::Duration base;        ///< of a collective, beside the launch
    rdma::Duration inside;      ///< of a message in a server
    rdma::Duration outside;     ///< of a message between servers
    double insideShare = 1;     ///< of the port's rate that data gets, in (0, 1]
    double outsideShare = 1;    ///< data over bytes on the wire, in (0, 1]
    bool betweenServers = true; ///< may be used there
    uint64_t bulkFrom = 0;      ///< bytes of a message with outsideShare; 0: all
    double bulkShare = 1;       ///< of what it has beyond them, as outsideShare

    /// Of a message between servers. \param data bytes \return bytes, begun ones whole
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

/// What grouped sends and receives go over.
struct ExchangeChannels
{
    rdma::BitRate inside;  ///< of one, in a server
    rdma::BitRate outside; ///< of one, between servers, on the wire
    uint32_t inServer = 0; ///< channels in all of ranks in one server; 0: no pair has a limit
    uint32_t aNic = 0;     ///< of ranks in several, for each NIC of a server that they use
    uint32_t most = 0;     ///< of ranks in several
};

/// What a library takes links between servers for when it chooses.
struct LibraryExpectations
{
    rdma::BitRate nicRate;      ///< of a NIC's share; 0: it chooses by what messages take
    rdma::Duration netLatency;  ///< of a message, beside what it has for all networks
    rdma::Duration netOverhead; ///< of a post
};

struct LibraryModel
{
    rdma::Duration launch;         ///< of a collective
    rdma::Duration exchangeLaunch; ///< of one without adding up
    /// NICs that exchanges use, from the first on; 0: each GPU the one beside it.
    uint32_t exchangeNics = 0;
    ExchangeChannels channels;
    LibraryExpectations expects;
    std::array<ProtocolTimes, kProtocols> protocols; ///< by Protocol
    std::string source;                              ///< document of every constant, or "assumed"

    const ProtocolTimes& Of(Protocol protocol) const
    {
        return protocols[static_cast<std::size_t>(protocol)];
    }

    ProtocolTimes& Of(Protocol protocol)
    {
        return protocols[static_cast<std::size_t>(protocol)];
    }
};

} // namespace topo

#endif // TOPOLOGIES_LIBRARY_MODEL_H
