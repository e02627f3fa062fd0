/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "library-times.h"

namespace dltrain
{

LibraryTimes
LibraryTimes::Of(const scenario::CollectiveOptions& options,
                 const coll::Machine& machine,
                 std::optional<topo::Protocol> protocol,
                 bool between)
{
    LibraryTimes result;
    if (protocol)
    {
        const topo::LibraryModel& library = machine.library;
        const topo::ProtocolTimes& times = library.Of(*protocol);
        const bool exchange = *protocol == topo::Protocol::kExchange;
        result.launch = (exchange ? library.exchangeLaunch : library.launch).ps + times.base.ps;
        result.outside = times.outside.ps;
        result.wire = times;
        result.post = exchange ? library.post.ps : 0;
        result.how = topo::WayNumber(*protocol, between);
        result.nics = exchange ? library.exchangeNics : 0;
    }
    result.outside += options.stepLatency.ps;
    return result;
}

} // namespace dltrain
