/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#include "library-times.h"

namespace dltrain
{

LibraryTimes
LibraryTimes::Of(const scenario::CollectiveOptions& options, std::optional<topo::Protocol> protocol)
{
    LibraryTimes result;
    if (protocol)
    {
        const topo::LibraryModel& library = options.machine.library;
        const topo::ProtocolTimes& times = library.Of(*protocol);
        const bool exchange = *protocol == topo::Protocol::kExchange;
        result.launch = (exchange ? library.exchangeLaunch : library.launch).ps + times.base.ps;
        result.outside = times.outside.ps;
        result.wire = times;
        result.how = static_cast<uint8_t>(1 + static_cast<uint8_t>(*protocol));
        result.nics = exchange ? library.exchangeNics : 0;
    }
    result.outside += options.stepLatency.ps;
    return result;
}

} // namespace dltrain
