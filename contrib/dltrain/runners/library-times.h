/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef DLTRAIN_LIBRARY_TIMES_H
#define DLTRAIN_LIBRARY_TIMES_H

#include "scenarios/job/scenario.h"

#include <cstdint>
#include <optional>

namespace dltrain
{

/// A communication library's times for messages of one protocol (topologies/library-model.h), in
/// the form for runners and transports.
struct LibraryTimes
{
    int64_t launch = 0;  ///< ps, from a rank's entry to its first send
    int64_t outside = 0; ///< ps, before a message to another server: the software latency, too
    int64_t post = 0;    ///< ps between a rank's messages to other servers; 0: no limit
    topo::ProtocolTimes wire = {}; ///< wire cost of a message between servers
    uint8_t how = 0;               ///< TransportPost::how
    uint32_t nics = 0;             ///< NICs that messages to other servers use; 0: all

    /// \param protocol nothing: no library, so only the software latency counts
    /// \param between of a group over several servers
    static LibraryTimes Of(const scenario::CollectiveOptions& options,
                           const coll::Machine& machine,
                           std::optional<topo::Protocol> protocol,
                           bool between);
};

} // namespace dltrain

#endif // DLTRAIN_LIBRARY_TIMES_H
