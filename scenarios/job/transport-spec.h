/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * The transport of a run's messages. scenarios/network/transport-options.h describes the
 * names.
 */
#ifndef SCENARIOS_JOB_TRANSPORT_SPEC_H
#define SCENARIOS_JOB_TRANSPORT_SPEC_H

#include <string>

namespace scenario
{

/// How messages get through.
struct TransportSpec
{
    std::string name = "rc"; ///< a name of TransportItems
};

} // namespace scenario

#endif // SCENARIOS_JOB_TRANSPORT_SPEC_H
