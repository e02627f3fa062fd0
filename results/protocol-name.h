/*
 * SPDX-License-Identifier: GPL-2.0-only
 */
#ifndef RESULTS_PROTOCOL_NAME_H
#define RESULTS_PROTOCOL_NAME_H

#include "results/records.h"

#include <nlohmann/json.hpp>

namespace results
{

/// "ll", ...; null without a library.
inline nlohmann::ordered_json
ProtocolOf(const CollectiveName& collective)
{
    return collective.protocol ? nlohmann::ordered_json(topo::ToString(*collective.protocol))
                               : nlohmann::ordered_json(nullptr);
}

} // namespace results

#endif // RESULTS_PROTOCOL_NAME_H
