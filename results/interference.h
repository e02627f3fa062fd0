/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RESULTS_INTERFERENCE_H
#define RESULTS_INTERFERENCE_H

#include "results/flow-table.h"
#include "results/message-parts.h"

#include <cstdint>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace results
{

/**
 * Who waited for whom, and at which link, among jobs that share a network.
 *
 * Of every measured message its last packet tells, port by port, how long it waited in a switch's
 * queue, and of which message the packet in front of it was (MessageParts::Hop::behind). That time
 * is counted for the pair (whose message waited, whose it was queued behind) and the port:
 *
 *     waited[a][b][port] = sum over a's messages of the time queued at `port` behind a packet of b
 *
 * and the bytes of a message at all ports on the way of its last packet:
 *
 *     bytes[a][port] = sum over a's messages of their size, where the last packet passed
 *
 * Both are samples of one packet a message, the one that the message's completion hangs on: exact
 * where packets of a message take one way. Time at a paused port is told as such, as whose packets
 * made it pause is not known there.
 */
class Interference
{
  public:
    /// \param ports names, by end of the fabric; kept by reference
    explicit Interference(const std::vector<std::string>& ports)
        : m_ports(ports),
          m_owners(1)
    {
    }

    /// Its number is the next one, from 1. Owner 0 is everything else, and has no name.
    void AddOwner(const std::string& name);

    /// \param owner of the message \param ownerOf of a tag
    void Add(const FlowRecord& record,
             const MessageParts& parts,
             uint32_t owner,
             const std::function<uint32_t(uint32_t tag)>& ownerOf);
    void Clear();

    /// Of an owner:
    ///     {"waited_us", "waited_for_others_us", "paused_us",
    ///      "behind": [{"job", "waited_us", "share"}],
    ///      "links": [{"link", "waited_for_others_us", "slowed_by", "share_of_bytes_of_others"}]}
    /// \param nameless what owner 0 is called \param mostLinks with most time behind others
    nlohmann::ordered_json ToJson(uint32_t owner,
                                  const std::string& nameless,
                                  std::size_t mostLinks = 5) const;

  private:
    struct Port
    {
        std::vector<int64_t> behind; //!< ps, by owner of the packet in front
        uint64_t bytes{0};           //!< of messages that passed
    };

    struct Owner
    {
        std::string name;
        int64_t waited{0}; //!< ps, in queues of switches
        int64_t paused{0}; //!< ps, the same at paused ports
        std::map<uint32_t, Port> ports;
    };

    const std::string& NameOf(uint32_t owner, const std::string& nameless) const;
    uint64_t BytesAt(uint32_t owner, uint32_t port) const;

    const std::vector<std::string>& m_ports;
    std::vector<Owner> m_owners;
};

} // namespace results

#endif // RESULTS_INTERFERENCE_H
